/* SPDX-License-Identifier: MIT */
/* Least work left: cold pools, what it goes by, and what it must not do. */
#include <math.h>
#include <string.h>

#include "prompts.h"
#include "support/rng.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

enum {
    FIRST = LBROUTE_WORK_FIRST_TOKEN,
    EACH = LBROUTE_WORK_EACH_TOKEN,
    LONG = 16384, /* bytes: 4096 tokens */
    CROWD = 40
};

static const double ms = TEST_MS;

static void open_lw(struct fleet *fleet, size_t targets, uint64_t seed)
{
    fleet_open(fleet, "least_work", targets, seed);
}

/* Reports an event of a ticket, with usage. */
static void tell(struct fleet *fleet, lbroute_ticket ticket, int kind,
                 double latency, int64_t input, int64_t cached, int64_t output)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    event.latency_ns = (int64_t)latency;
    if (kind == LBROUTE_EVENT_SUCCESS) {
        event.input_tokens = input;
        event.cached_tokens = cached;
        event.output_tokens = output;
    }
    assert_int_equal(lbroute_observe(fleet->router, &event, fleet->now),
                     LBROUTE_OK);
}

/* Holds |n| requests on a target, all beyond their first token: they run, and
 * nothing waits. */
static void hold_running(struct fleet *fleet, size_t index, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fleet_hold(fleet, index, 1);
        tell(fleet, fleet->held[fleet->held_count - 1].ticket,
             LBROUTE_EVENT_FIRST_TOKEN, 0, -1, -1, -1);
    }
}

/* How an engine of these tests answers: 20 ms + 1 ms for each request that runs
 * there + 50 ms for each kilotoken; then 10 ms + 0.2 ms for each request that
 * runs there, for each token. */
static void answer(struct fleet *fleet, double slow, size_t running,
                   double kilotokens, int64_t output)
{
    double first = slow * (20 + 1 * (double)running + 50 * kilotokens) * ms;
    double token = slow * (10 + 0.2 * (double)running) * ms;
    lbroute_ticket ticket = fleet->held[--fleet->held_count].ticket;

    tell(fleet, ticket, LBROUTE_EVENT_FIRST_TOKEN, first, -1, -1, -1);
    tell(fleet, ticket, LBROUTE_EVENT_SUCCESS,
         first + (double)(output - 1) * token, -1, -1, output);
}

/* Shows the router such engines, target 0 … n - 1, with their slowness. */
static void teach(struct fleet *fleet, size_t n, const double *slow)
{
    struct test_rng rng = {3};

    for (size_t i = 0; i < 600; i++) {
        size_t index = i % n;
        size_t running = (size_t)test_rng_below(&rng, 11);
        int64_t tokens = (int64_t)test_rng_below(&rng, 8000);

        fleet->request.input_tokens = 0;
        hold_running(fleet, index, running);
        fleet->request.input_tokens = tokens;
        fleet_hold(fleet, index, 1);
        answer(fleet, slow[index], running, (double)tokens / 1000, 201);
        fleet_settle_all(fleet, LBROUTE_EVENT_CANCEL);
    }
    fleet->request.input_tokens = -1;
}

/* ---- from the first request on ---- */

/* Nothing is known: requests of one kind are spread evenly. */
static void lw_cold_pool_spreads(void **state)
{
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    for (size_t i = 1; i <= 20; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
            assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_WORK);
        }
        for (size_t t = 0; t < 3; t++)
            assert_int_equal(fleet_in_flight(&fleet, t), i);
    }
    fleet_close(&fleet);
}

/* One long prompt is as much work as many short ones, from the first on. */
static void lw_cold_pool_counts_work(void **state)
{
    struct fleet fleet;
    size_t busy;
    (void)state;

    open_lw(&fleet, 2, 1);
    fleet.request.input_tokens = 20000;
    busy = fleet_pick(&fleet);
    fleet.request.input_tokens = 100;
    for (int i = 0; i < 9; i++)
        assert_int_equal(fleet_pick(&fleet), 1 - busy);
    assert_near(fleet_work(&fleet, busy).pending_kilotokens, 20, 1e-9);
    assert_near(fleet_work(&fleet, 1 - busy).pending_kilotokens, 0.9, 1e-9);
    fleet_close(&fleet);
}

/* Weights count until times are known. */
static void lw_cold_pool_heeds_weights(void **state)
{
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 0, 1);
    fleet_add_weight(&fleet, 3);
    fleet_add_weight(&fleet, 1);
    for (int i = 0; i < 24; i++)
        fleet_pick(&fleet);
    assert_in_range(fleet_in_flight(&fleet, A), 17, 19);
    fleet_close(&fleet);
}

/* Of idle targets none is preferred for its place in the list. */
static void lw_ties_at_random(void **state)
{
    size_t picks[3] = {0, 0, 0};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    for (int i = 0; i < 3000; i++)
        picks[fleet_pick_frozen(&fleet)]++;
    for (size_t t = 0; t < 3; t++)
        assert_in_range(picks[t], 850, 1150); /* 5.8 standard deviations */
    fleet_close(&fleet);
}

