/* SPDX-License-Identifier: MIT */
/* Bad KV events: malformed calls are refused and change nothing; events that
 * make no sense are counted, and the rest of their batch is taken over. */
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "kv_events.h"

static struct busy busy;
static struct kv good; /* Source 0 of the first target, with four blocks. */
static lbroute_router *router;
static lbroute_target target;

static void open_busy(void)
{
    busy_open(&busy, "precise_cache_aware");
    router = busy.fleet.router;
    target = busy.fleet.targets[0];
    kv_open(&good, &busy.fleet, 0);
    kv_store(&good, 1, 1, 64);
    kv_open(&good, &busy.twin, 0);
    kv_store(&good, 1, 1, 64);
    good.fleet = &busy.fleet;
}

/* Both routers hold what they held. */
static void close_busy(void)
{
    kv_ask(&busy.fleet, 1, 64);
    busy.twin.request.tokens = busy.fleet.request.tokens;
    busy.twin.request.tokens_len = busy.fleet.request.tokens_len;
    assert_int_equal(kv_resident(&busy.fleet, 0), 4);
    assert_int_equal(kv_resident(&busy.twin, 0), 4);
    busy_close(&busy);
}

/* A store of one block, and the batch of it, which is the next one. */
static const uint64_t some_label = 77;
static const uint64_t other_label = 78;

static void next_batch(lbroute_kv_event *event, lbroute_kv_batch *batch)
{
    lbroute_kv_event_init(event, sizeof *event);
    event->kind = LBROUTE_KV_STORED;
    event->hashes = &some_label;
    event->hash_count = 1;
    event->tokens = kv_tokens(1001);
    event->token_count = KV_SIZE;
    event->block_size = KV_SIZE;
    lbroute_kv_batch_init(batch, sizeof *batch);
    batch->seq = 1;
    batch->events = event;
    batch->event_count = 1;
}

static int apply(uint32_t source, const lbroute_kv_batch *batch)
{
    return lbroute_kv_apply(router, target, source, batch, busy.fleet.now,
                            NULL);
}

#define BAD(code, call) REFUSED(&busy, code, call)
#define INVALID(call) BAD(LBROUTE_ERR_INVALID, call)

/* ---- calls ---- */

static void kv_null_arguments(void **state)
{
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_source_stats stats;
    uint64_t number = 0;
    uint32_t source = 0;
    uint64_t now;
    (void)state;

    open_busy();
    now = busy.fleet.now;
    next_batch(&event, &batch);
    lbroute_kv_source_stats_init(&stats, sizeof stats);
    INVALID(lbroute_kv_apply(NULL, target, 0, &batch, now, NULL));
    INVALID(apply(0, NULL));
    batch.events = NULL;
    INVALID(apply(0, &batch));
    batch.event_count = SIZE_MAX;
    INVALID(apply(0, &batch));
    INVALID(lbroute_kv_clear(NULL, target, 0, now));
    INVALID(lbroute_kv_missing(NULL, target, 0, &number, &number));
    INVALID(lbroute_kv_missing(router, target, 0, NULL, &number));
    INVALID(lbroute_kv_missing(router, target, 0, &number, NULL));
    INVALID(lbroute_get_kv_source_stats(NULL, target, 0, now, &stats));
    INVALID(lbroute_get_kv_source_stats(router, target, 0, now, NULL));
    INVALID(lbroute_kv_source_next(NULL, target, -1, &source));
    INVALID(lbroute_kv_source_next(router, target, -1, NULL));
    lbroute_kv_event_init(NULL, sizeof event);
    lbroute_kv_batch_init(NULL, sizeof batch);
    lbroute_kv_result_init(NULL, sizeof(lbroute_kv_result));
    lbroute_kv_source_stats_init(NULL, sizeof stats);
    assert_int_equal(lbroute_kv_fold_key(0, NULL, 0), 0);
    assert_int_equal(lbroute_kv_fold_key(7, NULL, 5), 7);
    close_busy();
}

static void not_a_target(lbroute_target handle)
{
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_source_stats stats;
    uint64_t number = 0;
    uint32_t source = 0;
    uint64_t now = busy.fleet.now;

    next_batch(&event, &batch);
    lbroute_kv_source_stats_init(&stats, sizeof stats);
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_apply(router, handle, 0, &batch, now, NULL));
    BAD(LBROUTE_ERR_NOT_FOUND, lbroute_kv_clear(router, handle, 0, now));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_clear(router, handle, UINT32_MAX, now));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_missing(router, handle, 0, &number, &number));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_get_kv_source_stats(router, handle, 0, now, &stats));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_source_next(router, handle, -1, &source));
    assert_int_equal(stats.next_seq, 0);
}

