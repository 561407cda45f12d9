/* SPDX-License-Identifier: MIT */
/* Kinds of PI: scorers and filters of the host's own. */
#include <math.h>
#include <string.h>

#include "prompts.h"
#include "support/fleet.h"
#include "support/stage.h"
#include "support/state.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

#define SCORER LBROUTE_SCORER_SCORER
#define FILTER LBROUTE_SCORER_FILTER

static void open_one(struct fleet *fleet, struct stage *stage, size_t targets,
                     int kind, double score)
{
    fleet_open(fleet, "pipeline", targets, 1);
    stage_init(stage, fleet, score);
    stage_register(stage, "stage", kind, 1);
}

static void expect_counts(const struct stage *stage, uint64_t calls,
                          uint64_t errors, uint64_t not_finite)
{
    lbroute_scorer_stats stats = stage_stats(stage);

    assert_int_equal(stats.calls, calls);
    assert_int_equal(stats.errors, errors);
    assert_int_equal(stats.not_finite, not_finite);
}

static void expect_refusal(struct fleet *fleet, int code, int reason)
{
    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, code);
    assert_string_equal(lbroute_reason_name(fleet->decision.reason),
                        lbroute_reason_name(reason));
}

/* ---- what a stage is asked, and what it does ---- */

static void one_call_for_all_candidates(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 4, SCORER, 0.5);
    fleet_drain(&fleet, C, 1);
    fleet_hold(&fleet, A, 3);
    fleet.now = 7 * TEST_S;
    fleet_prompt(&fleet, "a prompt");
    stage.calls = 0;
    fleet_pick(&fleet);
    assert_int_equal(stage.calls, 1);
    assert_int_equal(stage.count, 3);
    assert_int_equal(stage.request.size, sizeof stage.request);
    assert_int_equal(stage.request.scorer, stage.handle);
    assert_int_equal(stage.request.pool, fleet.pool);
    assert_int_equal(stage.request.now, 7 * TEST_S);
    assert_int_equal(stage.request.explaining, 0);
    for (size_t i = 0; i < 3; i++) {
        const lbroute_candidate *row = &stage.candidates[i];
        assert_int_equal(row->size, sizeof *row);
        assert_int_equal(row->target, fleet.targets[i == 2 ? 3 : i]);
        assert_int_equal(row->verdict, LBROUTE_REASON_NONE);
        assert_int_equal(row->in_flight, i == 0 ? 3 : 0);
        assert_int_equal(row->in_window, i != 0);
        assert_int_equal(row->max_concurrency, 32);
        assert_near(row->weight, 1, 0);
        assert_near(row->load, i == 0 ? 3 : 0, 0);
        assert_near(row->relative_load, i == 0 ? 3 : 0, 0);
        assert_true(isnan(row->score));
    }
    fleet_close(&fleet);
}

static void request_of_last_pick(struct stage *stage,
                                 const lbroute_request *request)
{
    assert_memory_equal(request->prompt, "a prompt", 8);
    assert_int_equal(request->prompt_len, 8);
    assert_int_equal(request->input_tokens, -1);
    assert_memory_equal(request->session, "s", 1);
    assert_int_equal(request->exclude_len, 0);
    stage->others = 1;
}

static void read_request(struct stage *stage,
                         const lbroute_score_request *request)
{
    request_of_last_pick(stage, request->request);
}

/* A request of an older caller comes completed. */
static void the_request_is_complete(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 2, SCORER, 0.5);
    stage.inside = read_request;
    fleet_prompt(&fleet, "a prompt");
    fleet_session(&fleet, "s");
    fleet_pick(&fleet);
    fleet.request.size = offsetof(lbroute_request, input_tokens);
    fleet_pick(&fleet);
    assert_int_equal(stage.calls, 2);
    assert_near(stage.others, 1, 0);
    fleet_close(&fleet);
}

/* Scores count by weight, and are cut off at 0 and 1. */
static void scores_are_weighted_and_clamped(void **state)
{
    static const double given[] = {-1e308, -0.1, 0, 0.25, 1, 1.5, 1e308};
    static const double wanted[] = {0, 0, 0, 0.25, 1, 1, 1};
    struct fleet fleet;
    struct stage stage;
    (void)state;

    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        open_one(&fleet, &stage, 1, SCORER, given[i]);
        assert_int_equal(
            lbroute_scorer_set_weight(fleet.router, stage.handle, 1000),
            LBROUTE_OK);
        assert_int_equal(fleet_serve(&fleet), A);
        assert_near(fleet.decision.score, 2 + 1000 * wanted[i], 1e-9);
        fleet_close(&fleet);
    }
}

