/* SPDX-License-Identifier: MIT */
/*
 * `adaptive` against a naive model: moving averages, stretched signals and
 * their blend from the definitions, over random weights, prices, latencies and
 * loads; and the switch, by a pipeline pool that sees the same.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum { TARGETS = 6, PICKS = 300, OPEN = 24, SIGNALS = 3, SECONDS_KNOWN = 60 };

#define TOLERANCE 1e-9

struct target {
    lbroute_target handle;
    double weight;
    int64_t rate; /* -1: unknown */
    int drained;
    uint32_t in_flight;
    double latency; /* ns, as of … */
    uint64_t learned_at;
    size_t samples;
};

static struct run {
    struct rng rng;
    uint64_t now;
    lbroute_router *router;
    lbroute_pool pool;
    double weights[SIGNALS]; /* latency, cost, load */
    size_t min_picks, picks;
    struct target targets[TARGETS];
    size_t open_count;
    struct {
        lbroute_ticket ticket;
        size_t target;
        uint64_t at;
    } open[OPEN];
    size_t blended, plain;
} run;

/* --- The model ----------------------------------------------------------- */

static double load_of(size_t place)
{
    return run.targets[place].in_flight / run.targets[place].weight;
}

static double value_of(size_t place, int signal)
{
    const struct target *target = &run.targets[place];
    switch (signal) {
    case 0:
        return target->samples > 0 &&
                       run.now - target->learned_at <= SECONDS_KNOWN * SECOND
                   ? target->latency
                   : (double)NAN;
    case 1:
        return target->rate >= 0 ? (double)target->rate * 1250 : (double)NAN;
    default:
        return load_of(place);
    }
}

static int in_window(size_t place)
{
    double lowest = HUGE_VAL;
    for (size_t i = 0; i < TARGETS; i++)
        if (!run.targets[i].drained)
            lowest = fmin(lowest, load_of(i));
    return !run.targets[place].drained &&
           (load_of(place) <= lowest + 2 || load_of(place) <= lowest * 1.5);
}

static int engaged(void)
{
    size_t known = 0;
    for (size_t i = 0; i < TARGETS; i++)
        known += !run.targets[i].drained &&
                 ((run.weights[0] > 0 && !isnan(value_of(i, 0))) ||
                  (run.weights[1] > 0 && !isnan(value_of(i, 1))));
    return run.picks >= run.min_picks && known >= 2;
}

/* Adds a signal's part to the scores; gives the weight that it had. */
static double add_signal(int signal, double scores[TARGETS])
{
    double low = HUGE_VAL;
    double high = 0;
    double mean = 0;
    size_t count = 0;
    for (size_t i = 0; i < TARGETS; i++) {
        double value = value_of(i, signal);
        if (!in_window(i) || isnan(value))
            continue;
        low = fmin(low, value);
        high = fmax(high, value);
        mean += value;
        count++;
    }
    if (count == 0 || high - low <= high / 100)
        return 0;
    for (size_t i = 0; i < TARGETS; i++) {
        double value = value_of(i, signal);
        if (isnan(value))
            value = mean / (double)count;
        scores[i] += run.weights[signal] * (high - value) / (high - low);
    }
    return run.weights[signal];
}

static void set_scores(double scores[TARGETS])
{
    double weights = 0;
    memset(scores, 0, TARGETS * sizeof *scores);
    for (int signal = 0; signal < SIGNALS; signal++)
        weights += add_signal(signal, scores);
    for (size_t i = 0; i < TARGETS; i++)
        scores[i] = weights > 0 ? scores[i] / weights : 1;
}

/* The first sample, and the first after an age without one, counts alone. */
static void learn(size_t place, uint64_t latency)
{
    struct target *target = &run.targets[place];
    if (latency == 0)
        return;
    target->latency = isnan(value_of(place, 0))
                          ? (double)latency
                          : 0.3 * (double)latency + 0.7 * target->latency;
    target->samples++;
    target->learned_at = run.now;
}

/* --- A run --------------------------------------------------------------- */

