/* SPDX-License-Identifier: MIT */
/* Requests that wait: the field reports CO with the queue on, order, and every
 * way in which waiting ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/stage.h"
#include "support/state.h"
#include "support/test.h"
#include "waiting.h"

#define A 0
#define B 1
#define C 2

/* ---- the reported cases, with the queue on ---- */

static void settle_and_serve(const char *strategy)
{
    static const int kinds[] = {
        LBROUTE_EVENT_SUCCESS,
        LBROUTE_EVENT_FAILURE,
        LBROUTE_EVENT_TIMEOUT,
        LBROUTE_EVENT_CANCEL,
        LBROUTE_EVENT_OVERLOAD,
        LBROUTE_EVENT_CLIENT_ERROR,
        0,
        LBROUTE_EVENT_COUNT,
        -1,
        INT32_MAX,
    };
    struct fleet fleet;

    waiting_open(&fleet, strategy, 1, 1);
    assert_int_equal(fleet_pick(&fleet), A);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        waiting_queue(&fleet, i + 1);
        waiting_expect_none(&fleet);
        assert_int_equal(fleet_in_flight(&fleet, A), 1);
        fleet.now += (i % 2) * TEST_S;
        (void)fleet_observe(&fleet, fleet.held[0].ticket, kinds[i]);
        fleet.held_count = 0;
        assert_int_equal(fleet_in_flight(&fleet, A), 0);
        assert_int_equal(waiting_expect(&fleet, i + 1), A);
        assert_int_equal(fleet_in_flight(&fleet, A), 1);
        waiting_expect_none(&fleet);
    }
    fleet_close(&fleet);
}

/* However a request ends, whoever waits gets its slot. */
static void co_01_every_outcome_serves_the_next(void **state)
{
    (void)state;
    fleet_for_each_strategy(settle_and_serve);
}

static void full_queue_leaves_no_trace(const char *strategy)
{
    struct fleet twins[2];
    char *before;

    for (size_t t = 0; t < 2; t++) {
        waiting_open(&twins[t], strategy, 2, 1);
        fleet_param(&twins[t], "queue.depth", 1);
        for (uint64_t i = 0; i < 2; i++)
            fleet_pick(&twins[t]);
        for (uint64_t i = 0; i < 2; i++)
            waiting_queue(&twins[t], i);
    }
    before = state_text(twins[0].router, 0, STATE_WITHOUT_REJECTIONS);
    fleet_prompt(&twins[0], "in vain");
    for (uint64_t i = 1; i <= 5; i++) {
        assert_int_equal(fleet_pick(&twins[0]), FLEET_NONE);
        assert_int_equal(twins[0].code, LBROUTE_ERR_SATURATED);
        assert_int_equal(twins[0].decision.reason, LBROUTE_REASON_QUEUE_FULL);
        assert_int_equal(twins[0].decision.place, 0);
        assert_int_equal(
            fleet_totals(&twins[0]).rejections[LBROUTE_REASON_QUEUE_FULL], i);
    }
    state_check(twins[0].router, 0, STATE_WITHOUT_REJECTIONS, before);
    fleet_prompt(&twins[0], NULL);
    for (uint64_t i = 0; i < 2; i++) {
        size_t got[2];
        for (size_t t = 0; t < 2; t++) {
            fleet_settle_last(&twins[t], LBROUTE_EVENT_SUCCESS);
            got[t] = waiting_expect(&twins[t], i);
        }
        assert_int_equal(got[0], got[1]);
        assert_int_equal(twins[0].decision.ticket, twins[1].decision.ticket);
    }
    fleet_close(&twins[0]);
    fleet_close(&twins[1]);
}

/* A request that finds the queue full uses up nothing. */
static void co_03_full_queue_leaves_no_trace(void **state)
{
    (void)state;
    fleet_for_each_strategy(full_queue_leaves_no_trace);
}

static void forty_picks(const char *strategy)
{
    struct fleet fleet;
    uint64_t next = 0;

    waiting_open(&fleet, strategy, 1, 5);
    for (uint64_t i = 0; i < 40; i++) {
        fleet.request.tag = i;
        fleet_pick(&fleet);
        assert_int_equal(fleet.code, i < 5    ? LBROUTE_OK
                                     : i < 25 ? LBROUTE_ERR_QUEUED
                                              : LBROUTE_ERR_SATURATED);
    }
    assert_int_equal(waiting_stats(&fleet).waiting, 20);
    for (next = 5; next < 25; next++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
        waiting_expect(&fleet, next);
        waiting_expect_none(&fleet);
        assert_int_equal(fleet_in_flight(&fleet, A), 5);
    }
    assert_int_equal(fleet_totals(&fleet).queue_served, 20);
    assert_int_equal(fleet_totals(&fleet).waiting, 0);
    fleet_close(&fleet);
}

/* Limit 5, default depth 4: 5 go, 20 wait, 15 are turned away; and as one ends
 * exactly one goes, in the order of arrival. */
static void co_05_limit_holds_while_others_wait(void **state)
{
    (void)state;
    fleet_for_each_strategy(forty_picks);
}