static void weights_decide(void **state)
{
    struct fleet fleet;
    struct stage for_a, for_b;
    (void)state;

    fleet_open(&fleet, "pipeline", 2, 1);
    stage_init(&for_a, &fleet, 0);
    stage_init(&for_b, &fleet, 0);
    for_a.scores[A] = for_b.scores[B] = 1;
    stage_register(&for_a, "for A", SCORER, 2);
    stage_register(&for_b, "for B", SCORER, 2.5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fleet_serve(&fleet), B);
    lbroute_scorer_set_weight(fleet.router, for_a.handle, 3);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fleet_serve(&fleet), A);
    assert_near(fleet.decision.score, 5, 1e-12);
    assert_int_equal(for_b.calls, 10);
    /* Weight 0: it is not called. */
    lbroute_scorer_set_weight(fleet.router, for_a.handle, 0);
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(for_a.calls, 10);
    fleet_close(&fleet);
    assert_int_equal(for_a.destroyed + for_b.destroyed, 2);
}

/* A filter keeps what is above 0, in the order of the list, for the filters
 * and scorers after it, also when it was registered last. */
static void filters_go_first(void **state)
{
    struct fleet fleet;
    struct stage scorer, first, second;
    (void)state;

    fleet_open(&fleet, "pipeline", 6, 1);
    stage_init(&scorer, &fleet, 0.5);
    stage_init(&first, &fleet, 1);
    stage_init(&second, &fleet, 1e-300);
    scorer.scores[5] = 1;
    first.scores[A] = 0;
    first.scores[C] = -1;
    second.scores[5] = 0;
    stage_register(&scorer, "scorer", SCORER, 1);
    stage_register(&first, "first", FILTER, 1);
    stage_register(&second, "second", FILTER, 1);
    for (int i = 0; i < 12; i++)
        fleet_serve(&fleet);
    assert_int_equal(first.count, 6);
    assert_int_equal(second.count, 4);
    assert_int_equal(second.candidates[3].target, fleet.targets[5]);
    assert_int_equal(scorer.count, 3);
    assert_int_equal(scorer.candidates[0].target, fleet.targets[B]);
    assert_int_equal(scorer.candidates[2].target, fleet.targets[4]);
    assert_int_equal(fleet.picks[B] + fleet.picks[3] + fleet.picks[4], 12);
    assert_int_equal(fleet.decision.eligible, 3);
    assert_int_equal(fleet_verdict(&fleet, A), LBROUTE_REASON_FILTERED);
    assert_int_equal(fleet_verdict(&fleet, B), LBROUTE_REASON_NONE);
    fleet_close(&fleet);
}

/* ---- filters that leave nobody ---- */

static void a_filter_leaves_nobody(void **state)
{
    struct fleet fleet;
    struct stage filter, scorer;
    char *before;
    (void)state;

    open_one(&fleet, &filter, 3, FILTER, 0);
    stage_init(&scorer, &fleet, 1);
    stage_register(&scorer, "scorer", SCORER, 1);
    fleet_drain(&fleet, C, 1);
    before = state_text(fleet.router, fleet.now, STATE_WITHOUT_REJECTIONS);
    expect_refusal(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_FILTERED);
    state_check(fleet.router, fleet.now, STATE_WITHOUT_REJECTIONS, before);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_FILTERED], 2);
    assert_int_equal(fleet.decision.reasons[LBROUTE_REASON_DRAINING], 1);
    assert_int_equal(fleet.decision.eligible, 0);
    assert_int_equal(fleet_totals(&fleet).rejections[LBROUTE_REASON_FILTERED],
                     1);
    assert_int_equal(scorer.calls, 0);
    expect_counts(&filter, 1, 0, 0);
    expect_counts(&scorer, 0, 0, 0);
    filter.scores[B] = 1;
    assert_int_equal(fleet_serve(&fleet), B);
    fleet_close(&fleet);
}

/* Of many that are out for another reason a single one was the filter's: that
 * one could have served. */
static void filtered_is_the_reason(void **state)
{
    struct fleet fleet;
    struct stage filter;
    (void)state;

    open_one(&fleet, &filter, 5, FILTER, 0);
    for (size_t i = 1; i < 5; i++)
        fleet_drain(&fleet, i, 1);
    expect_refusal(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_FILTERED);
    /* Waiting may help while somebody suitable is full. */
    fleet_drain(&fleet, B, 0);
    filter.scores[B] = 1;
    fleet_set_limit(&fleet, B, 1);
    assert_int_equal(fleet_pick(&fleet), B);
    expect_refusal(&fleet, LBROUTE_ERR_SATURATED, LBROUTE_REASON_FILTERED);
    assert_int_equal(fleet.decision.in_flight, 1);
    /* Where nobody is eligible no stage is asked. */
    fleet_drain(&fleet, A, 1);
    filter.calls = 0;
    expect_refusal(&fleet, LBROUTE_ERR_SATURATED, LBROUTE_REASON_DRAINING);
    assert_int_equal(filter.calls, 0);
    fleet_close(&fleet);
}

/* ---- stages that fail ---- */

/* A stage that answers with an error, or with a number that is none, is out of
 * this pick: with it all is as without it. */