/* Likewise when the least busy of all has more to do than they. */
static void lw_ties_behind_a_long_prompt(void **state)
{
    size_t picks[3] = {0, 0, 0};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    fleet.request.input_tokens = 50000;
    fleet_hold(&fleet, A, 1);
    fleet.request.input_tokens = 100;
    hold_running(&fleet, B, 2);
    hold_running(&fleet, C, 2);
    for (int i = 0; i < 2000; i++)
        picks[fleet_pick_frozen(&fleet)]++;
    assert_int_equal(picks[A], 0);
    assert_in_range(picks[B], 870, 1130); /* 5.8 standard deviations */
    fleet_close(&fleet);
}

/* ---- prompts ---- */

/* A prompt goes back to where it was sent, until that has more to do than the
 * others would have to compute. */
static void lw_prompts_go_home(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    size_t home;
    (void)state;

    open_lw(&fleet, 3, 1);
    prompt_fill(bytes, LONG, 1);
    prompt_set(&fleet, bytes, LONG);
    home = fleet_serve(&fleet);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fleet_pick(&fleet), home);
        assert_int_equal(fleet.decision.prefix_matched, LONG / 256);
    }
    /* 4.1 kilotokens, and half of that for what they drive out: three requests
     * of 2. */
    assert_int_equal(fleet_pick(&fleet), home);
    assert_int_not_equal(fleet_pick(&fleet), home);
    fleet_close(&fleet);
}

/* Model, adapter and salt tell prompts apart. */
static void lw_origins_are_apart(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 1, 1);
    prompt_fill(bytes, LONG, 1);
    prompt_set(&fleet, bytes, LONG);
    fleet_serve(&fleet);
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.prefix_matched, LONG / 256);
    fleet.request.adapter = "a";
    fleet.request.adapter_len = 1;
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet.request.adapter_len = 0;
    fleet.request.salt = "a";
    fleet.request.salt_len = 1;
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet_close(&fleet);
}

/* Without a memory, and with one that holds less than a prompt, work decides.
 */
static void lw_little_memory(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    for (int blocks = 0; blocks <= 8; blocks += 8) {
        open_lw(&fleet, 2, 1);
        fleet_param(&fleet, "kv_aware.capacity", blocks);
        prompt_fill(bytes, LONG, 1);
        prompt_set(&fleet, bytes, LONG);
        for (int i = 0; i < 20; i++) {
            fleet_pick(&fleet);
            assert_in_range(fleet.decision.prefix_matched, 0, blocks);
            assert_in_range(fleet_stats(&fleet, A).prefix_blocks, 0, blocks);
        }
        assert_in_range(fleet_in_flight(&fleet, A), 9, 11);
        fleet_close(&fleet);
    }
}

enum { HEAD = 1024, DOCUMENTS = 9 };

/* Long documents behind a short head that all share, one at a time: of two idle
 * targets the one that has the head is the better one each time, but for what
 * the documents drive out there. Each has its share, and keeps it. */
static void lw_short_head_on_an_idle_fleet(void **state)
{
    static unsigned char bytes[LONG];
    size_t home[DOCUMENTS];
    size_t sent[2] = {0, 0};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 2, 1);
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < DOCUMENTS; i++) {
            size_t index;

            prompt_fill(bytes, HEAD, 1);
            prompt_fill(bytes + HEAD, LONG - HEAD, 2 + i);
            prompt_set(&fleet, bytes, LONG);
            index = fleet_serve(&fleet);
            if (turn)
                assert_int_equal(index, home[i]);
            home[i] = index;
            sent[index] += !turn;
        }
    assert_in_range(sent[A], DOCUMENTS / 2, DOCUMENTS - DOCUMENTS / 2);
    fleet_close(&fleet);
}

/* Sends |n| prompts with the same head of three quarters to A. */
static void share_head(struct fleet *fleet, unsigned char *bytes, size_t n)
{
    prompt_fill(bytes, LONG, 1);
    for (size_t i = 0; i < n; i++) {
        prompt_fill(bytes + LONG / 4 * 3, LONG / 4, 2 + i);
        prompt_warm(fleet, A, bytes, LONG);
    }
    prompt_fill(bytes + LONG / 4 * 3, LONG / 4, 2 + n);
    prompt_set(fleet, bytes, LONG);
}

/* A head that all have in common draws nobody to the only one that has it. What
 * a target holds beyond it does. */
static void lw_common_head(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 2, 1);
    hold_running(&fleet, A, 1); /* load says more than who was sent what */
    hold_running(&fleet, B, 1);
    share_head(&fleet, bytes, 256);
    assert_int_equal(prompt_known_blocks(&fleet, A, bytes, LONG), 48);
    /* A quarter to compute, half as dear again; one request runs. */
    assert_near(fleet_score(&fleet, A), LONG / 4e3 / 4 * 1.5 + 2, 1e-9);
    assert_near(fleet_score(&fleet, B), LONG / 4e3 / 4 * 1.5 + 2, 1e-9);
    prompt_warm(&fleet, B, bytes, LONG);
    prompt_fill(bytes + LONG / 8 * 7, LONG / 8, 1000);
    assert_near(fleet_score(&fleet, A), LONG / 4e3 / 4 * 1.5 + 2, 1e-9);
    assert_near(fleet_score(&fleet, B), LONG / 4e3 / 8 * 1.5 + 2, 1e-9);
    fleet_close(&fleet);

    open_lw(&fleet, 2, 1); /* no head counts as common */
    fleet_param(&fleet, "prefix.common", 2);
    hold_running(&fleet, A, 1);
    hold_running(&fleet, B, 1);
    share_head(&fleet, bytes, 256);
    assert_near(fleet_score(&fleet, A), LONG / 4e3 / 4 * 1.5 + 2, 1e-9);
    assert_near(fleet_score(&fleet, B), LONG / 4e3 * 1.5 + 2, 1e-9);
    fleet_close(&fleet);
}

