/* SPDX-License-Identifier: MIT */
/* Field reports PR: predicted latency. */
#include <math.h>
#include <string.h>

#include "models/least_squares.h"

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

static const uint64_t ms = TEST_MS;

enum { FIRST = LBROUTE_LATENCY_FIRST_TOKEN, TOTAL = LBROUTE_LATENCY_TOTAL };

/* ---- the reported cases ---- */

/* Without a usable prediction there is none, rather than one of 0 ms. */
static void pr_02_unknown_recorded_as_0(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 3, 1);
    fleet_teach(&fleet, 0, 900 * ms, 900 * ms, 7);
    fleet_teach(&fleet, 1, 300 * ms, 300 * ms, 8);
    for (int kind = FIRST; kind <= TOTAL; kind++) {
        assert_int_equal(fleet_expected(&fleet, 0, kind), -1);
        assert_near(fleet_expected(&fleet, 1, kind), 300e6, 1e6);
        assert_int_equal(fleet_expected(&fleet, 2, kind), -1);
    }
    for (int i = 0; i < 60; i++)
        fleet_pick(&fleet);
    for (size_t t = 0; t < 3; t++)
        assert_int_equal(fleet_in_flight(&fleet, t), 20);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    fleet_teach(&fleet, 0, 900 * ms, 900 * ms, 1);
    assert_near(fleet_expected(&fleet, 0, FIRST), 900e6, 5e6);
    fleet_close(&fleet);
}

/* The same when two of three are known, and the third gets its trials. */
static void pr_02_unknown_is_neither_best_nor_worst(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 3, 1);
    fleet_teach(&fleet, 0, 900 * ms, 900 * ms, 8);
    fleet_teach(&fleet, 1, 300 * ms, 300 * ms, 8);
    for (int i = 0; i < 60; i++)
        fleet_pick(&fleet);
    for (size_t t = 0; t < 3; t++)
        assert_in_range(fleet_in_flight(&fleet, t), 10, 40);
    fleet_close(&fleet);
}

/* End-to-end times entered the first-token model; events without the measured
 * quantity taught. */
static void pr_03_training_on_the_wrong_interval(void **state)
{
    struct fleet fleet;
    lbroute_latency_model before[2];
    (void)state;

    fleet_open(&fleet, "predicted_latency", 1, 1);
    fleet_param(&fleet, "health.bench_after", 0);
    fleet_teach(&fleet, 0, 200 * ms, 200 * ms, 20);
    before[FIRST] = fleet_model(&fleet, 0, FIRST);
    before[TOTAL] = fleet_model(&fleet, 0, TOTAL);
    for (int64_t latency = -2; latency <= 0; latency++) {
        lbroute_event event;

        lbroute_event_init(&event, sizeof event);
        fleet_pick(&fleet);
        event.ticket = fleet.decision.ticket;
        event.latency_ns = latency; /* -1: the clock has not moved */
        event.kind = LBROUTE_EVENT_FIRST_TOKEN;
        assert_int_equal(lbroute_observe(fleet.router, &event, fleet.now),
                         latency < -1 ? LBROUTE_ERR_RANGE : LBROUTE_OK);
        event.kind = LBROUTE_EVENT_SUCCESS;
        assert_int_equal(lbroute_observe(fleet.router, &event, fleet.now),
                         latency < -1 ? LBROUTE_ERR_RANGE : LBROUTE_OK);
        fleet.held_count = 0;
        assert_int_equal(fleet_in_flight(&fleet, 0), 0);
    }
    for (int i = 0; i < 100; i++) {
        fleet_pick(&fleet);
        fleet.now += ms;
        fleet_settle_last(&fleet,
                          i % 2 ? LBROUTE_EVENT_CANCEL : LBROUTE_EVENT_FAILURE);
        assert_int_equal(fleet_in_flight(&fleet, 0), 0);
        assert_int_equal(fleet_stats(&fleet, 0).pending_requests, 0);
    }
    for (int kind = FIRST; kind <= TOTAL; kind++) {
        lbroute_latency_model after = fleet_model(&fleet, 0, kind);

        after.age_ns = before[kind].age_ns;
        assert_memory_equal(&after, &before[kind], sizeof after);
    }
    fleet_close(&fleet);
}