static void kv_bad_handles(void **state)
{
    (void)state;

    open_busy();
    not_a_target(0);
    not_a_target(UINT64_MAX);
    not_a_target(busy.gone_target);
    not_a_target(busy.pools[0]);
    not_a_target(busy.open_ticket);
    close_busy();
}

static void kv_bad_sources(void **state)
{
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_source_stats stats;
    uint64_t number = 0;
    uint32_t source = 0;
    uint64_t now;
    (void)state;

    open_busy();
    now = busy.fleet.now;
    next_batch(&event, &batch);
    lbroute_kv_source_stats_init(&stats, sizeof stats);
    BAD(LBROUTE_ERR_RANGE, apply(UINT32_MAX, &batch));
    BAD(LBROUTE_ERR_NOT_FOUND, lbroute_kv_clear(router, target, 1, now));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_missing(router, target, 0, &number, &number));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_missing(router, target, 1, &number, &number));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_get_kv_source_stats(router, target, 1, now, &stats));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_get_kv_source_stats(router, target, UINT32_MAX, now, &stats));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_source_next(router, target, 0, &source));
    BAD(LBROUTE_ERR_NOT_FOUND,
        lbroute_kv_source_next(router, target, INT64_MAX, &source));
    close_busy();
}

/* ---- structs ---- */

static void kv_bad_sizes(void **state)
{
    static const size_t odd[] = {
        0,
        1,
        sizeof(size_t) / 2,
        sizeof(size_t) - 1,
        sizeof(size_t) + 1,
        sizeof(size_t) + sizeof(size_t) / 2,
    };
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_result result;
    lbroute_kv_source_stats stats;
    (void)state;

    open_busy();
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        next_batch(&event, &batch);
        event.size = odd[i];
        INVALID(apply(0, &batch));
        next_batch(&event, &batch);
        batch.size = odd[i];
        INVALID(apply(0, &batch));
        next_batch(&event, &batch);
        lbroute_kv_result_init(&result, sizeof result);
        result.size = odd[i];
        INVALID(lbroute_kv_apply(router, target, 0, &batch, busy.fleet.now,
                                 &result));
        lbroute_kv_source_stats_init(&stats, sizeof stats);
        stats.size = odd[i];
        INVALID(lbroute_get_kv_source_stats(router, target, 0, busy.fleet.now,
                                            &stats));
    }
    close_busy();
}

/* A caller from the future, whose structs have a tail. */
struct long_event {
    lbroute_kv_event known;
    unsigned char tail[64];
};

struct long_batch {
    lbroute_kv_batch known;
    unsigned char tail[64];
};

static void kv_longer_structs(void **state)
{
    struct long_event events[2];
    struct long_batch batch;
    lbroute_kv_event event;
    (void)state;

    open_busy();
    for (size_t at = 0; at < 64; at += 9) {
        memset(&batch, 0, sizeof batch);
        memset(events, 0, sizeof events);
        next_batch(&event, &batch.known);
        events[0].known = events[1].known = event;
        events[0].known.size = events[1].known.size = sizeof events[0];
        events[1].known.tokens = kv_tokens(2001);
        events[1].known.hashes = &other_label;
        batch.known.size = sizeof batch;
        batch.known.events = &events[0].known;
        batch.known.event_count = 2;
        events[at % 2].tail[at] = 1;
        BAD(LBROUTE_ERR_UNSUPPORTED, apply(0, &batch.known));
        events[at % 2].tail[at] = 0;
        batch.tail[at] = 0x80;
        BAD(LBROUTE_ERR_UNSUPPORTED, apply(0, &batch.known));
        batch.tail[at] = 0;
    }
    assert_int_equal(apply(1, &batch.known), LBROUTE_OK);
    kv_ask(&busy.fleet, 2001, 2016);
    assert_int_equal(kv_resident(&busy.fleet, 0), 1);
    assert_int_equal(lbroute_kv_clear(router, target, 1, busy.fleet.now),
                     LBROUTE_OK);
    busy.fleet.request.tokens_len = 0;
    busy_close(&busy);
}

/* A caller from the past, whose structs end early, each on a page of its
 * own. */