/* ---- others, slow start, who is out ---- */

/* What others let wait there is work, too: so many prompts as usual. */
static void lw_others_wait(void **state)
{
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 2, 1);
    fleet.request.input_tokens = 1000;
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_WAITING, 6);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_RUNNING, 6);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_WAITING, 0);
    for (int i = 0; i < 10; i++) {
        fleet_hold(&fleet, B, 1);
        answer(&fleet, 1, 6, 1, 100);
    }
    assert_near(fleet_work(&fleet, A).running, 6, 1e-9);
    assert_near(fleet_work(&fleet, B).running, 6, 1e-9);
    assert_near(fleet_work(&fleet, A).pending_kilotokens,
                6 * fleet_work(&fleet, A).input_kilotokens, 1e-9);
    assert_near(fleet_work(&fleet, B).pending_kilotokens, 0, 1e-9);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* A target that has just come gets its share little by little. */
static void lw_slow_start(void **state)
{
    static const double slow[] = {1, 1};
    struct fleet fleet;
    (void)state;

    for (int taught = 0; taught < 2; taught++) {
        open_lw(&fleet, 2, 1);
        if (taught)
            teach(&fleet, 2, slow);
        fleet_param(&fleet, "health.slow_start", 100);
        fleet.now += 1000 * TEST_S;
        fleet_add(&fleet);
        fleet.request.input_tokens = 100;
        for (int i = 0; i < 60; i++)
            fleet_pick(&fleet);
        assert_in_range(fleet_in_flight(&fleet, C), 0, 8);
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
        fleet.now += 50 * TEST_S;
        for (int i = 0; i < 60; i++)
            fleet_pick(&fleet);
        assert_in_range(fleet_in_flight(&fleet, C), 8, 17);
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
        fleet.now += 50 * TEST_S;
        for (int i = 0; i < 60; i++)
            fleet_pick(&fleet);
        assert_in_range(fleet_in_flight(&fleet, C), 18, 22);
        fleet_close(&fleet);
    }
}

/* Drained, full and excluded targets get nothing, however idle; when all are
 * benched, that is ignored. */
static void lw_who_is_out(void **state)
{
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    fleet_hold(&fleet, B, 5);
    fleet_hold(&fleet, C, 3);
    fleet_drain(&fleet, A, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    fleet_set_limit(&fleet, C, 3);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_drain(&fleet, A, 0);
    fleet_set_weight(&fleet, A, 0);
    assert_int_equal(fleet_pick_frozen(&fleet), B);
    fleet_set_limit(&fleet, C, 32);
    fleet_bench(&fleet, B, 100 * TEST_S);
    fleet_bench(&fleet, C, 100 * TEST_S);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    assert_int_equal(fleet.decision.bench_ignored, 1);
    fleet_close(&fleet);
}

/* What was known of a target that was removed does not come back with its
 * name. */
static void lw_removed_target(void **state)
{
    static const double slow[] = {1, 1, 3};
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    teach(&fleet, 3, slow);
    assert_true(fleet_work(&fleet, C).slowness[FIRST] > 1.5);
    prompt_fill(bytes, LONG, 1);
    prompt_warm(&fleet, C, bytes, LONG);
    fleet_remove(&fleet, C);
    fleet_add_again(&fleet, C);
    assert_true(fleet_work(&fleet, C).slowness[FIRST] == 1);
    assert_true(fleet_work(&fleet, C).slowness[EACH] == 1);
    assert_near(fleet_work(&fleet, C).evidence[FIRST], 8, 1e-9);
    assert_int_equal(prompt_known_blocks(&fleet, C, bytes, LONG), 0);
    assert_int_equal(fleet_work(&fleet, C).known[FIRST], 1); /* the pool's */
    fleet_close(&fleet);
}

/* Whoever lets a request wait for too long keeps the next one waiting, too:
 * work left and expected times say so alike. */
static void lw_who_is_late(void **state)
{
    static const double slow[] = {1, 1};
    struct fleet fleet;
    double before, expected, total;
    (void)state;

    open_lw(&fleet, 2, 1);
    teach(&fleet, 2, slow);
    fleet.request.input_tokens = 1000;
    fleet_hold(&fleet, A, 1); /* due in 70 ms */
    before = fleet_score(&fleet, A);
    expected = (double)fleet_expected(&fleet, A, LBROUTE_LATENCY_FIRST_TOKEN);
    total = (double)fleet_expected(&fleet, A, LBROUTE_LATENCY_TOTAL);
    fleet.now += 1000 * TEST_MS;
    assert_near(fleet_work(&fleet, A).late_ns, 930 * ms, 2 * ms);
    assert_true(fleet_work(&fleet, B).late_ns == 0);
    assert_near(fleet_score(&fleet, A) - before, 930 * ms, 2 * ms);
    assert_near((double)fleet_expected(&fleet, A, LBROUTE_LATENCY_FIRST_TOKEN),
                expected + 930 * ms, 2 * ms);
    assert_near((double)fleet_expected(&fleet, A, LBROUTE_LATENCY_TOTAL),
                total + 930 * ms, 2 * ms);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fleet_pick(&fleet), B);
    fleet_close(&fleet);
}