/* A success whose first token was not reported teaches the total alone; first
 * tokens of what then fails teach nothing. */
static void pr_03_each_model_its_own_interval(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 1, 1);
    fleet_teach(&fleet, 0, 100 * ms, 700 * ms, 20);
    fleet_teach(&fleet, 0, 0, 700 * ms, 20);
    for (int i = 0; i < 4; i++) {
        fleet_pick(&fleet);
        fleet.now += ms;
        assert_int_equal(fleet_observe(&fleet, fleet.decision.ticket,
                                       LBROUTE_EVENT_FIRST_TOKEN),
                         LBROUTE_OK);
        fleet_settle_last(&fleet, LBROUTE_EVENT_FAILURE);
    }
    assert_int_equal(fleet_model(&fleet, 0, FIRST).samples, 20);
    assert_int_equal(fleet_model(&fleet, 0, TOTAL).samples, 40);
    assert_near(fleet_expected(&fleet, 0, FIRST), 100e6, 1e5);
    assert_near(fleet_expected(&fleet, 0, TOTAL), 700e6, 1e6);
    fleet_close(&fleet);
}

/* Tokens as ids, as text, and both: the filter and the prediction see the same
 * number. */
static void pr_04_size_of_tokenised_requests(void **state)
{
    static uint32_t ids[4000];
    static char text[16000];
    struct fleet fleet;
    lbroute_target_options options;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 0, 1);
    fleet_target_options(&fleet, &options);
    options.max_input_tokens = 4000;
    fleet_add_options(&fleet, &options);
    for (uint64_t i = 1; i <= 50; i++) {
        fleet.request.input_tokens = (int64_t)(i * 80);
        fleet_teach(&fleet, 0, 100 * ms + i * 8 * ms, 900 * ms, 1);
    }
    fleet.request.input_tokens = -1;
    fleet.request.tokens = ids;
    fleet.request.tokens_len = 4000;
    assert_near(fleet_expected(&fleet, 0, FIRST), 500e6, 5e6);
    fleet.request.tokens_len = 4001 - 1;
    fleet.request.prompt = text;
    fleet.request.prompt_len = 400; /* the ids win */
    assert_near(fleet_expected(&fleet, 0, FIRST), 500e6, 5e6);
    fleet.request.tokens_len = 0;
    fleet.request.prompt_len = sizeof text; /* bytes / 4 */
    assert_near(fleet_expected(&fleet, 0, FIRST), 500e6, 5e6);
    fleet.request.input_tokens = 1000; /* what is told wins */
    assert_near(fleet_expected(&fleet, 0, FIRST), 200e6, 2e6);
    assert_int_equal(fleet_verdict(&fleet, 0), LBROUTE_REASON_NONE);
    fleet.request.input_tokens = 4001;
    assert_int_equal(fleet_verdict(&fleet, 0), LBROUTE_REASON_TOO_LARGE);
    fleet_close(&fleet);
}

static double uniform(struct test_rng *rng, double low, double high)
{
    return low + (high - low) * (double)(test_rng_next(rng) >> 11) * 0x1p-53;
}

/* A plane in ms: base, a kilotoken of queue, a kilotoken of input. */
struct plane {
    double base, queue, input;
};

static double truth(const struct plane *plane, double queue, double input)
{
    return plane->base + plane->queue * queue + plane->input * input;
}

static void update(struct lbr_least_squares *model, struct test_rng *rng,
                   const struct plane *plane, double most, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double queue = (double)test_rng_below(rng, 64);
        double input = uniform(rng, 0.001, most);

        lbr_least_squares_add(
            model, queue, input,
            truth(plane, queue, input) * uniform(rng, 0.98, 1.02), NULL);
    }
}

/* The mean error at a thousand points where requests come from. In the small
 * range hardly one of them is far off; in the large one base and queue are next
 * to nothing of most values, so that those of short requests are a guess. */