static void a_failing_stage_is_left_out(void **state)
{
    static const double bad[] = {
        (double)NAN, (double)INFINITY, -(double)INFINITY, 0.5, 0.5, 0.5};
    static const int results[] = {0, 0, 0, 1, -1, LBROUTE_ERR_BUSY};
    (void)state;

    for (size_t i = 0; i < 6; i++) {
        for (int kind = 0; kind < LBROUTE_SCORER_COUNT; kind++) {
            struct fleet fleet;
            struct stage stage;
            int failed = results[i] != 0;
            open_one(&fleet, &stage, 3, kind, 0);
            stage.scores[B] = bad[i];
            stage.result = results[i];
            for (size_t j = 0; j < 9; j++)
                assert_true(fleet_serve(&fleet) != FLEET_NONE);
            for (size_t j = 0; j < 3; j++)
                assert_int_equal(fleet.picks[j], 3);
            assert_near(fleet.decision.score, 2, 0);
            expect_counts(&stage, 9, failed ? 9 : 0, failed ? 0 : 9);
            /* It takes part again as soon as it works. */
            stage.scores[B] = 1;
            stage.result = 0;
            assert_int_equal(fleet_serve(&fleet), B);
            expect_counts(&stage, 10, failed ? 9 : 0, failed ? 0 : 9);
            fleet_close(&fleet);
        }
    }
}

/* Scores of an earlier stage do not serve for those that it leaves out. */
static void every_candidate_needs_a_score(void **state)
{
    struct fleet fleet;
    struct stage good, silent;
    (void)state;

    fleet_open(&fleet, "pipeline", 3, 1);
    stage_init(&good, &fleet, 0.5);
    stage_init(&silent, &fleet, 1);
    stage_register(&good, "good", SCORER, 1);
    stage_register(&silent, "silent", SCORER, 1);
    silent.silent = 1;
    fleet_serve(&fleet);
    assert_near(fleet.decision.score, 2.5, 0);
    expect_counts(&good, 1, 0, 0);
    expect_counts(&silent, 1, 0, 1);
    fleet_close(&fleet);
}

/* ---- calls from inside ---- */

static void pick_inside(struct stage *stage, const lbroute_score_request *asked)
{
    struct fleet *fleet = stage->fleet;
    lbroute_request request = *asked->request;
    lbroute_decision decision;
    size_t count = 77;

    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(
        lbroute_pick(fleet->router, &request, fleet->now + 1, &decision),
        LBROUTE_ERR_BUSY);
    request.pool = 0;
    request.model = "other";
    request.model_len = 5;
    assert_int_equal(lbroute_explain(fleet->router, &request, fleet->now + 1,
                                     &decision, NULL, 0, &count),
                     LBROUTE_ERR_BUSY);
    assert_int_equal(decision.target, 0);
    assert_int_equal(count, 77);
    assert_int_equal(fleet_totals(fleet).picks, stage->calls - 1);
}

/* Also for a router of one thread, whose lock is left out. */
static void picks_from_inside_are_refused(void **state)
{
    lbroute_router_options options;
    (void)state;

    for (int single = 0; single < 2; single++) {
        struct fleet fleet;
        struct stage stage;
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        options.single_threaded = single;
        fleet_open_options(&fleet, &options, "pipeline");
        fleet_add(&fleet);
        stage_init(&stage, &fleet, 1);
        stage_register(&stage, "stage", SCORER, 1);
        stage.inside = pick_inside;
        for (int i = 0; i < 3; i++)
            assert_int_equal(fleet_serve(&fleet), A);
        assert_int_equal(stage.calls, 3);
        fleet_close(&fleet);
    }
}

static void pick_from_another(struct stage *stage,
                              const lbroute_score_request *request)
{
    struct fleet *other = (struct fleet *)stage->fleet->request.prompt;
    (void)request;
    assert_int_equal(fleet_serve(other), A);
}

/* Another router is another matter. */
static void another_router_may_be_asked(void **state)
{
    struct fleet fleet, other;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 1);
    fleet_open(&other, "pipeline", 1, 1);
    stage.inside = pick_from_another;
    fleet.request.prompt = &other;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(other.picks[A], 1);
    fleet_close(&other);
    fleet_close(&fleet);
}

static void remove_a(struct stage *stage, const lbroute_score_request *request)
{
    (void)request;
    stage->inside = NULL;
    fleet_remove(stage->fleet, A);
}

/* The best is gone when the scores are in: it is not chosen. */
static void a_target_goes_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 3, SCORER, 0);
    stage.scores[A] = 1;
    stage.inside = remove_a;
    assert_true(fleet_serve(&fleet) != A);
    assert_int_equal(fleet.code, LBROUTE_OK);
    assert_int_equal(fleet.decision.candidates, 2);
    fleet_close(&fleet);
}

static void add_again_a(struct stage *stage,
                        const lbroute_score_request *request)
{
    (void)request;
    fleet_remove(stage->fleet, A);
    fleet_add_again(stage->fleet, A);
}

/* One that is new has no score: it counts as the mean, never as the best, nor
 * as the one of its name that is gone. */
static void a_target_comes_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    for (int best = 0; best < 2; best++) {
        open_one(&fleet, &stage, 3, SCORER, 0.25);
        stage.scores[A] = 1;
        stage.scores[B] = best ? 0.75 : 0.25;
        stage.inside = add_again_a;
        assert_true(fleet_serve(&fleet) == B || !best);
        assert_near(fleet.decision.score, best ? 2.75 : 2.25, 1e-12);
        fleet_close(&fleet);
    }
}