/* Gives a target to the pool that is current. */
static void move(struct fleet *fleet, size_t index)
{
    lbroute_target_options options;
    char name[32];

    fleet_target_options(fleet, &options);
    fleet_name(index, name);
    options.name = name;
    options.name_len = strlen(name);
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[index],
                                           &options, fleet->now),
                     LBROUTE_OK);
}

/* Slower than the others in one pool says nothing of another, whatever that
 * learns by when the target comes. */
static void lw_moved_target(void **state)
{
    static const double slow[] = {1, 1, 3};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    teach(&fleet, 3, slow);
    assert_true(fleet_work(&fleet, C).slowness[FIRST] > 1.5);
    fleet_add_pool(&fleet, "other", "weighted");
    move(&fleet, C);
    fleet_strategy(&fleet, "least_work");
    assert_true(fleet_work(&fleet, C).slowness[FIRST] == 1);
    assert_near(fleet_work(&fleet, C).evidence[FIRST], 8, 1e-9);
    fleet_close(&fleet);
}

/* A restored target is as slow as it was by the times that come with it, and
 * not by those that its pool has learned meanwhile. */
static void lw_restored_target(void **state)
{
    static const double slow[] = {1, 1, 3};
    lbroute_work_model before, after;
    struct fleet fleets[2];
    (void)state;

    open_lw(&fleets[0], 3, 1);
    teach(&fleets[0], 3, slow);
    before = fleet_work(&fleets[0], C);
    for (size_t learned = 0; learned <= 2; learned += 2) {
        open_lw(&fleets[1], 3, 1);
        if (learned)
            teach(&fleets[1], learned, slow);
        fleet_carry_over(&fleets[0], &fleets[1]);
        after = fleet_work(&fleets[1], C);
        assert_near(after.slowness[FIRST], learned ? 1 : before.slowness[FIRST],
                    1e-9);
        assert_near(after.slowness[EACH], learned ? 1 : before.slowness[EACH],
                    1e-9);
        fleet_close(&fleets[1]);
    }
    fleet_close(&fleets[0]);
}

/* An answer that is no stream: its host says when the first token should have
 * been there, and that it was not measured. */
static void lw_no_stream(void **state)
{
    static const double slow[] = {1, 1};
    lbroute_ticket ticket;
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 2, 1);
    teach(&fleet, 2, slow);
    fleet.request.input_tokens = 1000;
    fleet_hold(&fleet, A, 1);
    ticket = fleet.held[--fleet.held_count].ticket;
    fleet.now += 1000 * TEST_MS;
    assert_true(fleet_work(&fleet, A).late_ns > 0);
    tell(&fleet, ticket, LBROUTE_EVENT_FIRST_TOKEN, 0, -1, -1, -1);
    assert_true(fleet_work(&fleet, A).late_ns == 0);
    assert_near(fleet_work(&fleet, A).pending_kilotokens, 0, 1e-9);
    tell(&fleet, ticket, LBROUTE_EVENT_SUCCESS, 1e9, 1000, 0, 100);
    assert_int_equal(fleet_work(&fleet, A).samples[FIRST], 600);
    assert_int_equal(fleet_work(&fleet, A).samples[EACH], 600);
    fleet_close(&fleet);
}

/* ---- what is learned ---- */

/* The engines' true figures are found, and can be read. */
static void lw_learns_times(void **state)
{
    static const double slow[] = {1, 1, 1};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    assert_int_equal(fleet_work(&fleet, A).samples[FIRST], 0);
    assert_true(isnan(fleet_work(&fleet, A).base_ns[FIRST]));
    assert_true(isnan(fleet_work(&fleet, A).output_tokens));
    assert_true(isnan(fleet_work(&fleet, A).gone));
    assert_near(fleet_work(&fleet, A).eviction, 1.5, 1e-9);
    teach(&fleet, 3, slow);
    for (size_t t = 0; t < 3; t++) {
        lbroute_work_model work = fleet_work(&fleet, t);

        assert_int_equal(work.samples[FIRST], 600);
        assert_int_equal(work.samples[EACH], 600);
        assert_near(work.base_ns[FIRST], 20 * ms, 0.4 * ms);
        assert_near(work.per_running_ns[FIRST], 1 * ms, 0.03 * ms);
        assert_near(work.per_kilotoken_ns[FIRST], 50 * ms, 0.5 * ms);
        assert_near(work.base_ns[EACH], 10 * ms, 0.2 * ms);
        assert_near(work.per_running_ns[EACH], 0.2 * ms, 0.006 * ms);
        assert_near(work.per_kilotoken_ns[EACH], 0, 1e-3 * ms);
        assert_near(work.output_tokens, 201, 1e-6);
        assert_near(work.sharing_ns, 0.4 * 201 * 0.2 * ms, 0.5 * ms);
        assert_true(work.slowness[FIRST] == 1 && work.slowness[EACH] == 1);
    }
    fleet_close(&fleet);
}