static void set_price(size_t place)
{
    char key[] = {(char)('a' + place), 0};
    struct target *target = &run.targets[place];
    lbroute_price price;
    lbroute_price_init(&price, sizeof price);
    target->rate =
        rng_chance(&run.rng, 20) ? -1 : (int64_t)rng_below(&run.rng, 2000);
    price.input = price.output = target->rate;
    CHECK_I(lbroute_set_price(run.router, key, 1, &price), LBROUTE_OK);
}

static void add(size_t place)
{
    char name[] = {(char)('a' + place), 0};
    struct target *target = &run.targets[place];
    lbroute_target_options options;
    memset(target, 0, sizeof *target);
    target->weight = rng_between(&run.rng, 1, 2);
    api_target_options(&options, run.pool, name, target->weight);
    options.max_concurrency = 0;
    options.price_key = name;
    options.price_key_len = 1;
    CHECK_I(lbroute_target_add(run.router, &options, run.now, &target->handle),
            LBROUTE_OK);
    set_price(place);
}

static void draw_weights(void)
{
    static const char *const names[SIGNALS] = {
        "adaptive.latency", "adaptive.cost", "adaptive.load"};
    static const double values[] = {0, 0.25, 1, 3};
    for (int i = 0; i < SIGNALS; i++) {
        run.weights[i] = values[rng_below(&run.rng, 4)];
        api_set(run.router, run.pool, names[i], run.weights[i]);
    }
}

