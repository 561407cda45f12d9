/* SPDX-License-Identifier: MIT */
/*
 * Requests that wait: random programs against a naive model, and the bound on
 * how far apart the service of clients may be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "waiting_program.h"

static void random_programs(void **state)
{
    static uint8_t data[1600];
    size_t runs = scaled(3000);
    (void)state;

    for (size_t run = 1; run <= runs; run++) {
        struct rng rng;
        check_context("waiting program", run);
        rng_seed(&rng, run);
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (uint8_t)rng_below(&rng, 256);
        waiting_program_run(data, 100 + rng_below(&rng, 1500));
    }
}

/* ---- fairness ---- */

enum { CLIENTS = 4, DEEP = 6, SLOTS = 3, SERVED = 3000 };

/* How much a request of client `c` may say that it costs, and may really. */
static uint32_t most_input(size_t c)
{
    return (uint32_t)(100 * (c + 1) * (c + 1));
}

struct fair_run {
    struct rng rng;
    lbroute_router *router;
    lbroute_request request;
    lbroute_decision decision;
    size_t waiting[CLIENTS];
    double said[1 << 14]; /* by tag */
    uint64_t tags;
    double service[CLIENTS]; /* what was charged, corrections included */
    double most;             /* of a request */
    double open[SLOTS];
    size_t owner[SLOTS];
    lbroute_ticket tickets[SLOTS];
    int corrects;
};

static void ask(struct fair_run *run, size_t client)
{
    static const char *const names[CLIENTS] = {"a", "b", "c", "d"};
    int result;

    run->request.client = names[client];
    run->request.client_len = 1;
    run->request.input_tokens = 1 + rng_below(&run->rng, most_input(client));
    run->request.output_tokens = rng_below(&run->rng, 100);
    run->request.tag = run->tags * CLIENTS + client;
    run->said[run->tags++] = (double)run->request.input_tokens +
                             2 * (double)run->request.output_tokens;
    result = lbroute_pick(run->router, &run->request, 0, &run->decision);
    CHECK_I(result, LBROUTE_ERR_QUEUED);
    run->waiting[client]++;
}

/* Everybody always has requests waiting. */
static void fill(struct fair_run *run)
{
    for (size_t c = 0; c < CLIENTS; c++)
        while (run->waiting[c] < DEEP)
            ask(run, c);
}

static void settle_one(struct fair_run *run, size_t slot)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = run->tickets[slot];
    event.kind = LBROUTE_EVENT_SUCCESS;
    if (run->corrects) {
        double used = (double)(1 + rng_below(&run->rng, 3000));
        event.input_tokens = (int64_t)used;
        event.output_tokens = 0;
        run->service[run->owner[slot]] += used - run->open[slot];
    }
    CHECK_I(lbroute_observe(run->router, &event, 0), 0);
}

static void serve_one(struct fair_run *run, size_t slot)
{
    size_t client;

    CHECK_I(lbroute_next_ready(run->router, 0, &run->decision), 0);
    client = run->decision.tag % CLIENTS;
    run->waiting[client]--;
    run->open[slot] = run->said[run->decision.tag / CLIENTS];
    run->service[client] += run->open[slot];
    run->owner[slot] = client;
    run->tickets[slot] = run->decision.ticket;
}

static double gap(const struct fair_run *run)
{
    double lowest = run->service[0];
    double highest = run->service[0];

    for (size_t c = 1; c < CLIENTS; c++) {
        if (run->service[c] < lowest)
            lowest = run->service[c];
        if (run->service[c] > highest)
            highest = run->service[c];
    }
    return highest - lowest;
}

