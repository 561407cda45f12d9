/* SPDX-License-Identifier: MIT */
/*
 * `fastest` and `predicted_latency` against a naive model, over random lives of
 * requests: who waits with how much work, what each answer teaches to the
 * average and the pool's usual input, and who is chosen. Coefficients of planes
 * are taken from the router; tests/unit checks them.
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

enum { MOST = 8, OPEN = 96, STEPS = 3000, KINDS = LBROUTE_LATENCY_COUNT };

static const uint64_t ticket_ttl = 600 * SECOND;

struct naive_target {
    lbroute_target handle;
    double weight;
    uint32_t in_flight;
    double average; /* NaN: none */
    uint64_t taught_at;
    uint64_t samples[KINDS];
};

struct naive_ticket {
    lbroute_ticket handle;
    size_t target; /* MOST: removed since */
    uint64_t picked_at;
    uint64_t tokens;
    int told; /* the tokens are the request's own */
    int counted, waits, first_told;
};

static struct {
    struct rng rng;
    lbroute_router *router;
    lbroute_pool pool;
    const char *strategy;
    uint64_t now;
    size_t count;
    struct naive_target targets[MOST];
    size_t open;
    struct naive_ticket tickets[OPEN]; /* oldest first */
    double usual;                      /* kilotokens */
    uint64_t inputs;
    uint32_t names;
} run;

static int learns(void)
{
    return strcmp(run.strategy, "least_connections") != 0;
}

/* --- Who waits ------------------------------------------------------------ */

static void check_accounts(void)
{
    uint64_t tokens[MOST] = {0};
    uint32_t waiting[MOST] = {0};
    for (size_t i = 0; i < run.open; i++) {
        const struct naive_ticket *ticket = &run.tickets[i];
        if (ticket->target == MOST || !ticket->waits)
            continue;
        tokens[ticket->target] += ticket->tokens;
        waiting[ticket->target]++;
    }
    for (size_t i = 0; i < run.count; i++) {
        lbroute_target_stats stats =
            api_target_stats(run.router, run.targets[i].handle, run.now);
        CHECK_U(stats.pending_tokens, tokens[i]);
        CHECK_U(stats.pending_requests, waiting[i]);
        CHECK_U(stats.in_flight, run.targets[i].in_flight);
    }
}

static lbroute_latency_model model_of(size_t i, int kind, uint64_t now)
{
    lbroute_latency_model model;
    lbroute_latency_model_init(&model, sizeof model);
    CHECK_I(lbroute_get_latency_model(run.router, run.targets[i].handle, kind,
                                      now, &model),
            LBROUTE_OK);
    return model;
}

static void check_learned(void)
{
    for (size_t i = 0; i < run.count; i++) {
        const struct naive_target *target = &run.targets[i];
        for (int kind = 0; kind < KINDS; kind++)
            CHECK_U(model_of(i, kind, run.now).samples, target->samples[kind]);
        lbroute_latency_model total =
            model_of(i, LBROUTE_LATENCY_TOTAL, run.now);
        CHECK_I(isnan(total.ewma_ns), isnan(target->average));
        if (!isnan(target->average)) {
            CHECK_NEAR(total.ewma_ns, target->average, 1e-6 * target->average);
            CHECK_U(total.age_ns, run.now - target->taught_at);
        }
    }
}

/* --- Who is chosen -------------------------------------------------------- */

struct stand {
    double load, lowest;         /* relative */
    double waiting, least;       /* usual requests */
    double expected, usual_time; /* NaN: unknown */
    double time_lowest;
    int stale;
};

static int inside(double load, double lowest)
{
    return !(load > lowest + 2 && load > 1.5 * lowest);
}

/* What a target would need for the pool's usual request while nobody waits. */
static double usual_time(size_t i, int kind)
{
    lbroute_latency_model model = model_of(i, kind, run.now);
    return fmax(model.base_ns + model.per_input_ns * run.usual, model.least_ns);
}

/* What its plane says of a request without any late one before it. */
static double formula(size_t i, int kind, double input)
{
    lbroute_latency_model model = model_of(i, kind, run.now);
    return fmax(model.base_ns + model.per_queue_ns * model.queue +
                    model.per_input_ns * input,
                model.least_ns);
}

