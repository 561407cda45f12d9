/* SPDX-License-Identifier: MIT */
/* Field reports about threads: several of them on one router. Workers call no
 * assertion, they count; the main thread checks the sums. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "support/fleet.h"
#include "support/test.h"

enum { THREADS = 4 };

/* What the workers of a test share. */
struct work {
    lbroute_router *router;
    lbroute_pool pool;
    size_t rounds;
    int kind;                      /* How requests end; 0: held open. */
    const struct fleet_held *held; /* Tickets for settle_all(). */
    size_t held_count;
    pthread_barrier_t start;
    atomic_size_t done;    /* Calls with result 0. */
    atomic_size_t refused; /* SATURATED or NOT_FOUND, as expected. */
    atomic_size_t strange; /* Anything else. */
    atomic_int open;       /* Picked and not yet settled. */
    atomic_int most_open;
    atomic_int stop;
};

static void count(struct work *work, int code, int expected)
{
    if (code == LBROUTE_OK)
        atomic_fetch_add(&work->done, 1);
    else if (code == expected)
        atomic_fetch_add(&work->refused, 1);
    else
        atomic_fetch_add(&work->strange, 1);
}

static int settle(struct work *work, lbroute_ticket ticket, int kind)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    return lbroute_observe(work->router, &event, 0);
}

static void note_most(struct work *work, int open)
{
    int most = atomic_load(&work->most_open);

    while (open > most &&
           !atomic_compare_exchange_weak(&work->most_open, &most, open))
        continue;
}

static void *pick_and_settle(void *user)
{
    struct work *work = user;
    lbroute_request request;
    lbroute_decision decision;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = work->pool;
    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < work->rounds; i++) {
        int code = lbroute_pick(work->router, &request, 0, &decision);
        count(work, code, LBROUTE_ERR_SATURATED);
        if (code != LBROUTE_OK || work->kind == 0)
            continue;
        note_most(work, atomic_fetch_add(&work->open, 1) + 1);
        /* The slot counts as free from before the call that frees it. */
        atomic_fetch_sub(&work->open, 1);
        if (settle(work, decision.ticket, work->kind) != LBROUTE_OK)
            atomic_fetch_add(&work->strange, 1);
    }
    return NULL;
}

static void *settle_all(void *user)
{
    struct work *work = user;

    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < work->held_count; i++)
        count(work, settle(work, work->held[i].ticket, work->kind),
              LBROUTE_ERR_NOT_FOUND);
    return NULL;
}

static void work_on(struct work *work, struct fleet *fleet, size_t rounds,
                    int kind)
{
    *work = (struct work){.router = fleet->router,
                          .pool = fleet->pool,
                          .rounds = rounds,
                          .kind = kind,
                          .held = fleet->held,
                          .held_count = fleet->held_count};
    assert_int_equal(pthread_barrier_init(&work->start, NULL, THREADS), 0);
}

static void run(struct work *work, void *(*worker)(void *))
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, worker, work), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&work->start);
    assert_int_equal(work->strange, 0);
}

/* Several threads report the end of the same requests: one wins each time and
 * the others learn that they are late. */
static void li_03_settled_by_several_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    (void)state;

    for (int round = 0; round < 50; round++) {
        fleet_open(&fleet, "least_connections", 0, 1);
        fleet_add_limit(&fleet, 0);
        fleet_hold(&fleet, 0, 200);
        work_on(&work, &fleet, 0, LBROUTE_EVENT_SUCCESS);
        run(&work, settle_all);
        assert_int_equal(work.done, 200);
        assert_int_equal(work.refused, (THREADS - 1) * 200);
        assert_int_equal(fleet_in_flight(&fleet, 0), 0);
        assert_int_equal(fleet_totals(&fleet).settled[LBROUTE_EVENT_SUCCESS],
                         200);
        fleet_close(&fleet);
    }
}