static void add_again_heavy(struct stage *stage,
                            const lbroute_score_request *request)
{
    add_again_a(stage, request);
    fleet_set_weight(stage->fleet, A, 3);
}

/* Nor is it the worst. */
static void unknown_is_the_mean(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 3, SCORER, 0.25);
    stage.scores[C] = 0.75;
    stage.inside = add_again_heavy;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_near(fleet.decision.score, 1 + 1 + 0.5, 1e-12);
    fleet_close(&fleet);
}

/* The mean of equal scores is no other score, whatever rounding says: three
 * times a tenth, divided by three, is more than a tenth. */
static void the_mean_of_equals_is_a_tie(void **state)
{
    size_t newcomers = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct fleet fleet;
        struct stage stage;
        fleet_open(&fleet, "pipeline", 4, seed);
        fleet_param(&fleet, "pipeline.weight", 0);
        fleet_param(&fleet, "pipeline.load", 0);
        stage_init(&stage, &fleet, 0.1);
        stage_register(&stage, "stage", SCORER, 1);
        stage.inside = add_again_a;
        newcomers += fleet_serve(&fleet) == A;
        fleet_close(&fleet);
    }
    assert_in_range(newcomers, 3, 20);
}

/* Only filters keep out whom they have not seen, also where the request itself
 * has filters. */
static void scorers_keep_nobody_out(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 3, SCORER, 1);
    stage.inside = add_again_a;
    fleet.request.exclude = &fleet.targets[B];
    fleet.request.exclude_len = 2;
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(stage.calls, 1);
    fleet_close(&fleet);
}

static void add_one(struct stage *stage, const lbroute_score_request *request)
{
    (void)request;
    stage->inside = NULL;
    fleet_remove(stage->fleet, A);
    fleet_add(stage->fleet);
}

/* A filter decides about every target: where only such are left that it has
 * not seen, it is asked again. */
static void a_filter_sees_everybody(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, FILTER, 1);
    stage.inside = add_one;
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(stage.calls, 2);
    stage.inside = add_one;
    fleet_add(&fleet); /* C stays */
    fleet.targets[A] = fleet.targets[B];
    assert_int_equal(fleet_serve(&fleet), C);
    assert_int_equal(stage.calls, 3);
    expect_counts(&stage, 3, 0, 0);
    fleet_close(&fleet);
}

static void replace_all(struct stage *stage,
                        const lbroute_score_request *request)
{
    (void)request;
    fleet_remove(stage->fleet, A);
    fleet_add_again(stage->fleet, A);
}

/* A fleet that changes with every call does not hold a request for ever. */
static void asking_again_has_an_end(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, FILTER, 1);
    stage.inside = replace_all;
    expect_refusal(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_FILTERED);
    assert_in_range(stage.calls, 2, 10);
    fleet_close(&fleet);
}

static void load_b(struct stage *stage, const lbroute_score_request *request)
{
    (void)request;
    fleet_gauge(stage->fleet, B, LBROUTE_GAUGE_RUNNING, 20);
}

/* The load counts as it is when the choice is made. */
static void load_counts_at_the_choice(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 2, SCORER, 0);
    stage.scores[B] = 1;
    assert_int_equal(fleet_serve(&fleet), B);
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_RUNNING, 0);
    stage.inside = load_b;
    assert_int_equal(fleet_serve(&fleet), A);
    fleet_close(&fleet);
}

static void change_strategy(struct stage *stage,
                            const lbroute_score_request *request)
{
    (void)request;
    fleet_strategy(stage->fleet, "round_robin");
}

static void the_strategy_changes_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 2, FILTER, 0);
    stage.inside = change_strategy;
    assert_true(fleet_serve(&fleet) != FLEET_NONE);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_ROUND_ROBIN);
    /* Other strategies do not call it; it stays registered. */
    assert_true(fleet_serve(&fleet) != FLEET_NONE);
    assert_int_equal(stage.calls, 1);
    stage.inside = NULL;
    fleet_strategy(&fleet, "pipeline");
    expect_refusal(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_FILTERED);
    fleet_close(&fleet);
}

static void remove_itself(struct stage *stage,
                          const lbroute_score_request *request)
{
    lbroute_scorer_stats stats;

    lbroute_scorer_stats_init(&stats, sizeof stats);
    assert_int_equal(
        lbroute_scorer_remove(stage->fleet->router, request->scorer),
        LBROUTE_OK);
    assert_int_equal(stage->destroyed, 0);
    assert_int_equal(
        lbroute_scorer_remove(stage->fleet->router, request->scorer),
        LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(
        lbroute_get_scorer_stats(stage->fleet->router, request->scorer, &stats),
        LBROUTE_ERR_NOT_FOUND);
}

/* It lives until its own call has ended; its answer still counts. */
static void a_scorer_removes_itself(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 2, SCORER, 0);
    stage.scores[B] = 1;
    stage.inside = remove_itself;
    assert_int_equal(fleet_serve(&fleet), B);
    assert_int_equal(stage.destroyed, 1);
    assert_int_equal(fleet_serve(&fleet), A);
    assert_int_equal(stage.calls, 1);
    fleet_close(&fleet);
    assert_int_equal(stage.destroyed, 1);
}

