/* SPDX-License-Identifier: MIT */
#include "target_json.h"

#include "fleet.h"
#include "journal.h"
#include "json_parts.h"
#include "labels.h"
#include "target_view.h"
#include "upstream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *gauges(const lbroute_target_stats *stats)
{
    json_t *object = json_object();

    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        json_put(object, label_gauge(gauge),
                 json_pack("{s:o, s:o}", "value",
                           json_figure(stats->gauges[gauge]), "age_ms",
                           json_ms(stats->gauge_age_ns[gauge])));
    return object;
}

static json_t *latencies(const struct target_view *view)
{
    json_t *object = json_object();

    for (int kind = 0; kind < LBROUTE_LATENCY_COUNT; kind++) {
        const lbroute_latency_model *model = &view->latency[kind];
        json_t *one = json_object();

        json_put(one, "ewma_ms", json_figure(model->ewma_ns / 1e6));
        json_put(one, "samples", json_count(model->samples));
        json_put(one, "known", json_boolean(model->known));
        json_put(one, "residual", json_figure(model->residual));
        json_put(one, "age_ms", json_ms(model->age_ns));
        json_put(object, label_latency(kind), one);
    }
    return object;
}

struct mean {
    double sum;
    unsigned count;
};

/* Of what the journal still has of a target. */
struct recent {
    struct mean first_token, total;
    int64_t prefix_matched, prefix_total;
    uint64_t answers;
};

static void add_to_mean(struct mean *mean, double value)
{
    if (!isfinite(value))
        return;
    mean->sum += value;
    mean->count++;
}

static json_t *json_mean(const struct mean *mean)
{
    return mean->count > 0 ? json_real(mean->sum / mean->count) : json_null();
}

static void add_record(struct recent *recent,
                       const struct journal_record *record)
{
    if (record->decision.prefix_total > 0 &&
        record->decision.prefix_matched >= 0) {
        recent->prefix_matched += record->decision.prefix_matched;
        recent->prefix_total += record->decision.prefix_total;
    }
    if (record->outcome != LBROUTE_EVENT_SUCCESS)
        return;
    recent->answers++;
    add_to_mean(&recent->first_token, record->first_token_ms);
    add_to_mean(&recent->total, record->total_ms);
}

bool journal_index_make(struct journal_index *index, struct journal *journal)
{
    const struct journal_record *record;
    uint64_t newest = journal_newest(journal), oldest = newest;

    while (journal_find(journal, oldest) != NULL)
        oldest--;
    index->count = 0;
    index->entries = calloc(newest - oldest + 1, sizeof(*index->entries));
    for (; index->entries != NULL && newest > oldest; newest--) {
        record = journal_find(journal, newest);
        index->entries[index->count++] =
            (struct journal_index_entry){record->decision.target, record};
    }
    return index->entries != NULL;
}

/* What strategies that learn no latency say nothing of. */
static json_t *recently(const struct journal_index *index,
                        lbroute_target target)
{
    json_t *object = json_object();
    struct recent recent = {{0.0, 0}, {0.0, 0}, 0, 0, 0};

    for (size_t i = 0; i < index->count; i++)
        if (index->entries[i].target == target)
            add_record(&recent, index->entries[i].record);
    json_put(object, "answers", json_count(recent.answers));
    json_put(object, "first_token_ms", json_mean(&recent.first_token));
    json_put(object, "total_ms", json_mean(&recent.total));
    json_put(object, "prefix_matched", json_integer(recent.prefix_matched));
    json_put(object, "prefix_total", json_integer(recent.prefix_total));
    return object;
}

static json_t *outcomes(const lbroute_target_stats *stats)
{
    json_t *object = json_object();

    for (int kind = LBROUTE_EVENT_SUCCESS; kind < LBROUTE_EVENT_COUNT; kind++)
        json_put(object, label_outcome(kind), json_count(stats->settled[kind]));
    json_put(object, "expired", json_count(stats->expired));
    return object;
}

static json_t *one_source(lbroute_router *router, lbroute_target target,
                          uint32_t source, uint64_t now)
{
    json_t *object = json_object();
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof(stats));
    lbroute_get_kv_source_stats(router, target, source, now, &stats);
    json_put(object, "source", json_count(source));
    json_put(object, "state", json_string(label_kv_state(stats.state)));
    json_put(object, "age_ms", json_ms(stats.age_ns));
    json_put(object, "block_size", json_count(stats.block_size));
    for (int medium = 0; medium < LBROUTE_MEDIUM_COUNT; medium++)
        json_put(object, label_medium(medium),
                 json_count(stats.blocks[medium]));
    json_put(object, "missing", json_count(stats.missing));
    json_put(object, "gaps", json_count(stats.gaps));
    json_put(object, "restarts", json_count(stats.restarts));
    return object;
}

static json_t *kv(lbroute_router *router, const struct target_view *view,
                  uint64_t now)
{
    json_t *object = json_object(), *sources = json_array();
    int64_t previous = -1;
    uint32_t source;

    while (lbroute_kv_source_next(router, view->target, previous, &source) ==
           LBROUTE_OK) {
        json_array_append_new(sources,
                              one_source(router, view->target, source, now));
        previous = source;
    }
    json_put(object, "state",
             json_string(label_kv_state(view->stats.kv_state)));
    json_put(object, "blocks", json_count(view->stats.kv_blocks));
    json_put(object, "age_ms", json_ms(view->stats.kv_age_ns));
    json_put(object, "sources", sources);
    return object;
}

