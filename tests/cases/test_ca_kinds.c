/* SPDX-License-Identifier: MIT */
/* More of the kind of the field reports CA: cache aware. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prompts.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#include "models/prefix_trie.h"

#define A 0
#define B 1
#define C 2
#define D 3

#define WARM LBROUTE_RULE_CACHE_AWARE
#define COLD LBROUTE_RULE_LEAST_WARMED
#define PINNED LBROUTE_RULE_STICKY_SESSION

enum { TEXT = 4000 };

static unsigned char text[TEXT];

/* A fleet that is asked with the same text of TEXT bytes. */
static void open_ca(struct fleet *fleet, size_t targets, uint64_t seed)
{
    fleet_open(fleet, "cache_aware", targets, seed);
    prompt_fill(text, TEXT, 1);
    prompt_set(fleet, text, TEXT);
}

static void exclude(struct fleet *fleet, size_t index)
{
    fleet->request.exclude = &fleet->targets[index];
    fleet->request.exclude_len = 1;
}

/* Explains, and gives the answer in |decision|. */
static int explain(struct fleet *fleet, lbroute_decision *decision)
{
    lbroute_candidate candidates[8];

    lbroute_decision_init(decision, sizeof *decision);
    for (size_t i = 0; i < 8; i++)
        lbroute_candidate_init(&candidates[i], sizeof candidates[i]);
    return lbroute_explain(fleet->router, &fleet->request, fleet->now, decision,
                           candidates, 8, NULL);
}

/* ---- matching ---- */

static void check_threshold(double threshold, size_t known, size_t length,
                            int rule)
{
    struct fleet fleet;

    open_ca(&fleet, 3, 1);
    fleet_param(&fleet, "cache_aware.threshold", threshold);
    prompt_warm(&fleet, B, text, known);
    prompt_set(&fleet, text, length);
    if (rule == WARM)
        assert_int_equal(prompt_serve(&fleet, WARM, known), B);
    else
        assert_true(prompt_serve(&fleet, COLD, 0) != B);
    fleet_close(&fleet);
}

/* Exactly the threshold is enough; 0 is satisfied by a single byte, though not
 * by none, and 1 by the whole prompt alone. */
static void ca_kind_threshold_edges(void **state)
{
    struct fleet fleet;
    (void)state;

    check_threshold(0.5, 50, 100, WARM);
    check_threshold(0.5, 49, 100, COLD);
    check_threshold(0.5, 1, 2, WARM);
    check_threshold(0.5, 1, 3, COLD);
    check_threshold(0.25, 1000, 4000, WARM);
    check_threshold(0.25, 999, 4000, COLD);
    check_threshold(1, 4000, 4000, WARM);
    check_threshold(1, 3999, 4000, COLD);
    check_threshold(0, 1, 4000, WARM);

    open_ca(&fleet, 3, 1);
    fleet_param(&fleet, "cache_aware.threshold", 0);
    prompt_warm(&fleet, B, "x", 1);
    prompt_set(&fleet, "y", 1);
    assert_true(prompt_serve(&fleet, COLD, 0) != B);
    fleet_close(&fleet);
}

/* Ways to take a target out of the choice, and back. */
enum way { BY_DRAIN, BY_WEIGHT, BY_BENCH, BY_EXCLUSION, BY_LIMIT, BY_WINDOW };

#define WAYS (BY_WINDOW + 1)

static void take_out(struct fleet *fleet, size_t index, enum way way)
{
    if (way == BY_DRAIN)
        fleet_drain(fleet, index, 1);
    if (way == BY_WEIGHT)
        fleet_set_weight(fleet, index, 0);
    if (way == BY_BENCH)
        fleet_bench(fleet, index, TEST_S);
    if (way == BY_EXCLUSION)
        exclude(fleet, index);
    if (way == BY_LIMIT)
        fleet_set_limit(fleet, index, 1);
    if (way == BY_LIMIT)
        fleet_hold(fleet, index, 1);
    if (way == BY_WINDOW)
        fleet_hold(fleet, index, 3);
}

static void bring_back(struct fleet *fleet, size_t index, enum way way)
{
    if (way == BY_DRAIN)
        fleet_drain(fleet, index, 0);
    if (way == BY_WEIGHT)
        fleet_set_weight(fleet, index, 1);
    if (way == BY_BENCH)
        fleet_bench(fleet, index, 0);
    if (way == BY_EXCLUSION)
        fleet->request.exclude_len = 0;
    if (way == BY_LIMIT)
        fleet_set_limit(fleet, index, 32);
    if (way == BY_LIMIT || way == BY_WINDOW)
        fleet_settle_all(fleet, LBROUTE_EVENT_SUCCESS);
}

/* A home that is out, whatever the reason, gives its requests to others for so
 * long, and has them again. */