static void kv_shorter_structs(void **state)
{
    size_t event_size = offsetof(lbroute_kv_event, adapter);
    size_t batch_size = offsetof(lbroute_kv_batch, more);
    lbroute_kv_event full;
    lbroute_kv_batch full_batch;
    char *events = malloc(2 * event_size);
    lbroute_kv_batch *batch = malloc(batch_size);
    struct fleet fleet;
    (void)state;

    assert_non_null(events);
    assert_non_null(batch);
    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    next_batch(&full, &full_batch);
    full.size = event_size;
    full.tokens = kv_tokens(1);
    memcpy(events, &full, event_size);
    full.hashes = &other_label;
    full.tokens = kv_tokens(17);
    memcpy(events + event_size, &full, event_size);
    full_batch.size = batch_size;
    full_batch.events = (const lbroute_kv_event *)(void *)events;
    full_batch.event_count = 2;
    memcpy(batch, &full_batch, batch_size);
    assert_int_equal(
        lbroute_kv_apply(fleet.router, fleet.targets[0], 0, batch, 0, NULL),
        LBROUTE_OK);
    assert_int_equal(kv_count(&fleet, 0, 1, 16), 1);
    assert_int_equal(kv_count(&fleet, 0, 17, 32), 1);
    free(events);
    free(batch);
    fleet_close(&fleet);
}

/* Answers end where the caller's struct ends. */
static void kv_shorter_answers(void **state)
{
    (void)state;

    open_busy();
    for (size_t size = 8; size <= sizeof(lbroute_kv_source_stats); size += 8) {
        lbroute_kv_source_stats *stats = malloc(size);
        lbroute_kv_result *result = malloc(size);
        assert_non_null(stats);
        assert_non_null(result);
        lbroute_kv_source_stats_init(stats, size);
        assert_int_equal(lbroute_get_kv_source_stats(router, target, 0,
                                                     busy.fleet.now, stats),
                         LBROUTE_OK);
        assert_int_equal(stats->size, size);
        if (size <= sizeof *result) {
            lbroute_kv_batch batch;
            lbroute_kv_batch_init(&batch, sizeof batch);
            lbroute_kv_result_init(result, size);
            assert_int_equal(lbroute_kv_apply(router, target, 0, &batch,
                                              busy.fleet.now, result),
                             LBROUTE_OK);
            assert_int_equal(result->size, size);
        }
        free(stats);
        free(result);
    }
    busy_close(&busy);
}

/* ---- pointers without what they point to ---- */

static void kv_null_with_a_length(void **state)
{
    static const uint64_t extras[2] = {1, 2};
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    (void)state;

    open_busy();
#define WITH(field, length)                                                    \
    do {                                                                       \
        next_batch(&event, &batch);                                            \
        event.field = NULL;                                                    \
        event.length = 1;                                                      \
        INVALID(apply(0, &batch));                                             \
        event.length = SIZE_MAX;                                               \
        INVALID(apply(0, &batch));                                             \
    } while (0)
    WITH(hashes, hash_count);
    WITH(tokens, token_count);
    WITH(blocks, block_count);
    WITH(adapter, adapter_len);
    WITH(salt, salt_len);
    WITH(extra_keys, extra_key_count);
#undef WITH
    next_batch(&event, &batch);
    event.extra_keys = extras;
    event.extra_key_count = 2;
    INVALID(apply(0, &batch));
    close_busy();
}

static void kv_bad_parts(void **state)
{
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    (void)state;

    open_busy();
    next_batch(&event, &batch);
    batch.continued = 1;
    INVALID(apply(0, &batch));
    INVALID(apply(5, &batch));
    batch.seq = 0;
    INVALID(apply(0, &batch));
    next_batch(&event, &batch);
    batch.continued = 2;
    INVALID(apply(0, &batch));
    batch.continued = 0;
    batch.more = -1;
    INVALID(apply(0, &batch));
    close_busy();
}

/* ---- events that make no sense ---- */

