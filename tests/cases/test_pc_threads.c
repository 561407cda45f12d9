/* SPDX-License-Identifier: MIT */
/* KV events from several threads, one for each rank of the engines, while
 * others pick, read and forget. Workers call no assertion, they count. */
#include <pthread.h>
#include <stdatomic.h>

#include "kv_events.h"
#include "support/fleet.h"
#include "support/test.h"

enum { RANKS = 3, PICKERS = 2, ROUNDS = 1500, TARGETS = 2, LAST = 5 };

static struct {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
    atomic_size_t strange; /* Results that should not be. */
    atomic_size_t next;    /* Number of the next worker. */
    atomic_int stop;
} work;

static void expect(int condition)
{
    if (!condition)
        atomic_fetch_add(&work.strange, 1);
}

/* Blocks |label|, … of a rank: |count| of them, stored or removed. */
static void tell(lbroute_target target, uint32_t rank, uint64_t seq, int kind,
                 size_t count)
{
    uint64_t labels[LAST];
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_result result;

    for (size_t i = 0; i < LAST; i++)
        labels[i] = i;
    lbroute_kv_event_init(&event, sizeof event);
    event.kind = kind;
    event.hashes = labels;
    event.hash_count = count;
    event.tokens =
        kind == LBROUTE_KV_STORED ? kv_tokens(1 + rank * 1000) : NULL;
    event.token_count = kind == LBROUTE_KV_STORED ? count * KV_SIZE : 0;
    event.block_size = KV_SIZE;
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.seq = seq;
    batch.events = &event;
    batch.event_count = 1;
    lbroute_kv_result_init(&result, sizeof result);
    expect(lbroute_kv_apply(work.router, target, rank, &batch, 0, &result) ==
           LBROUTE_OK);
    expect(result.outcome == LBROUTE_KV_APPLIED);
    expect(result.state == LBROUTE_KV_SOURCE_FRESH);
}

/* Each round brings some blocks and takes them away; the last one stays. */
static void *speak(void *user)
{
    uint32_t rank = (uint32_t)atomic_fetch_add(&work.next, 1);
    uint64_t seq = 0;
    (void)user;

    for (size_t i = 0; i < ROUNDS; i++, seq += 2) {
        size_t count = 1 + (i + rank) % LAST;
        for (size_t t = 0; t < TARGETS; t++) {
            tell(work.targets[t], rank, seq, LBROUTE_KV_STORED, count);
            tell(work.targets[t], rank, seq + 1, LBROUTE_KV_REMOVED, count);
        }
    }
    for (size_t t = 0; t < TARGETS; t++)
        tell(work.targets[t], rank, seq, LBROUTE_KV_STORED, LAST - t);
    return NULL;
}

static void *ask(void *user)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;
    (void)user;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    lbroute_event_init(&event, sizeof event);
    event.kind = LBROUTE_EVENT_SUCCESS;
    request.pool = work.pool;
    for (uint32_t i = 0; !atomic_load(&work.stop); i++) {
        request.tokens = kv_tokens(1 + i % RANKS * 1000);
        request.tokens_len = (size_t)KV_SIZE * LAST;
        expect(lbroute_pick(work.router, &request, 0, &decision) == LBROUTE_OK);
        expect(decision.prefix_matched <= LAST);
        event.ticket = decision.ticket;
        expect(lbroute_observe(work.router, &event, 0) == LBROUTE_OK);
    }
    return NULL;
}

/* Another target, whose sources come and go, and a walk over all of them. */
static void *disturb(void *user)
{
    lbroute_kv_source_stats stats;
    lbroute_target_options options;
    (void)user;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    lbroute_target_options_init(&options, sizeof options);
    options.name = "another";
    options.name_len = 7;
    for (uint64_t i = 0; !atomic_load(&work.stop); i++) {
        lbroute_target target = 0;
        uint32_t source = 0;
        expect(lbroute_target_add(work.router, &options, 0, &target) ==
               LBROUTE_OK);
        tell(target, 0, i, LBROUTE_KV_STORED, LAST);
        expect(lbroute_kv_clear(work.router, target, 0, 0) == LBROUTE_OK);
        tell(target, 0, 7, LBROUTE_KV_STORED, 1);
        expect(lbroute_get_kv_source_stats(work.router, target, 0, 0, &stats) ==
               LBROUTE_OK);
        expect(stats.blocks[LBROUTE_MEDIUM_GPU] == 1);
        expect(lbroute_kv_source_next(work.router, target, -1, &source) ==
               LBROUTE_OK);
        expect(lbroute_target_remove(work.router, target) == LBROUTE_OK);
        expect(lbroute_kv_clear(work.router, target, 0, 0) ==
               LBROUTE_ERR_NOT_FOUND);
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*worker)(void *))
{
    assert_int_equal(pthread_create(thread, NULL, worker, NULL), 0);
}

static void pc_kind_ranks_in_threads(void **state)
{
    pthread_t ranks[RANKS], others[PICKERS + 1];
    struct fleet fleet;
    struct kv kv;
    (void)state;

    fleet_open(&fleet, "precise_cache_aware", TARGETS, 1);
    (void)kv_tokens(0);
    work.router = fleet.router;
    work.pool = fleet.pool;
    for (size_t t = 0; t < TARGETS; t++)
        work.targets[t] = fleet.targets[t];
    for (size_t i = 0; i < RANKS; i++)
        start(&ranks[i], speak);
    for (size_t i = 0; i < PICKERS; i++)
        start(&others[i], ask);
    start(&others[PICKERS], disturb);
    for (size_t i = 0; i < RANKS; i++)
        pthread_join(ranks[i], NULL);
    atomic_store(&work.stop, 1);
    for (size_t i = 0; i <= PICKERS; i++)
        pthread_join(others[i], NULL);
    assert_int_equal(work.strange, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (size_t t = 0; t < TARGETS; t++) {
            kv_open(&kv, &fleet, t);
            kv.source = rank;
            assert_int_equal(kv_stats(&kv).batches, 2 * ROUNDS + 1);
            assert_int_equal(kv_stats(&kv).blocks[LBROUTE_MEDIUM_GPU],
                             LAST - t);
            assert_int_equal(kv_count(&fleet, t, 1 + rank * 1000,
                                      rank * 1000 + LAST * KV_SIZE),
                             LAST - t);
        }
    }
    assert_int_equal(fleet_totals(&fleet).kv_sources, RANKS * TARGETS);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc_kind_ranks_in_threads),
    };
    return cmocka_run_group_tests_name("PC threads", tests, NULL, NULL);
}
