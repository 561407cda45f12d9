/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "gateway.h"
#include "journal.h"
#include "json_parts.h"
#include "labels.h"
#include "times.h"

#include <stdio.h>

static json_t *by_code(const uint64_t *counts, int first, int end,
                       const char *(*word)(int code))
{
    json_t *object = json_object();

    for (int code = first; code < end; code++)
        json_put(object, word(code), json_count(counts[code]));
    return object;
}

static json_t *answers(const struct counters *counters)
{
    json_t *object = json_object();
    char key[8];

    for (int i = 0; i < COUNTER_STATUSES; i++) {
        snprintf(key, sizeof(key), i ? "%dxx" : "none", i);
        json_put(object, key, json_count(counters->answers[i]));
    }
    return object;
}

static json_t *counted(const struct counters *counters)
{
    json_t *object = json_object();

    json_put(object, "requests", json_count(counters->requests));
    json_put(object, "answers", answers(counters));
    json_put(object, "refused", json_count(counters->refused));
    json_put(object, "retries", json_count(counters->retries));
    json_put(object, "queued", json_count(counters->queued));
    json_put(object, "client_gone", json_count(counters->client_gone));
    json_put(object, "cut_short", json_count(counters->cut_short));
    json_put(object, "bytes_in", json_count(counters->bytes_in));
    json_put(object, "bytes_out", json_count(counters->bytes_out));
    json_put(object, "input_tokens", json_count(counters->input_tokens));
    json_put(object, "cached_tokens", json_count(counters->cached_tokens));
    json_put(object, "output_tokens", json_count(counters->output_tokens));
    json_put(object, "reloads", json_count(counters->reloads));
    json_put(object, "reload_failures", json_count(counters->reload_failures));
    json_put(object, "rejected",
             by_code(counters->rejected, 1, LBROUTE_REASON_COUNT,
                     lbroute_reason_name));
    json_put(
        object, "rules",
        by_code(counters->rules, 1, LBROUTE_RULE_COUNT, lbroute_rule_name));
    return object;
}

static json_t *durations(const struct counters *counters)
{
    json_t *object = json_object();

    json_put(object, "decision", json_histogram(&counters->decision, 1000.0));
    json_put(object, "first_token",
             json_histogram(&counters->first_token, 1.0));
    json_put(object, "total", json_histogram(&counters->total, 1.0));
    json_put(object, "wait", json_histogram(&counters->wait, 1.0));
    return object;
}

static json_t *routing(lbroute_router *router)
{
    json_t *object = json_object();
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof(stats));
    lbroute_get_stats(router, &stats);
    json_put(object, "picks", json_count(stats.picks));
    json_put(object, "rejections",
             by_code(stats.rejections, 1, LBROUTE_REASON_COUNT,
                     lbroute_reason_name));
    json_put(object, "settled",
             by_code(stats.settled, LBROUTE_EVENT_SUCCESS, LBROUTE_EVENT_COUNT,
                     label_outcome));
    json_put(object, "expired", json_count(stats.expired));
    json_put(object, "open_tickets", json_count(stats.open_tickets));
    json_put(object, "sessions", json_count(stats.sessions));
    json_put(object, "pools", json_count(stats.pools));
    json_put(object, "targets", json_count(stats.targets));
    json_put(object, "memory_bytes", json_count(stats.memory_bytes));
    json_put(object, "allocations", json_count(stats.allocations));
    json_put(object, "prices", json_count(stats.prices));
    json_put(object, "kv_blocks", json_count(stats.kv_blocks));
    json_put(object, "kv_sources", json_count(stats.kv_sources));
    json_put(object, "waiting", json_count(stats.waiting));
    json_put(object, "queued", json_count(stats.queued));
    return object;
}

json_t *admin_get_status(struct admin_call *call)
{
    const struct gateway *gateway = call->gateway;
    json_t *object = json_object();
    int adaptive = 1;

    lbroute_get_adaptive(gateway->router, &adaptive);
    json_put(object, "version", json_string(lbroute_version()));
    json_put(object, "uptime_s",
             json_figure((double)(call->now - gateway->started) / 1e9));
    /* The page shows how old things are without its own clock. */
    json_put(object, "unix_ms", json_integer(wall_clock_ms()));
    json_put(object, "draining", json_boolean(gateway->draining));
    json_put(object, "adaptive", json_boolean(adaptive));
    json_put(object, "open", json_count(gateway->open_exchanges));
    json_put(object, "waiting", json_count(gateway->waiting));
    json_put(object, "newest_decision",
             json_count(journal_newest(gateway->journal)));
    json_put(object, "counters", counted(&gateway->counters));
    json_put(object, "durations", durations(&gateway->counters));
    json_put(object, "router", routing(gateway->router));
    json_put(object, "cluster", admin_cluster_json(gateway, call->now));
    return object;
}

json_t *admin_post_adaptive(struct admin_call *call)
{
    static const char *const known[] = {"enabled", NULL};
    json_t *enabled = json_object_get(call->body, "enabled");

    if (!json_is_boolean(enabled) || admin_unknown_key(call, known) != NULL)
        return admin_refuse(call, 400,
                            "The body must be {\"enabled\": true or false}.");
    lbroute_set_adaptive(call->gateway->router, json_is_true(enabled));
    return json_pack("{s:b}", "adaptive", json_is_true(enabled));
}
