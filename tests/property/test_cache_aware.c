/* SPDX-License-Identifier: MIT */
/*
 * `cache_aware` against a naive model: a list of all prompts that each target
 * was sent. Nothing is evicted here; the prefix trie has tests of its own for
 * that.
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

enum { TARGETS = 8, PROMPTS = 600, LONGEST = 40, OPEN = 48, SESSIONS = 6 };

struct prompt {
    uint32_t model;
    size_t length;
    char text[LONGEST];
};

struct warm_target {
    lbroute_target handle;
    double weight;
    int drained;
    uint32_t in_flight;
    size_t known_count;
    struct prompt known[PROMPTS];
};

static struct run {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    double threshold;
    struct warm_target targets[TARGETS];
    size_t open_count;
    struct {
        lbroute_ticket ticket;
        size_t target;
        uint32_t session; /* SESSIONS: none */
    } open[OPEN];
    size_t pins[SESSIONS]; /* TARGETS: none */
    size_t affine;         /* picks by the longest part */
    size_t pinned;
} run;

/* --- The model ----------------------------------------------------------- */

static size_t common(const struct prompt *a, const struct prompt *b)
{
    size_t same = 0;
    if (a->model != b->model)
        return 0;
    while (same < a->length && same < b->length &&
           a->text[same] == b->text[same])
        same++;
    return same;
}

static size_t known_to(size_t target, const struct prompt *prompt)
{
    size_t most = 0;
    for (size_t i = 0; i < run.targets[target].known_count; i++) {
        size_t same = common(&run.targets[target].known[i], prompt);
        most = same > most ? same : most;
    }
    return most;
}

static double load_of(size_t target)
{
    return run.targets[target].in_flight / run.targets[target].weight;
}

static int in_window(size_t target, size_t excluded)
{
    double lowest = HUGE_VAL;
    for (size_t i = 0; i < TARGETS; i++) {
        if (i != excluded && !run.targets[i].drained && load_of(i) < lowest)
            lowest = load_of(i);
    }
    return target != excluded && !run.targets[target].drained &&
           (load_of(target) <= lowest + 2 || load_of(target) <= lowest * 1.5);
}

/* Length of the longest part that anybody in the window knows; who of them has
 * the lowest load has `*load`. */
static size_t longest(const struct prompt *prompt, size_t excluded,
                      double *load)
{
    size_t most = 0;
    *load = HUGE_VAL;
    for (size_t i = 0; i < TARGETS; i++) {
        size_t known = known_to(i, prompt);
        if (!in_window(i, excluded) || known < most)
            continue;
        if (known > most || load_of(i) < *load)
            *load = load_of(i);
        most = known;
    }
    return most;
}

static void check_pick(const struct prompt *prompt, uint32_t session,
                       size_t excluded, size_t place,
                       const lbroute_decision *decision)
{
    double load = 0;
    size_t most = longest(prompt, excluded, &load);
    CHECK(in_window(place, excluded));
    CHECK_I(decision->prefix_total, prompt->length);
    CHECK_U(decision->prefix_matched, known_to(place, prompt));
    if (session < SESSIONS && run.pins[session] < TARGETS &&
        in_window(run.pins[session], excluded)) {
        CHECK_I(decision->rule, LBROUTE_RULE_STICKY_SESSION);
        CHECK_U(place, run.pins[session]);
        run.pinned++;
    } else if (most > 0 &&
               (double)most >= run.threshold * (double)prompt->length) {
        CHECK_I(decision->rule, LBROUTE_RULE_CACHE_AWARE);
        CHECK_U(decision->prefix_matched, most);
        CHECK_SAME(load_of(place), load);
        run.affine++;
    } else {
        CHECK_I(decision->rule, LBROUTE_RULE_LEAST_WARMED);
    }
}

/* --- Random traffic ------------------------------------------------------ */

static void forget_target(size_t place)
{
    struct warm_target *target = &run.targets[place];
    target->known_count = 0;
    target->in_flight = 0;
    target->drained = 0;
    for (size_t i = 0; i < SESSIONS; i++) {
        if (run.pins[i] == place)
            run.pins[i] = TARGETS;
    }
    for (size_t i = 0; i < run.open_count; i++) {
        if (run.open[i].target == place)
            run.open[i].target = TARGETS;
    }
}

static void add(size_t place)
{
    static const double weights[] = {1, 1, 1, 0.5, 2, 3.7};
    char name[] = {(char)('a' + place), 0};
    forget_target(place);
    run.targets[place].weight = weights[rng_below(&run.rng, 6)];
    run.targets[place].handle =
        api_target(run.router, run.pool, name, run.targets[place].weight);
}