static void remove_pool(struct stage *stage,
                        const lbroute_score_request *request)
{
    fleet_remove(stage->fleet, A);
    assert_int_equal(lbroute_pool_remove(stage->fleet->router, request->pool),
                     LBROUTE_OK);
    assert_int_equal(stage->destroyed, 0);
}

static void the_pool_goes_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 0);
    stage.inside = remove_pool;
    assert_int_equal(fleet_serve(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(stage.destroyed, 1);
    fleet_close(&fleet);
    assert_int_equal(stage.destroyed, 1);
}

static void move_model(struct stage *stage,
                       const lbroute_score_request *request)
{
    lbroute_target_options options;
    (void)request;

    stage->inside = NULL;
    fleet_target_options(stage->fleet, &options);
    options.pool = stage->fleet->pool;
    options.model = "m";
    options.model_len = 1;
    assert_int_equal(lbroute_target_update(stage->fleet->router,
                                           stage->fleet->targets[A], &options,
                                           stage->fleet->now),
                     LBROUTE_OK);
}

/* A model that moves to another pool meanwhile is that pool's stages' matter:
 * here its filter. */
static void the_model_moves_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage first, second;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "pipeline", 0, 1);
    stage_init(&first, &fleet, 1);
    stage_register(&first, "first", SCORER, 1);
    fleet_target_options(&fleet, &options);
    options.model = "m";
    options.model_len = 1;
    fleet_add_options(&fleet, &options);
    fleet_add_pool(&fleet, "second", "pipeline");
    stage_init(&second, &fleet, 0);
    stage_register(&second, "second", FILTER, 1);
    first.inside = move_model;
    fleet.request.pool = 0;
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    expect_refusal(&fleet, LBROUTE_ERR_NO_TARGET, LBROUTE_REASON_FILTERED);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    fleet_close(&fleet);
}

static void time_passes(struct stage *stage,
                        const lbroute_score_request *request)
{
    assert_int_equal(lbroute_tick(stage->fleet->router, request->now + TEST_H),
                     LBROUTE_OK);
}

/* Time that passes during a call is not taken back: the ticket counts from the
 * router's time. */
static void time_passes_meanwhile(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 1);
    fleet.now = TEST_S;
    stage.inside = time_passes;
    fleet_pick(&fleet);
    assert_int_equal(lbroute_next_deadline(fleet.router),
                     TEST_S + TEST_H + 600 * TEST_S);
    stage.inside = NULL;
    fleet_pick(&fleet);
    assert_int_equal(stage.request.now, TEST_S + TEST_H);
    fleet_close(&fleet);
}

/* ---- explanations ---- */

static double explained_score(struct fleet *fleet, size_t index)
{
    lbroute_candidate rows[8];
    lbroute_decision decision;
    size_t count = 0;

    for (size_t i = 0; i < 8; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, rows, 8, &count),
                     LBROUTE_OK);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].target == decision.target)
            assert_near(rows[i].score, decision.score, 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].target == fleet->targets[index])
            return rows[i].score;
    }
    fail();
    return 0;
}

/* An explanation asks the stages, says what a pick would, and leaves no
 * trace: no count, no rank, no prompt, no pin. */
static void explanations_have_no_effect(void **state)
{
    struct fleet fleet, twin;
    struct stage stage, twins;
    (void)state;

    open_one(&fleet, &stage, 4, SCORER, 0.5);
    open_one(&twin, &twins, 4, SCORER, 0.5);
    stage.scores[C] = twins.scores[C] = 0.4;
    for (size_t i = 0; i < 60; i++) {
        size_t explained;
        fleet_prompt(&fleet, i % 3 ? "one prompt" : "another prompt");
        fleet_prompt(&twin, i % 3 ? "one prompt" : "another prompt");
        fleet_session(&fleet, i % 5 ? NULL : "s");
        fleet_session(&twin, i % 5 ? NULL : "s");
        explained = fleet_explain(&fleet);
        assert_int_equal(fleet_explain(&fleet), explained);
        explained_score(&fleet, A);
        assert_int_equal(fleet_pick(&fleet), explained);
        assert_int_equal(fleet_pick(&twin), explained);
        if (i % 4 == 0) {
            fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
            fleet_settle_all(&twin, LBROUTE_EVENT_SUCCESS);
        }
    }
    assert_int_equal(stage.explains, 180);
    assert_int_equal(stage.calls, 240);
    expect_counts(&stage, 60, 0, 0);
    expect_counts(&twins, 60, 0, 0);
    stage.result = 1;
    fleet_explain(&fleet);
    expect_counts(&stage, 60, 0, 0);
    fleet_close(&fleet);
    fleet_close(&twin);
}

/* Half the weight, a load of 1, half of the prompt, a pin, own scores; and no
 * score for whom the pick does not rank. */