/* Dollars per million tokens. */
static json_t *rate(int64_t pico_dollars)
{
    return pico_dollars < 0 ? json_null()
                            : json_real((double)pico_dollars / 1e6);
}

static json_t *price(lbroute_router *router, const lbroute_target_info *info)
{
    const char *key = info->price_key[0] ? info->price_key : info->model;
    json_t *object;
    lbroute_price price;

    lbroute_price_init(&price, sizeof(price));
    if (lbroute_get_price(router, key, strlen(key), &price) != LBROUTE_OK)
        return json_null();
    object = json_object();
    json_put(object, "input", rate(price.input));
    json_put(object, "cached_input", rate(price.cached_input));
    json_put(object, "output", rate(price.output));
    return object;
}

static void put_settings(json_t *object, const struct target_view *view)
{
    const lbroute_target_info *info = &view->info;

    json_put(object, "name", json_words(info->name));
    json_put(object, "pool", json_words(view->pool));
    json_put(object, "model", json_words(info->model));
    json_put(object, "tier", json_words(info->tier));
    json_put(object, "weight", json_figure(info->weight));
    json_put(object, "max_concurrency", json_count(info->max_concurrency));
    json_put(object, "max_input_tokens", json_count(info->max_input_tokens));
    json_put(object, "drained", json_boolean(info->draining));
}

static void put_health(json_t *object, const struct target_view *view)
{
    const lbroute_target_stats *stats = &view->stats;

    json_put(object, "state",
             json_string(target_state_name((int)target_view_state(view))));
    json_put(object, "benched", json_boolean(stats->benched));
    json_put(object, "bench_left_ms", json_ms(stats->bench_left_ns));
    json_put(object, "on_trial", json_boolean(stats->on_trial));
    json_put(object, "failures_in_row", json_count(stats->failures_in_row));
    json_put(object, "retry_left_ms", json_ms(stats->retry_left_ns));
}

static void put_load(json_t *object, const struct target_view *view)
{
    const lbroute_target_stats *stats = &view->stats;

    json_put(object, "effective_weight", json_figure(stats->weight));
    json_put(object, "load", json_figure(stats->load));
    json_put(object, "others", json_figure(stats->others));
    json_put(object, "in_flight", json_count(stats->in_flight));
    json_put(object, "limit", json_count(stats->limit));
    json_put(object, "picks", json_count(stats->picks));
    json_put(object, "outcomes", outcomes(stats));
    json_put(object, "share_configured", json_figure(view->share.configured));
    json_put(object, "share_dispatched", json_figure(view->share.dispatched));
    json_put(object, "drift", json_figure(view->share.drift));
    json_put(object, "drift_flagged", json_boolean(view->share.flagged));
}

static void put_caches(json_t *object, const struct target_view *view)
{
    const lbroute_target_stats *stats = &view->stats;

    json_put(object, "input_tokens", json_count(stats->input_tokens));
    json_put(object, "cached_tokens", json_count(stats->cached_tokens));
    json_put(object, "output_tokens", json_count(stats->output_tokens));
    json_put(object, "prefix_bytes", json_count(stats->prefix_bytes));
    json_put(object, "prefix_blocks", json_count(stats->prefix_blocks));
    json_put(object, "prefix_evicted", json_count(stats->prefix_evicted));
    json_put(object, "occupancy", json_figure(stats->occupancy));
    json_put(object, "occupancy_age_ms", json_ms(stats->occupancy_age_ns));
    json_put(object, "adapters", json_count(stats->adapters));
    json_put(object, "max_adapters", json_known(stats->max_adapters));
}

/* Made of its parts: the URL of a configuration may hold a password. */
static json_t *address(const struct backend *backend)
{
    char text[512];

    snprintf(text, sizeof(text), "%s://%.255s:%u%.200s",
             backend->tls ? "https" : "http", backend->host,
             (unsigned)backend->port,
             backend->base_path ? backend->base_path : "");
    return json_words(text);
}

static void put_backend(json_t *object, const struct backend *backend,
                        uint64_t now)
{
    int64_t age = -1;

    if (backend == NULL)
        return;
    if (backend->scraped_at >= 0)
        age = (int64_t)now - backend->scraped_at;
    json_put(object, "address", address(backend));
    json_put(object, "scrapes", json_count(backend->scrapes));
    json_put(object, "scrape_failures", json_count(backend->scrape_failures));
    json_put(object, "scrape_age_ms", json_ms(age));
    json_put(object, "kv_gaps", json_count(backend->kv_gaps));
    json_put(object, "kv_replays", json_count(backend->kv_replays));
    if (backend->connections != NULL)
        json_put(object, "idle_connections",
                 json_count(upstream_idle(backend->connections)));
}

json_t *target_json(lbroute_router *router, const struct journal_index *index,
                    const struct target_view *view, uint64_t now)
{
    json_t *object = json_object();

    put_settings(object, view);
    put_health(object, view);
    put_load(object, view);
    put_caches(object, view);
    put_backend(object, view->backend, now);
    json_put(object, "gauges", gauges(&view->stats));
    json_put(object, "latency", latencies(view));
    json_put(object, "recent", recently(index, view->target));
    json_put(object, "kv", kv(router, view, now));
    json_put(object, "price", price(router, &view->info));
    return object;
}
