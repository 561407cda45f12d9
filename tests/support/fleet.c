/* SPDX-License-Identifier: MIT */
#include "support/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

void fleet_for_each_strategy(fleet_test *test)
{
    const char *strategy;

    for (size_t i = 0; (strategy = lbroute_strategy_name(i)) != NULL; i++)
        test(strategy);
}

/* ---- router and pools ---- */

void fleet_open_options(struct fleet *fleet,
                        const lbroute_router_options *options,
                        const char *strategy)
{
    lbroute_router_options copy = *options;

    memset(fleet, 0, sizeof *fleet);
    test_alloc_init(&fleet->alloc);
    test_alloc_hook(&fleet->alloc, &copy.allocator);
    assert_int_equal(lbroute_router_create(&copy, &fleet->router), LBROUTE_OK);
    lbroute_request_init(&fleet->request, sizeof fleet->request);
    lbroute_decision_init(&fleet->decision, sizeof fleet->decision);
    fleet_add_pool(fleet, "pool", strategy);
}

void fleet_open(struct fleet *fleet, const char *strategy, size_t targets,
                uint64_t seed)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    fleet_open_options(fleet, &options, strategy);
    for (size_t i = 0; i < targets; i++)
        fleet_add(fleet);
}

void fleet_close(struct fleet *fleet)
{
    lbroute_router_destroy(fleet->router);
    assert_int_equal(fleet->alloc.live_blocks, 0);
    assert_int_equal(fleet->alloc.live_bytes, 0);
    free(fleet->targets);
    free(fleet->picks);
    free(fleet->held);
    memset(fleet, 0, sizeof *fleet);
}

void fleet_carry_over(const struct fleet *from, struct fleet *to)
{
    static unsigned char bytes[1 << 20];
    size_t length = 0;

    assert_int_equal(
        lbroute_snapshot(from->router, from->now, bytes, sizeof bytes, &length),
        LBROUTE_OK);
    assert_int_equal(
        lbroute_restore(to->router, bytes, length, to->now, 0, NULL),
        LBROUTE_OK);
}

lbroute_pool fleet_add_pool(struct fleet *fleet, const char *name,
                            const char *strategy)
{
    lbroute_pool_options options;

    lbroute_pool_options_init(&options, sizeof options);
    options.name = name;
    options.name_len = strlen(name);
    options.strategy = strategy;
    options.strategy_len = strlen(strategy);
    assert_int_equal(lbroute_pool_add(fleet->router, &options, &fleet->pool),
                     LBROUTE_OK);
    fleet->request.pool = fleet->pool;
    return fleet->pool;
}

void fleet_strategy(struct fleet *fleet, const char *strategy)
{
    assert_int_equal(lbroute_pool_update(fleet->router, fleet->pool, strategy,
                                         strlen(strategy)),
                     LBROUTE_OK);
}

void fleet_param(struct fleet *fleet, const char *name, double value)
{
    assert_int_equal(lbroute_pool_set(fleet->router, fleet->pool, name, value),
                     LBROUTE_OK);
}

/* ---- targets ---- */

void fleet_name(size_t index, char name[32])
{
    if (index < 26)
        snprintf(name, 32, "%c", (char)('A' + (char)index));
    else
        snprintf(name, 32, "t%zu", index);
}

void fleet_target_options(const struct fleet *fleet,
                          lbroute_target_options *options)
{
    lbroute_target_options_init(options, sizeof *options);
    options->pool = fleet->pool;
}

static void *grown(void *array, size_t members, size_t size)
{
    void *bigger = realloc(array, members * size);
    assert_non_null(bigger);
    return bigger;
}

size_t fleet_add_options(struct fleet *fleet,
                         const lbroute_target_options *options)
{
    lbroute_target_options copy = *options;
    size_t index = fleet->count;
    char name[32];

    if (copy.name == NULL) {
        fleet_name(index, name);
        copy.name = name;
        copy.name_len = strlen(name);
    }
    fleet->targets = grown(fleet->targets, index + 1, sizeof *fleet->targets);
    fleet->picks = grown(fleet->picks, index + 1, sizeof *fleet->picks);
    fleet->picks[index] = 0;
    assert_int_equal(lbroute_target_add(fleet->router, &copy, fleet->now,
                                        &fleet->targets[index]),
                     LBROUTE_OK);
    fleet->count++;
    return index;
}

size_t fleet_add(struct fleet *fleet)
{
    lbroute_target_options options;
    fleet_target_options(fleet, &options);
    return fleet_add_options(fleet, &options);
}