static void overload(struct fleet *fleet, int64_t retry_after)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = fleet->held[--fleet->held_count].ticket;
    event.kind = LBROUTE_EVENT_OVERLOAD;
    event.retry_after_ns = retry_after;
    assert_int_equal(lbroute_observe(fleet->router, &event, fleet->now),
                     LBROUTE_OK);
}

static void asks_to_be_left_alone(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 0, 1);
    fleet_add_limit(&fleet, 8);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fleet_pick(&fleet), A);
        overload(&fleet, (int64_t)TEST_S);
        assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_SATURATED);
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
        assert_int_equal(fleet.decision.wait_ns, TEST_S);
        assert_int_equal(fleet.decision.max_concurrency, 8);
        assert_int_equal(fleet_stats(&fleet, A).retry_left_ns, TEST_S);
        assert_int_equal(fleet_stats(&fleet, A).benched, 0);
        fleet.now += TEST_S - 1;
        fleet_pick(&fleet);
        assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
        fleet.now += 1;
        assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_NONE);
    }
    fleet_close(&fleet);
}

/* A target that says when it has room again counts as full exactly until
 * then, a thousand times over, and is never benched. */
static void co_06_retry_after_ends(void **state)
{
    (void)state;
    fleet_for_each_strategy(asks_to_be_left_alone);
}

/* One with no limit of its own, too; the later of two times wins, and a silly
 * one is cut off. */
static void co_06_retry_after_is_bounded(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_limit(&fleet, 0);
    for (int i = 0; i < 3; i++)
        fleet_pick(&fleet);
    overload(&fleet, (int64_t)(5 * TEST_S));
    overload(&fleet, (int64_t)(2 * TEST_S));
    assert_int_equal(fleet_stats(&fleet, A).retry_left_ns, 5 * TEST_S);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.max_concurrency, 0);
    overload(&fleet, INT64_MAX);
    assert_int_equal(fleet_stats(&fleet, A).retry_left_ns, 300 * TEST_S);
    fleet.now = 300 * TEST_S;
    assert_int_equal(fleet_pick(&fleet), A);
    overload(&fleet, 0);
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_close(&fleet);
}

/* While the others can take requests they do; and whoever waits for it goes
 * when its time has come, of which the host learns by the deadline. */
static void co_06_retry_after_with_a_queue(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "least_connections", 2, 2);
    fleet_hold(&fleet, A, 1);
    overload(&fleet, (int64_t)(3 * TEST_S));
    for (int i = 0; i < 2; i++)
        assert_int_equal(fleet_pick(&fleet), B);
    waiting_queue(&fleet, 7);
    waiting_expect_none(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router), 3 * TEST_S);
    fleet.now = 3 * TEST_S;
    assert_int_equal(waiting_expect(&fleet, 7), A);
    fleet_close(&fleet);
}

/* With everything full the head of the list took the rest: here whoever has a
 * slot gets the next; and without a limit nobody waits. */
static void co_07_slot_that_is_free_decides(void **state)
{
    static const size_t order[] = {B, C, A, C, B, A};
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 3, 2);
    for (size_t i = 0; i < 3; i++)
        fleet_hold(&fleet, i, 2);
    for (uint64_t i = 0; i < 6; i++)
        waiting_queue(&fleet, i);
    for (uint64_t i = 0; i < 6; i++) {
        fleet_settle(&fleet, order[i], LBROUTE_EVENT_SUCCESS);
        assert_int_equal(waiting_expect(&fleet, i), order[i]);
    }
    for (size_t i = 0; i < 3; i++)
        fleet_set_limit(&fleet, i, 0);
    for (int i = 0; i < 300; i++)
        assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
    fleet_close(&fleet);
}

/* ---- order ---- */

/* Fills one target, lets requests of clients wait as named, and serves all of
 * them; each costs the same. */
static void expect_order(struct fleet *fleet, const char *arrivals,
                         const char *served)
{
    static char names[256][2];
    size_t n = strlen(arrivals);

    fleet->request.input_tokens = 100;
    fleet->request.output_tokens = 50;
    for (size_t i = 0; i < n; i++) {
        char *name = names[(unsigned char)arrivals[i]];
        name[0] = arrivals[i];
        fleet_client(fleet, name);
        waiting_queue(fleet, (uint64_t)arrivals[i]);
    }
    for (size_t i = 0; i < n; i++) {
        fleet_settle(fleet, A, LBROUTE_EVENT_CANCEL);
        waiting_expect(fleet, (uint64_t)served[i]);
    }
    fleet_client(fleet, NULL);
}

/* Clients take turns, whatever the numbers in which they come. */
static void clients_take_turns(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 10);
    fleet_hold(&fleet, A, 10);
    expect_order(&fleet, "aaaaaabbc", "abcabaaaa");
    fleet_param(&fleet, "queue.fair", 0);
    expect_order(&fleet, "aaaaaabbc", "aaaaaabbc");
    fleet_close(&fleet);
}

/* What a client asks for counts, not how often: 100 + 2 × 50 a request here,
 * 600 + 2 × 100 there. */