static void ca_kind_home_is_out_and_back(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct fleet fleet;
        size_t other;
        open_ca(&fleet, 3, 1);
        prompt_warm(&fleet, B, text, TEXT);
        assert_int_equal(prompt_serve(&fleet, WARM, TEXT), B);
        take_out(&fleet, B, (enum way)way);
        other = prompt_serve(&fleet, COLD, 0);
        assert_true(other != B);
        for (int i = 0; i < 5; i++)
            assert_int_equal(prompt_serve(&fleet, WARM, TEXT), other);
        bring_back(&fleet, B, (enum way)way);
        assert_int_equal(prompt_known(&fleet, B, text, TEXT), TEXT);
        fleet_hold(&fleet, other, 1);
        assert_int_equal(prompt_serve(&fleet, WARM, TEXT), B);
        fleet_close(&fleet);
    }
}

/* Checks whom the next pick would serve, by which rule. */
static void expect_next(struct fleet *fleet, size_t index, int rule,
                        size_t matched)
{
    lbroute_decision decision;

    assert_int_equal(explain(fleet, &decision), LBROUTE_OK);
    assert_int_equal(decision.target, fleet->targets[index]);
    assert_int_equal(decision.rule, rule);
    assert_int_equal(decision.prefix_matched, matched);
}

/* The longest part wins, and when who has it is out, the next longest. */
static void ca_kind_next_longest(void **state)
{
    static const size_t order[] = {A, B, C, D};
    static const size_t known[] = {3999, 3000, 2000, 1000};
    (void)state;

    for (int way = 0; way < WAYS; way++) {
        struct fleet fleet;
        if (way == BY_EXCLUSION)
            continue; /* one list, of one */
        open_ca(&fleet, 4, 1);
        for (size_t i = 4; i > 0; i--)
            prompt_warm(&fleet, order[i - 1], text, known[i - 1]);
        for (size_t i = 0; i < 4; i++) {
            expect_next(&fleet, order[i], i < 3 ? WARM : COLD, known[i]);
            prompt_set(&fleet, NULL, 0);
            take_out(&fleet, order[i], (enum way)way);
            prompt_set(&fleet, text, TEXT);
        }
        fleet_close(&fleet);
    }
}

/* Among those that know the most the least busy is served; with equal loads
 * each once before any again. */
static void ca_kind_ties_are_shared(void **state)
{
    (void)state;
    for (size_t targets = 2; targets <= 40; targets += 19) {
        struct fleet fleet;
        open_ca(&fleet, targets, 3);
        for (size_t i = 0; i < targets; i++)
            prompt_warm(&fleet, i, text, TEXT);
        for (size_t i = 0; i < 3 * targets; i++)
            prompt_serve(&fleet, WARM, TEXT);
        for (size_t i = 0; i < targets; i++)
            assert_int_equal(fleet.picks[i], 3);
        for (size_t i = 0; i < 2 * targets; i++) {
            assert_true(fleet_pick(&fleet) != FLEET_NONE);
            prompt_expect(&fleet, WARM, TEXT);
        }
        for (size_t i = 0; i < targets; i++)
            assert_int_equal(fleet_in_flight(&fleet, i), 2);
        fleet_close(&fleet);
    }
}

/* Without affinity whoever was warmed least is served, though not the least
 * busy, as long as it is in the window. */
static void ca_kind_least_warmed(void **state)
{
    static unsigned char other[3000];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    prompt_fill(other, sizeof other, 2);
    prompt_warm(&fleet, A, other, 3000);
    prompt_warm(&fleet, C, other, 1500);
    prompt_set(&fleet, NULL, 0);
    fleet_hold(&fleet, B, 2);
    prompt_set(&fleet, text, TEXT);
    assert_int_equal(fleet_pick(&fleet), B);
    prompt_expect(&fleet, COLD, 0);
    /* Three against none: C comes next. */
    prompt_set(&fleet, text + 2000, 100);
    assert_int_equal(fleet_pick(&fleet), C);
    prompt_expect(&fleet, COLD, 0);
    fleet_close(&fleet);
}

/* ---- the window ---- */

/* How many requests in a row stay at a home of some weight, with nothing but
 * held requests, when everybody else has |others| each. */
static size_t run_at_home(double weight, size_t others)
{
    struct fleet fleet;
    size_t run = 0;

    open_ca(&fleet, 0, 1);
    for (size_t i = 0; i < 3; i++) {
        fleet_add_weight(&fleet, i == B ? weight : 1);
        fleet_set_limit(&fleet, i, 0);
    }
    prompt_warm(&fleet, B, text, TEXT);
    prompt_set(&fleet, NULL, 0);
    fleet_hold(&fleet, A, others);
    fleet_hold(&fleet, C, others);
    prompt_set(&fleet, text, TEXT);
    while (fleet_pick(&fleet) == B) {
        prompt_expect(&fleet, WARM, TEXT);
        run++;
    }
    prompt_expect(&fleet, COLD, 0);
    fleet_close(&fleet);
    return run;
}