size_t fleet_add_weight(struct fleet *fleet, double weight)
{
    lbroute_target_options options;
    fleet_target_options(fleet, &options);
    options.weight = weight;
    return fleet_add_options(fleet, &options);
}

size_t fleet_add_limit(struct fleet *fleet, uint32_t max_concurrency)
{
    lbroute_target_options options;
    fleet_target_options(fleet, &options);
    options.max_concurrency = max_concurrency;
    return fleet_add_options(fleet, &options);
}

size_t fleet_add_named(struct fleet *fleet, const char *name)
{
    lbroute_target_options options;
    fleet_target_options(fleet, &options);
    options.name = name;
    options.name_len = strlen(name);
    return fleet_add_options(fleet, &options);
}

void fleet_remove(struct fleet *fleet, size_t index)
{
    assert_int_equal(
        lbroute_target_remove(fleet->router, fleet->targets[index]),
        LBROUTE_OK);
}

void fleet_add_again(struct fleet *fleet, size_t index)
{
    lbroute_target_options options;
    char name[32];

    fleet_target_options(fleet, &options);
    fleet_name(index, name);
    options.name = name;
    options.name_len = strlen(name);
    assert_int_equal(lbroute_target_add(fleet->router, &options, fleet->now,
                                        &fleet->targets[index]),
                     LBROUTE_OK);
}

/* Reads a target back into options. |info| holds the strings. */
static void read_options(struct fleet *fleet, size_t index,
                         lbroute_target_info *info,
                         lbroute_target_options *options)
{
    lbroute_target_info_init(info, sizeof *info);
    assert_int_equal(
        lbroute_target_get_info(fleet->router, fleet->targets[index], info),
        LBROUTE_OK);
    lbroute_target_options_init(options, sizeof *options);
    options->pool = info->pool;
    options->weight = info->weight;
    options->max_concurrency = info->max_concurrency;
    options->max_input_tokens = info->max_input_tokens;
    options->tier = info->tier;
    options->tier_len = strlen(info->tier);
    options->model = info->model;
    options->model_len = strlen(info->model);
    options->user = info->user;
    options->price_key = info->price_key;
    options->price_key_len = strlen(info->price_key);
}

static void update(struct fleet *fleet, size_t index,
                   const lbroute_target_options *options)
{
    assert_int_equal(lbroute_target_update(fleet->router, fleet->targets[index],
                                           options, fleet->now),
                     LBROUTE_OK);
}

void fleet_reapply(struct fleet *fleet, size_t index)
{
    lbroute_target_info info;
    lbroute_target_options options;

    read_options(fleet, index, &info, &options);
    update(fleet, index, &options);
}

void fleet_set_limit(struct fleet *fleet, size_t index, uint32_t limit)
{
    lbroute_target_info info;
    lbroute_target_options options;

    read_options(fleet, index, &info, &options);
    options.max_concurrency = limit;
    update(fleet, index, &options);
}

void fleet_set_weight(struct fleet *fleet, size_t index, double weight)
{
    assert_int_equal(lbroute_target_set_weight(fleet->router,
                                               fleet->targets[index], weight,
                                               fleet->now),
                     LBROUTE_OK);
}

void fleet_drain(struct fleet *fleet, size_t index, int draining)
{
    assert_int_equal(lbroute_target_drain(fleet->router, fleet->targets[index],
                                          draining, fleet->now),
                     LBROUTE_OK);
}

void fleet_bench(struct fleet *fleet, size_t index, uint64_t duration)
{
    assert_int_equal(lbroute_target_bench(fleet->router, fleet->targets[index],
                                          duration, fleet->now),
                     LBROUTE_OK);
}

void fleet_gauge(struct fleet *fleet, size_t index, int gauge, double value)
{
    assert_int_equal(lbroute_set_gauge(fleet->router, fleet->targets[index],
                                       gauge, value, fleet->now),
                     LBROUTE_OK);
}

/* ---- requests ---- */

void fleet_session(struct fleet *fleet, const char *session)
{
    fleet->request.session = session;
    fleet->request.session_len = session == NULL ? 0 : strlen(session);
}

void fleet_client(struct fleet *fleet, const char *client)
{
    fleet->request.client = client;
    fleet->request.client_len = client == NULL ? 0 : strlen(client);
}

void fleet_prompt(struct fleet *fleet, const char *prompt)
{
    fleet->request.prompt = prompt;
    fleet->request.prompt_len = prompt == NULL ? 0 : strlen(prompt);
}

static size_t index_of(const struct fleet *fleet, lbroute_target target)
{
    for (size_t i = 0; i < fleet->count; i++) {
        if (fleet->targets[i] == target)
            return i;
    }
    return FLEET_NONE;
}