static void start(uint64_t seed)
{
    static const double thresholds[] = {0.5, 0, 1, 0.25, 0.9};
    check_context("cache_aware", seed);
    memset(&run, 0, sizeof run);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.pool = api_pool(run.router, "pool", "cache_aware");
    run.threshold = thresholds[seed % 5];
    api_set(run.router, run.pool, "cache_aware.threshold", run.threshold);
    for (size_t i = 0; i < SESSIONS; i++)
        run.pins[i] = TARGETS;
    for (size_t i = 0; i < TARGETS; i++)
        add(i);
}

/* Two letters, so that prompts part at every place. A half goes on where one
 * that somebody knows ends, or is cut off. */
static void draw_prompt(struct prompt *prompt)
{
    const struct warm_target *target =
        &run.targets[rng_below(&run.rng, TARGETS)];
    memset(prompt, 0, sizeof *prompt);
    if (target->known_count > 0 && rng_chance(&run.rng, 60))
        *prompt =
            target->known[rng_below(&run.rng, (uint32_t)target->known_count)];
    else
        prompt->model = rng_below(&run.rng, 3);
    prompt->length = rng_below(&run.rng, (uint32_t)prompt->length + 1);
    while (prompt->length < LONGEST && rng_chance(&run.rng, 90))
        prompt->text[prompt->length++] = (char)rng_below(&run.rng, 2);
}

static void remember(size_t place, const struct prompt *prompt)
{
    struct warm_target *target = &run.targets[place];
    if (prompt->length > 0 && known_to(place, prompt) < prompt->length)
        target->known[target->known_count++] = *prompt;
}

static size_t place_of(lbroute_target target)
{
    size_t place = 0;
    while (place < TARGETS && run.targets[place].handle != target)
        place++;
    CHECK(place < TARGETS);
    return place;
}

static void fill_request(lbroute_request *request, const struct prompt *prompt,
                         uint32_t session, size_t excluded)
{
    static const char *const models[] = {"", "m", "model"};
    static const char *const sessions[SESSIONS] = {"a", "b", "c",
                                                   "d", "e", "f"};
    api_request(request, run.pool);
    request->model = models[prompt->model];
    request->model_len = strlen(models[prompt->model]);
    request->prompt = prompt->text;
    request->prompt_len = prompt->length;
    if (session < SESSIONS)
        api_set_session(request, sessions[session]);
    if (excluded < TARGETS) {
        request->exclude = &run.targets[excluded].handle;
        request->exclude_len = 1;
    }
}

static void pick(void)
{
    struct prompt prompt;
    lbroute_request request;
    lbroute_decision decision;
    uint32_t session = rng_below(&run.rng, 3 * SESSIONS);
    size_t excluded = rng_below(&run.rng, 6 * TARGETS);
    if (run.open_count == OPEN)
        return;
    draw_prompt(&prompt);
    fill_request(&request, &prompt, session, excluded);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(run.router, &request, 0, &decision) != LBROUTE_OK)
        return; /* all drained */
    size_t place = place_of(decision.target);
    check_pick(&prompt, session, excluded, place, &decision);
    remember(place, &prompt);
    run.targets[place].in_flight++;
    run.open[run.open_count].ticket = decision.ticket;
    run.open[run.open_count].target = place;
    run.open[run.open_count++].session = session;
}

static void settle(void)
{
    if (run.open_count == 0)
        return;
    size_t at = rng_below(&run.rng, (uint32_t)run.open_count);
    size_t place = run.open[at].target;
    int success = rng_chance(&run.rng, 80);
    api_settle(run.router, run.open[at].ticket,
               success ? LBROUTE_EVENT_SUCCESS : LBROUTE_EVENT_CANCEL, 0);
    if (place < TARGETS) {
        run.targets[place].in_flight--;
        if (success && run.open[at].session < SESSIONS)
            run.pins[run.open[at].session] = place;
    }
    run.open[at] = run.open[--run.open_count];
}

static void change(void)
{
    size_t place = rng_below(&run.rng, TARGETS);
    struct warm_target *target = &run.targets[place];
    if (rng_chance(&run.rng, 80)) {
        target->drained = !target->drained;
        CHECK_I(lbroute_target_drain(run.router, target->handle,
                                     target->drained, 0),
                LBROUTE_OK);
        return;
    }
    CHECK_I(lbroute_target_remove(run.router, target->handle), LBROUTE_OK);
    add(place);
}

static void every_choice_is_the_naive_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(60); seed++) {
        start(seed);
        for (uint64_t i = 0; i < PROMPTS; i++) {
            check_step(i);
            if (rng_chance(&run.rng, 3))
                change();
            pick();
            if (rng_chance(&run.rng, 95))
                settle();
        }
        lbroute_router_destroy(run.router);
        CHECK(run.affine > PROMPTS / 10);
        CHECK(run.pinned > PROMPTS / 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_is_the_naive_one),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