static void start(struct fair_run *run, uint64_t seed, int corrects)
{
    lbroute_target_options options;
    lbroute_target target;
    lbroute_pool pool;

    memset(run, 0, sizeof *run);
    check_context("service of clients", seed);
    rng_seed(&run->rng, seed);
    run->corrects = corrects;
    run->router = api_router(1);
    pool = api_pool(run->router, "pool", "weighted");
    api_set(run->router, pool, "queue.enabled", 1);
    api_set(run->router, pool, "queue.depth", 100);
    api_target_options(&options, pool, "t", 1);
    options.max_concurrency = SLOTS;
    CHECK_I(lbroute_target_add(run->router, &options, 0, &target), 0);
    api_request(&run->request, pool);
    lbroute_decision_init(&run->decision, sizeof run->decision);
    run->most = most_input(CLIENTS - 1) + 2.0 * 99;
    for (size_t i = 0; i < SLOTS; i++) {
        api_pick(run->router, &run->request, 0, &run->decision);
        run->tickets[i] = run->decision.ticket;
        run->owner[i] = 0;
    }
    /* Those came without waiting: nobody paid. */
    fill(run);
    for (size_t i = 0; i < SLOTS; i++) {
        api_settle(run->router, run->tickets[i], LBROUTE_EVENT_CANCEL, 0);
        serve_one(run, i);
        fill(run);
    }
}

/*
 * Clients with requests waiting at all times get equal service: who is served
 * has the lowest counter, so that nobody gets ahead of another by more than one
 * request, and they are never further apart than that. What is corrected after
 * the fact adds at most what all requests in flight were wrong by.
 */
static void service_gap(void **state)
{
    static struct fair_run run;
    (void)state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (int corrects = 0; corrects < 2; corrects++) {
            start(&run, seed, corrects);
            double bound = corrects ? run.most + SLOTS * 3000.0 : run.most;
            for (int i = 0; i < SERVED; i++) {
                check_step((uint64_t)i);
                size_t slot = rng_below(&run.rng, SLOTS);
                settle_one(&run, slot);
                serve_one(&run, slot);
                CHECK(gap(&run) <= bound);
                fill(&run);
            }
            lbroute_router_destroy(run.router);
        }
    }
}

/* ---- overload ---- */

enum { CROWD = 21, FLEET = 4, FLEET_SLOTS = 8, OVERLOAD_S = 200 };

/* A request under way; of the waiting ones the tag says what they are. */
struct job {
    uint64_t ends;
    lbroute_ticket ticket; /* 0: the slot is free */
    uint64_t tag;
};

struct overload {
    struct rng rng;
    lbroute_router *router;
    lbroute_request request;
    lbroute_decision decision;
    struct job jobs[FLEET * FLEET_SLOTS];
    uint64_t now, next_arrival, tags;
    double waits[1 << 15]; /* s, of others than the heavy client */
    size_t wait_count;
    double tokens; /* of answers */
};

/* A tag holds client and length of the answer. */
static uint64_t answer_of(uint64_t tag)
{
    return 50 + tag % 251;
}

static uint64_t client_of(uint64_t tag)
{
    return tag / 1000 % CROWD;
}

static void note_wait(struct overload *run)
{
    if (client_of(run->decision.tag) != 0)
        run->waits[run->wait_count++] = (double)run->decision.wait_ns / 1e9;
}

static void begin_job(struct overload *run)
{
    size_t slot = 0;

    while (run->jobs[slot].ticket)
        slot++;
    run->jobs[slot].ticket = run->decision.ticket;
    run->jobs[slot].tag = run->decision.tag;
    run->jobs[slot].ends =
        run->now + (100 + 10 * answer_of(run->decision.tag)) * MILLISECOND;
    note_wait(run);
}

static void serve_waiting(struct overload *run)
{
    for (;;) {
        int result = lbroute_next_ready(run->router, run->now, &run->decision);
        if (result == LBROUTE_ERR_NOT_FOUND)
            return;
        if (result == LBROUTE_OK)
            begin_job(run);
        else
            note_wait(run);
    }
}