/* A slow engine among quick ones is found, and gets less. */
static void lw_learns_slowness(void **state)
{
    static const double slow[] = {1, 1, 3};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    teach(&fleet, 3, slow);
    assert_near(fleet_work(&fleet, C).slowness[FIRST] /
                    fleet_work(&fleet, A).slowness[FIRST],
                3, 0.6);
    assert_near(fleet_work(&fleet, C).slowness[EACH] /
                    fleet_work(&fleet, A).slowness[EACH],
                3, 0.6);
    fleet.request.input_tokens = 500;
    for (int i = 0; i < 70; i++)
        fleet_pick(&fleet);
    assert_in_range(fleet_in_flight(&fleet, C), 7, 14);
    fleet_close(&fleet);
}

/* Failures and cancellations teach nothing, and leave no work behind. */
static void lw_only_success_teaches(void **state)
{
    static const double slow[] = {1, 1};
    static const int kinds[] = {LBROUTE_EVENT_FAILURE, LBROUTE_EVENT_CANCEL,
                                LBROUTE_EVENT_TIMEOUT, LBROUTE_EVENT_OVERLOAD,
                                LBROUTE_EVENT_CLIENT_ERROR};
    lbroute_work_model before, after;
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 2, 1);
    fleet_param(&fleet, "health.bench_after", 0);
    teach(&fleet, 2, slow);
    before = fleet_work(&fleet, A);
    fleet.request.input_tokens = 3000;
    for (size_t i = 0; i < 5; i++) {
        fleet_hold(&fleet, A, 1);
        assert_near(fleet_work(&fleet, A).pending_kilotokens, 3, 1e-9);
        tell(&fleet, fleet.held[0].ticket, LBROUTE_EVENT_FIRST_TOKEN, 1 * ms,
             -1, -1, -1);
        assert_near(fleet_work(&fleet, A).pending_kilotokens, 0, 1e-9);
        fleet_settle_last(&fleet, kinds[i]);
    }
    fleet.now += 100 * TEST_S; /* the refusals are forgotten */
    after = fleet_work(&fleet, A);
    assert_memory_equal(&after, &before, sizeof after);
    fleet_close(&fleet);
}

/* Where what was expected in caches is not found there, it is more dear to
 * drive others out. */
static void lw_learns_eviction(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 1, 1);
    prompt_fill(bytes, LONG, 1);
    prompt_set(&fleet, bytes, LONG);
    fleet_serve(&fleet);
    for (int i = 0; i < 64; i++) {
        fleet_pick(&fleet);
        tell(&fleet, fleet.held[--fleet.held_count].ticket,
             LBROUTE_EVENT_SUCCESS, 1e9, LONG / 4, LONG / 4, 10);
    }
    assert_near(fleet_work(&fleet, A).gone, 0, 1e-9);
    assert_near(fleet_work(&fleet, A).eviction, 1.5, 1e-9);
    for (int i = 0; i < 640; i++) {
        fleet_pick(&fleet);
        tell(&fleet, fleet.held[--fleet.held_count].ticket,
             LBROUTE_EVENT_SUCCESS, 1e9, LONG / 4, LONG / 16, 10);
    }
    assert_near(fleet_work(&fleet, A).gone, 0.75, 1e-3);
    assert_near(fleet_work(&fleet, A).eviction, 1 + 15 * 0.75, 0.02);
    fleet_close(&fleet);
}

/* A request of unknown length is taken for one of the usual length, and not for
 * one that has nothing to compute. */
static void lw_unknown_input_is_usual(void **state)
{
    static const double slow[] = {1};
    struct fleet fleet;
    lbroute_work_model work;
    (void)state;

    open_lw(&fleet, 1, 1);
    teach(&fleet, 1, slow);
    for (int i = 0; i < 200; i++) {
        fleet_hold(&fleet, A, 1);
        answer(&fleet, 1, 0, fleet_work(&fleet, A).input_kilotokens, 201);
    }
    work = fleet_work(&fleet, A);
    assert_near(work.base_ns[FIRST], 20 * ms, 1 * ms);
    assert_near(work.per_kilotoken_ns[FIRST], 50 * ms, 1 * ms);
    fleet_close(&fleet);
}

/* The engine is asked 64 times with a prompt that it was sent before, and finds
 * |cached| of |input| tokens. */
static void find_cached(struct fleet *fleet, int64_t input, int64_t cached)
{
    for (int i = 0; i < 64; i++) {
        fleet_pick(fleet);
        tell(fleet, fleet->held[--fleet->held_count].ticket,
             LBROUTE_EVENT_SUCCESS, 1e9, input, cached, 10);
    }
}

/* What engines find is compared in their own tokens, however many bytes these
 * have: a quarter of the bytes is a guess. */