static void cost_decides(void **state)
{
    static const uint64_t order[] = {1, 2, 1, 1, 1, 2, 1, 1, 2};
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 10);
    fleet_hold(&fleet, A, 10);
    for (int i = 0; i < 9; i++) {
        int large = i % 3 == 2;
        fleet_client(&fleet, large ? "large" : "small");
        fleet.request.input_tokens = large ? 600 : 100;
        fleet.request.output_tokens = large ? 100 : 50;
        waiting_queue(&fleet, large ? 2 : 1);
    }
    for (int i = 0; i < 9; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_CANCEL);
        /* small 200, large 800; then small until it is beyond that. */
        waiting_expect(&fleet, order[i]);
    }
    fleet_close(&fleet);
}

static void report(struct fleet *fleet, int64_t input, int64_t output)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = fleet->held[--fleet->held_count].ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    event.input_tokens = input;
    event.output_tokens = output;
    assert_int_equal(lbroute_observe(fleet->router, &event, fleet->now),
                     LBROUTE_OK);
}

/* Who got more than it said pays for it when that is known: a's first answer
 * is as dear as four more requests of b. */
static void usage_corrects(void **state)
{
    static const char order[] = "abbbbba";
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 2);
    fleet_hold(&fleet, A, 2);
    fleet.request.input_tokens = 100;
    fleet.request.output_tokens = 50;
    for (int i = 0; i < 7; i++) {
        fleet_client(&fleet, i < 2 ? "a" : "b");
        waiting_queue(&fleet, i < 2 ? 'a' : 'b');
    }
    for (int i = 0; i < 7; i++) {
        if (i == 1)
            report(&fleet, 100, 50 + 4 * 100 + 50);
        else
            fleet_settle(&fleet, A, LBROUTE_EVENT_CANCEL);
        waiting_expect(&fleet, (uint64_t)order[i]);
    }
    fleet_close(&fleet);
}

/* A client that was silent does not come back with credit. */
static void idleness_is_no_credit(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 10);
    fleet_hold(&fleet, A, 10);
    expect_order(&fleet, "ab", "ab");
    expect_order(&fleet, "aaaaaaaa", "aaaaaaaa");
    /* b has had one, a nine: from here on they take turns. */
    expect_order(&fleet, "aaabbb", "ababab");
    fleet_close(&fleet);
}

static void queue_with(struct fleet *fleet, int32_t priority, uint64_t tag)
{
    fleet->request.priority = priority;
    waiting_queue(fleet, tag);
    fleet->request.priority = 0;
}

static void priority_first(void **state)
{
    static const uint64_t order[] = {5, 2, 4, 1, 6, 3};
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 10);
    fleet_hold(&fleet, A, 10);
    queue_with(&fleet, 0, 1);
    queue_with(&fleet, 3, 2);
    queue_with(&fleet, -8, 3);
    queue_with(&fleet, 3, 4);
    queue_with(&fleet, 7, 5);
    queue_with(&fleet, 0, 6);
    for (int i = 0; i < 6; i++) {
        fleet_settle(&fleet, A, LBROUTE_EVENT_CANCEL);
        waiting_expect(&fleet, order[i]);
    }
    fleet_close(&fleet);
}

/* A stream of high priority cannot keep anybody out for longer than
 * `queue.aging`. */
static void nobody_starves(void **state)
{
    struct fleet fleet;
    int i;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_param(&fleet, "queue.depth", 100);
    fleet_pick(&fleet);
    queue_with(&fleet, -8, 999);
    for (i = 0; i < 20; i++) {
        queue_with(&fleet, 7, 1);
        queue_with(&fleet, 7, 1);
        fleet.now += TEST_S;
        fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(waiting_next(&fleet), A);
        if (fleet.decision.tag == 999)
            break;
    }
    assert_int_equal(i, 9);
    assert_int_equal(fleet.decision.wait_ns, 10 * TEST_S);
    fleet_close(&fleet);
}

/* Likewise where those of high priority are other clients. */
static void no_client_starves(void **state)
{
    struct fleet fleet;
    int i;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_param(&fleet, "queue.depth", 100);
    fleet_pick(&fleet);
    fleet_client(&fleet, "low");
    queue_with(&fleet, 0, 999);
    fleet_client(&fleet, "high");
    for (i = 0; i < 20; i++) {
        queue_with(&fleet, 7, 1);
        queue_with(&fleet, 7, 1);
        fleet.now += TEST_S;
        fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(waiting_next(&fleet), A);
        if (fleet.decision.tag == 999)
            break;
    }
    assert_int_equal(i, 9);
    fleet_close(&fleet);
}

/* Whoever comes while a slot is free that nobody has taken yet queues up
 * behind those that wait for it. */
static void nobody_overtakes(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "least_connections", 2, 1);
    for (int i = 0; i < 2; i++)
        fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_queue(&fleet, 2);
    waiting_queue(&fleet, 3);
    waiting_expect(&fleet, 1);
    waiting_expect(&fleet, 2);
    waiting_expect_none(&fleet);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 3);
    /* Nobody waits: no queueing up. */
    assert_int_not_equal(fleet_pick(&fleet), FLEET_NONE);
    fleet_close(&fleet);
}

/* A request for whom no free slot is right keeps nobody else waiting, neither
 * those behind it nor those to come. */
