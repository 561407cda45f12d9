/* SPDX-License-Identifier: MIT */
#include "support/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct text {
    char *bytes;
    size_t len;
    size_t capacity;
};

static void add_line(struct text *text, const char *line)
{
    size_t len = strlen(line);

    if (text->len + len + 2 > text->capacity) {
        text->capacity = (text->capacity + len + 2) * 2;
        text->bytes = realloc(text->bytes, text->capacity);
        assert_non_null(text->bytes);
    }
    memcpy(text->bytes + text->len, line, len);
    text->len += len;
    text->bytes[text->len++] = '\n';
    text->bytes[text->len] = '\0';
}

static void add_number(struct text *text, const char *what, uint64_t value)
{
    char line[128];
    snprintf(line, sizeof line, "%s=%llu", what, (unsigned long long)value);
    add_line(text, line);
}

static void add_real(struct text *text, const char *what, double value)
{
    char line[128];
    snprintf(line, sizeof line, "%s=%.17g", what, value);
    add_line(text, line);
}

static void add_word(struct text *text, const char *what, const char *value)
{
    char line[384];
    snprintf(line, sizeof line, "%s=%s", what, value);
    add_line(text, line);
}

static void add_counts(struct text *text, const char *what,
                       const uint64_t counts[16])
{
    char label[64];
    for (size_t i = 0; i < 16; i++) {
        snprintf(label, sizeof label, "%s[%zu]", what, i);
        add_number(text, label, counts[i]);
    }
}

static void add_totals(struct text *text, lbroute_router *router,
                       enum state_scope scope)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_stats(router, &stats), LBROUTE_OK);
    add_number(text, "picks", stats.picks);
    if (scope == STATE_FULL)
        add_counts(text, "rejections", stats.rejections);
    add_counts(text, "settled", stats.settled);
    add_number(text, "expired", stats.expired);
    add_number(text, "open_tickets", stats.open_tickets);
    add_number(text, "orphan_tickets", stats.orphan_tickets);
    add_number(text, "sessions", stats.sessions);
    add_number(text, "pools", stats.pools);
    add_number(text, "targets", stats.targets);
    add_number(text, "prices", stats.prices);
    add_number(text, "waiting", stats.waiting);
    add_number(text, "waiting_bytes", stats.waiting_bytes);
    add_number(text, "places", stats.places);
    add_number(text, "queued", stats.queued);
    add_number(text, "queue_served", stats.queue_served);
    add_number(text, "queue_timeouts", stats.queue_timeouts);
    add_number(text, "queue_cancelled", stats.queue_cancelled);
    add_number(text, "queue_refused", stats.queue_refused);
    add_number(text, "kv_blocks", stats.kv_blocks);
    add_number(text, "kv_contents", stats.kv_contents);
    add_number(text, "kv_sources", stats.kv_sources);
    add_number(text, "kv_evicted", stats.kv_evicted);
    add_number(text, "next_deadline", lbroute_next_deadline(router));
}

static void add_params(struct text *text, lbroute_router *router,
                       lbroute_pool pool)
{
    lbroute_param_info info;
    double value = 0;

    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++) {
        assert_int_equal(lbroute_pool_get(router, pool, info.name, &value),
                         LBROUTE_OK);
        add_real(text, info.name, value);
    }
}

static void add_shares(struct text *text, lbroute_router *router,
                       lbroute_pool pool, uint64_t now, size_t count)
{
    lbroute_share *shares = calloc(count + 1, sizeof *shares);
    size_t found = 0;

    assert_non_null(shares);
    for (size_t i = 0; i < count; i++)
        lbroute_share_init(&shares[i], sizeof shares[i]);
    assert_int_equal(
        lbroute_pool_shares(router, pool, now, shares, count, &found),
        LBROUTE_OK);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        add_number(text, "share.target", shares[i].target);
        add_number(text, "share.requests", shares[i].requests);
        add_real(text, "share.configured", shares[i].configured);
        add_real(text, "share.dispatched", shares[i].dispatched);
        add_real(text, "share.drift", shares[i].drift);
        add_number(text, "share.flagged", (uint64_t)shares[i].flagged);
        add_number(text, "share.causes", shares[i].causes);
    }
    free(shares);
}

static void add_capacity(struct text *text, lbroute_router *router,
                         lbroute_pool pool)
{
    lbroute_pool_stats stats;

    lbroute_pool_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_pool_stats(router, pool, &stats), LBROUTE_OK);
    add_number(text, "busy", (uint64_t)stats.busy);
    add_number(text, "mode_changes", stats.mode_changes);
    add_real(text, "arrivals", stats.arrivals);
    add_number(text, "pool.in_flight", stats.in_flight);
    add_number(text, "pool.limit", stats.limit);
    add_number(text, "pool.waiting", stats.waiting);
    add_number(text, "pool.queued", stats.queued);
}

static void add_pools(struct text *text, lbroute_router *router, uint64_t now)
{
    lbroute_pool pool = 0;
    lbroute_pool_info info;

    lbroute_pool_info_init(&info, sizeof info);
    while (lbroute_pool_next(router, pool, &pool) == LBROUTE_OK) {
        assert_int_equal(lbroute_pool_get_info(router, pool, &info),
                         LBROUTE_OK);
        add_number(text, "pool", pool);
        add_word(text, "name", info.name);
        add_word(text, "strategy", info.strategy);
        add_number(text, "targets", info.targets);
        add_params(text, router, pool);
        add_capacity(text, router, pool);
        add_shares(text, router, pool, now, info.targets);
    }
}