static void check(const struct lbr_least_squares *model,
                  const struct plane *plane, double most, double margin)
{
    struct test_rng rng = {77};
    double sum = 0;
    size_t off = 0;

    for (int i = 0; i < 1000; i++) {
        double queue = (double)test_rng_below(&rng, 64);
        double input = uniform(&rng, 0.001, most);
        double error = fabs(lbr_least_squares_at(model, queue, input) /
                                truth(plane, queue, input) -
                            1);

        sum += error;
        off += error >= margin;
    }
    assert_in_real_range(sum / 1000, 0, margin);
    assert_in_range(off, 0, most < 1000 ? 5 : 1000);
}

/* The simple form drifts to an invalid matrix, or sums cancel. */
static void pr_05_precision_over_millions_of_updates(void **state)
{
    static const struct plane plane = {100, 50, 100};
    static const struct plane stepped = {300, 20, 200};
    static const double most[] = {200, 200000};
    (void)state;

    for (size_t k = 0; k < 2; k++) {
        struct lbr_least_squares model = {.samples = 0};
        struct test_rng rng = {k + 1};

        for (int i = 0; i < 50; i++) {
            update(&model, &rng, &plane, most[k], 100000);
            check(&model, &plane, most[k], 0.03);
        }
        assert_int_equal(model.samples, 5000000);
        update(&model, &rng, &stepped, most[k], 5000);
        check(&model, &stepped, most[k], 0.1);
    }
}

/* First tokens of 183.6 s and 1 ms among those of half a second. */
static void pr_06_clock_stopped_on_the_wrong_event(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        static const uint64_t odd[] = {183581, 1, 183581, 1};
        struct fleet fleet;
        struct test_rng rng = {1};

        fleet_open(&fleet, "predicted_latency", 2, 1);
        for (size_t i = 0; i < 104; i++) {
            uint64_t usual = 475 + test_rng_below(&rng, 50);

            /* mixed in, first, or right before the last fifty */
            if (order == 0 && i < 50 && i % 13 == 7)
                usual = odd[i / 13];
            if (order == 1 && i < 4)
                usual = odd[i];
            if (order == 2 && i >= 50 && i < 54)
                usual = odd[i - 50];
            fleet_teach(&fleet, 0, usual * ms, usual * ms + 1, 1);
        }
        fleet_teach(&fleet, 1, 600 * ms, 600 * ms, 50);
        assert_in_real_range((double)fleet_expected(&fleet, 0, FIRST), 250e6,
                             1000e6);
        assert_int_equal(fleet_pick(&fleet), 0);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PREDICTED_LATENCY);
        fleet_close(&fleet);
    }
}

/* ---- the rule ---- */

/* While too few are known the pool is one of least load: a pool that changes
 * its strategy moves no traffic. */
static void a_switch_moves_no_traffic(void **state)
{
    struct fleet fleet;
    struct fleet twin;
    (void)state;

    fleet_open(&fleet, "least_connections", 4, 9);
    fleet_open(&twin, "least_connections", 4, 9);
    for (int i = 0; i < 40; i++)
        assert_int_equal(fleet_serve(&fleet), fleet_serve(&twin));
    fleet_strategy(&fleet, "predicted_latency");
    for (int i = 0; i < 60; i++) {
        size_t index = fleet_pick(&fleet);

        assert_int_equal(index, fleet_pick(&twin));
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        /* one of the four becomes known, much faster than any other */
        fleet_answer_last(&fleet, index == 0 ? ms : 0, index == 0 ? ms : 0);
        fleet_answer_last(&twin, 0, 0);
    }
    assert_int_equal(fleet_model(&fleet, 0, FIRST).known, 1);
    fleet_close(&fleet);
    fleet_close(&twin);
}

/* A request that is late counts at once, not when it ends. */
static void a_hanging_target_is_left(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    fleet_teach(&fleet, 0, 100 * ms, 100 * ms, 20);
    fleet_teach(&fleet, 1, 200 * ms, 200 * ms, 20);
    assert_int_equal(fleet_pick(&fleet), 0);
    fleet.now += 90 * ms;
    assert_int_equal(fleet_explain(&fleet), 0);
    fleet.now += 10 * TEST_S;
    assert_near(fleet_expected(&fleet, 0, FIRST), 100e6 + 9990e6, 1e6);
    assert_int_equal(fleet_explain(&fleet), 1);
    assert_int_equal(
        fleet_observe(&fleet, fleet.held[0].ticket, LBROUTE_EVENT_FIRST_TOKEN),
        LBROUTE_OK);
    assert_near(fleet_expected(&fleet, 0, FIRST), 100e6, 1e6);
    assert_int_equal(fleet_explain(&fleet), 0);
    fleet_close(&fleet);
}