static void scores_of_candidates(void **state)
{
    struct fleet fleet;
    struct stage stage;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 0.5);
    fleet_add_weight(&fleet, 2);
    fleet_add_weight(&fleet, 4);
    fleet_drain(&fleet, C, 1);
    fleet_session(&fleet, "s");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    prompt_warm(&fleet, A, "12345678", 8);
    fleet_hold(&fleet, A, 1);
    fleet_prompt(&fleet, "1234abcd");
    /* others: 3 built-in weights and one of the host's */
    assert_near(explained_score(&fleet, A), 0.5 + 0.5 + 0.5 + 0.5 + 5, 1e-12);
    assert_near(explained_score(&fleet, B), 1 + 1 + 0 + 0.5, 1e-12);
    assert_true(isnan(explained_score(&fleet, C)));
    fleet_prompt(&fleet, NULL);
    assert_near(explained_score(&fleet, A), 0.5 + 0.5 + 0.5 + 5, 1e-12);
    fleet_close(&fleet);
}

/* ---- registration ---- */

static int try(struct stage *stage, lbroute_router *router, lbroute_pool pool,
               const lbroute_scorer_options *options)
{
    lbroute_scorer handle = 99;
    size_t destroyed = stage->destroyed;
    int code = lbroute_scorer_register(router, pool, options, &handle);

    assert_int_equal(stage->destroyed, destroyed + (code != LBROUTE_OK));
    if (code == LBROUTE_ERR_EXISTS)
        assert_int_equal(handle, stage->handle);
    else if (code != LBROUTE_OK)
        assert_int_equal(handle, 99);
    return code;
}

struct wide_options {
    lbroute_scorer_options known;
    uint64_t unknown;
};

/* Ownership passes with the call: a registration that fails frees. */
static void a_failed_registration_destroys(void **state)
{
    static char long_name[LBROUTE_NAME_MAX + 2];
    struct fleet fleet;
    struct stage stage, bad;
    lbroute_scorer_options good, options;
    struct wide_options wide;
    lbroute_scorer handle = 0;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 1);
    stage_init(&bad, &fleet, 1);
    bad.handle = stage.handle;
    stage_options(&bad, "bad", &good);
    memset(long_name, 'n', LBROUTE_NAME_MAX + 1);