/* The run ends with the first request that finds more than 2, and more than
 * half as much again as the least busy has, relative to weight. */
static void ca_kind_window_ends_the_run(void **state)
{
    (void)state;
    assert_int_equal(run_at_home(1, 0), 3);
    assert_int_equal(run_at_home(4, 0), 9);
    assert_int_equal(run_at_home(0.5, 0), 2);
    assert_int_equal(run_at_home(0.1, 0), 1);
    assert_int_equal(run_at_home(1, 1), 4);
    assert_int_equal(run_at_home(1, 4), 7);
    assert_int_equal(run_at_home(1, 10), 16);
    assert_int_equal(run_at_home(1, 11), 17); /* 16.5 */
    assert_int_equal(run_at_home(2, 10), 31);
}

/* What engines report counts like requests of one's own. */
static void ca_kind_window_sees_others(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    prompt_warm(&fleet, B, text, TEXT);
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, C, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_RUNNING, 2);
    assert_int_equal(fleet_explain(&fleet), B);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_WAITING, 1);
    assert_true(fleet_explain(&fleet) != B);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_WAITING, 0);
    assert_int_equal(prompt_serve(&fleet, WARM, TEXT), B);
    fleet_close(&fleet);
}

/* ---- pins ---- */

/* A session's pin goes before what is warm elsewhere, inside the window. */
static void ca_kind_pin_before_prefix(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    prompt_warm(&fleet, B, text, TEXT);
    fleet_session(&fleet, "s1");
    prompt_set(&fleet, "first", 5);
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    prompt_set(&fleet, text, TEXT);
    assert_int_equal(fleet_explain(&fleet), A);
    assert_int_equal(prompt_serve(&fleet, PINNED, 0), A);
    assert_int_equal(prompt_serve(&fleet, PINNED, TEXT), A);
    fleet_hold(&fleet, A, 2);
    assert_int_equal(fleet_explain(&fleet), A);
    fleet_hold(&fleet, A, 1);
    assert_int_equal(fleet_pick(&fleet), B);
    prompt_expect(&fleet, WARM, TEXT);
    /* The success elsewhere moves the pin. */
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_settle_all(&fleet, LBROUTE_EVENT_CANCEL);
    assert_int_equal(prompt_serve(&fleet, PINNED, TEXT), B);
    fleet_close(&fleet);
}

/* Only sessions, only successes, and not longer than session.ttl. */
static void ca_kind_what_pins(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    fleet_client(&fleet, "c1");
    prompt_set(&fleet, NULL, 0);
    for (int i = 0; i < 3; i++)
        fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    prompt_warm(&fleet, B, text, TEXT);
    prompt_set(&fleet, text, TEXT);
    assert_int_equal(prompt_serve(&fleet, WARM, TEXT), B);
    assert_int_equal(fleet_totals(&fleet).sessions, 0);
    assert_true(fleet.decision.sticky_digest != 0);

    fleet_session(&fleet, "s1");
    for (int kind = LBROUTE_EVENT_FAILURE; kind < LBROUTE_EVENT_COUNT; kind++)
        fleet_send(&fleet, C, kind);
    assert_int_equal(fleet_totals(&fleet).sessions, 0);
    prompt_set(&fleet, NULL, 0);
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet.now += 299 * TEST_S;
    assert_int_equal(prompt_serve(&fleet, PINNED, 0), A);
    fleet.now += 301 * TEST_S;
    prompt_serve(&fleet, COLD, 0);
    fleet_close(&fleet);
}

/* ---- what is remembered ---- */

/* Prompts of no byte, one byte and many; what is not there is not divided by.
 */
static void ca_kind_sizes(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 8, 9, 32767, 32768, 32769, 1 << 20};
    unsigned char *large = malloc(1 << 20);
    struct fleet fleet;
    (void)state;

    assert_non_null(large);
    prompt_fill(large, 1 << 20, 5);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t home;
        open_ca(&fleet, 4, i + 1);
        prompt_set(&fleet, large, sizes[i]);
        home = prompt_serve(&fleet, COLD, 0);
        assert_int_equal(prompt_serve(&fleet, WARM, sizes[i]), home);
        assert_near(fleet.decision.score, 1, 0);
        fleet_close(&fleet);
    }
    open_ca(&fleet, 4, 1);
    prompt_set(&fleet, NULL, 0);
    for (int i = 0; i < 8; i++) {
        prompt_serve(&fleet, COLD, 0);
        assert_true(fleet.decision.score != fleet.decision.score);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fleet.picks[i], 2);
    fleet_close(&fleet);
    free(large);
}