static void keep(struct fleet *fleet, size_t index)
{
    if (fleet->held_count == fleet->held_capacity) {
        fleet->held_capacity = fleet->held_capacity * 2 + 64;
        fleet->held =
            grown(fleet->held, fleet->held_capacity, sizeof *fleet->held);
    }
    fleet->held[fleet->held_count].ticket = fleet->decision.ticket;
    fleet->held[fleet->held_count].index = index;
    fleet->held_count++;
}

static size_t ask(struct fleet *fleet, const lbroute_request *request)
{
    size_t index;

    fleet->code =
        lbroute_pick(fleet->router, request, fleet->now, &fleet->decision);
    if (fleet->code != LBROUTE_OK)
        return FLEET_NONE;
    index = index_of(fleet, fleet->decision.target);
    assert_true(index != FLEET_NONE);
    assert_true(fleet->decision.ticket != 0);
    keep(fleet, index);
    return index;
}

size_t fleet_pick(struct fleet *fleet)
{
    size_t index = ask(fleet, &fleet->request);
    if (index != FLEET_NONE)
        fleet->picks[index]++;
    return index;
}

size_t fleet_serve(struct fleet *fleet)
{
    size_t index = fleet_pick(fleet);
    if (index != FLEET_NONE)
        fleet_settle_last(fleet, LBROUTE_EVENT_SUCCESS);
    return index;
}

size_t fleet_pick_frozen(struct fleet *fleet)
{
    size_t index = fleet_pick(fleet);
    if (index != FLEET_NONE)
        fleet_settle_last(fleet, LBROUTE_EVENT_CANCEL);
    return index;
}

size_t fleet_explain(struct fleet *fleet)
{
    lbroute_decision decision;

    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_explain(fleet->router, &fleet->request, fleet->now, &decision,
                        NULL, 0, NULL) != LBROUTE_OK)
        return FLEET_NONE;
    return index_of(fleet, decision.target);
}

static int verdict_in(const lbroute_candidate *candidates, size_t count,
                      lbroute_target target)
{
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].target == target)
            return candidates[i].verdict;
    }
    return LBROUTE_REASON_NO_TARGETS;
}

int fleet_verdict(struct fleet *fleet, size_t index)
{
    size_t count = fleet->count;
    lbroute_candidate *candidates = calloc(count, sizeof *candidates);
    lbroute_decision decision;
    int verdict;

    assert_non_null(candidates);
    for (size_t i = 0; i < count; i++)
        lbroute_candidate_init(&candidates[i], sizeof candidates[i]);
    lbroute_decision_init(&decision, sizeof decision);
    lbroute_explain(fleet->router, &fleet->request, fleet->now, &decision,
                    candidates, count, &count);
    assert_true(count <= fleet->count);
    verdict = verdict_in(candidates, count, fleet->targets[index]);
    free(candidates);
    return verdict;
}

void fleet_letters(struct fleet *fleet, size_t n, char *letters)
{
    for (size_t i = 0; i < n; i++) {
        size_t index = fleet_serve(fleet);
        letters[i] = index == FLEET_NONE ? '-' : (char)('A' + (char)index);
    }
    letters[n] = '\0';
}

void fleet_expect(struct fleet *fleet, const char *letters)
{
    char *got = malloc(strlen(letters) + 1);

    assert_non_null(got);
    fleet_letters(fleet, strlen(letters), got);
    assert_string_equal(got, letters);
    free(got);
}

void fleet_hold(struct fleet *fleet, size_t index, size_t n)
{
    lbroute_request request = fleet->request;
    lbroute_target *others = calloc(fleet->count, sizeof *others);
    size_t count = 0;

    assert_non_null(others);
    for (size_t i = 0; i < fleet->count; i++) {
        if (i != index)
            others[count++] = fleet->targets[i];
    }
    request.exclude = others;
    request.exclude_len = count;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ask(fleet, &request), index);
    free(others);
}

/* ---- settling ---- */

int fleet_observe(struct fleet *fleet, lbroute_ticket ticket, int kind)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    return lbroute_observe(fleet->router, &event, fleet->now);
}

static void settle_at(struct fleet *fleet, size_t position, int kind)
{
    size_t after = fleet->held_count - position - 1;

    assert_int_equal(fleet_observe(fleet, fleet->held[position].ticket, kind),
                     LBROUTE_OK);
    memmove(&fleet->held[position], &fleet->held[position + 1],
            after * sizeof *fleet->held);
    fleet->held_count--;
}