static void head_does_not_block(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 2, 1);
    for (size_t i = 0; i < 2; i++)
        fleet_hold(&fleet, i, 1);
    fleet.request.exclude = &fleet.targets[A];
    fleet.request.exclude_len = 1;
    for (uint64_t i = 0; i < 5; i++)
        waiting_queue(&fleet, i);
    fleet.request.exclude_len = 0;
    waiting_queue(&fleet, 9);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 9), A);
    waiting_expect_none(&fleet);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    waiting_expect_none(&fleet);
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 0), B);
    waiting_expect_none(&fleet);
    fleet_close(&fleet);
}

/* Nor do those that were tried in vain before one that is refused fall behind
 * by that. */
static void refusal_hides_nobody(void **state)
{
    struct fleet fleet;
    lbroute_target others[2];
    (void)state;

    waiting_open(&fleet, "weighted", 3, 1);
    for (size_t i = 0; i < 3; i++)
        fleet_hold(&fleet, i, 1);
    fleet.request.exclude = others;
    fleet.request.exclude_len = 2;
    others[0] = fleet.targets[A];
    others[1] = fleet.targets[C];
    waiting_queue(&fleet, 1);
    others[1] = fleet.targets[B];
    waiting_queue(&fleet, 2);
    fleet.request.exclude_len = 0;
    waiting_queue(&fleet, 3);
    fleet_drain(&fleet, C, 1);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    waiting_expect_refused(&fleet, 2, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_EXCLUDED);
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 1), B);
    assert_int_equal(waiting_expect(&fleet, 3), A);
    fleet_close(&fleet);
}

/* Requests for a model whose target is full do not keep those for another
 * waiting, however many they are and whosever. */
static void busy_model_does_not_block(void **state)
{
    static const char *const models[] = {"m", "n"};
    lbroute_target_options options;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_param(&fleet, "queue.depth", 1000);
    for (size_t i = 0; i < 2; i++) {
        fleet_target_options(&fleet, &options);
        options.model = models[i];
        options.model_len = 1;
        options.max_concurrency = 1;
        fleet_add_options(&fleet, &options);
        fleet_hold(&fleet, i, 1);
    }
    fleet.request.model_len = 1;
    for (uint64_t i = 0; i < 1000; i++) {
        fleet.request.model = models[i == 999];
        waiting_queue(&fleet, i);
    }
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 999), B);
    waiting_expect_none(&fleet);
    fleet_close(&fleet);
}

/* Not even a client with very many of these. */
static void blocked_client_does_not_block(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 2, 1);
    fleet_param(&fleet, "queue.depth", 1000);
    for (size_t i = 0; i < 2; i++)
        fleet_hold(&fleet, i, 1);
    fleet.request.exclude = &fleet.targets[A];
    fleet.request.exclude_len = 1;
    fleet_client(&fleet, "blocked");
    for (uint64_t i = 0; i < 500; i++)
        waiting_queue(&fleet, i);
    fleet.request.exclude_len = 0;
    fleet_client(&fleet, "free");
    waiting_queue(&fleet, 999);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 999), A);
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(waiting_expect(&fleet, i), B);
        waiting_expect_none(&fleet);
        fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    }
    fleet_close(&fleet);
}

/* ---- how waiting ends ---- */

static void time_limit(void **state)
{
    lbroute_place place;
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_pick(&fleet);
    place = waiting_queue(&fleet, 1);
    fleet.now = TEST_S;
    waiting_queue(&fleet, 2);
    assert_int_equal(lbroute_next_deadline(fleet.router), 30 * TEST_S);
    fleet.now = 30 * TEST_S - 1;
    waiting_expect_none(&fleet);
    fleet.now = 30 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(waiting_stats(&fleet).waiting, 1);
    assert_int_equal(lbroute_next_deadline(fleet.router), 30 * TEST_S);
    waiting_expect_refused(&fleet, 1, LBROUTE_ERR_SATURATED,
                           LBROUTE_REASON_QUEUE_TIMEOUT);
    assert_int_equal(fleet.decision.place, place);
    assert_int_equal(fleet.decision.wait_ns, 30 * TEST_S);
    assert_int_equal(fleet.decision.pool, fleet.pool);
    assert_int_equal(waiting_cancel(&fleet, place), LBROUTE_ERR_NOT_FOUND);
    waiting_expect_none(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router), 31 * TEST_S);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 2);
    assert_int_equal(
        fleet_totals(&fleet).rejections[LBROUTE_REASON_QUEUE_TIMEOUT], 1);
    assert_int_equal(fleet_totals(&fleet).queue_timeouts, 1);
    fleet_close(&fleet);
}

static void deadlines(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet.now = 5 * TEST_S;
    fleet.request.deadline = 4 * TEST_S;
    assert_int_equal(fleet_pick(&fleet), A);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_DEADLINE);
    fleet.request.deadline = 7 * TEST_S;
    waiting_queue(&fleet, 1);
    assert_int_equal(lbroute_next_deadline(fleet.router), 7 * TEST_S);
    fleet.request.deadline = 60 * TEST_S;
    waiting_queue(&fleet, 2);
    fleet.now = 7 * TEST_S;
    waiting_expect_refused(&fleet, 1, LBROUTE_ERR_SATURATED,
                           LBROUTE_REASON_DEADLINE);
    fleet.now = 35 * TEST_S;
    waiting_expect_refused(&fleet, 2, LBROUTE_ERR_SATURATED,
                           LBROUTE_REASON_QUEUE_TIMEOUT);
    fleet_close(&fleet);
}