/* Every byte counts, zeros included, and every child has its own first byte. */
static void ca_kind_every_byte_counts(void **state)
{
    static unsigned char bytes[300];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 1, 1);
    prompt_warm(&fleet, A, bytes, 200); /* zeros */
    for (size_t length = 1; length <= sizeof bytes; length++)
        assert_int_equal(prompt_known(&fleet, A, bytes, length),
                         length < 200 ? length : 200);
    for (size_t i = 0; i < 200; i++) {
        bytes[i] = 1;
        assert_int_equal(prompt_known(&fleet, A, bytes, 300), i);
        bytes[i] = 0;
    }
    for (int i = 1; i < 256; i++) {
        bytes[100] = (unsigned char)i;
        prompt_warm(&fleet, A, bytes, 200);
    }
    for (int i = 0; i < 256; i++) {
        bytes[100] = (unsigned char)i;
        assert_int_equal(prompt_known(&fleet, A, bytes, 200), 200);
    }
    fleet_close(&fleet);
}

/* Every pick is remembered, however it ends, also one by the pin. */
static void ca_kind_every_pick_is_remembered(void **state)
{
    struct fleet fleet;
    (void)state;

    for (int kind = 0; kind < LBROUTE_EVENT_COUNT; kind++) {
        size_t home;
        open_ca(&fleet, 3, 1);
        home = fleet_pick(&fleet);
        if (kind > LBROUTE_EVENT_FIRST_TOKEN)
            fleet_settle_last(&fleet, kind);
        assert_int_equal(prompt_known(&fleet, home, text, TEXT), TEXT);
        assert_int_equal(fleet_pick(&fleet), home);
        fleet_close(&fleet);
    }
}

/* Each model has prompts of its own, the empty name included. */
static void ca_kind_many_models(void **state)
{
    enum { MODELS = 300 };
    static char names[MODELS][8];
    static size_t homes[MODELS];
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 5, 1);
    for (size_t i = 0; i < MODELS; i++) {
        if (i > 0)
            snprintf(names[i], sizeof names[i], "m%zu", i);
        fleet.request.model = names[i];
        fleet.request.model_len = strlen(names[i]);
        homes[i] = prompt_serve(&fleet, COLD, 0);
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(fleet.picks[i], MODELS / 5);
    for (size_t i = 0; i < MODELS; i++) {
        fleet.request.model = names[i];
        fleet.request.model_len = strlen(names[i]);
        assert_int_equal(prompt_serve(&fleet, WARM, TEXT), homes[i]);
    }
    fleet_close(&fleet);
}

/* Asked by model, the same prompt is the same as asked by pool; once targets
 * are in several pools the weights decide, and nothing is looked up. */
static void ca_kind_asked_by_model(void **state)
{
    lbroute_target_options options;
    lbroute_pool pool;
    struct fleet fleet;
    size_t home;
    (void)state;

    open_ca(&fleet, 0, 1);
    fleet_target_options(&fleet, &options);
    options.model = "m";
    options.model_len = 1;
    fleet_add_options(&fleet, &options);
    fleet_add_options(&fleet, &options);
    fleet.request.model = "m";
    fleet.request.model_len = 1;
    pool = fleet.pool;
    home = prompt_serve(&fleet, COLD, 0);
    fleet.request.pool = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(prompt_serve(&fleet, WARM, TEXT), home);
    options.pool = fleet_add_pool(&fleet, "other", "cache_aware");
    fleet_add_options(&fleet, &options);
    fleet.request.pool = 0;
    for (int i = 0; i < 6; i++) {
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_WEIGHTED);
        assert_int_equal(fleet.decision.prefix_matched, -1);
        assert_int_equal(fleet.decision.prefix_total, -1);
    }
    fleet.request.pool = fleet.pool;
    prompt_serve(&fleet, COLD, 0);
    fleet.request.pool = pool;
    assert_int_equal(prompt_serve(&fleet, WARM, TEXT), home);
    fleet_close(&fleet);
}

static void move(struct fleet *fleet, size_t index, lbroute_pool pool,
                 const char *tier)
{
    lbroute_target_options options;

    fleet_target_options(fleet, &options);
    options.pool = pool;
    options.tier = tier;
    options.tier_len = strlen(tier);
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[index],
                                           &options, fleet->now),
                     LBROUTE_OK);
}

/* What a target knew ends with its removal, and with a move to another pool
 * or tier; the one that gets its name, or its place, starts with nothing. */