/* A limit holds for all threads together. */
static void co_05_limit_under_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    fleet_add_limit(&fleet, 3);
    work_on(&work, &fleet, 5000, LBROUTE_EVENT_SUCCESS);
    run(&work, pick_and_settle);
    assert_true(work.most_open <= 3);
    assert_int_equal(work.done + work.refused, THREADS * 5000);
    assert_int_equal(fleet_in_flight(&fleet, 0), 0);
    fleet_close(&fleet);

    fleet_open(&fleet, "random", 0, 1);
    fleet_add_limit(&fleet, 5);
    work_on(&work, &fleet, 40, 0);
    run(&work, pick_and_settle);
    assert_int_equal(work.done, 5);
    assert_int_equal(work.refused, THREADS * 40 - 5);
    fleet_close(&fleet);
}

/* The cursor and the sums belong to the pool, not to a thread: totals are
 * exact whatever the interleaving. */
static void rr_wrr_kind_exact_totals(void **state)
{
    struct fleet fleet;
    struct work work;
    (void)state;

    fleet_open(&fleet, "round_robin", 5, 1);
    work_on(&work, &fleet, 2500, LBROUTE_EVENT_SUCCESS);
    run(&work, pick_and_settle);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(fleet_stats(&fleet, i).picks, THREADS * 2500 / 5);
    fleet_close(&fleet);

    fleet_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 4; i++)
        fleet_add_weight(&fleet, (double)(i + 1));
    work_on(&work, &fleet, 2500, LBROUTE_EVENT_SUCCESS);
    run(&work, pick_and_settle);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fleet_stats(&fleet, i).picks,
                         THREADS * 2500 * (i + 1) / 10);
    fleet_close(&fleet);
}

/* A burst from several threads sees each other's requests at once. */
static void lc_06_burst_from_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    (void)state;

    fleet_open(&fleet, "least_connections", 0, 1);
    for (size_t i = 0; i < 8; i++) {
        fleet_add_limit(&fleet, 0);
        fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, 2);
    }
    work_on(&work, &fleet, 400, 0);
    run(&work, pick_and_settle);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(fleet_in_flight(&fleet, i), THREADS * 400 / 8);
    fleet_close(&fleet);
}

/* At the end of a bench one thread gets the trial, the others do not. */
static void bn_kind_one_trial_for_all_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    (void)state;

    for (int round = 0; round < 100; round++) {
        fleet_open(&fleet, "least_connections", 0, 1);
        fleet_add_limit(&fleet, 0);
        fleet_add_limit(&fleet, 0);
        fleet_hold(&fleet, 1, 1000);
        fleet_bench(&fleet, 0, 1);
        fleet.now = 1;
        lbroute_tick(fleet.router, fleet.now);
        work_on(&work, &fleet, 20, 0);
        run(&work, pick_and_settle);
        assert_int_equal(fleet_in_flight(&fleet, 0), 1);
        assert_int_equal(fleet_in_flight(&fleet, 1), 1000 + THREADS * 20 - 1);
        fleet_close(&fleet);
    }
}

/* A page about a target, and how full its cache is. */
static void report(lbroute_router *router, lbroute_target target, size_t number)
{
    char page[256];
    int length = snprintf(page, sizeof page,
                          "vllm:num_requests_running %zu\n"
                          "vllm:lora_requests_info{max_lora=\"2\","
                          "running_lora_adapters=\"a%zu,b\"} %zu\n",
                          number % 9, number % 3, number);

    lbroute_ingest_metrics(router, target, page, (size_t)length, 0, NULL);
    lbroute_set_occupancy(router, target, (double)(number % 5) / 4, 1, 0);
}