static void start(uint64_t seed)
{
    check_context("adaptive", seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", "adaptive");
    run.min_picks = rng_below(&run.rng, 80);
    api_set(run.router, run.pool, "adaptive.min_picks", (double)run.min_picks);
    api_set(run.router, run.pool, "adaptive.exploration", 0);
    draw_weights();
    for (size_t i = 0; i < TARGETS; i++)
        add(i);
}

static void check_blend(size_t place, const lbroute_decision *decision)
{
    double scores[TARGETS];
    set_scores(scores);
    CHECK_I(decision->rule, LBROUTE_RULE_ADAPTIVE);
    CHECK(in_window(place));
    CHECK_NEAR(decision->score, scores[place], TOLERANCE);
    for (size_t i = 0; i < TARGETS; i++) {
        CHECK(!in_window(i) || scores[i] <= scores[place] + TOLERANCE);
    }
    run.blended++;
}

static void pick(void)
{
    lbroute_request request;
    lbroute_decision decision;
    size_t place = 0;
    int anybody = 0;
    for (size_t i = 0; i < TARGETS; i++)
        anybody |= !run.targets[i].drained;
    if (run.open_count == OPEN || !anybody)
        return;
    api_request(&request, run.pool);
    api_pick(run.router, &request, run.now, &decision);
    while (run.targets[place].handle != decision.target)
        place++;
    if (engaged()) {
        check_blend(place, &decision);
    } else {
        CHECK_I(decision.rule, LBROUTE_RULE_PIPELINE);
        run.plain++;
    }
    run.picks++;
    run.targets[place].in_flight++;
    run.open[run.open_count].ticket = decision.ticket;
    run.open[run.open_count].at = run.now;
    run.open[run.open_count++].target = place;
}

static void settle(void)
{
    if (run.open_count == 0)
        return;
    size_t at = rng_below(&run.rng, (uint32_t)run.open_count);
    size_t place = run.open[at].target;
    int success = rng_chance(&run.rng, 70);
    api_settle(run.router, run.open[at].ticket,
               success ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_CANCEL, run.now);
    if (place < TARGETS) {
        run.targets[place].in_flight--;
        if (success)
            learn(place, run.now - run.open[at].at);
    }
    run.open[at] = run.open[--run.open_count];
}

/* Its requests are nobody's from now on. */
static void replace(size_t place)
{
    CHECK_I(lbroute_target_remove(run.router, run.targets[place].handle),
            LBROUTE_OK);
    for (size_t i = 0; i < run.open_count; i++)
        if (run.open[i].target == place)
            run.open[i].target = TARGETS;
    add(place);
}

static void change(void)
{
    size_t place = rng_below(&run.rng, TARGETS);
    struct target *target = &run.targets[place];
    switch (rng_below(&run.rng, 4)) {
    case 0:
        set_price(place);
        break;
    case 1:
        target->drained = !target->drained;
        CHECK_I(lbroute_target_drain(run.router, target->handle,
                                     target->drained, run.now),
                LBROUTE_OK);
        break;
    case 2:
        replace(place);
        break;
    default:
        draw_weights();
    }
}

static void every_blend_is_the_naive_one(void **state)
{
    (void)state;
    size_t blended = 0;
    size_t plain = 0;
    for (uint64_t seed = 1; seed <= scaled(200); seed++) {
        start(seed);
        for (uint64_t i = 0; i < PICKS; i++) {
            check_step(i);
            run.now += rng_below(&run.rng, 3) * SECOND;
            if (rng_chance(&run.rng, 1))
                run.now += 61 * SECOND;
            if (rng_chance(&run.rng, 5))
                change();
            pick();
            if (rng_chance(&run.rng, 95))
                settle();
        }
        lbroute_router_destroy(run.router);
        blended += run.blended;
        plain += run.plain;
    }
    CHECK(blended > scaled(200) * PICKS / 4);
    CHECK(plain > scaled(200) * PICKS / 20);
}

/* --- The switch ---------------------------------------------------------- */

enum { TWINS = 2, TWIN_STEPS = 400 };

static struct twin {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[TARGETS];
    lbroute_ticket open[OPEN];
} twins[TWINS];

static void open_twins(uint64_t seed)
{
    for (int i = 0; i < TWINS; i++) {
        twins[i].router = api_router(seed);
        twins[i].pool =
            api_pool(twins[i].router, "pool", i ? "pipeline" : "adaptive");
        api_targets(twins[i].router, twins[i].pool, TARGETS, twins[i].targets);
        memset(twins[i].open, 0, sizeof twins[i].open);
    }
    api_set(twins[0].router, twins[0].pool, "adaptive.min_picks", 0);
    CHECK_I(lbroute_set_adaptive(twins[0].router, 0), LBROUTE_OK);
}

/* The same request and outcome on both; both must answer alike. */
static void twin_step(struct rng *rng, uint64_t now)
{
    char session[8];
    char prompt[40];
    lbroute_decision decisions[TWINS];
    uint32_t at = rng_below(rng, OPEN);
    uint32_t number = rng_below(rng, 12);
    uint32_t letter = rng_below(rng, 3);
    uint32_t length = rng_below(rng, sizeof prompt);
    int kind = (int)rng_between(rng, 2, 7);
    snprintf(session, sizeof session, "s%u", number);
    memset(prompt, (char)('a' + letter), sizeof prompt);
    for (int i = 0; i < TWINS; i++) {
        lbroute_request request;
        if (twins[i].open[at])
            api_settle(twins[i].router, twins[i].open[at], kind, now);
        api_request(&request, twins[i].pool);
        if (number < 8)
            api_set_session(&request, session);
        request.prompt = prompt;
        request.prompt_len = length;
        api_pick(twins[i].router, &request, now, &decisions[i]);
        twins[i].open[at] = decisions[i].ticket;
    }
    api_check_same_decision(&decisions[0], &decisions[1]);
}

static void off_is_a_pipeline(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(60); seed++) {
        struct rng rng;
        uint64_t now = 0;
        check_context("switched off", seed);
        rng_seed(&rng, seed);
        open_twins(seed);
        for (uint64_t i = 0; i < TWIN_STEPS; i++) {
            check_step(i);
            now += rng_below(&rng, 100) * MILLISECOND;
            twin_step(&rng, now);
        }
        for (int i = 0; i < TWINS; i++)
            lbroute_router_destroy(twins[i].router);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_blend_is_the_naive_one),
        cmocka_unit_test(off_is_a_pipeline),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