static void ca_kind_removed_or_moved(void **state)
{
    lbroute_pool first, second;
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    first = fleet.pool;
    prompt_warm(&fleet, B, text, TEXT);
    fleet_remove(&fleet, B);
    fleet_add_again(&fleet, B);
    assert_int_equal(prompt_known(&fleet, B, text, TEXT), 0);
    prompt_serve(&fleet, COLD, 0);
    prompt_warm(&fleet, B, text, TEXT);
    fleet_remove(&fleet, B);
    assert_int_equal(fleet_add(&fleet), D);
    fleet.targets[B] = 0;
    assert_int_equal(prompt_known(&fleet, D, text, TEXT), 0);

    prompt_warm(&fleet, A, text, TEXT);
    second = fleet_add_pool(&fleet, "second", "cache_aware");
    fleet_strategy(&fleet, "cache_aware");
    move(&fleet, A, second, "");
    fleet.request.pool = second;
    assert_int_equal(prompt_known(&fleet, A, text, TEXT), 0);
    prompt_warm(&fleet, A, text, TEXT);
    assert_int_equal(prompt_serve(&fleet, WARM, TEXT), A);
    move(&fleet, A, first, "");
    fleet.request.pool = first;
    assert_int_equal(prompt_known(&fleet, A, text, TEXT), 0);
    prompt_warm(&fleet, A, text, TEXT);
    move(&fleet, A, first, "gold");
    move(&fleet, A, first, "");
    assert_int_equal(prompt_known(&fleet, A, text, TEXT), 0);
    fleet_close(&fleet);
}

/* What changes neither pool nor tier changes no memory: housekeeping. */
static void ca_kind_housekeeping(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    prompt_warm(&fleet, B, text, TEXT);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 3; i++) {
            fleet_reapply(&fleet, i);
            fleet_set_weight(&fleet, i, 1 + (double)(round % 3));
            fleet_set_limit(&fleet, i, 32 + (uint32_t)round);
            fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, 0);
            fleet_drain(&fleet, i, 1);
            fleet_drain(&fleet, i, 0);
            fleet_bench(&fleet, i, TEST_S);
            fleet_bench(&fleet, i, 0);
        }
        fleet_strategy(&fleet, "cache_aware");
        fleet_param(&fleet, "cache_aware.threshold", 0.5);
        fleet_param(&fleet, "cache_aware.budget", 1 << 24);
        fleet.now += TEST_H;
        fleet_add(&fleet);
        fleet_remove(&fleet, fleet.count - 1);
        fleet.targets[fleet.count - 1] = 0;
        assert_int_equal(prompt_serve(&fleet, WARM, TEXT), B);
    }
    fleet_close(&fleet);
}

static int keeps_prompts(const char *strategy)
{
    return strcmp(strategy, "cache_aware") == 0 ||
           strcmp(strategy, "pipeline") == 0 ||
           strcmp(strategy, "adaptive") == 0;
}

/* A strategy that keeps no prompts forgets them: on the way back all are cold.
 * Those that do share what is known. */
static void ca_kind_strategy_away_and_back(void **state)
{
    const char *other;
    (void)state;

    for (size_t i = 0; (other = lbroute_strategy_name(i)) != NULL; i++) {
        struct fleet fleet;
        int same = keeps_prompts(other);
        uint64_t warm;
        open_ca(&fleet, 3, 1);
        prompt_warm(&fleet, B, text, TEXT);
        warm = fleet_totals(&fleet).memory_bytes;
        fleet_strategy(&fleet, other);
        if (!same) {
            fleet_serve(&fleet);
            assert_true(fleet.decision.prefix_matched <= 0);
            /* These have begun to keep hashes of their own. */
            assert_true(strcmp(other, "kv_aware") == 0 ||
                        strcmp(other, "least_work") == 0 ||
                        fleet_totals(&fleet).memory_bytes < warm - TEXT);
        }
        fleet_strategy(&fleet, "cache_aware");
        assert_int_equal(prompt_known(&fleet, B, text, TEXT), same ? TEXT : 0);
        prompt_serve(&fleet, same ? WARM : COLD, same ? TEXT : 0);
        prompt_serve(&fleet, WARM, TEXT);
        fleet_close(&fleet);
    }
}

/* ---- the budget ---- */

/* Sends |n| prompts of 1 KiB that have no byte in common to target A. */
static void warm_many(struct fleet *fleet, size_t n)
{
    unsigned char bytes[1024];

    for (size_t i = 0; i < n; i++) {
        prompt_fill(bytes, sizeof bytes, i);
        bytes[0] = (unsigned char)i;
        prompt_warm(fleet, A, bytes, sizeof bytes);
    }
}

/* How many of these A knows in full. */
static size_t known_of_many(struct fleet *fleet, size_t n)
{
    unsigned char bytes[1024];
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        prompt_fill(bytes, sizeof bytes, i);
        bytes[0] = (unsigned char)i;
        known += prompt_known(fleet, A, bytes, sizeof bytes) == sizeof bytes;
    }
    return known;
}