static void add_settings(struct text *text, lbroute_router *router,
                         lbroute_target target)
{
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof info);
    assert_int_equal(lbroute_target_get_info(router, target, &info),
                     LBROUTE_OK);
    add_number(text, "target", target);
    add_word(text, "name", info.name);
    add_number(text, "pool", info.pool);
    add_real(text, "weight", info.weight);
    add_number(text, "max_input_tokens", info.max_input_tokens);
    add_number(text, "max_concurrency", info.max_concurrency);
    add_number(text, "draining", (uint64_t)info.draining);
    add_number(text, "user", (uint64_t)(uintptr_t)info.user);
    add_word(text, "tier", info.tier);
    add_word(text, "model", info.model);
    add_word(text, "price_key", info.price_key);
}

static void add_figures(struct text *text, lbroute_router *router,
                        lbroute_target target, uint64_t now)
{
    lbroute_target_stats stats;

    lbroute_target_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_target_stats(router, target, now, &stats),
                     LBROUTE_OK);
    add_number(text, "picks", stats.picks);
    add_counts(text, "settled", stats.settled);
    add_number(text, "expired", stats.expired);
    add_number(text, "in_flight", stats.in_flight);
    add_number(text, "failures_in_row", stats.failures_in_row);
    add_number(text, "benches_in_row", stats.benches_in_row);
    add_number(text, "benched", (uint64_t)stats.benched);
    add_number(text, "on_trial", (uint64_t)stats.on_trial);
    add_number(text, "bench_left_ns", (uint64_t)stats.bench_left_ns);
    add_real(text, "effective_weight", stats.weight);
    add_real(text, "load", stats.load);
    add_real(text, "others", stats.others);
    for (size_t i = 0; i < LBROUTE_GAUGE_COUNT; i++) {
        add_real(text, "gauge", stats.gauges[i]);
        add_number(text, "gauge_age_ns", (uint64_t)stats.gauge_age_ns[i]);
    }
    add_number(text, "retry_left_ns", (uint64_t)stats.retry_left_ns);
    add_number(text, "limit", stats.limit);
    add_real(text, "occupancy", stats.occupancy);
    add_number(text, "occupancy_age_ns", (uint64_t)stats.occupancy_age_ns);
    add_number(text, "cache_available", (uint64_t)stats.cache_available);
    add_number(text, "cache_stale", (uint64_t)stats.cache_stale);
    add_number(text, "max_adapters", (uint64_t)stats.max_adapters);
    add_number(text, "adapters", stats.adapters);
    add_number(text, "kv_state", (uint64_t)stats.kv_state);
    add_number(text, "kv_blocks", stats.kv_blocks);
    add_number(text, "kv_age_ns", (uint64_t)stats.kv_age_ns);
}

static void add_source(struct text *text, const lbroute_kv_source_stats *stats)
{
    add_number(text, "state", (uint64_t)stats->state);
    add_number(text, "block_size", stats->block_size);
    add_number(text, "age_ns", (uint64_t)stats->age_ns);
    add_number(text, "next_seq", stats->next_seq);
    add_number(text, "missing", stats->missing);
    add_number(text, "first_missing", stats->first_missing);
    add_number(text, "last_missing", stats->last_missing);
    for (size_t i = 0; i < LBROUTE_MEDIUM_COUNT; i++)
        add_number(text, "blocks", stats->blocks[i]);
    add_number(text, "waiting", stats->waiting);
    add_number(text, "aside", stats->aside);
    add_number(text, "batches", stats->batches);
    add_number(text, "duplicates", stats->duplicates);
    add_number(text, "gaps", stats->gaps);
    add_number(text, "restarts", stats->restarts);
    add_number(text, "clears", stats->clears);
    add_number(text, "stored", stats->stored);
    add_number(text, "removed", stats->removed);
    add_number(text, "evicted", stats->evicted);
    add_counts(text, "reasons", stats->reasons);
}

static void add_sources(struct text *text, lbroute_router *router,
                        lbroute_target target, uint64_t now)
{
    lbroute_kv_source_stats stats;
    uint32_t source = 0;
    int64_t previous = -1;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    while (lbroute_kv_source_next(router, target, previous, &source) ==
           LBROUTE_OK) {
        assert_int_equal(
            lbroute_get_kv_source_stats(router, target, source, now, &stats),
            LBROUTE_OK);
        add_number(text, "source", source);
        add_source(text, &stats);
        previous = source;
    }
}

char *state_text(lbroute_router *router, uint64_t now, enum state_scope scope)
{
    struct text text = {NULL, 0, 0};
    lbroute_target target = 0;

    add_totals(&text, router, scope);
    add_pools(&text, router, now);
    while (lbroute_target_next(router, 0, target, &target) == LBROUTE_OK) {
        add_settings(&text, router, target);
        add_figures(&text, router, target, now);
        add_sources(&text, router, target, now);
    }
    return text.bytes;
}

/* Prints the first line in which two texts differ. */
static void print_difference(const char *before, const char *after)
{
    while (*before != '\0' && *after != '\0') {
        size_t old_len = strcspn(before, "\n");
        size_t new_len = strcspn(after, "\n");
        if (old_len != new_len || memcmp(before, after, old_len) != 0) {
            print_error("was %.*s, is %.*s\n", (int)old_len, before,
                        (int)new_len, after);
            return;
        }
        before += old_len + 1;
        after += new_len + 1;
    }
}

void state_check(lbroute_router *router, uint64_t now, enum state_scope scope,
                 char *before)
{
    char *after = state_text(router, now, scope);

    if (strcmp(before, after) != 0)
        print_difference(before, after);
    assert_string_equal(before, after);
    free(before);
    free(after);
}