/* 52 % of all requests come from client 0. */
static void arrive(struct overload *run)
{
    char name[] = {'c', 0};
    uint32_t client =
        rng_chance(&run->rng, 52) ? 0 : 1 + rng_below(&run->rng, CROWD - 1);

    name[1] = (char)('a' + client);
    run->request.client = name;
    run->request.client_len = 2;
    run->request.tag = run->tags++ * 1000 * CROWD + client * UINT64_C(1000) +
                       rng_below(&run->rng, 251);
    run->request.input_tokens = 100;
    if (lbroute_pick(run->router, &run->request, run->now, &run->decision) ==
        LBROUTE_OK)
        begin_job(run);
    /* Mean service 0.1 + 1.75 s on 32 slots: 17.3/s. 1.5 times that. */
    run->next_arrival = run->now + rng_below(&run->rng, 77) * MILLISECOND;
}

static void finish_job(struct overload *run, struct job *job)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = job->ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    event.input_tokens = 100;
    event.output_tokens = (int64_t)answer_of(job->tag);
    job->ticket = 0;
    run->tokens += (double)event.output_tokens;
    CHECK_I(lbroute_observe(run->router, &event, run->now), 0);
    serve_waiting(run);
}

static struct job *next_to_finish(struct overload *run)
{
    struct job *next = NULL;

    for (size_t i = 0; i < FLEET * FLEET_SLOTS; i++)
        if (run->jobs[i].ticket && (!next || run->jobs[i].ends < next->ends))
            next = &run->jobs[i];
    return next;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;

    return (difference > 0) - (difference < 0);
}

/* Gives the 99th percentile of the others' waits. */
static double run_overload(struct overload *run, int fair)
{
    lbroute_target_options options;
    lbroute_target target;
    lbroute_pool pool;

    memset(run, 0, sizeof *run);
    rng_seed(&run->rng, 4);
    run->router = api_router(1);
    pool = api_pool(run->router, "pool", "least_connections");
    api_set(run->router, pool, "queue.enabled", 1);
    api_set(run->router, pool, "queue.depth", 1000);
    api_set(run->router, pool, "queue.fair", fair);
    for (char name[] = "a"; name[0] < 'a' + FLEET; name[0]++) {
        api_target_options(&options, pool, name, 1);
        options.max_concurrency = FLEET_SLOTS;
        CHECK_I(lbroute_target_add(run->router, &options, 0, &target), 0);
    }
    api_request(&run->request, pool);
    lbroute_decision_init(&run->decision, sizeof run->decision);
    while (run->now < OVERLOAD_S * SECOND) {
        struct job *job = next_to_finish(run);
        if (job && job->ends <= run->next_arrival) {
            run->now = job->ends;
            finish_job(run, job);
        } else {
            run->now = run->next_arrival;
            arrive(run);
        }
    }
    lbroute_router_destroy(run->router);
    qsort(run->waits, run->wait_count, sizeof run->waits[0], compare);
    return run->waits[run->wait_count * 99 / 100];
}

/*
 * At 1.5 times what the fleet can do, with one client for 52 % of it, the
 * others wait a third at most of what they would first in, first out, and as
 * much gets done.
 */
static void overload(void **state)
{
    static struct overload run;
    double fifo;
    double fifo_tokens;
    double fair;
    (void)state;

    check_context("overload", 4);
    fifo = run_overload(&run, 0);
    fifo_tokens = run.tokens;
    fair = run_overload(&run, 1);
    if (getenv("LBROUTE_TEST_FIGURES"))
        printf("p99 of the others: fifo %.2f s, fair %.2f s; tokens %.0f, "
               "%.0f\n",
               fifo, fair, fifo_tokens, run.tokens);
    CHECK(fair <= fifo / 3);
    CHECK_NEAR(run.tokens / fifo_tokens, 1, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(service_gap),
        cmocka_unit_test(overload),
    };
    return cmocka_run_group_tests_name("waiting", tests, check_use_cmocka,
                                       NULL);
}