/* A budget holds as many as it says, also after it was changed; 0 is none. */
static void ca_kind_budget_changed(void **state)
{
    static const size_t budgets[] = {10, 100, 3, 0, 50, 1};
    double each = (double)lbr_trie_cost(1024);
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 1, 1);
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        fleet_param(&fleet, "cache_aware.budget", each * (double)budgets[i]);
        warm_many(&fleet, 200);
        assert_int_equal(known_of_many(&fleet, 200), budgets[i]);
    }
    fleet_param(&fleet, "cache_aware.budget", 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fleet_serve(&fleet), A);
    prompt_expect(&fleet, COLD, 0);
    fleet_close(&fleet);
}

/* A lowered budget is in force from the next pick on, though that one finds
 * its prompt known. */
static void ca_kind_lowered_budget_on_a_hit(void **state)
{
    double each = (double)lbr_trie_cost(1024);
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 1, 1);
    warm_many(&fleet, 50);
    assert_int_equal(known_of_many(&fleet, 50), 50);
    fleet_param(&fleet, "cache_aware.budget", 5 * each);
    warm_many(&fleet, 1); /* known, and now the newest */
    assert_int_equal(known_of_many(&fleet, 50), 5);
    assert_int_equal(known_of_many(&fleet, 1), 1);
    fleet_param(&fleet, "cache_aware.budget", 0);
    warm_many(&fleet, 1);
    assert_int_equal(known_of_many(&fleet, 50), 0);
    fleet_close(&fleet);
}

/* Of a prompt that does not fit the head is kept: most of the budget is in use.
 */
static void ca_kind_head_of_a_large_prompt(void **state)
{
    enum { LARGE = 1 << 20 };
    unsigned char *large = malloc(LARGE);
    (void)state;

    assert_non_null(large);
    prompt_fill(large, LARGE, 1);
    for (size_t budget = 1 << 10; budget <= 1 << 19; budget *= 2) {
        struct fleet fleet;
        size_t known;
        open_ca(&fleet, 2, 1);
        fleet_param(&fleet, "cache_aware.budget", (double)budget);
        prompt_warm(&fleet, A, large, LARGE);
        known = prompt_known(&fleet, A, large, LARGE);
        assert_true(known <= budget);
        assert_true(known + 512 >= budget / 4 * 3);
        prompt_warm(&fleet, A, large, LARGE);
        assert_int_equal(prompt_known(&fleet, A, large, LARGE), known);
        prompt_set(&fleet, large, LARGE);
        fleet_serve(&fleet);
        assert_int_equal(fleet.decision.rule, COLD);
        fleet_close(&fleet);
    }
    free(large);
}

/* Memory stays within the budgets of all targets, whatever the prompts: many
 * or few, short or long, with heads in common or without. */
static void check_memory(size_t targets, size_t budget, size_t length,
                         size_t shared)
{
    static unsigned char bytes[65536];
    struct fleet fleet;
    struct test_rng rng = {length + shared};
    uint64_t bare;

    open_ca(&fleet, targets, 1);
    fleet_param(&fleet, "cache_aware.budget", 0);
    fleet_serve(&fleet);
    bare = fleet_totals(&fleet).memory_bytes;
    fleet_param(&fleet, "cache_aware.budget", (double)budget);
    for (size_t i = 0; i < 40 * targets * budget / length; i++) {
        uint64_t head = test_rng_below(&rng, 8);
        prompt_fill(bytes, shared, head);
        prompt_fill(bytes + shared, length - shared, 10 + i);
        prompt_set(&fleet, bytes, length);
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
        assert_true(fleet_totals(&fleet).memory_bytes <=
                    bare + targets * (budget + budget / 10));
    }
    fleet_close(&fleet);
}

static void ca_kind_memory_stays_within_budgets(void **state)
{
    (void)state;
    check_memory(2, 1 << 20, 64, 0);
    check_memory(2, 1 << 20, 500, 300);
    check_memory(2, 1 << 20, 1000, 0);
    check_memory(3, 1 << 20, 4096, 2048);
    check_memory(1, 1 << 22, 65536, 0);
    check_memory(4, 1 << 20, 20000, 10000);
}

/* The router's estimate and the budgets together are the most that it ever
 * takes, growing tables included. */
