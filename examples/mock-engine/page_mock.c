/* SPDX-License-Identifier: MIT */
#include "pages.h"
#include "reply.h"

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *count_json(const struct mock *mock)
{
    const struct counts *counts = &mock->counts;

    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "received",
        whole(counts->received), "completed", whole(counts->completed),
        "rejected", whole(counts->rejected), "cancelled",
        whole(counts->cancelled), "faulted", whole(mock->faults.suffered),
        "prompt_tokens", whole(counts->prompt_tokens), "cached_tokens",
        whole(counts->cached_tokens), "output_tokens",
        whole(counts->output_tokens));
}

static json_t *kv_json(const struct kv_publisher *publisher)
{
    if (publisher == NULL)
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:s,s:s}", "next_seq",
                     whole(kv_publisher_next(publisher)), "dropped",
                     whole(kv_publisher_lost(publisher)), "replays",
                     whole(kv_publisher_replays(publisher)), "events",
                     kv_publisher_events(publisher), "replay",
                     kv_publisher_replay(publisher));
}

static json_t *copy_or_null(const json_t *value)
{
    return value != NULL ? json_deep_copy(value) : json_null();
}

void page_state(struct mock *mock, struct evhttp_request *request,
                const struct fault_plan *plan, const void *data)
{
    const struct engine *engine = pace_engine(mock->pace);

    (void)plan;
    (void)data;
    reply_json(request, 200,
               json_pack("{s:o,s:o,s:o,s:o,s:f,s:o,s:o,s:o,s:o}", "running",
                         whole(engine_running(engine)), "waiting",
                         whole(engine_waiting(engine)), "open",
                         whole(mock->counts.open), "open_streams",
                         whole(mock->counts.open_streams), "kv_usage",
                         engine_kv_usage(engine), "blocks",
                         whole(block_table_count(mock->table)), "counts",
                         count_json(mock), "kv",
                         kv_json(mock->journal.publisher), "latest",
                         copy_or_null(mock->latest)));
}

void page_get_faults(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data)
{
    json_t *given = mock->faults.given;

    (void)plan;
    (void)data;
    reply_json(request, 200,
               given != NULL ? json_deep_copy(given) : json_object());
}

void page_set_faults(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data)
{
    struct refusal refusal;
    json_t *body = reply_read(request, &refusal);

    if (body != NULL && faults_set(&mock->faults, body, &refusal)) {
        mock_apply_faults(mock);
        page_get_faults(mock, request, plan, data);
    } else {
        reply_refusal(request, false, &refusal);
    }
    json_decref(body);
}