/* Two slots, requests of 4 s: one ends every 2 s. Three wait, so the next is
 * expected to wait 8 s. */
static void deadline_that_cannot_be_met(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 2);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    assert_int_equal(fleet.decision.wait_ns, -1);
    assert_int_equal(fleet.decision.queue_ahead, 0);
    fleet.now = 4 * TEST_S;
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 1);
    assert_near(waiting_stats(&fleet).slot_gap_ns, 2 * TEST_S, 1);
    for (uint64_t i = 0; i < 3; i++) {
        waiting_queue(&fleet, i);
        assert_int_equal(fleet.decision.queue_ahead, i);
        assert_int_equal(fleet.decision.wait_ns, (i + 1) * 2 * TEST_S);
    }
    fleet.request.deadline = fleet.now + 8 * TEST_S - 1;
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_DEADLINE);
    assert_int_equal(fleet.decision.wait_ns, 8 * TEST_S);
    fleet.request.deadline = fleet.now + 8 * TEST_S;
    waiting_queue(&fleet, 3);
    fleet_close(&fleet);
}

/* Without a queue a rejection says when a slot is expected. */
static void rejections_say_how_long(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    fleet_add_limit(&fleet, 2);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.wait_ns, -1);
    fleet.now = 6 * TEST_S;
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.wait_ns, 3 * TEST_S);
    assert_int_equal(fleet.decision.place, 0);
    fleet_close(&fleet);
}

static void cancelled(void **state)
{
    lbroute_place places[3];
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_pick(&fleet);
    for (uint64_t i = 0; i < 3; i++)
        places[i] = waiting_queue(&fleet, i);
    assert_int_equal(waiting_cancel(&fleet, places[0]), LBROUTE_OK);
    assert_int_equal(waiting_cancel(&fleet, places[0]), LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(waiting_cancel(&fleet, 0), LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(waiting_cancel(&fleet, fleet.held[0].ticket),
                     LBROUTE_ERR_NOT_FOUND);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 1);
    assert_int_equal(waiting_cancel(&fleet, places[1]), LBROUTE_ERR_NOT_FOUND);
    fleet.now = 30 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    /* Its time is over, but that was not yet reported. */
    assert_int_equal(waiting_cancel(&fleet, places[2]), LBROUTE_OK);
    waiting_expect_none(&fleet);
    assert_int_equal(fleet_totals(&fleet).places, 0);
    assert_int_equal(fleet_totals(&fleet).waiting_bytes, 0);
    fleet_close(&fleet);
}

/* Whatever makes a slot lets somebody go. */
static void what_makes_a_slot(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "least_connections", 1, 1);
    fleet_param(&fleet, "queue.depth", 100);
    fleet_pick(&fleet);
    for (uint64_t i = 0; i < 9; i++)
        waiting_queue(&fleet, i);
    waiting_expect_none(&fleet);
    fleet_set_limit(&fleet, A, 2);
    assert_int_equal(waiting_expect(&fleet, 0), A);
    waiting_expect_none(&fleet);
    fleet_add_limit(&fleet, 1);
    assert_int_equal(waiting_expect(&fleet, 1), B);
    waiting_expect_none(&fleet);
    fleet_add_limit(&fleet, 1);
    fleet_drain(&fleet, C, 1);
    waiting_expect_none(&fleet);
    fleet_drain(&fleet, C, 0);
    assert_int_equal(waiting_expect(&fleet, 2), C);
    fleet_set_weight(&fleet, C, 0);
    fleet_set_limit(&fleet, C, 2);
    waiting_expect_none(&fleet);
    fleet_set_weight(&fleet, C, 1);
    assert_int_equal(waiting_expect(&fleet, 3), C);
    fleet_param(&fleet, "admission.mode", LBROUTE_ADMISSION_SUPERFAST);
    fleet_param(&fleet, "admission.fast_limit", 1);
    waiting_expect_none(&fleet);
    for (size_t i = 0; i < 3; i++)
        fleet_set_limit(&fleet, i, 3);
    waiting_expect_none(&fleet);
    fleet_param(&fleet, "admission.fast_limit", 2);
    assert_int_equal(waiting_expect(&fleet, 4), B);
    waiting_expect_none(&fleet);
    fleet_param(&fleet, "admission.mode", LBROUTE_ADMISSION_MAX_CONCURRENCY);
    waiting_next(&fleet);
    assert_int_equal(fleet.decision.tag, 5);
    waiting_expect(&fleet, 6);
    waiting_expect(&fleet, 7);
    waiting_expect_none(&fleet);
    fleet_close(&fleet);
}

/* A ticket that runs out, and a bench that ends. */
static void time_makes_a_slot(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = 5 * TEST_S;
    fleet_open_options(&fleet, &options, "weighted");
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_add_limit(&fleet, 1);
    fleet_add_limit(&fleet, 1);
    fleet_bench(&fleet, B, 4 * TEST_S);
    assert_int_equal(fleet_pick(&fleet), A);
    for (uint64_t i = 0; i < 2; i++)
        waiting_queue(&fleet, i);
    waiting_expect_none(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router), 4 * TEST_S);
    fleet.now = 4 * TEST_S;
    assert_int_equal(waiting_expect(&fleet, 0), B);
    /* There may be more to do at once, until it says that there is not. */
    assert_int_equal(lbroute_next_deadline(fleet.router), 4 * TEST_S);
    waiting_expect_none(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router), 5 * TEST_S);
    fleet.now = 5 * TEST_S;
    assert_int_equal(waiting_expect(&fleet, 1), A);
    fleet_close(&fleet);
}