/* The kind that at least half of the targets know; KINDS: none. */
static int ranking_kind(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        size_t known = 0;
        for (size_t i = 0; i < run.count; i++)
            known += run.targets[i].samples[kind] >= 8;
        if (known > 0 && 2 * known >= run.count)
            return kind;
    }
    return KINDS;
}

/* What is expected is what the plane says, and more while requests are late. */
static void check_forecast(size_t i, int64_t expected, int kind, double input)
{
    if (run.targets[i].samples[kind] < 8) {
        CHECK_I(expected, -1);
        return;
    }
    double least = fmin(formula(i, kind, input), (double)INT64_MAX);
    CHECK((double)expected >= least * (1 - 1e-9) - 2);
    if (model_of(i, kind, run.now).queue == 0 &&
        api_target_stats(run.router, run.targets[i].handle, run.now)
                .pending_requests == 0)
        CHECK_NEAR((double)expected, fmax(least, 1), 1e-9 * least + 2);
}

static void check_expectations(const lbroute_candidate *candidates,
                               const lbroute_request *request)
{
    double input = (double)(uint64_t)(run.usual * 1000 + 0.5) / 1000;
    if (request->input_tokens >= 0)
        input = fmin((double)request->input_tokens, 1e9) / 1000;
    for (size_t i = 0; i < run.count && learns(); i++) {
        check_forecast(i, candidates[i].expected_ttft_ns,
                       LBROUTE_LATENCY_FIRST_TOKEN, input);
        check_forecast(i, candidates[i].expected_total_ns,
                       LBROUTE_LATENCY_TOTAL, input);
    }
}

static void take_stand(struct stand *stands, int kind,
                       const lbroute_candidate *candidates)
{
    for (size_t i = 0; i < run.count; i++) {
        struct stand *stand = &stands[i];
        const struct naive_target *target = &run.targets[i];
        lbroute_latency_model total =
            model_of(i, LBROUTE_LATENCY_TOTAL, run.now);
        stand->load = candidates[i].relative_load;
        stand->waiting = run.usual > 0 ? total.queue / run.usual : 0;
        stand->stale =
            isnan(target->average) || run.now - target->taught_at > 60 * SECOND;
        stand->expected = stand->usual_time = (double)NAN;
        if (kind < KINDS && target->samples[kind] >= 8) {
            stand->expected = (double)(kind == LBROUTE_LATENCY_TOTAL
                                           ? candidates[i].expected_total_ns
                                           : candidates[i].expected_ttft_ns);
            stand->usual_time = usual_time(i, kind);
        }
    }
}

static void find_lowest(struct stand *stands)
{
    double load = HUGE_VAL;
    double least = HUGE_VAL;
    double time = HUGE_VAL;
    for (size_t i = 0; i < run.count; i++)
        load = fmin(load, stands[i].load);
    for (size_t i = 0; i < run.count; i++) {
        if (inside(stands[i].load, load))
            least = fmin(least, stands[i].waiting);
        if (!isnan(stands[i].usual_time))
            time = fmin(time, stands[i].load * stands[i].usual_time);
    }
    for (size_t i = 0; i < run.count; i++) {
        stands[i].lowest = load;
        stands[i].least = least;
        stands[i].time_lowest = time;
    }
}

static int may_be_chosen(const struct stand *stand, int kind)
{
    int by_load = inside(stand->load, stand->lowest);
    if (kind < 0)
        return by_load && inside(stand->waiting, stand->least);
    return by_load ||
           (!isnan(stand->usual_time) &&
            inside(stand->load, stand->time_lowest / stand->usual_time));
}

/* The same but for rounding. */
static int nearly_chosen(struct stand stand, int kind)
{
    stand.load *= 1 - 1e-9;
    stand.waiting *= 1 - 1e-9;
    return may_be_chosen(&stand, kind);
}

static size_t place_of(lbroute_target handle)
{
    size_t i = 0;
    while (i < run.count && run.targets[i].handle != handle)
        i++;
    return i;
}