/* Sends the event between two good ones: it is counted, they are taken. */
static void expect_skipped(const lbroute_kv_event *event)
{
    struct fleet fleet;
    struct kv a;

    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    kv_open(&a, &fleet, 0);
    kv_begin(&a);
    kv_store(&a, 1, 1, 16);
    kv_send_event(&a, event);
    kv_store(&a, 2, 101, 116);
    assert_int_equal(kv_send(&a), LBROUTE_KV_PARTIAL);
    assert_int_equal(a.result.reasons[LBROUTE_KV_REASON_EVENT], 1);
    assert_int_equal(a.result.stored, 2);
    assert_int_equal(a.result.removed, 0);
    assert_int_equal(kv_count(&fleet, 0, 1, 16), 1);
    assert_int_equal(kv_count(&fleet, 0, 101, 116), 1);
    assert_int_equal(kv_count(&fleet, 0, 1001, 1016), 0);
    kv_expect(&a, LBROUTE_KV_PARTIAL, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(kv_stats(&a).reasons[LBROUTE_KV_REASON_EVENT], 1);
    fleet_close(&fleet);
}

static void kv_bad_events(void **state)
{
    static const int32_t kinds[] = {0, -1, 4, 99, INT32_MAX, INT32_MIN};
    static const int32_t media[] = {-2, 3, 4, 99, INT32_MAX, INT32_MIN};
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    (void)state;

    for (size_t i = 0; i < 6; i++) {
        next_batch(&event, &batch);
        event.kind = kinds[i];
        expect_skipped(&event);
        next_batch(&event, &batch);
        event.medium = media[i];
        expect_skipped(&event);
        event.kind = LBROUTE_KV_REMOVED;
        event.tokens = NULL;
        event.token_count = 0;
        expect_skipped(&event);
    }
    next_batch(&event, &batch);
    event.block_size = 0;
    expect_skipped(&event);
}

/* Counts beyond anything: only what is complete on both sides is looked at. */
static void kv_huge_counts(void **state)
{
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    struct fleet fleet;
    struct kv a;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    kv_open(&a, &fleet, 0);
    next_batch(&event, &batch);
    event.block_size = UINT32_MAX;
    assert_int_equal(kv_send_event(&a, &event), LBROUTE_KV_PARTIAL);
    assert_int_equal(a.result.stored, 0);
    next_batch(&event, &batch);
    event.hash_count = SIZE_MAX;
    assert_int_equal(kv_send_event(&a, &event), LBROUTE_KV_PARTIAL);
    assert_int_equal(a.result.stored, 1);
    next_batch(&event, &batch);
    event.tokens = kv_tokens(101);
    event.token_count = SIZE_MAX;
    assert_int_equal(kv_send_event(&a, &event), LBROUTE_KV_PARTIAL);
    assert_int_equal(kv_count(&fleet, 0, 101, 116), 1);
    assert_true(fleet.alloc.peak_bytes < (size_t)64 << 20);
    fleet_close(&fleet);
}

/* Images that cannot be. */
static void kv_bad_items(void **state)
{
    lbroute_mm_item items[2] = {{"a", 1, 0, 4}, {"b", 1, 8, 4}};
    lbroute_decision decision;
    struct fleet *fleet = &busy.fleet;
    (void)state;

    open_busy();
    lbroute_decision_init(&decision, sizeof decision);
    kv_ask(fleet, 1, 64);
    fleet->request.mm_items = items;
    fleet->request.mm_item_count = 2;
#define BAD_ITEM(code)                                                         \
    BAD(code, lbroute_pick(router, &fleet->request, fleet->now, &decision))
    items[1].id = NULL;
    BAD_ITEM(LBROUTE_ERR_INVALID);
    items[1].id = "b";
    items[1].id_len = 0;
    BAD_ITEM(LBROUTE_ERR_RANGE);
    items[1].id_len = 1;
    items[1].count = 0;
    BAD_ITEM(LBROUTE_ERR_RANGE);
    items[1].count = UINT64_MAX;
    BAD_ITEM(LBROUTE_ERR_RANGE);
    items[1].count = 4;
    items[0].begin = 9;
    BAD_ITEM(LBROUTE_ERR_RANGE);
    items[0].begin = 5;
    BAD_ITEM(LBROUTE_ERR_RANGE);
    items[0].begin = 0;
    fleet->request.mm_items = NULL;
    BAD_ITEM(LBROUTE_ERR_INVALID);
    fleet->request.mm_items = items;
    fleet->request.mm_item_count = 65537;
    BAD_ITEM(LBROUTE_ERR_RANGE);
#undef BAD_ITEM
    fleet->request.mm_items = NULL;
    fleet->request.mm_item_count = 0;
    close_busy();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kv_null_arguments),
        cmocka_unit_test(kv_bad_handles),
        cmocka_unit_test(kv_bad_sources),
        cmocka_unit_test(kv_bad_sizes),
        cmocka_unit_test(kv_longer_structs),
        cmocka_unit_test(kv_shorter_structs),
        cmocka_unit_test(kv_shorter_answers),
        cmocka_unit_test(kv_null_with_a_length),
        cmocka_unit_test(kv_bad_parts),
        cmocka_unit_test(kv_bad_events),
        cmocka_unit_test(kv_huge_counts),
        cmocka_unit_test(kv_bad_items),
    };
    return cmocka_run_group_tests_name("bad KV events", tests, NULL, NULL);
}