static void lw_evidence_in_the_engines_tokens(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    prompt_fill(bytes, LONG, 1);
    for (int size = 3; size <= 5; size += 2) {
        open_lw(&fleet, 1, 1);
        prompt_set(&fleet, bytes, LONG);
        fleet_serve(&fleet);
        find_cached(&fleet, -1, LONG / size); /* of how many is not told */
        assert_true(isnan(fleet_work(&fleet, A).gone));
        find_cached(&fleet, LONG / size, LONG / size);
        assert_near(fleet_work(&fleet, A).gone, 0, 1e-9);
        for (int i = 0; i < 10; i++)
            find_cached(&fleet, LONG / size, LONG / size * 3 / 4);
        assert_near(fleet_work(&fleet, A).gone, 0.25, 1e-3);
        fleet_close(&fleet);
    }
}

/* Without the engine's count the host's is as good, its guess is not. */
static void lw_evidence_in_the_hosts_tokens(void **state)
{
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 1, 1);
    prompt_fill(bytes, LONG, 1);
    prompt_set(&fleet, bytes, LONG);
    fleet.request.input_tokens = 3000;
    fleet_serve(&fleet);
    find_cached(&fleet, -1, 1500);
    assert_near(fleet_work(&fleet, A).gone, 0.5, 1e-9);
    fleet_close(&fleet);
}

/* ---- the rule ---- */

/* By how much a token counts for more or less there than |eviction|, by what
 * was sent where: as long as fewer requests run than there are targets. */
static double leaning(struct fleet *fleet, size_t index, double eviction)
{
    double running = 0, blocks = 0, fill;

    for (size_t t = 0; t < fleet->count; t++) {
        running += fleet_work(fleet, t).running / (double)fleet->count;
        blocks += (double)fleet_stats(fleet, t).prefix_blocks;
    }
    if (running >= 1 || blocks == 0 || !fleet->request.prompt_len)
        return 1;
    fill = (double)fleet_stats(fleet, index).prefix_blocks *
           (double)fleet->count / blocks;
    return 1 + 0.5 * (1 - running) * (fmin(fill, 2) - 1) / eviction;
}

/* The rule, written down from what can be read. */
static double rule_of(struct fleet *fleet, size_t index, double weight,
                      double kilotokens, double part)
{
    lbroute_work_model m = fleet_work(fleet, index);
    double work = m.pending_kilotokens + kilotokens * (1 - part) * m.eviction *
                                             leaning(fleet, index, m.eviction);
    double first;

    if (!m.known[FIRST])
        return (work + 2 * m.running) / weight;
    first = m.base_ns[FIRST] + m.per_running_ns[FIRST] * m.running +
            m.per_kilotoken_ns[FIRST] * work;
    return m.slowness[FIRST] * fmax(first, m.least_ns[FIRST]) +
           m.slowness[EACH] * m.sharing_ns * m.running + m.late_ns;
}

/* One request of random size and prompt: every score is the rule, and the
 * choice has the least. */
static void check_rule(struct fleet *fleet, const double *weights,
                       struct test_rng *rng, const unsigned char *bytes)
{
    double least = (double)INFINITY;
    size_t best = FLEET_NONE;
    double wanted[4];
    size_t length = LONG / 64 * (1 + test_rng_below(rng, 64));

    prompt_set(fleet, bytes + LONG * test_rng_below(rng, 4), length);
    for (size_t t = 0; t < 4; t++) {
        size_t known =
            prompt_known_blocks(fleet, t, fleet->request.prompt, length);

        wanted[t] = rule_of(fleet, t, weights[t], (double)length / 4000,
                            (double)known / (double)(length / 256));
        assert_near(fleet_score(fleet, t), wanted[t], 1e-9 * wanted[t] + 1e-9);
        least = fmin(least, wanted[t]);
    }
    best = fleet_pick(fleet);
    assert_near(wanted[best], least, 1e-9 * least + 1e-9);
    assert_near(fleet->decision.score, least, 1e-9 * least + 1e-9);
}

static void lw_is_the_rule(void **state)
{
    static const double weights[] = {1, 1, 2, 0.5};
    static const double slow[] = {1, 1.5, 0.5, 3};
    static unsigned char bytes[4 * LONG];
    (void)state;

    prompt_fill(bytes, sizeof bytes, 9);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct test_rng rng = {seed};
        struct fleet fleet;
        int late = 0;

        fleet_open(&fleet, "least_work", 0, seed);
        for (size_t t = 0; t < 4; t++) {
            fleet_add_weight(&fleet, weights[t]);
            fleet_set_limit(&fleet, t, 0);
        }
        if (seed % 2)
            teach(&fleet, 4, slow);
        if (seed > 2) { /* never idle */
            fleet_gauge(&fleet, B, LBROUTE_GAUGE_RUNNING, 3);
            fleet_gauge(&fleet, B, LBROUTE_GAUGE_WAITING, 2);
        }
        for (int i = 0; i < 300; i++) {
            fleet.now += test_rng_below(&rng, 20) * TEST_MS;
            late += fleet_work(&fleet, A).late_ns > 0;
            check_rule(&fleet, weights, &rng, bytes);
            if (i % 100 == 0) /* idle now and then */
                fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
            if (fleet.held_count > test_rng_below(&rng, 60))
                fleet_settle_last(&fleet, LBROUTE_EVENT_CANCEL);
            while (fleet.held_count > 90)
                fleet_settle(&fleet, fleet.held[0].index, LBROUTE_EVENT_CANCEL);
        }
        assert_int_equal(late > 0, seed % 2);
        fleet_close(&fleet);
    }
}