/* When all targets are drained or removed, those that wait are told; not so
 * while one of them may come back to be free. */
static void nobody_left(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 2, 1);
    for (size_t i = 0; i < 2; i++)
        fleet_hold(&fleet, i, 1);
    for (uint64_t i = 0; i < 4; i++)
        waiting_queue(&fleet, i);
    fleet_drain(&fleet, A, 1);
    fleet_bench(&fleet, B, TEST_H);
    waiting_expect_none(&fleet);
    fleet_drain(&fleet, B, 1);
    waiting_expect_refused(&fleet, 0, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_DRAINING);
    fleet_remove(&fleet, A);
    waiting_expect_refused(&fleet, 1, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_DRAINING);
    fleet_remove(&fleet, B);
    waiting_expect_refused(&fleet, 2, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_NO_TARGETS);
    assert_int_equal(lbroute_pool_remove(fleet.router, fleet.pool), LBROUTE_OK);
    waiting_expect_refused(&fleet, 3, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_NO_TARGETS);
    waiting_expect_none(&fleet);
    assert_int_equal(fleet_totals(&fleet).queue_refused, 4);
    assert_int_equal(fleet_totals(&fleet).places, 0);
    fleet_close(&fleet);
}

/* A target that takes the place of the last one serves those that waited. */
static void replaced_in_time(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    fleet_remove(&fleet, A);
    fleet_add(&fleet);
    assert_int_equal(waiting_expect(&fleet, 1), B);
    fleet_close(&fleet);
}

/* Switched off, the queue takes nobody in, and those that are in it go on. */
static void switched_off(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    fleet_param(&fleet, "queue.enabled", 0);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_SATURATED);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 1);
    fleet_close(&fleet);
}

/* Whoever waits finds the room of its own tier again. */
static void replaced_by_tier(void **state)
{
    static const char *const tiers[] = {"gold", "iron"};
    lbroute_target_options options;
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 0, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_target_options(&fleet, &options);
        options.max_concurrency = 1;
        options.tier = tiers[i % 2];
        options.tier_len = 4;
        if (i < 2) {
            fleet_add_options(&fleet, &options);
            fleet.request.tier = options.tier;
            fleet.request.tier_len = options.tier_len;
            fleet_pick(&fleet);
            waiting_queue(&fleet, i);
            continue;
        }
        if (i == 2) {
            fleet_remove(&fleet, A);
            fleet_remove(&fleet, B);
            options.tier = tiers[1];
        } else {
            options.tier = tiers[0];
        }
        assert_int_equal(fleet_add_options(&fleet, &options), i);
    }
    for (size_t i = 0; i < 2; i++) {
        size_t index = waiting_next(&fleet);
        assert_int_equal(index, fleet.decision.tag ? C : C + 1);
    }
    waiting_expect_none(&fleet);
    fleet_close(&fleet);
}

/* ---- while a scorer judges ---- */

static lbroute_place place_in_hand;

static void cancel_inside(struct stage *stage,
                          const lbroute_score_request *request)
{
    (void)request;
    if (place_in_hand)
        assert_int_equal(waiting_cancel(stage->fleet, place_in_hand),
                         LBROUTE_OK);
    place_in_hand = 0;
}

/* Who is given up while a scorer judges for it gets nothing, and keeps nobody
 * from being next. */
static void cancelled_while_judged(void **state)
{
    struct stage stage;
    struct fleet fleet;
    lbroute_place place;
    (void)state;

    waiting_open(&fleet, "pipeline", 1, 1);
    stage_init(&stage, &fleet, 1);
    stage_register(&stage, "judge", LBROUTE_SCORER_SCORER, 1);
    fleet_pick(&fleet);
    place = waiting_queue(&fleet, 1);
    waiting_queue(&fleet, 2);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    stage.inside = cancel_inside;
    place_in_hand = place;
    waiting_expect(&fleet, 2);
    assert_int_equal(waiting_cancel(&fleet, place), LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(waiting_stats(&fleet).waiting, 0);
    assert_int_equal(fleet_totals(&fleet).places, 0);
    assert_int_equal(fleet_in_flight(&fleet, A), 1);
    fleet_close(&fleet);
    assert_int_equal(stage.destroyed, 1);
}

/* Without a ticket nobody goes; nobody is lost either. */
static void no_ticket_left(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    lbroute_pool first;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_tickets = 1;
    fleet_open_options(&fleet, &options, "weighted");
    first = fleet.pool;
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_add_pool(&fleet, "other", "weighted");
    fleet_add(&fleet);
    fleet.request.pool = fleet.pool;
    assert_int_equal(fleet_pick(&fleet), B);
    fleet.request.pool = fleet.pool = first;
    assert_int_equal(waiting_next(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_LIMIT);
    assert_int_equal(waiting_stats(&fleet).waiting, 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 1), A);
    fleet_close(&fleet);
}

/* ---- what is kept of a request ---- */

/* Everything counts later on as it stood in the request, of which nothing is
 * left by then. */
static void request_is_copied(void **state)
{
    char session[] = "session of three", prompt[] = "a long prompt, known to B";
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "cache_aware", 2, 1);
    fleet_prompt(&fleet, "a long prompt, known to B");
    fleet_hold(&fleet, B, 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_prompt(&fleet, NULL);
    for (size_t i = 0; i < 2; i++)
        fleet_hold(&fleet, i, 1);
    fleet_session(&fleet, session);
    fleet_prompt(&fleet, prompt);
    waiting_queue(&fleet, 1);
    memset(session, 'x', sizeof session - 1);
    memset(prompt, 'x', sizeof prompt - 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 1), B);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_CACHE_AWARE);
    assert_int_equal(fleet.decision.prefix_matched, sizeof prompt - 1);
    assert_int_not_equal(fleet.decision.sticky_digest, 0);
    fleet_close(&fleet);
}