/* A trial where one may be had; else nobody in the window is better. */
static void check_choice(const struct stand *stands, const double *values,
                         int kind, int rule, const lbroute_decision *decision)
{
    size_t chosen = place_of(decision->target);
    int trials = 0;
    CHECK(chosen < run.count);
    for (size_t i = 0; i < run.count; i++)
        trials += may_be_chosen(&stands[i], kind) && stands[i].stale &&
                  run.targets[i].in_flight == 0;
    if (trials > 0) {
        CHECK_I(decision->rule, LBROUTE_RULE_TRIAL);
        CHECK(stands[chosen].stale && run.targets[chosen].in_flight == 0);
        return;
    }
    if (decision->rule == LBROUTE_RULE_LEAST_CONNECTIONS) {
        CHECK(kind < 0); /* everybody in the window is cold */
        for (size_t i = 0; i < run.count; i++)
            CHECK(!may_be_chosen(&stands[i], kind) || stands[i].stale);
        return;
    }
    CHECK_I(decision->rule, rule);
    CHECK(may_be_chosen(&stands[chosen], kind) ||
          nearly_chosen(stands[chosen], kind));
    for (size_t i = 0; i < run.count; i++) {
        if (may_be_chosen(&stands[i], kind) && !isnan(values[i]))
            CHECK(values[chosen] <= values[i] * (1 + 1e-9) + 2);
    }
}

static void check_fastest(struct stand *stands,
                          const lbroute_decision *decision)
{
    double values[MOST];
    for (size_t i = 0; i < run.count; i++)
        values[i] = stands[i].stale ? (double)NAN : run.targets[i].average;
    check_choice(stands, values, -1, LBROUTE_RULE_FASTEST, decision);
}