#define REFUSE(wanted, change)                                                 \
    options = good;                                                            \
    change;                                                                    \
    assert_int_equal(try(&bad, fleet.router, fleet.pool, &options), wanted)
    REFUSE(LBROUTE_ERR_INVALID, options.score = NULL);
    REFUSE(LBROUTE_ERR_INVALID, options.kind = -1);
    REFUSE(LBROUTE_ERR_INVALID, options.kind = LBROUTE_SCORER_COUNT);
    REFUSE(LBROUTE_ERR_INVALID, options.reserved0 = 1);
    REFUSE(LBROUTE_ERR_INVALID, options.name = NULL);
    REFUSE(LBROUTE_ERR_NAME, options.name_len = 0);
    REFUSE(LBROUTE_ERR_NAME, options.name = "a\nb");
    REFUSE(LBROUTE_ERR_NAME, options.name = long_name;
           options.name_len = LBROUTE_NAME_MAX + 1);
    REFUSE(LBROUTE_ERR_RANGE, options.weight = -0.001);
    REFUSE(LBROUTE_ERR_RANGE, options.weight = 1000.001);
    REFUSE(LBROUTE_ERR_RANGE, options.weight = (double)NAN);
    REFUSE(LBROUTE_ERR_EXISTS, options.name = "stage"; options.name_len = 5);
    assert_int_equal(try(&bad, fleet.router, fleet.targets[A], &good),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(try(&bad, fleet.router, 0, &good), LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(try(&bad, NULL, fleet.pool, &good), LBROUTE_ERR_INVALID);
    wide.known = good;
    wide.known.size = sizeof wide;
    wide.unknown = 1;
    assert_int_equal(try(&bad, fleet.router, fleet.pool, &wide.known),
                     LBROUTE_ERR_UNSUPPORTED);
    assert_int_equal(bad.destroyed, 16);
    assert_int_equal(
        lbroute_scorer_register(fleet.router, fleet.pool, &good, NULL),
        LBROUTE_ERR_INVALID);
    assert_int_equal(bad.destroyed, 17);
    assert_int_equal(
        lbroute_scorer_register(fleet.router, fleet.pool, NULL, &handle),
        LBROUTE_ERR_INVALID);
    options = good;
    options.size = 3;
    assert_int_equal(
        lbroute_scorer_register(fleet.router, fleet.pool, &options, &handle),
        LBROUTE_ERR_INVALID);
    assert_int_equal(bad.destroyed, 17);
    assert_int_equal(stage.destroyed, 0);
    wide.unknown = 0;
    assert_int_equal(try(&bad, fleet.router, fleet.pool, &wide.known),
                     LBROUTE_OK);
    fleet_close(&fleet);
    assert_int_equal(bad.destroyed, 18);
}

/* Allocation N fails, for every N. */
static void a_registration_without_memory_destroys(void **state)
{
    struct fleet fleet;
    struct stage stage;
    lbroute_scorer_options options;
    lbroute_scorer handle;
    uint64_t after = 0;
    int code;
    (void)state;

    do {
        fleet_open(&fleet, "pipeline", 1, 1);
        stage_init(&stage, &fleet, 1);
        stage_options(&stage, "stage", &options);
        test_alloc_fail(&fleet.alloc, after, 1);
        code = try(&stage, fleet.router, fleet.pool, &options);
        test_alloc_heal(&fleet.alloc);
        if (code != LBROUTE_OK) {
            assert_int_equal(code, LBROUTE_ERR_NO_MEMORY);
            assert_int_equal(lbroute_scorer_next(fleet.router, 0, 0, &handle),
                             LBROUTE_ERR_NOT_FOUND);
            assert_int_equal(try(&stage, fleet.router, fleet.pool, &options),
                             LBROUTE_OK);
        }
        assert_int_equal(fleet_serve(&fleet), A);
        fleet_close(&fleet);
        assert_int_equal(stage.destroyed, code == LBROUTE_OK ? 1 : 2);
        after++;
    } while (code != LBROUTE_OK);
    assert_in_range(after, 3, 10);
}

/* A pick whose buffers find no memory says so and changes nothing. */
static void a_pick_without_memory(void **state)
{
    struct fleet fleet;
    struct stage stage;
    size_t failures = 0;
    (void)state;

    for (uint64_t after = 0; after < 10; after++) {
        open_one(&fleet, &stage, 3, SCORER, 1);
        fleet_strategy(&fleet, "random");
        fleet_serve(&fleet); /* the first ticket takes memory, too */
        fleet_strategy(&fleet, "pipeline");
        test_alloc_fail(&fleet.alloc, after, 1);
        if (fleet_pick(&fleet) == FLEET_NONE) {
            failures++;
            assert_int_equal(fleet.code, LBROUTE_ERR_NO_MEMORY);
            assert_int_equal(stage.calls, 0);
            assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
        }
        test_alloc_heal(&fleet.alloc);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_int_equal(stage.destroyed, 0);
        fleet_close(&fleet);
        assert_int_equal(stage.destroyed, 1);
    }
    assert_int_equal(failures, 3);
}

static void the_registry_is_bounded(void **state)
{
    static const uint32_t bad[] = {0, 1025, UINT32_MAX};
    lbroute_router_options options;
    struct stage stages[4];
    struct fleet fleet;
    lbroute_scorer_options scorer;
    lbroute_router *router = NULL;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    assert_int_equal(options.max_scorers, 64);
    options.seed = 1;
    for (size_t i = 0; i < 3; i++) {
        options.max_scorers = bad[i];
        assert_int_equal(lbroute_router_create(&options, &router),
                         LBROUTE_ERR_RANGE);
    }
    options.max_scorers = 3;
    fleet_open_options(&fleet, &options, "pipeline");
    for (size_t i = 0; i < 4; i++) {
        char name[] = {'s', (char)('0' + i), 0};
        stage_init(&stages[i], &fleet, 1);
        stage_options(&stages[i], name, &scorer);
        if (i == 2)
            fleet_add_pool(&fleet, "second", "weighted");
        assert_int_equal(try(&stages[i], fleet.router, fleet.pool, &scorer),
                         i < 3 ? LBROUTE_OK : LBROUTE_ERR_LIMIT);
    }
    assert_int_equal(lbroute_pool_remove(fleet.router, fleet.pool), LBROUTE_OK);
    assert_int_equal(stages[2].destroyed, 1);
    assert_int_equal(stages[0].destroyed + stages[1].destroyed, 0);
    fleet_close(&fleet);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(stages[i].destroyed, 1);
}

/* ---- handles ---- */

static void handles_and_walks(void **state)
{
    struct fleet fleet;
    struct stage stages[5];
    lbroute_pool pools[2];
    lbroute_scorer handle = 0;
    lbroute_scorer_stats stats;
    size_t count = 0;
    (void)state;

    fleet_open(&fleet, "pipeline", 1, 1);
    pools[0] = fleet.pool;
    pools[1] = fleet_add_pool(&fleet, "second", "weighted");
    for (size_t i = 0; i < 5; i++) {
        char name[] = {'s', (char)('0' + i), 0};
        fleet.pool = pools[i % 2];
        stage_init(&stages[i], &fleet, 1);
        stage_register(&stages[i], name, (int)(i % 2), (double)i);
    }
    assert_int_equal(lbroute_scorer_remove(fleet.router, stages[2].handle),
                     LBROUTE_OK);
    while (lbroute_scorer_next(fleet.router, 0, handle, &handle) == LBROUTE_OK)
        count++;
    assert_int_equal(count, 4);
    for (handle = 0, count = 0;
         lbroute_scorer_next(fleet.router, pools[0], handle, &handle) ==
         LBROUTE_OK;
         count++)
        assert_int_equal(handle, stages[count ? 4 : 0].handle);
    assert_int_equal(count, 2);
    stats = stage_stats(&stages[3]);
    assert_int_equal(stats.pool, pools[1]);
    assert_int_equal(stats.kind, FILTER);
    assert_int_equal(stats.name_len, 2);
    assert_string_equal(stats.name, "s3");
    assert_near(stats.weight, 3, 0);
    assert_int_equal(
        lbroute_scorer_next(fleet.router, fleet.targets[0], 0, &handle),
        LBROUTE_ERR_NOT_FOUND);
    fleet_close(&fleet);
}

static void bad_calls_are_refused(void **state)
{
    struct fleet fleet;
    struct stage stage;
    lbroute_scorer handle = 0;
    lbroute_scorer_stats stats;
    (void)state;

    open_one(&fleet, &stage, 1, SCORER, 1);
    handle = stage.handle;
    lbroute_scorer_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_scorer_set_weight(fleet.router, handle, -1),
                     LBROUTE_ERR_RANGE);
    assert_int_equal(
        lbroute_scorer_set_weight(fleet.router, handle, (double)NAN),
        LBROUTE_ERR_RANGE);
    assert_near(stage_stats(&stage).weight, 1, 0);
    assert_int_equal(lbroute_scorer_set_weight(NULL, handle, 1),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_scorer_remove(NULL, handle), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_scorer_next(fleet.router, 0, 0, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_scorer_stats(fleet.router, handle, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_scorer_remove(fleet.router, handle), LBROUTE_OK);
    assert_int_equal(stage.destroyed, 1);
    assert_int_equal(lbroute_scorer_remove(fleet.router, handle),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_scorer_set_weight(fleet.router, handle, 1),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_get_scorer_stats(fleet.router, handle, &stats),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_scorer_remove(fleet.router, fleet.pool),
                     LBROUTE_ERR_NOT_FOUND);
    /* The name is free again, and the old handle stays stale. */
    stage_register(&stage, "stage", SCORER, 1);
    assert_true(stage.handle != handle);
    assert_int_equal(lbroute_scorer_remove(fleet.router, handle),
                     LBROUTE_ERR_NOT_FOUND);
    fleet_close(&fleet);
    assert_int_equal(stage.destroyed, 2);
}

/* A destructor may be left out, and `user` may be nothing. */
static int give_half(void *user, const lbroute_score_request *request,
                     const lbroute_candidate *candidates, size_t count,
                     double *scores)
{
    (void)request;
    (void)candidates;
    assert_null(user);
    for (size_t i = 0; i < count; i++)
        scores[i] = 0.5;
    return 0;
}

static void a_plain_scorer(void **state)
{
    struct fleet fleet;
    lbroute_scorer_options options;
    lbroute_scorer handle = 0;
    (void)state;

    fleet_open(&fleet, "pipeline", 2, 1);
    lbroute_scorer_options_init(&options, sizeof options);
    assert_int_equal(options.kind, SCORER);
    assert_near(options.weight, 1, 0);
    options.name = "half";
    options.name_len = 4;
    options.score = give_half;
    assert_int_equal(
        lbroute_scorer_register(fleet.router, fleet.pool, &options, &handle),
        LBROUTE_OK);
    fleet_serve(&fleet);
    assert_near(fleet.decision.score, 2.5, 0);
    assert_int_equal(lbroute_scorer_remove(fleet.router, handle), LBROUTE_OK);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_for_all_candidates),
        cmocka_unit_test(the_request_is_complete),
        cmocka_unit_test(scores_are_weighted_and_clamped),
        cmocka_unit_test(weights_decide),
        cmocka_unit_test(filters_go_first),
        cmocka_unit_test(a_filter_leaves_nobody),
        cmocka_unit_test(filtered_is_the_reason),
        cmocka_unit_test(a_failing_stage_is_left_out),
        cmocka_unit_test(every_candidate_needs_a_score),
        cmocka_unit_test(picks_from_inside_are_refused),
        cmocka_unit_test(another_router_may_be_asked),
        cmocka_unit_test(a_target_goes_meanwhile),
        cmocka_unit_test(a_target_comes_meanwhile),
        cmocka_unit_test(unknown_is_the_mean),
        cmocka_unit_test(the_mean_of_equals_is_a_tie),
        cmocka_unit_test(scorers_keep_nobody_out),
        cmocka_unit_test(a_filter_sees_everybody),
        cmocka_unit_test(asking_again_has_an_end),
        cmocka_unit_test(load_counts_at_the_choice),
        cmocka_unit_test(the_strategy_changes_meanwhile),
        cmocka_unit_test(a_scorer_removes_itself),
        cmocka_unit_test(the_pool_goes_meanwhile),
        cmocka_unit_test(the_model_moves_meanwhile),
        cmocka_unit_test(time_passes_meanwhile),
        cmocka_unit_test(explanations_have_no_effect),
        cmocka_unit_test(scores_of_candidates),
        cmocka_unit_test(a_failed_registration_destroys),
        cmocka_unit_test(a_registration_without_memory_destroys),
        cmocka_unit_test(a_pick_without_memory),
        cmocka_unit_test(the_registry_is_bounded),
        cmocka_unit_test(handles_and_walks),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(a_plain_scorer),
    };
    return cmocka_run_group_tests_name("scorers", tests, NULL, NULL);
}