/* A ticket that has expired by then is not late any more, and asking is
 * without effect. */
static void an_expired_request_is_not_late(void **state)
{
    struct fleet fleet;
    lbroute_candidate rows[2];
    lbroute_decision decision;
    size_t count;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    fleet.request.input_tokens = 1000;
    fleet_teach(&fleet, 0, 100 * ms, 100 * ms, 20);
    fleet_teach(&fleet, 1, 200 * ms, 200 * ms, 20);
    fleet_pick(&fleet);
    fleet_pick(&fleet);
    for (int i = 0; i < 2; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request,
                                     fleet.now + 601 * TEST_S, &decision, rows,
                                     2, &count),
                     LBROUTE_OK);
    assert_near(rows[0].expected_ttft_ns, 100e6, 1e6);
    assert_int_equal(fleet_stats(&fleet, 0).pending_tokens +
                         fleet_stats(&fleet, 1).pending_tokens,
                     2000);
    fleet.now += 10 * TEST_S;
    assert_true(fleet_expected(&fleet, 0, FIRST) > (int64_t)(9000 * ms));
    fleet_close(&fleet);
}

/* Queued work makes a fast target slow. */
static void queue_is_counted_in_work(void **state)
{
    struct fleet fleet;
    int64_t idle;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 1, 1);
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t queue = i % 5;
        uint64_t input = 1 + i % 7;
        size_t before = fleet.held_count;

        fleet.request.input_tokens = 1000;
        for (uint64_t k = 0; k < queue; k++)
            fleet_pick(&fleet);
        fleet.request.input_tokens = (int64_t)(input * 1000);
        fleet_teach(&fleet, 0, (20 + 50 * queue + 60 * input) * ms, 5000 * ms,
                    1);
        assert_int_equal(fleet.held_count, before + queue);
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    }
    fleet.request.input_tokens = 2000;
    idle = fleet_expected(&fleet, 0, FIRST);
    assert_near(idle, 140e6, 2e6);
    fleet.request.input_tokens = 4000;
    fleet_pick(&fleet);
    fleet.request.input_tokens = 2000;
    assert_near(fleet_expected(&fleet, 0, FIRST), 340e6, 5e6);
    assert_near(fleet_model(&fleet, 0, FIRST).queue, 4, 1e-9);
    fleet_close(&fleet);
}

/* Where first tokens are not reported, or the parameter asks for it, the total
 * time ranks. */
static void ranking_by_total(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    fleet_teach(&fleet, 0, 0, 900 * ms, 10);
    fleet_teach(&fleet, 1, 0, 500 * ms, 10);
    assert_int_equal(fleet_explain(&fleet), 1);
    fleet_teach(&fleet, 0, 100 * ms, 900 * ms, 10);
    fleet_teach(&fleet, 1, 200 * ms, 500 * ms, 10);
    assert_int_equal(fleet_explain(&fleet), 0);
    fleet_param(&fleet, "predicted_latency.rank", 1);
    assert_int_equal(fleet_explain(&fleet), 1);
    fleet_close(&fleet);
}

/* What others have waiting counts as so many usual requests. */
static void waiting_of_others_counts(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    fleet.request.input_tokens = 2000;
    fleet_teach(&fleet, 0, 100 * ms, 100 * ms, 20);
    fleet_teach(&fleet, 1, 110 * ms, 110 * ms, 20);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_WAITING, 3);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_WAITING, 0);
    assert_near(fleet_model(&fleet, 0, FIRST).queue, 6, 1e-6);
    assert_near(fleet_model(&fleet, 1, FIRST).queue, 0, 1e-6);
    assert_int_equal(fleet_explain(&fleet), 1);
    fleet.now += 30 * TEST_S; /* long out of date */
    assert_near(fleet_model(&fleet, 0, FIRST).queue, 0, 1e-6);
    fleet_close(&fleet);
}