static void bounds(void **state)
{
    static char prompt[10000];
    lbroute_router_options options;
    struct fleet fleet;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_waiting = 3;
    options.max_waiting_bytes = 12000;
    fleet_open_options(&fleet, &options, "cache_aware");
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    memset(prompt, 'p', sizeof prompt - 1);
    fleet_prompt(&fleet, prompt);
    for (uint64_t i = 0; i < 3; i++)
        waiting_queue(&fleet, i);
    assert_in_range(fleet_totals(&fleet).waiting_bytes, 10000, 12000);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_QUEUE_FULL);
    for (uint64_t i = 0; i < 3; i++) {
        fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
        waiting_expect(&fleet, i);
        /* The others came without their prompts. */
        assert_int_equal(fleet.decision.prefix_total, i ? 0 : 9999);
    }
    assert_int_equal(fleet_totals(&fleet).waiting_bytes, 0);
    fleet_close(&fleet);
}

/* Not even the rest of it fits: as if the queue were full. */
static void no_room_for_a_copy(void **state)
{
    lbroute_router_options options;
    struct fleet fleet;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_waiting_bytes = 16;
    fleet_open_options(&fleet, &options, "weighted");
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_QUEUE_FULL);
    assert_int_equal(fleet.decision.place, 0);
    fleet_close(&fleet);
}

/* ---- explanations ---- */

static void explained(const char *strategy)
{
    lbroute_decision told;
    struct fleet fleet;
    char *before;

    waiting_open(&fleet, strategy, 2, 1);
    for (int i = 0; i < 2; i++)
        fleet_pick(&fleet);
    for (uint64_t i = 0; i < 9; i++) {
        if (i == 4)
            fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
        lbroute_decision_init(&told, sizeof told);
        before = state_text(fleet.router, fleet.now, STATE_FULL);
        fleet.request.tag = i;
        fleet.code = lbroute_explain(fleet.router, &fleet.request, fleet.now,
                                     &told, NULL, 0, NULL);
        assert_int_equal(fleet.code,
                         i < 8 ? LBROUTE_ERR_QUEUED : LBROUTE_ERR_SATURATED);
        state_check(fleet.router, fleet.now, STATE_FULL, before);
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code,
                         i < 8 ? LBROUTE_ERR_QUEUED : LBROUTE_ERR_SATURATED);
        assert_int_equal(told.place, 0);
        told.place = fleet.decision.place;
        assert_memory_equal(&told, &fleet.decision, sizeof told);
    }
    fleet_close(&fleet);
}

/* An explanation says what the pick then says, and has no effect. */
static void explanations(void **state)
{
    (void)state;
    fleet_for_each_strategy(explained);
}

/* At a time to come, too: places that will be over by then are free. */
static void explained_in_advance(void **state)
{
    lbroute_decision told;
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_param(&fleet, "queue.depth", 1);
    fleet_pick(&fleet);
    waiting_queue(&fleet, 1);
    lbroute_decision_init(&told, sizeof told);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request,
                                     30 * TEST_S - 1, &told, NULL, 0, NULL),
                     LBROUTE_ERR_SATURATED);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request, 30 * TEST_S,
                                     &told, NULL, 0, NULL),
                     LBROUTE_ERR_QUEUED);
    assert_int_equal(waiting_stats(&fleet).waiting, 1);
    fleet_close(&fleet);
}

/* An older host's struct gets what it has room for. */
static void older_decision(void **state)
{
    lbroute_decision decision;
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    lbroute_decision_init(&decision, offsetof(lbroute_decision, place));
    decision.place = 77;
    fleet_pick(&fleet);
    assert_int_equal(
        lbroute_pick(fleet.router, &fleet.request, fleet.now, &decision),
        LBROUTE_ERR_QUEUED);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(lbroute_next_ready(fleet.router, fleet.now, &decision),
                     LBROUTE_OK);
    assert_int_equal(decision.target, fleet.targets[A]);
    assert_int_equal(decision.place, 77);
    fleet_close(&fleet);
}

/* ---- models whose targets are in several pools ---- */