void fleet_settle(struct fleet *fleet, size_t index, int kind)
{
    for (size_t i = 0; i < fleet->held_count; i++) {
        if (fleet->held[i].index == index) {
            settle_at(fleet, i, kind);
            return;
        }
    }
    fail_msg("nothing is held on target %zu", index);
}

void fleet_settle_last(struct fleet *fleet, int kind)
{
    assert_true(fleet->held_count > 0);
    settle_at(fleet, fleet->held_count - 1, kind);
}

void fleet_settle_all(struct fleet *fleet, int kind)
{
    for (size_t i = 0; i < fleet->held_count; i++) {
        assert_int_equal(fleet_observe(fleet, fleet->held[i].ticket, kind),
                         LBROUTE_OK);
    }
    fleet->held_count = 0;
}

void fleet_send(struct fleet *fleet, size_t index, int kind)
{
    fleet_hold(fleet, index, 1);
    fleet_settle_last(fleet, kind);
}

/* ---- latency ---- */

static void tell(struct fleet *fleet, lbroute_ticket ticket, int kind,
                 uint64_t latency)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    event.latency_ns = (int64_t)latency;
    assert_int_equal(lbroute_observe(fleet->router, &event, fleet->now),
                     LBROUTE_OK);
}

void fleet_answer_last(struct fleet *fleet, uint64_t first, uint64_t total)
{
    lbroute_ticket ticket;

    assert_true(fleet->held_count > 0);
    ticket = fleet->held[--fleet->held_count].ticket;
    if (first > 0)
        tell(fleet, ticket, LBROUTE_EVENT_FIRST_TOKEN, first);
    tell(fleet, ticket, LBROUTE_EVENT_SUCCESS, total);
}

void fleet_teach(struct fleet *fleet, size_t index, uint64_t first,
                 uint64_t total, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fleet_hold(fleet, index, 1);
        fleet_answer_last(fleet, first, total);
    }
}

lbroute_latency_model fleet_model(struct fleet *fleet, size_t index, int kind)
{
    lbroute_latency_model model;

    lbroute_latency_model_init(&model, sizeof model);
    assert_int_equal(lbroute_get_latency_model(fleet->router,
                                               fleet->targets[index], kind,
                                               fleet->now, &model),
                     LBROUTE_OK);
    return model;
}

lbroute_work_model fleet_work(struct fleet *fleet, size_t index)
{
    lbroute_work_model model;

    lbroute_work_model_init(&model, sizeof model);
    assert_int_equal(lbroute_get_work_model(fleet->router,
                                            fleet->targets[index], fleet->now,
                                            &model),
                     LBROUTE_OK);
    return model;
}

/* How a target fares as a candidate for |request|. */
static lbroute_candidate candidate(struct fleet *fleet, size_t index)
{
    lbroute_candidate *rows = calloc(fleet->count, sizeof *rows);
    lbroute_candidate found;
    lbroute_decision decision;
    size_t count = 0;

    assert_non_null(rows);
    for (size_t i = 0; i < fleet->count; i++)
        lbroute_candidate_init(&rows[i], sizeof rows[i]);
    lbroute_candidate_init(&found, sizeof found);
    lbroute_decision_init(&decision, sizeof decision);
    (void)lbroute_explain(fleet->router, &fleet->request, fleet->now, &decision,
                          rows, fleet->count, &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].target == fleet->targets[index])
            found = rows[i];
    free(rows);
    assert_true(found.target == fleet->targets[index]);
    return found;
}

int64_t fleet_expected(struct fleet *fleet, size_t index, int kind)
{
    lbroute_candidate found = candidate(fleet, index);

    return kind == LBROUTE_LATENCY_TOTAL ? found.expected_total_ns
                                         : found.expected_ttft_ns;
}

double fleet_score(struct fleet *fleet, size_t index)
{
    return candidate(fleet, index).score;
}

/* ---- figures ---- */

lbroute_target_stats fleet_stats(struct fleet *fleet, size_t index)
{
    lbroute_target_stats stats;

    lbroute_target_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_target_stats(fleet->router,
                                              fleet->targets[index], fleet->now,
                                              &stats),
                     LBROUTE_OK);
    return stats;
}

uint32_t fleet_in_flight(struct fleet *fleet, size_t index)
{
    return fleet_stats(fleet, index).in_flight;
}

lbroute_stats fleet_totals(struct fleet *fleet)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_stats(fleet->router, &stats), LBROUTE_OK);
    return stats;
}

void fleet_reset_picks(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        fleet->picks[i] = 0;
}
