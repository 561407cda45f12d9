/* SPDX-License-Identifier: MIT */
#include "kv_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

const uint32_t *kv_tokens(uint32_t first)
{
    static uint32_t ids[KV_TOKENS];

    assert_true(first < KV_TOKENS);
    for (uint32_t i = 0; i < KV_TOKENS && ids[KV_TOKENS - 1] == 0; i++)
        ids[i] = i;
    return ids + first;
}

void kv_open(struct kv *kv, struct fleet *fleet, size_t index)
{
    memset(kv, 0, sizeof *kv);
    kv->fleet = fleet;
    kv->index = index;
    kv->timestamp = (double)NAN;
    kv->block_size = KV_SIZE;
    kv->medium = LBROUTE_MEDIUM_ANY;
}

/* ---- batches ---- */

void kv_begin(struct kv *kv)
{
    kv->gathering = 1;
}

int kv_send(struct kv *kv)
{
    lbroute_kv_batch batch;
    struct fleet *fleet = kv->fleet;

    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = kv->seq;
    batch.timestamp = kv->timestamp;
    batch.events = kv->events;
    batch.event_count = kv->count;
    lbroute_kv_result_init(&kv->result, sizeof kv->result);
    assert_int_equal(lbroute_kv_apply(fleet->router, fleet->targets[kv->index],
                                      kv->source, &batch, fleet->now,
                                      &kv->result),
                     LBROUTE_OK);
    kv->seq += kv->seq != UINT64_MAX;
    kv->count = 0;
    kv->gathering = 0;
    return kv->result.outcome;
}

static int add(struct kv *kv)
{
    kv->count++;
    return kv->gathering ? 0 : kv_send(kv);
}

/* The next event of the batch, with what all events have. */
static lbroute_kv_event *next_event(struct kv *kv, int kind, uint64_t label,
                                    size_t count)
{
    lbroute_kv_event *event = &kv->events[kv->count];
    uint64_t *hashes = kv->hashes[kv->count];

    assert_true(kv->count < KV_EVENTS);
    assert_true(count <= KV_BLOCKS);
    lbroute_kv_event_init(event, sizeof *event);
    for (size_t i = 0; i < count; i++)
        hashes[i] = label + i;
    event->kind = kind;
    event->medium = kv->medium;
    event->group = kv->group;
    event->hashes = hashes;
    event->hash_count = count;
    return event;
}

int kv_send_event(struct kv *kv, const lbroute_kv_event *event)
{
    assert_true(kv->count < KV_EVENTS);
    kv->events[kv->count] = *event;
    return add(kv);
}

static lbroute_kv_event *store(struct kv *kv, uint64_t label, uint32_t first,
                               uint32_t last)
{
    size_t tokens = last - first + 1;
    lbroute_kv_event *event =
        next_event(kv, LBROUTE_KV_STORED, label, tokens / kv->block_size);

    assert_int_equal(tokens % kv->block_size, 0);
    assert_true(last < KV_TOKENS);
    event->tokens = kv_tokens(first);
    event->token_count = tokens;
    event->block_size = kv->block_size;
    event->adapter = kv->adapter;
    event->adapter_len = kv->adapter ? strlen(kv->adapter) : 0;
    event->salt = kv->salt;
    event->salt_len = kv->salt ? strlen(kv->salt) : 0;
    event->extra_keys = kv->extra_keys;
    event->extra_key_count = kv->extra_key_count;
    return event;
}

int kv_store(struct kv *kv, uint64_t label, uint32_t first, uint32_t last)
{
    (void)store(kv, label, first, last);
    return add(kv);
}

int kv_store_after(struct kv *kv, uint64_t parent, uint64_t label,
                   uint32_t first, uint32_t last)
{
    lbroute_kv_event *event = store(kv, label, first, last);

    event->has_parent = 1;
    event->parent = parent;
    return add(kv);
}

int kv_locate(struct kv *kv, uint64_t label, size_t count)
{
    (void)next_event(kv, LBROUTE_KV_STORED, label, count);
    return add(kv);
}

int kv_remove(struct kv *kv, uint64_t label, size_t count)
{
    (void)next_event(kv, LBROUTE_KV_REMOVED, label, count);
    return add(kv);
}

int kv_empty(struct kv *kv)
{
    (void)next_event(kv, LBROUTE_KV_CLEARED, 0, 0);
    return add(kv);
}