static void ca_kind_estimate_and_budgets(void **state)
{
    enum { BUDGET = 1 << 20, TARGETS = 3 };
    static unsigned char bytes[3000];
    lbroute_router_options options;
    struct test_rng rng = {1};
    struct fleet fleet;
    size_t estimate;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.max_pools = 1;
    options.max_targets = TARGETS;
    options.max_tickets = 4;
    options.max_sessions = 1;
    options.max_prices = 1;
    assert_int_equal(lbroute_router_estimate(&options, &estimate), LBROUTE_OK);
    fleet_open_options(&fleet, &options, "cache_aware");
    fleet_param(&fleet, "cache_aware.budget", BUDGET);
    for (size_t i = 0; i < TARGETS; i++)
        fleet_add(&fleet);
    for (size_t i = 0; i < 20000; i++) {
        prompt_fill(bytes, sizeof bytes, i);
        prompt_set(&fleet, bytes, test_rng_below(&rng, sizeof bytes));
        assert_true(fleet_serve(&fleet) != FLEET_NONE);
    }
    assert_true(fleet.alloc.peak_bytes <=
                estimate + TARGETS * (BUDGET + BUDGET / 10));
    fleet_close(&fleet);
}

/* ---- many targets ---- */

/* 512 targets that all know one head: found as quickly as one, and shared by
 * load. */
static void ca_kind_512_share_a_head(void **state)
{
    enum { TARGETS = 512 };
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, TARGETS, 1);
    for (size_t i = 0; i < TARGETS; i++)
        prompt_warm(&fleet, i, text, TEXT - i);
    prompt_set(&fleet, text, 2000);
    for (size_t i = 0; i < TARGETS; i++) {
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
        prompt_expect(&fleet, WARM, 2000);
    }
    for (size_t i = 0; i < TARGETS; i++)
        assert_int_equal(fleet.picks[i], 1);
    prompt_set(&fleet, text, TEXT);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fleet_pick(&fleet), 0);
        prompt_expect(&fleet, WARM, TEXT);
    }
    exclude(&fleet, 1);
    assert_int_equal(fleet_pick(&fleet), 2);
    prompt_expect(&fleet, WARM, TEXT - 2);
    fleet_close(&fleet);
}

/* The many are told apart when one of them is gone or another comes. */
static void ca_kind_512_come_and_go(void **state)
{
    enum { TARGETS = 512 };
    struct test_rng rng = {7};
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, TARGETS, 1);
    fleet_param(&fleet, "prefix.common", 2);
    for (size_t i = 0; i < TARGETS; i++)
        prompt_warm(&fleet, i, text, 3000);
    for (int round = 0; round < 200; round++) {
        size_t index = test_rng_below(&rng, TARGETS);
        fleet_remove(&fleet, index);
        fleet_add_again(&fleet, index);
        assert_true(prompt_serve(&fleet, WARM, 3000 + (round ? 1000 : 0)) !=
                    index);
        if (round == 0)
            continue;
        assert_int_equal(prompt_known(&fleet, index, text, TEXT), 0);
        prompt_warm(&fleet, index, text, TEXT);
    }
    fleet_close(&fleet);
}

/* 16 system prompts behind which nothing repeats, 256 requests in flight on 512
 * targets: heads spread where their homes leave the window, nobody gets eight
 * times its part, and nearly every head is still found. */
static void ca_kind_hot_heads(void **state)
{
    enum { TARGETS = 512, HEADS = 16, HEAD = 4096, TAIL = 1000, FLIGHT = 256 };
    static unsigned char heads[HEADS][HEAD];
    static unsigned char prompt[HEAD + TAIL];
    size_t flight[FLIGHT];
    struct test_rng rng = {11};
    struct fleet fleet;
    double found = 0;
    size_t most = 0;
    (void)state;

    open_ca(&fleet, TARGETS, 1);
    for (uint64_t i = 0; i < HEADS; i++)
        prompt_fill(heads[i], HEAD, i + 1);
    for (size_t i = 0; i < 20000; i++) {
        size_t slot = i < FLIGHT ? i : test_rng_below(&rng, FLIGHT);
        size_t index;
        memcpy(prompt, heads[test_rng_below(&rng, HEADS)], HEAD);
        prompt_fill(prompt + HEAD, TAIL, 1000 + i);
        prompt_set(&fleet, prompt, sizeof prompt);
        index = fleet_pick(&fleet);
        assert_true(index != FLEET_NONE);
        found += (double)fleet.decision.prefix_matched;
        if (i >= FLIGHT)
            fleet_settle(&fleet, flight[slot], LBROUTE_EVENT_SUCCESS);
        flight[slot] = index;
    }
    for (size_t i = 0; i < TARGETS; i++)
        most = fleet.picks[i] > most ? fleet.picks[i] : most;
    assert_true(most * TARGETS <= 8 * 20000);
    assert_true(found >= 0.95 * 20000 * HEAD);
    fleet_close(&fleet);
}

/* ---- no hidden effects ---- */

static void draw_request(struct fleet *fleet, struct test_rng *rng,
                         char session[8])
{
    size_t from = test_rng_below(rng, 4) * 50;

    prompt_set(fleet, text + from, test_rng_below(rng, TEXT - from));
    snprintf(session, 8, "s%u", (unsigned)test_rng_below(rng, 20));
    fleet_session(fleet, test_rng_below(rng, 4) == 0 ? session : NULL);
    fleet->request.exclude_len = 0;
    if (test_rng_below(rng, 8) == 0)
        exclude(fleet, test_rng_below(rng, fleet->count));
}