/* A removed target leaves nothing to one that comes under its name. */
static void a_new_target_is_unknown(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    fleet_teach(&fleet, 0, 100 * ms, 100 * ms, 20);
    fleet_teach(&fleet, 1, 110 * ms, 110 * ms, 20);
    fleet_pick(&fleet);
    fleet_remove(&fleet, 0);
    fleet_add_again(&fleet, 0);
    assert_int_equal(fleet_expected(&fleet, 0, FIRST), -1);
    assert_int_equal(fleet_model(&fleet, 0, FIRST).samples, 0);
    assert_int_equal(fleet_stats(&fleet, 0).pending_requests, 0);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS); /* of the old one */
    assert_int_equal(fleet_model(&fleet, 0, FIRST).samples, 0);
    fleet_reapply(&fleet, 1);
    assert_int_equal(fleet_model(&fleet, 1, FIRST).samples, 20);
    fleet_close(&fleet);
}

/* Events of callers that know no latency: all of it is unknown. */
static void events_of_older_callers(void **state)
{
    struct fleet fleet;
    lbroute_event event;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 1, 1);
    memset(&event, 0, sizeof event);
    event.size = offsetof(lbroute_event, latency_ns);
    for (int i = 0; i < 10; i++) {
        fleet_pick(&fleet);
        fleet.now += 250 * ms;
        event.ticket = fleet.held[0].ticket;
        event.kind = LBROUTE_EVENT_SUCCESS;
        assert_int_equal(lbroute_observe(fleet.router, &event, fleet.now),
                         LBROUTE_OK);
        fleet.held_count = 0;
    }
    assert_near(fleet_expected(&fleet, 0, TOTAL), 250e6, 1e6);
    assert_int_equal(fleet_stats(&fleet, 0).input_tokens, 0);
    fleet_close(&fleet);
}

static void usage_is_counted(void **state)
{
    static const char *const strategies[] = {"predicted_latency", "weighted"};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct fleet fleet;
        lbroute_event event;

        fleet_open(&fleet, strategies[i], 1, 1);
        lbroute_event_init(&event, sizeof event);
        event.input_tokens = 1000;
        event.cached_tokens = 400;
        event.output_tokens = 50;
        for (int kind = LBROUTE_EVENT_SUCCESS; kind < LBROUTE_EVENT_COUNT;
             kind++) {
            fleet_pick(&fleet);
            event.ticket = fleet.held[--fleet.held_count].ticket;
            event.kind = kind;
            assert_int_equal(lbroute_observe(fleet.router, &event, fleet.now),
                             LBROUTE_OK);
        }
        assert_int_equal(fleet_stats(&fleet, 0).input_tokens, 1000);
        assert_int_equal(fleet_stats(&fleet, 0).cached_tokens, 400);
        assert_int_equal(fleet_stats(&fleet, 0).output_tokens, 50);
        fleet_close(&fleet);
    }
}