static void spread_model(void **state)
{
    lbroute_target_options options;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (int i = 0; i < 2; i++) {
        if (i)
            fleet_add_pool(&fleet, "other", "weighted");
        fleet_target_options(&fleet, &options);
        options.model = "m";
        options.model_len = 1;
        options.max_concurrency = 1;
        fleet_add_options(&fleet, &options);
    }
    fleet.request.pool = 0;
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    fleet_param(&fleet, "queue.enabled", 1);
    waiting_queue(&fleet, 1);
    waiting_queue(&fleet, 2);
    fleet_settle(&fleet, B, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(waiting_expect(&fleet, 1), B);
    fleet_remove(&fleet, A);
    fleet_remove(&fleet, B);
    waiting_expect_refused(&fleet, 2, LBROUTE_ERR_NO_TARGET,
                           LBROUTE_REASON_NO_TARGETS);
    fleet_close(&fleet);
}

/* ---- headers ---- */

static void expect_header(struct fleet *fleet, const char *name,
                          const char *value)
{
    char found[2][800];
    size_t len;

    for (size_t i = 0;; i++) {
        int code = lbroute_decision_header(fleet->router, &fleet->decision, i,
                                           found[0], sizeof found[0], &len,
                                           found[1], sizeof found[1], &len);
        if (code == LBROUTE_ERR_NOT_FOUND && !value)
            return;
        assert_int_equal(code, LBROUTE_OK);
        if (strcmp(found[0], name) != 0)
            continue;
        assert_non_null(value);
        assert_string_equal(found[1], value);
        return;
    }
}

/* Headers speak of what happened to the request, not of what was planned. */
static void hd_01_headers_of_waiting(void **state)
{
    struct fleet fleet;
    (void)state;

    waiting_open(&fleet, "weighted", 1, 1);
    fleet_param(&fleet, "queue.depth", 2);
    fleet_pick(&fleet);
    expect_header(&fleet, "X-Lbroute-Wait-Ms", "0");
    expect_header(&fleet, "X-Lbroute-Queue-Ahead", NULL);
    waiting_queue(&fleet, 1);
    waiting_queue(&fleet, 2);
    expect_header(&fleet, "X-Lbroute-Queue-Ahead", "1");
    expect_header(&fleet, "X-Lbroute-Reject-Reason", NULL);
    expect_header(&fleet, "X-Lbroute-In-Flight", "1/1");
    expect_header(&fleet, "X-Lbroute-Server", NULL);
    fleet_pick(&fleet);
    expect_header(&fleet, "X-Lbroute-Reject-Reason", "queue_full");
    fleet.now = 1500 * TEST_MS;
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    waiting_expect(&fleet, 1);
    expect_header(&fleet, "X-Lbroute-Server", "A");
    expect_header(&fleet, "X-Lbroute-Wait-Ms", "1500");
    expect_header(&fleet, "X-Lbroute-In-Flight", "1/1");
    expect_header(&fleet, "X-Lbroute-Queue-Ahead", NULL);
    fleet.now = 30 * TEST_S;
    waiting_next(&fleet);
    expect_header(&fleet, "X-Lbroute-Reject-Reason", "queue_timeout");
    expect_header(&fleet, "X-Lbroute-Pool", "pool");
    expect_header(&fleet, "X-Lbroute-Wait-Ms", "30000");
    expect_header(&fleet, "X-Lbroute-Server", NULL);
    fleet.request.deadline = fleet.now;
    fleet_pick(&fleet);
    expect_header(&fleet, "X-Lbroute-Reject-Reason", "deadline");
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(co_01_every_outcome_serves_the_next),
        cmocka_unit_test(co_03_full_queue_leaves_no_trace),
        cmocka_unit_test(co_05_limit_holds_while_others_wait),
        cmocka_unit_test(co_06_retry_after_ends),
        cmocka_unit_test(co_06_retry_after_is_bounded),
        cmocka_unit_test(co_06_retry_after_with_a_queue),
        cmocka_unit_test(co_07_slot_that_is_free_decides),
        cmocka_unit_test(clients_take_turns),
        cmocka_unit_test(cost_decides),
        cmocka_unit_test(usage_corrects),
        cmocka_unit_test(idleness_is_no_credit),
        cmocka_unit_test(priority_first),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(no_client_starves),
        cmocka_unit_test(nobody_overtakes),
        cmocka_unit_test(head_does_not_block),
        cmocka_unit_test(blocked_client_does_not_block),
        cmocka_unit_test(busy_model_does_not_block),
        cmocka_unit_test(refusal_hides_nobody),
        cmocka_unit_test(time_limit),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(deadline_that_cannot_be_met),
        cmocka_unit_test(rejections_say_how_long),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(what_makes_a_slot),
        cmocka_unit_test(time_makes_a_slot),
        cmocka_unit_test(nobody_left),
        cmocka_unit_test(replaced_in_time),
        cmocka_unit_test(replaced_by_tier),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(cancelled_while_judged),
        cmocka_unit_test(no_ticket_left),
        cmocka_unit_test(request_is_copied),
        cmocka_unit_test(bounds),
        cmocka_unit_test(no_room_for_a_copy),
        cmocka_unit_test(explanations),
        cmocka_unit_test(explained_in_advance),
        cmocka_unit_test(older_decision),
        cmocka_unit_test(spread_model),
        cmocka_unit_test(hd_01_headers_of_waiting),
    };
    return cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
}