/* What an engine says of its KV cache: a block comes, or all go. */
static void report_events(lbroute_router *router, lbroute_target target,
                          size_t number)
{
    static const uint32_t tokens[16] = {1, 2, 3};
    const uint64_t label = number % 7;
    lbroute_kv_event event;
    lbroute_kv_batch batch;

    lbroute_kv_event_init(&event, sizeof event);
    lbroute_kv_batch_init(&batch, sizeof batch);
    event.kind = number % 40 ? LBROUTE_KV_STORED : LBROUTE_KV_CLEARED;
    event.hashes = &label;
    event.hash_count = 1;
    event.tokens = tokens;
    event.token_count = 16;
    event.block_size = 16;
    batch.seq = number;
    batch.events = &event;
    batch.event_count = 1;
    lbroute_kv_apply(router, target, (uint32_t)(number % 2), &batch, 0, NULL);
    if (number % 60 == 0)
        lbroute_kv_clear(router, target, UINT32_MAX, 0);
}

/* Re-applies, drains, benches, scrapes, removes and adds until told to stop.
 * Names come from the fleet, so an index keeps its letter. */
static void *disturb(void *user)
{
    struct work *work = user;
    const char *strategy;
    size_t strategies = 0;

    while (lbroute_strategy_name(strategies) != NULL)
        strategies++;
    for (size_t i = 0; !atomic_load(&work->stop); i++) {
        lbroute_target target = 0;
        lbroute_target_options options;
        char name = (char)('A' + (char)(i % 4));
        strategy = lbroute_strategy_name(i % strategies);
        lbroute_target_options_init(&options, sizeof options);
        options.name = &name;
        options.name_len = 1;
        options.pool = work->pool;
        options.weight = (double)(i % 3);
        if (lbroute_target_find(work->router, &name, 1, &target) ==
            LBROUTE_OK) {
            lbroute_target_update(work->router, target, &options, 0);
            lbroute_set_gauge(work->router, target, LBROUTE_GAUGE_RUNNING,
                              (double)(i % 9), 0);
            report(work->router, target, i);
            report_events(work->router, target, i);
            lbroute_target_drain(work->router, target, i % 11 == 0, 0);
            lbroute_target_bench(work->router, target, i % 2, 0);
            if (i % 5 == 0)
                lbroute_target_remove(work->router, target);
        } else {
            lbroute_target_add(work->router, &options, 0, &target);
        }
        if (i % 50 == 0 && strategy != NULL)
            lbroute_pool_update(work->router, work->pool, strategy,
                                strlen(strategy));
    }
    return NULL;
}

/* Picks under whatever disturb() does; any documented result is fine. */
static void *pick_through_storm(void *user)
{
    static const char prompt[] = "a prompt of which all send the beginning";
    static const char *const adapters[] = {"", "a1", "b"};
    static const uint32_t tokens[48] = {1, 2, 3};
    const uint64_t matched = 64;
    lbroute_target latest = 0;
    struct work *work = user;
    lbroute_request request;
    lbroute_decision decision;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = work->pool;
    request.session = &request;
    request.session_len = sizeof request.size;
    request.prompt = prompt;
    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < work->rounds; i++) {
        request.prompt_len = i * 7 % sizeof prompt;
        request.adapter = adapters[i % 3];
        request.adapter_len = strlen(request.adapter);
        request.lookup_targets = &latest;
        request.lookup_tokens = &matched;
        request.lookup_len = i % 2;
        request.tokens = tokens;
        request.tokens_len = i % 4 ? 0 : i % 48;
        int code = lbroute_pick(work->router, &request, 0, &decision);
        latest = decision.target;
        if (code == LBROUTE_OK)
            count(work, settle(work, decision.ticket, 2 + (int)(i % 6)),
                  LBROUTE_OK);
        else if (code != LBROUTE_ERR_NO_TARGET && code != LBROUTE_ERR_SATURATED)
            atomic_fetch_add(&work->strange, 1);
    }
    return NULL;
}

/* Housekeeping, removals and picks at once: afterwards nothing is in flight,
 * and no slot is lost or counted twice. */
