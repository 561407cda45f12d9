/* SPDX-License-Identifier: MIT */
/* Several threads whose requests wait for the same few slots: each of them is
 * answered once, whoever asks for the next. Workers call no assertion, they
 * count; the main thread checks the sums. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/test.h"
#include "waiting.h"

enum { THREADS = 4, ROUNDS = 4000, LIMIT = 1, TARGETS = 2 };

struct work {
    struct fleet *fleet;
    pthread_barrier_t start;
    atomic_uint turn;
    atomic_int ends[THREADS * ROUNDS + 1]; /* of each tag */
    atomic_int in_flight;
    atomic_int most;
    atomic_size_t served, cancelled, direct, strange;
};

static void note_slot(struct work *work)
{
    int now = atomic_fetch_add(&work->in_flight, 1) + 1;
    int most = atomic_load(&work->most);

    while (now > most && !atomic_compare_exchange_weak(&work->most, &most, now))
        continue;
}

static void settle(struct work *work, lbroute_ticket ticket, int kind)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = ticket;
    event.kind = kind;
    /* The slot counts as free from before the call that frees it. */
    atomic_fetch_sub(&work->in_flight, 1);
    if (lbroute_observe(work->fleet->router, &event, 0) != LBROUTE_OK)
        atomic_fetch_add(&work->strange, 1);
}

static void end(struct work *work, uint64_t tag)
{
    if (atomic_fetch_add(&work->ends[tag], 1) != 0)
        atomic_fetch_add(&work->strange, 1);
}

/* Serves whoever can go, and those that can go then. */
static void serve_all(struct work *work)
{
    lbroute_decision decision;
    int code;

    lbroute_decision_init(&decision, sizeof decision);
    while ((code = lbroute_next_ready(work->fleet->router, 0, &decision)) ==
           LBROUTE_OK) {
        note_slot(work);
        end(work, decision.tag);
        atomic_fetch_add(&work->served, 1);
        settle(work, decision.ticket, LBROUTE_EVENT_SUCCESS);
    }
    if (code != LBROUTE_ERR_NOT_FOUND)
        atomic_fetch_add(&work->strange, 1);
}

/* Slots that a worker keeps for a while, so that others have to wait. */
struct kept {
    lbroute_ticket tickets[2];
    size_t count;
};

static void keep(struct work *work, struct kept *kept, lbroute_ticket ticket)
{
    if (kept->count == 2) {
        settle(work, kept->tickets[0], LBROUTE_EVENT_SUCCESS);
        kept->tickets[0] = kept->tickets[--kept->count];
    }
    kept->tickets[kept->count++] = ticket;
}

static void ask(struct work *work, lbroute_request *request, size_t i,
                struct kept *kept, lbroute_decision *decision)
{
    int code = lbroute_pick(work->fleet->router, request, 0, decision);

    if (code == LBROUTE_OK) {
        note_slot(work);
        end(work, request->tag);
        atomic_fetch_add(&work->direct, 1);
        keep(work, kept, decision->ticket);
    } else if (code != LBROUTE_ERR_QUEUED) {
        atomic_fetch_add(&work->strange, 1);
    } else if (i % 5 == 0 &&
               lbroute_place_cancel(work->fleet->router, decision->place, 0) ==
                   LBROUTE_OK) {
        end(work, request->tag);
        atomic_fetch_add(&work->cancelled, 1);
    }
}

static void *worker(void *user)
{
    static const char *const clients[] = {"a", "b", "c", "d"};
    struct work *work = user;
    unsigned number = atomic_fetch_add(&work->turn, 1);
    struct kept kept = {{0}, 0};
    lbroute_request request;
    lbroute_decision decision;

    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    request.pool = work->fleet->pool;
    request.client = clients[number];
    request.client_len = 1;
    request.prompt = "the same for all";
    request.prompt_len = 16;
    pthread_barrier_wait(&work->start);
    for (size_t i = 0; i < ROUNDS; i++) {
        request.tag = number * (uint64_t)ROUNDS + i + 1;
        request.priority = (int32_t)(i % 3);
        ask(work, &request, i, &kept, &decision);
        if (i % 4 < 3)
            continue;
        if (kept.count > 0)
            settle(work, kept.tickets[--kept.count], LBROUTE_EVENT_SUCCESS);
        serve_all(work);
    }
    while (kept.count > 0)
        settle(work, kept.tickets[--kept.count], LBROUTE_EVENT_SUCCESS);
    serve_all(work);
    return NULL;
}

static int even(void *user, const lbroute_score_request *request,
                const lbroute_candidate *candidates, size_t count,
                double *scores)
{
    (void)user;
    (void)request;
    (void)candidates;
    for (size_t i = 0; i < count; i++)
        scores[i] = 0.5;
    return 0;
}

static void add_scorer(struct fleet *fleet)
{
    lbroute_scorer_options options;
    lbroute_scorer scorer;

    lbroute_scorer_options_init(&options, sizeof options);
    options.name = "even";
    options.name_len = 4;
    options.score = even;
    assert_int_equal(
        lbroute_scorer_register(fleet->router, fleet->pool, &options, &scorer),
        LBROUTE_OK);
}

static void run(const char *strategy, int stage)
{
    static struct work work;
    pthread_t threads[THREADS];
    struct fleet fleet;

    waiting_open(&fleet, strategy, TARGETS, LIMIT);
    fleet_param(&fleet, "queue.depth", 100000);
    if (stage)
        add_scorer(&fleet);
    memset(&work, 0, sizeof work);
    work.fleet = &fleet;
    assert_int_equal(pthread_barrier_init(&work.start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, worker, &work), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&work.start);
    assert_int_equal(work.strange, 0);
    assert_int_equal(work.in_flight, 0);
    assert_true(work.most <= LIMIT * TARGETS);
    assert_true(work.served > ROUNDS / 10);
    assert_true(work.cancelled > 0);
    assert_int_equal(work.served + work.cancelled + work.direct,
                     THREADS * ROUNDS);
    for (size_t i = 1; i <= THREADS * ROUNDS; i++)
        assert_int_equal(work.ends[i], 1);
    assert_int_equal(fleet_totals(&fleet).places, 0);
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    assert_int_equal(fleet_totals(&fleet).queue_served, work.served);
    assert_int_equal(fleet_totals(&fleet).queue_cancelled, work.cancelled);
    fleet_close(&fleet);
}

static void each_is_answered_once(void **state)
{
    (void)state;
    run("weighted", 0);
    run("cache_aware", 0);
}

/* While scorers run, the lock is free and a waiter is in nobody's list. */
static void with_a_scorer(void **state)
{
    (void)state;
    run("pipeline", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_answered_once),
        cmocka_unit_test(with_a_scorer),
    };
    return cmocka_run_group_tests_name("waiting_threads", tests, NULL, NULL);
}