static void expect_same(const lbroute_decision *a, const lbroute_decision *b)
{
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->rule, b->rule);
    assert_int_equal(a->prefix_matched, b->prefix_matched);
    assert_int_equal(a->prefix_total, b->prefix_total);
    assert_int_equal(a->sticky_digest, b->sticky_digest);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
}

/* An explanation is what a pick then says, and asking, in vain too, changes
 * nothing: a twin that is not asked goes the same way. */
static void ca_kind_explain_is_the_pick(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct fleet twins[2];
        lbroute_decision explained;
        for (size_t t = 0; t < 2; t++) {
            open_ca(&twins[t], 6, seed);
            fleet_param(&twins[t], "cache_aware.budget", 20000);
        }
        for (uint64_t i = 0; i < 3000; i++) {
            char session[8];
            for (size_t t = 0; t < 2; t++) {
                struct test_rng rng = {seed * 10000 + i};
                draw_request(&twins[t], &rng, session);
                if (t == 0)
                    assert_int_equal(explain(&twins[0], &explained),
                                     LBROUTE_OK);
                assert_true(fleet_pick(&twins[t]) != FLEET_NONE);
                if (i % 3 > 0)
                    fleet_settle_last(&twins[t], LBROUTE_EVENT_SUCCESS);
                if (i % 20 == 0)
                    fleet_settle_all(&twins[t], LBROUTE_EVENT_SUCCESS);
                expect_same(&twins[t].decision, &explained);
            }
        }
        assert_int_equal(fleet_totals(&twins[0]).memory_bytes,
                         fleet_totals(&twins[1]).memory_bytes);
        fleet_close(&twins[0]);
        fleet_close(&twins[1]);
    }
}

/* Each candidate's score is the part of the prompt that it knows. */
static void ca_kind_scores_of_candidates(void **state)
{
    lbroute_candidate candidates[3];
    lbroute_decision decision;
    struct fleet fleet;
    (void)state;

    open_ca(&fleet, 3, 1);
    prompt_warm(&fleet, A, text, 1000);
    prompt_warm(&fleet, C, text, 3000);
    for (size_t i = 0; i < 3; i++)
        lbroute_candidate_init(&candidates[i], sizeof candidates[i]);
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(lbroute_explain(fleet.router, &fleet.request, 0, &decision,
                                     candidates, 3, NULL),
                     LBROUTE_OK);
    for (size_t i = 0; i < 3; i++) {
        double wanted = candidates[i].target == fleet.targets[A]   ? 0.25
                        : candidates[i].target == fleet.targets[C] ? 0.75
                                                                   : 0;
        assert_near(candidates[i].score, wanted, 1e-12);
    }
    assert_near(decision.score, 0.75, 1e-12);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ca_kind_threshold_edges),
        cmocka_unit_test(ca_kind_home_is_out_and_back),
        cmocka_unit_test(ca_kind_next_longest),
        cmocka_unit_test(ca_kind_ties_are_shared),
        cmocka_unit_test(ca_kind_least_warmed),
        cmocka_unit_test(ca_kind_window_ends_the_run),
        cmocka_unit_test(ca_kind_window_sees_others),
        cmocka_unit_test(ca_kind_pin_before_prefix),
        cmocka_unit_test(ca_kind_what_pins),
        cmocka_unit_test(ca_kind_sizes),
        cmocka_unit_test(ca_kind_every_byte_counts),
        cmocka_unit_test(ca_kind_every_pick_is_remembered),
        cmocka_unit_test(ca_kind_many_models),
        cmocka_unit_test(ca_kind_asked_by_model),
        cmocka_unit_test(ca_kind_removed_or_moved),
        cmocka_unit_test(ca_kind_housekeeping),
        cmocka_unit_test(ca_kind_strategy_away_and_back),
        cmocka_unit_test(ca_kind_budget_changed),
        cmocka_unit_test(ca_kind_lowered_budget_on_a_hit),
        cmocka_unit_test(ca_kind_head_of_a_large_prompt),
        cmocka_unit_test(ca_kind_memory_stays_within_budgets),
        cmocka_unit_test(ca_kind_estimate_and_budgets),
        cmocka_unit_test(ca_kind_512_share_a_head),
        cmocka_unit_test(ca_kind_512_come_and_go),
        cmocka_unit_test(ca_kind_hot_heads),
        cmocka_unit_test(ca_kind_explain_is_the_pick),
        cmocka_unit_test(ca_kind_scores_of_candidates),
    };
    return cmocka_run_group_tests_name("CA kinds", tests, NULL, NULL);
}