static void li_02_housekeeping_under_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    lbroute_target target = 0;
    pthread_t disturber;
    (void)state;

    fleet_open(&fleet, "weighted", 4, 1);
    work_on(&work, &fleet, 5000, 0);
    assert_int_equal(pthread_create(&disturber, NULL, disturb, &work), 0);
    run(&work, pick_through_storm);
    atomic_store(&work.stop, 1);
    pthread_join(disturber, NULL);
    assert_true(work.done > 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    while (lbroute_target_next(fleet.router, 0, target, &target) ==
           LBROUTE_OK) {
        lbroute_target_stats stats;
        lbroute_target_stats_init(&stats, sizeof stats);
        assert_int_equal(
            lbroute_get_target_stats(fleet.router, target, 0, &stats),
            LBROUTE_OK);
        assert_int_equal(stats.in_flight, 0);
    }
    fleet_close(&fleet);
}

enum { OWN_PROMPTS = 16, OWN_BYTES = 1000 };

/* Prompt |i|; its head of three quarters is that of all. */
static void own_prompt(size_t i, unsigned char text[OWN_BYTES])
{
    memset(text, 's', OWN_BYTES);
    text[OWN_BYTES * 3 / 4] = (unsigned char)i;
}

static void *pick_with_prompts(void *user)
{
    struct work *work = user;
    lbroute_request request;
    lbroute_decision decision;
    unsigned char text[OWN_BYTES];

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = work->pool;
    request.prompt = text;
    request.prompt_len = OWN_BYTES;
    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < work->rounds; i++) {
        own_prompt(i % OWN_PROMPTS, text);
        count(work, lbroute_pick(work->router, &request, 0, &decision),
              LBROUTE_OK);
        if (decision.prefix_total != OWN_BYTES ||
            decision.prefix_matched > OWN_BYTES)
            atomic_fetch_add(&work->strange, 1);
        if (settle(work, decision.ticket, work->kind) != LBROUTE_OK)
            atomic_fetch_add(&work->strange, 1);
    }
    return NULL;
}

/* Threads warm targets with the same prompts at once: in the end each prompt
 * is known in full to somebody, and nothing is in flight. */
static void ca_kind_prompts_from_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    unsigned char text[OWN_BYTES];
    (void)state;

    fleet_open(&fleet, "cache_aware", 4, 1);
    work_on(&work, &fleet, 3000, LBROUTE_EVENT_SUCCESS);
    run(&work, pick_with_prompts);
    assert_int_equal(work.done, THREADS * 3000);
    fleet.request.prompt = text;
    fleet.request.prompt_len = OWN_BYTES;
    for (size_t i = 0; i < OWN_PROMPTS; i++) {
        own_prompt(i, text);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_CACHE_AWARE);
        assert_int_equal(fleet.decision.prefix_matched, OWN_BYTES);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fleet_in_flight(&fleet, i), 0);
    fleet_close(&fleet);
}

/* ---- hashed prompts ---- */

enum { LONG_PROMPT = 200 * 1024 };

/* Long enough for buffers beyond the stack, whatever the size of a block. */
static _Alignas(uint32_t) unsigned char long_prompt[LONG_PROMPT];

/* Picks with beginnings of one long text, as text or token ids. */
static void *pick_long(void *user)
{
    struct work *work = user;
    lbroute_request request;
    lbroute_decision decision;
    size_t client = (size_t)atomic_fetch_add(&work->open, 1);

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = work->pool;
    request.client = &client;
    request.client_len = sizeof client;
    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < work->rounds; i++) {
        size_t length = (i * 7919 + client * 31) % LONG_PROMPT;
        int code;
        request.prompt = long_prompt;
        request.prompt_len = length;
        request.tokens = i % 3 ? NULL : (const uint32_t *)(void *)long_prompt;
        request.tokens_len = i % 3 ? 0 : length / 4;
        code = lbroute_pick(work->router, &request, 0, &decision);
        if (decision.prefix_matched > decision.prefix_total)
            code = LBROUTE_ERR_INVALID;
        count(work, code, LBROUTE_OK);
        if (code == LBROUTE_OK)
            (void)settle(work, decision.ticket, LBROUTE_EVENT_SUCCESS);
    }
    return NULL;
}