/* A pool that has learned by another strategy, or was told, begins by it. */
static void lw_after_another_strategy(void **state)
{
    static const double slow[] = {1, 1, 3};
    struct fleet fleets[2];
    (void)state;

    open_lw(&fleets[0], 3, 1);
    teach(&fleets[0], 3, slow);
    fleet_open(&fleets[1], "fastest", 3, 1);
    fleet_carry_over(&fleets[0], &fleets[1]);
    fleet_strategy(&fleets[1], "least_work");
    fleets[1].request.input_tokens = 1000;
    for (size_t t = 0; t < 3; t++) {
        double wanted = rule_of(&fleets[1], t, 1, 1, 0);

        assert_near(fleet_score(&fleets[1], t), wanted, 1e-9 * wanted);
    }
    fleet_close(&fleets[1]);
    fleet_close(&fleets[0]);
}

/* The least of all scores, and in |chosen| that of whom a pick chooses. */
static double least_score(struct fleet *fleet, double *chosen)
{
    lbroute_candidate rows[CROWD];
    lbroute_decision decision;
    double least = (double)INFINITY;
    size_t count = 0;

    for (size_t i = 0; i < CROWD; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, rows, CROWD, &count),
                     LBROUTE_OK);
    assert_int_equal(count, CROWD);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].verdict == LBROUTE_REASON_NONE)
            least = fmin(least, rows[i].score);
        if (rows[i].target == decision.target)
            *chosen = rows[i].score;
    }
    return least;
}

/* Among many targets, of which many hold the head of a prompt and some a part
 * of its tail, the one with the least is found; full ones are passed over. */
static void lw_is_the_least_of_many(void **state)
{
    static const double slow[CROWD] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static unsigned char heads[4][LONG / 2];
    static unsigned char bytes[LONG];
    struct test_rng rng = {5};
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, CROWD, 1);
    teach(&fleet, CROWD, slow);
    for (size_t i = 0; i < 4; i++)
        prompt_fill(heads[i], LONG / 2, i);
    for (int i = 0; i < 1500; i++) {
        double chosen = 0;
        double least;

        memcpy(bytes, heads[test_rng_below(&rng, 4)], LONG / 2);
        prompt_fill(bytes + LONG / 2, LONG / 2, test_rng_below(&rng, 200));
        prompt_set(&fleet, bytes, LONG / 256 * (1 + test_rng_below(&rng, 256)));
        least = least_score(&fleet, &chosen);
        assert_true(chosen == least);
        assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_true(fleet.decision.score == least);
        if (test_rng_below(&rng, 8) == 0)
            fleet_set_limit(&fleet, test_rng_below(&rng, CROWD),
                            (uint32_t)test_rng_below(&rng, 6));
        while (fleet.held_count > 150)
            fleet_settle(&fleet, fleet.held[0].index, LBROUTE_EVENT_CANCEL);
    }
    fleet_close(&fleet);
}

/* The example of docs/least_work.md. */
static void lw_worked_example(void **state)
{
    static const double slow[] = {1, 1, 1};
    static unsigned char bytes[LONG];
    struct fleet fleet;
    (void)state;

    open_lw(&fleet, 3, 1);
    teach(&fleet, 3, slow);
    prompt_fill(bytes, LONG, 1);
    prompt_warm(&fleet, A, bytes, LONG / 4 * 3);
    fleet_prompt(&fleet, NULL);
    fleet.request.input_tokens = 0;
    hold_running(&fleet, A, 9);
    hold_running(&fleet, B, 4);
    hold_running(&fleet, C, 1);
    fleet.request.input_tokens = 2000;
    fleet_hold(&fleet, A, 1); /* waits for its first token */
    fleet.request.input_tokens = 6000;
    fleet_hold(&fleet, C, 1);
    fleet.request.input_tokens = 4000;
    fleet.request.prompt = bytes;
    fleet.request.prompt_len = LONG;
    assert_near(fleet_score(&fleet, A) / ms, 366, 4);
    assert_near(fleet_score(&fleet, B) / ms, 388, 4);
    assert_near(fleet_score(&fleet, C) / ms, 654, 7);
    assert_int_equal(fleet_pick(&fleet), A);
    assert_int_equal(fleet.decision.prefix_matched, 48);
    assert_int_equal(fleet.decision.prefix_total, 64);
    fleet_close(&fleet);
}

/* ---- as the fallback of kv_aware ---- */