static void reading_a_model_wrongly(void **state)
{
    struct fleet fleet;
    lbroute_latency_model model;
    lbroute_target target;
    (void)state;

    fleet_open(&fleet, "predicted_latency", 2, 1);
    target = fleet.targets[0];
    lbroute_latency_model_init(&model, sizeof model);
    for (int kind = -1; kind <= LBROUTE_LATENCY_COUNT;
         kind += LBROUTE_LATENCY_COUNT + 1)
        assert_int_equal(
            lbroute_get_latency_model(fleet.router, target, kind, 0, &model),
            LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_get_latency_model(NULL, target, 0, 0, &model),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(
        lbroute_get_latency_model(fleet.router, target, 0, 0, NULL),
        LBROUTE_ERR_INVALID);
    model.size = 7;
    assert_int_equal(
        lbroute_get_latency_model(fleet.router, target, 0, 0, &model),
        LBROUTE_ERR_INVALID);
    model.size = sizeof model;
    fleet_remove(&fleet, 0);
    assert_int_equal(
        lbroute_get_latency_model(fleet.router, target, 0, 0, &model),
        LBROUTE_ERR_NOT_FOUND);
    assert_true(isnan(model.base_ns) && isnan(model.ewma_ns));
    assert_int_equal(model.age_ns, -1);
    fleet_close(&fleet);
}

/* ---- scorers of the pipeline ---- */

static void open_pipeline(struct fleet *fleet, const char *scorer)
{
    static const char *const others[] = {"pipeline.weight", "pipeline.load",
                                         "pipeline.prefix", "pipeline.session"};

    fleet_open(fleet, "pipeline", 3, 1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        fleet_param(fleet, others[i], 0);
    fleet_param(fleet, scorer, 2);
}

/* The lowest / own, the mean of the known where unknown, times the weight. */
static void the_scorers_of_latency(void **state)
{
    static const char *const scorers[] = {"pipeline.latency",
                                          "pipeline.predicted_latency"};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct fleet fleet;

        open_pipeline(&fleet, scorers[i]);
        for (size_t t = 0; t < 3; t++)
            assert_near(fleet_score(&fleet, t), 0, 0);
        fleet_teach(&fleet, 0, 200 * ms, 200 * ms, 10);
        fleet_teach(&fleet, 1, 100 * ms, 100 * ms, 10);
        assert_near(fleet_score(&fleet, 0), 1, 0.01);
        assert_near(fleet_score(&fleet, 1), 2, 0.01);
        assert_near(fleet_score(&fleet, 2), 1.5, 0.01);
        assert_int_equal(fleet_pick(&fleet), 1);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_PIPELINE);
        fleet.now += 61 * TEST_S; /* averages are out of date, planes not */
        fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
        assert_near(fleet_score(&fleet, 1), i == 0 ? 0 : 2, 0.01);
        fleet_close(&fleet);
    }
}

/* What a target knows of the prompt it need not compute. */
static void known_prompts_are_predicted_shorter(void **state)
{
    static char prompt[4000];
    struct fleet fleet;
    (void)state;

    open_pipeline(&fleet, "pipeline.predicted_latency");
    fleet_param(&fleet, "prefix.common", 2);
    for (size_t t = 0; t < 3; t++)
        for (uint64_t i = 1; i <= 20; i++) {
            fleet.request.input_tokens = (int64_t)(i * 100);
            fleet_teach(&fleet, t, 10 * ms + i * 10 * ms, 900 * ms, 1);
        }
    memset(prompt, 'p', sizeof prompt);
    fleet.request.input_tokens = -1;
    fleet.request.prompt = prompt;
    fleet.request.prompt_len = sizeof prompt; /* 1,000 tokens */
    assert_near(fleet_expected(&fleet, 1, FIRST), 110e6, 1e6);
    fleet_hold(&fleet, 1, 1);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    assert_near(fleet_expected(&fleet, 0, FIRST), 110e6, 1e6);
    assert_near(fleet_expected(&fleet, 1, FIRST), 10e6, 1e6);
    assert_int_equal(fleet_pick(&fleet), 1);
    assert_int_equal(fleet_stats(&fleet, 1).pending_tokens, 0);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pr_02_unknown_recorded_as_0),
        cmocka_unit_test(pr_02_unknown_is_neither_best_nor_worst),
        cmocka_unit_test(pr_03_training_on_the_wrong_interval),
        cmocka_unit_test(pr_03_each_model_its_own_interval),
        cmocka_unit_test(pr_04_size_of_tokenised_requests),
        cmocka_unit_test(pr_05_precision_over_millions_of_updates),
        cmocka_unit_test(pr_06_clock_stopped_on_the_wrong_event),
        cmocka_unit_test(a_switch_moves_no_traffic),
        cmocka_unit_test(a_hanging_target_is_left),
        cmocka_unit_test(an_expired_request_is_not_late),
        cmocka_unit_test(queue_is_counted_in_work),
        cmocka_unit_test(ranking_by_total),
        cmocka_unit_test(waiting_of_others_counts),
        cmocka_unit_test(a_new_target_is_unknown),
        cmocka_unit_test(events_of_older_callers),
        cmocka_unit_test(usage_is_counted),
        cmocka_unit_test(reading_a_model_wrongly),
        cmocka_unit_test(the_scorers_of_latency),
        cmocka_unit_test(known_prompts_are_predicted_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