/* Changes how prompts are compared, and reads who holds what. */
static void *change_blocks(void *user)
{
    static const char *const strategies[] = {"kv_aware", "cache_aware",
                                             "kv_aware", "weighted"};
    struct work *work = user;
    lbroute_client_share row;

    lbroute_client_share_init(&row, sizeof row);
    for (size_t i = 0; !atomic_load(&work->stop); i++) {
        const char *strategy = strategies[i / 50 % 4];
        lbroute_target target = 0;
        lbroute_pool_set(work->router, work->pool, "prefix.block_bytes",
                         (double)(16 + i % 5 * 100));
        lbroute_pool_set(work->router, work->pool, "prefix.block_tokens",
                         (double)(1 + i % 7));
        lbroute_pool_set(work->router, work->pool, "kv_aware.capacity",
                         (double)(i % 3 * 500));
        lbroute_pool_set(work->router, work->pool, "kv_aware.clients",
                         (double)(1 + i % 4));
        lbroute_pool_set(work->router, work->pool, "cache_aware.mode",
                         (double)(i / 3 % 2));
        if (i % 50 == 0)
            lbroute_pool_update(work->router, work->pool, strategy,
                                strlen(strategy));
        while (lbroute_target_next(work->router, 0, target, &target) ==
               LBROUTE_OK)
            count(
                work,
                lbroute_target_clients(work->router, target, 0, &row, 1, NULL),
                LBROUTE_OK);
    }
    return NULL;
}

/* Sizes of blocks are read before the lock is taken, and may have changed by
 * then. */
static void ka_kind_blocks_under_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    pthread_t changer;
    (void)state;

    for (size_t i = 0; i < LONG_PROMPT; i++)
        long_prompt[i] = (unsigned char)(i * i / 7);
    fleet_open(&fleet, "kv_aware", 4, 1);
    work_on(&work, &fleet, 1500, 0);
    assert_int_equal(pthread_create(&changer, NULL, change_blocks, &work), 0);
    run(&work, pick_long);
    atomic_store(&work.stop, 1);
    pthread_join(changer, NULL);
    assert_int_equal(work.strange, 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    fleet_close(&fleet);
}

/* ---- snapshots ---- */

/* Writes snapshots down and restores them, over and over, while others pick:
 * of targets that were picked nothing is overwritten. */
static void *keep_snapshots(void *user)
{
    enum { ROOM = 1 << 22 };
    struct work *work = user;
    unsigned char *bytes = malloc(ROOM);

    assert_non_null(bytes);
    while (!atomic_load(&work->stop)) {
        size_t length = 0;
        int code = lbroute_snapshot(work->router, 0, bytes, ROOM, &length);
        count(work, code, LBROUTE_OK);
        if (code == LBROUTE_OK)
            count(work,
                  lbroute_restore(work->router, bytes, length, 0, 0, NULL),
                  LBROUTE_OK);
    }
    free(bytes);
    return NULL;
}

static void snapshots_under_threads(void **state)
{
    struct fleet fleet;
    struct work work;
    pthread_t keeper;
    (void)state;

    for (size_t i = 0; i < LONG_PROMPT; i++)
        long_prompt[i] = (unsigned char)(i * i / 7);
    fleet_open(&fleet, "kv_aware", 4, 1);
    work_on(&work, &fleet, 1500, 0);
    assert_int_equal(pthread_create(&keeper, NULL, keep_snapshots, &work), 0);
    run(&work, pick_long);
    atomic_store(&work.stop, 1);
    pthread_join(keeper, NULL);
    assert_int_equal(work.strange, 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(li_03_settled_by_several_threads),
        cmocka_unit_test(co_05_limit_under_threads),
        cmocka_unit_test(rr_wrr_kind_exact_totals),
        cmocka_unit_test(lc_06_burst_from_threads),
        cmocka_unit_test(bn_kind_one_trial_for_all_threads),
        cmocka_unit_test(li_02_housekeeping_under_threads),
        cmocka_unit_test(ca_kind_prompts_from_threads),
        cmocka_unit_test(ka_kind_blocks_under_threads),
        cmocka_unit_test(snapshots_under_threads),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