static void lw_as_fallback(void **state)
{
    static unsigned char bytes[2 * LONG];
    struct fleet fleet;
    size_t busy;
    (void)state;

    fleet_open(&fleet, "kv_aware", 3, 1);
    fleet_param(&fleet, "kv_aware.fallback", 2);
    prompt_fill(bytes, sizeof bytes, 1);
    prompt_set(&fleet, bytes, LONG);
    busy = fleet_pick(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_WORK);
    assert_near(fleet_work(&fleet, busy).pending_kilotokens, 4.096, 1e-9);
    assert_int_equal(fleet_pick(&fleet), busy);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_KV_AWARE);
    assert_near(fleet_work(&fleet, busy).pending_kilotokens, 4.096, 1e-9);
    prompt_set(&fleet, bytes + LONG, LONG);
    assert_int_not_equal(fleet_pick(&fleet), busy);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_WORK);
    fleet_param(&fleet, "kv_aware.fallback", 0); /* and no account */
    assert_near(fleet_work(&fleet, busy).pending_kilotokens, 0, 1e-9);
    fleet_prompt(&fleet, NULL);
    fleet_pick(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_WEIGHTED);
    fleet_param(&fleet, "kv_aware.fallback", 2);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    for (size_t t = 0; t < 3; t++)
        assert_near(fleet_work(&fleet, t).pending_kilotokens, 0, 1e-9);
    fleet_close(&fleet);
}

/* Without memory for the account the parameter stays as it was, and so does
 * the sequence of picks. */
static void lw_fallback_without_memory(void **state)
{
    struct fleet fleet;
    double value;
    int failures = 0;
    (void)state;

    fleet_open(&fleet, "kv_aware", 5, 1);
    for (uint64_t after = 0;; after++) {
        int result;

        test_alloc_fail(&fleet.alloc, after, 1);
        result =
            lbroute_pool_set(fleet.router, fleet.pool, "kv_aware.fallback", 2);
        test_alloc_heal(&fleet.alloc);
        if (result == LBROUTE_OK)
            break;
        assert_int_equal(result, LBROUTE_ERR_NO_MEMORY);
        failures++;
        assert_int_equal(lbroute_pool_get(fleet.router, fleet.pool,
                                          "kv_aware.fallback", &value),
                         LBROUTE_OK);
        assert_true(value == 0);
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_WEIGHTED);
    }
    assert_true(failures > 0);
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_WORK);
    fleet_close(&fleet);
}

/* ---- the call that reads it ---- */

static void lw_reading(void **state)
{
    lbroute_work_model model;
    struct fleet fleet;
    lbroute_target gone;
    (void)state;

    fleet_open(&fleet, "weighted", 2, 1);
    gone = fleet.targets[A];
    lbroute_work_model_init(&model, sizeof model);
    assert_int_equal(lbroute_get_work_model(NULL, gone, 0, &model),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_work_model(fleet.router, gone, 0, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_work_model(fleet.router, gone, 0, &model),
                     LBROUTE_OK);
    assert_int_equal(model.samples[FIRST], 0);
    assert_true(model.pending_kilotokens == 0);
    fleet_remove(&fleet, A);
    assert_int_equal(lbroute_get_work_model(fleet.router, gone, 0, &model),
                     LBROUTE_ERR_NOT_FOUND);
    /* An older caller knows less of the struct. */
    lbroute_work_model_init(&model, offsetof(lbroute_work_model, slowness));
    model.running = 77;
    assert_int_equal(
        lbroute_get_work_model(fleet.router, fleet.targets[B], 0, &model),
        LBROUTE_OK);
    assert_true(model.running == 77);
    lbroute_work_model_init(NULL, sizeof model);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lw_cold_pool_spreads),
        cmocka_unit_test(lw_cold_pool_counts_work),
        cmocka_unit_test(lw_cold_pool_heeds_weights),
        cmocka_unit_test(lw_ties_at_random),
        cmocka_unit_test(lw_ties_behind_a_long_prompt),
        cmocka_unit_test(lw_prompts_go_home),
        cmocka_unit_test(lw_origins_are_apart),
        cmocka_unit_test(lw_little_memory),
        cmocka_unit_test(lw_short_head_on_an_idle_fleet),
        cmocka_unit_test(lw_common_head),
        cmocka_unit_test(lw_others_wait),
        cmocka_unit_test(lw_slow_start),
        cmocka_unit_test(lw_who_is_out),
        cmocka_unit_test(lw_removed_target),
        cmocka_unit_test(lw_moved_target),
        cmocka_unit_test(lw_restored_target),
        cmocka_unit_test(lw_who_is_late),
        cmocka_unit_test(lw_no_stream),
        cmocka_unit_test(lw_learns_times),
        cmocka_unit_test(lw_learns_slowness),
        cmocka_unit_test(lw_only_success_teaches),
        cmocka_unit_test(lw_learns_eviction),
        cmocka_unit_test(lw_unknown_input_is_usual),
        cmocka_unit_test(lw_evidence_in_the_engines_tokens),
        cmocka_unit_test(lw_evidence_in_the_hosts_tokens),
        cmocka_unit_test(lw_is_the_rule),
        cmocka_unit_test(lw_after_another_strategy),
        cmocka_unit_test(lw_is_the_least_of_many),
        cmocka_unit_test(lw_worked_example),
        cmocka_unit_test(lw_as_fallback),
        cmocka_unit_test(lw_fallback_without_memory),
        cmocka_unit_test(lw_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