void kv_forget(struct kv *kv)
{
    assert_int_equal(lbroute_kv_clear(kv->fleet->router,
                                      kv->fleet->targets[kv->index], kv->source,
                                      kv->fleet->now),
                     LBROUTE_OK);
}

/* ---- what came of it ---- */

lbroute_kv_source_stats kv_stats(const struct kv *kv)
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_kv_source_stats(
                         kv->fleet->router, kv->fleet->targets[kv->index],
                         kv->source, kv->fleet->now, &stats),
                     LBROUTE_OK);
    return stats;
}

void kv_expect(const struct kv *kv, int outcome, int state)
{
    assert_int_equal(kv->result.outcome, outcome);
    assert_int_equal(kv->result.state, state);
    assert_int_equal(kv_stats(kv).state, state);
}

static void expect_hole(uint64_t missing, uint64_t hole_first,
                        uint64_t hole_last, uint64_t first, uint64_t last)
{
    if (first > last) {
        assert_int_equal(missing, 0);
        return;
    }
    assert_true(missing >= last - first + 1);
    assert_int_equal(hole_first, first);
    assert_int_equal(hole_last, last);
}

/* All three ways to ask say the same. */
void kv_expect_missing(const struct kv *kv, uint64_t first, uint64_t last)
{
    lbroute_kv_source_stats stats = kv_stats(kv);
    uint64_t from = 0;
    uint64_t to = 0;

    expect_hole(kv->result.missing, kv->result.first_missing,
                kv->result.last_missing, first, last);
    expect_hole(stats.missing, stats.first_missing, stats.last_missing, first,
                last);
    assert_int_equal(lbroute_kv_missing(kv->fleet->router,
                                        kv->fleet->targets[kv->index],
                                        kv->source, &from, &to),
                     first > last ? LBROUTE_ERR_NOT_FOUND : LBROUTE_OK);
    if (first <= last)
        expect_hole(last - first + 1, from, to, first, last);
}

/* ---- requests ---- */

static uint32_t asked[KV_TOKENS];

void kv_ask(struct fleet *fleet, uint32_t first, uint32_t last)
{
    fleet->request.tokens = asked;
    fleet->request.tokens_len = 0;
    kv_ask_more(fleet, first, last);
}

void kv_ask_more(struct fleet *fleet, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id <= last; id++) {
        assert_true(fleet->request.tokens_len < KV_TOKENS);
        asked[fleet->request.tokens_len++] = id;
    }
}

/* How the target fares with the request now. */
static lbroute_candidate explain(struct fleet *fleet, size_t index)
{
    lbroute_candidate *rows = calloc(fleet->count, sizeof *rows);
    lbroute_candidate row;
    lbroute_decision decision;
    size_t count = 0;

    assert_non_null(rows);
    lbroute_candidate_init(&row, sizeof row);
    for (size_t i = 0; i < fleet->count; i++)
        rows[i] = row;
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, rows, fleet->count, &count),
                     LBROUTE_OK);
    assert_true(count <= fleet->count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].target == fleet->targets[index])
            row = rows[i];
    }
    free(rows);
    assert_int_equal(row.target, fleet->targets[index]);
    return row;
}

int64_t kv_resident(struct fleet *fleet, size_t index)
{
    lbroute_candidate row = explain(fleet, index);
    int64_t sum = 0;

    for (int i = 0; i < LBROUTE_MEDIUM_COUNT; i++) {
        if (row.kv_blocks[i] < 0)
            return -1;
        sum += row.kv_blocks[i];
    }
    return sum;
}

int64_t kv_resident_in(struct fleet *fleet, size_t index, int medium)
{
    return explain(fleet, index).kv_blocks[medium];
}

int kv_state(struct fleet *fleet, size_t index)
{
    return explain(fleet, index).kv_state;
}

int64_t kv_count(struct fleet *fleet, size_t index, uint32_t first,
                 uint32_t last)
{
    kv_ask(fleet, first, last);
    return kv_resident(fleet, index);
}

void kv_expect_pick(struct fleet *fleet, size_t index, int64_t matched)
{
    assert_int_equal(fleet_serve(fleet), index);
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        "precise_cache_aware");
    assert_int_equal(fleet->decision.prefix_matched, matched);
    assert_int_equal(fleet->decision.kv_state, LBROUTE_KV_SOURCE_FRESH);
}

size_t kv_expect_load(struct fleet *fleet)
{
    size_t index = fleet_serve(fleet);

    assert_true(index != FLEET_NONE);
    assert_string_equal(lbroute_rule_name(fleet->decision.rule),
                        "least_connections");
    return index;
}