static void check_predicted(struct stand *stands, int kind,
                            const lbroute_decision *decision)
{
    double values[MOST];
    double sum = 0;
    double known = 0;
    if (kind == KINDS) {
        CHECK_I(decision->rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        CHECK(stands[place_of(decision->target)].load <=
              stands[0].lowest * (1 + 1e-12));
        return;
    }
    /* three centuries and more are all the same to who reads them */
    for (size_t i = 0; i < run.count; i++)
        if (stands[i].expected >= 9e18)
            return;
    for (size_t i = 0; i < run.count; i++)
        if (!isnan(stands[i].expected)) {
            sum += stands[i].expected;
            known++;
        }
    for (size_t i = 0; i < run.count; i++)
        values[i] =
            isnan(stands[i].expected) ? sum / known : stands[i].expected;
    check_choice(stands, values, kind, LBROUTE_RULE_PREDICTED_LATENCY,
                 decision);
}

/* --- Steps ---------------------------------------------------------------- */

static void add_target(void)
{
    static const double weights[] = {1, 1, 2, 0.5};
    struct naive_target *target = &run.targets[run.count];
    lbroute_target_options options;
    char name[32];
    memset(target, 0, sizeof *target);
    target->weight = weights[rng_below(&run.rng, 4)];
    target->average = (double)NAN;
    snprintf(name, sizeof name, "t%u", (unsigned)run.names++);
    api_target_options(&options, run.pool, name, target->weight);
    CHECK_I(lbroute_target_add(run.router, &options, run.now, &target->handle),
            LBROUTE_OK);
    run.count++;
}

static void remove_target(void)
{
    size_t gone = rng_below(&run.rng, (uint32_t)run.count);
    CHECK_I(lbroute_target_remove(run.router, run.targets[gone].handle),
            LBROUTE_OK);
    run.count--;
    memmove(&run.targets[gone], &run.targets[gone + 1],
            (run.count - gone) * sizeof run.targets[0]);
    for (size_t i = 0; i < run.open; i++) {
        struct naive_ticket *ticket = &run.tickets[i];
        if (ticket->target == gone)
            ticket->target = MOST;
        else if (ticket->target != MOST && ticket->target > gone)
            ticket->target--;
    }
}

static void draw_request(lbroute_request *request)
{
    static const int64_t tokens[] = {-1, 0, 100, 1000, 5000, 20000, INT64_MAX};
    api_request(request, run.pool);
    request->input_tokens =
        tokens[rng_below(&run.rng, rng_chance(&run.rng, 2) ? 7 : 6)];
}

static void note_pick(const lbroute_request *request,
                      const lbroute_decision *decision)
{
    struct naive_ticket *ticket = &run.tickets[run.open++];
    const int64_t most = 1000000000;
    ticket->handle = decision->ticket;
    ticket->target = place_of(decision->target);
    ticket->picked_at = run.now;
    ticket->told = request->input_tokens >= 0;
    ticket->tokens = (uint64_t)(run.usual * 1000 + 0.5);
    if (ticket->told)
        ticket->tokens =
            (uint64_t)(request->input_tokens < most ? request->input_tokens
                                                    : most);
    ticket->counted = ticket->waits = learns();
    ticket->first_told = 0;
    run.targets[ticket->target].in_flight++;
}

static void pick(void)
{
    lbroute_candidate candidates[MOST];
    lbroute_decision foretold;
    lbroute_decision decision;
    lbroute_request request;
    struct stand stands[MOST];
    size_t count = 0;
    int kind = ranking_kind();
    if (run.open == OPEN)
        return;
    draw_request(&request);
    CHECK_I(api_explain(run.router, &request, run.now, &foretold, candidates,
                        MOST, &count),
            LBROUTE_OK);
    CHECK_U(count, run.count);
    check_expectations(candidates, &request);
    take_stand(stands, kind, candidates);
    find_lowest(stands);
    if (strcmp(run.strategy, "fastest") == 0)
        check_fastest(stands, &foretold);
    else if (learns())
        check_predicted(stands, kind, &foretold);
    lbroute_decision_init(&decision, sizeof decision);
    api_pick(run.router, &request, run.now, &decision);
    api_check_same_decision(&decision, &foretold);
    CHECK_I(decision.expected_ttft_ns, foretold.expected_ttft_ns);
    CHECK_I(decision.expected_total_ns, foretold.expected_total_ns);
    note_pick(&request, &decision);
}

static void close_ticket(size_t i)
{
    run.open--;
    memmove(&run.tickets[i], &run.tickets[i + 1],
            (run.open - i) * sizeof run.tickets[0]);
}

static void learn_input(const struct naive_ticket *ticket,
                        const lbroute_event *event)
{
    double tokens = ticket->told ? (double)ticket->tokens : -1;
    if (event->input_tokens >= 0 && event->input_tokens >= event->cached_tokens)
        tokens =
            (double)(event->input_tokens -
                     (event->cached_tokens > 0 ? event->cached_tokens : 0));
    if (tokens < 0)
        return;
    double part = 1 / (double)++run.inputs;
    if (part < 1.0 / 64)
        part = 1.0 / 64;
    run.usual += part * (tokens / 1000 - run.usual);
}

static void learn(const struct naive_ticket *ticket, const lbroute_event *event)
{
    struct naive_target *target = &run.targets[ticket->target];
    double total = (double)(event->latency_ns == -1
                                ? (int64_t)(run.now - ticket->picked_at)
                                : event->latency_ns);
    if (!ticket->counted || !learns())
        return;
    learn_input(ticket, event);
    target->samples[LBROUTE_LATENCY_FIRST_TOKEN] +=
        (uint64_t)ticket->first_told;
    if (total <= 0)
        return;
    target->samples[LBROUTE_LATENCY_TOTAL]++;
    if (isnan(target->average) || run.now - target->taught_at > 60 * SECOND)
        target->average = total;
    else
        target->average += 0.3 * (total - target->average);
    target->taught_at = run.now;
}

/* Bad numbers are refused, and the event counts all the same. */
static void observe(const lbroute_event *event)
{
    int bad = event->latency_ns < -1 || event->input_tokens < -1 ||
              event->cached_tokens < -1;
    CHECK_I(lbroute_observe(run.router, event, run.now),
            bad ? LBROUTE_ERR_RANGE : LBROUTE_OK);
}

static void first_token(struct naive_ticket *ticket)
{
    static const int64_t latencies[] = {-1, 0, 3000000, 900000000, -7};
    lbroute_event event;
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket->handle;
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    event.latency_ns = latencies[rng_below(&run.rng, 5)];
    observe(&event);
    if (ticket->waits && ticket->target != MOST)
        ticket->first_told =
            event.latency_ns > 0 ||
            (event.latency_ns == -1 && run.now > ticket->picked_at);
    ticket->waits = 0;
}

static void settle(size_t i)
{
    static const int64_t latencies[] = {-1,        -1,      0,        5000000,
                                        400000000, 9000000, INT64_MIN};
    static const int64_t tokens[] = {-1, -1, -1, 0, 800, 4000, -2};
    struct naive_ticket ticket = run.tickets[i];
    lbroute_event event;
    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket.handle;
    event.kind = rng_chance(&run.rng, 80) ? LBROUTE_EVENT_SUCCESS
                                          : (int)rng_between(&run.rng, 3, 7);
    event.latency_ns = latencies[rng_below(&run.rng, 7)];
    event.input_tokens = tokens[rng_below(&run.rng, 7)];
    event.cached_tokens = tokens[rng_below(&run.rng, 7)];
    observe(&event);
    close_ticket(i);
    if (ticket.target == MOST)
        return;
    run.targets[ticket.target].in_flight--;
    if (event.kind == LBROUTE_EVENT_SUCCESS)
        learn(&ticket, &event);
}

static void expire(void)
{
    while (run.open > 0 && run.now - run.tickets[0].picked_at >= ticket_ttl) {
        if (run.tickets[0].target != MOST)
            run.targets[run.tickets[0].target].in_flight--;
        close_ticket(0);
    }
}

static void pass_time(void)
{
    static const uint64_t steps[] = {
        1, 30 * MILLISECOND, SECOND, 5 * SECOND, 61 * SECOND, 200 * SECOND};
    uint64_t most = rng_chance(&run.rng, 5) ? 6 : 4;
    /* asking about later changes nothing now */
    (void)api_target_stats(run.router, run.targets[0].handle,
                           run.now + 1000 * SECOND);
    (void)model_of(0, LBROUTE_LATENCY_FIRST_TOKEN, run.now + 1000 * SECOND);
    run.now += steps[rng_below(&run.rng, (uint32_t)most)];
    CHECK_I(lbroute_tick(run.router, run.now), LBROUTE_OK);
    expire();
}

/* Planes and averages stay when the pool changes to load and back. */
static void change_strategy(void)
{
    static const char *const strategies[] = {"fastest", "predicted_latency",
                                             "least_connections"};
    run.strategy = strategies[rng_below(&run.rng, 3)];
    CHECK_I(lbroute_pool_update(run.router, run.pool, run.strategy,
                                strlen(run.strategy)),
            LBROUTE_OK);
}

static void step(void)
{
    uint32_t choice = rng_below(&run.rng, 100);
    size_t ticket = run.open ? rng_below(&run.rng, (uint32_t)run.open) : 0;
    if (choice < 40)
        pick();
    else if (choice < 55 && run.open > 0)
        first_token(&run.tickets[ticket]);
    else if (choice < 85 && run.open > 0)
        settle(ticket);
    else if (choice < 97)
        pass_time();
    else if (choice < 98 && run.count < MOST)
        add_target();
    else if (choice < 99 && run.count > 2 && rng_chance(&run.rng, 20))
        remove_target();
    else if (rng_chance(&run.rng, 10))
        change_strategy();
}

static void random_life(uint64_t seed, const char *strategy)
{
    memset(&run, 0, sizeof run);
    check_context(strategy, seed);
    rng_seed(&run.rng, seed);
    run.router = api_router(seed);
    run.strategy = strategy;
    run.pool = api_pool(run.router, "pool", strategy);
    api_set(run.router, run.pool, "health.bench_after", 0);
    run.now = SECOND;
    for (int i = 0; i < 4; i++)
        add_target();
    for (int i = 0; i < STEPS; i++) {
        step();
        check_accounts();
        check_learned();
    }
    lbroute_router_destroy(run.router);
}

static void random_lives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(40); seed++) {
        random_life(seed, "fastest");
        random_life(seed + 1000, "predicted_latency");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
