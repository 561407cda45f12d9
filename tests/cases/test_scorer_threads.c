/* SPDX-License-Identifier: MIT */
/* Scorers of the host under several threads. Workers and scorers call no
 * assertion, they count; the main thread checks the sums. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 3000 };

/* ---- one scorer, two threads ---- */

struct meeting {
    struct fleet fleet;
    lbroute_scorer scorer;
    pthread_barrier_t inside;
    pthread_barrier_t leave;
    atomic_int destroyed;
    atomic_int refused; /* picks from inside */
    atomic_int served;
};

/* Waits for everybody inside, then for leave to go. */
static int meet(void *user, const lbroute_score_request *request,
                const lbroute_candidate *candidates, size_t count,
                double *scores)
{
    struct meeting *meeting = user;
    lbroute_decision decision;

    (void)candidates;
    pthread_barrier_wait(&meeting->inside);
    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(meeting->fleet.router, request->request, request->now,
                     &decision) == LBROUTE_ERR_BUSY)
        atomic_fetch_add(&meeting->refused, 1);
    pthread_barrier_wait(&meeting->leave);
    for (size_t i = 0; i < count; i++)
        scores[i] = 1;
    return 0;
}

static void part(void *user)
{
    struct meeting *meeting = user;
    atomic_fetch_add(&meeting->destroyed, 1);
}

static void open_meeting(struct meeting *meeting, unsigned inside,
                         unsigned leave)
{
    lbroute_scorer_options options;

    memset(meeting, 0, sizeof *meeting);
    fleet_open(&meeting->fleet, "pipeline", 2, 1);
    assert_int_equal(pthread_barrier_init(&meeting->inside, NULL, inside), 0);
    assert_int_equal(pthread_barrier_init(&meeting->leave, NULL, leave), 0);
    lbroute_scorer_options_init(&options, sizeof options);
    options.name = "meet";
    options.name_len = 4;
    options.score = meet;
    options.destroy = part;
    options.user = meeting;
    assert_int_equal(lbroute_scorer_register(meeting->fleet.router,
                                             meeting->fleet.pool, &options,
                                             &meeting->scorer),
                     LBROUTE_OK);
}

static void close_meeting(struct meeting *meeting)
{
    pthread_barrier_destroy(&meeting->inside);
    pthread_barrier_destroy(&meeting->leave);
    fleet_close(&meeting->fleet);
    assert_int_equal(meeting->destroyed, 1);
}

static void *pick_once(void *user)
{
    struct meeting *meeting = user;
    lbroute_request request = meeting->fleet.request;
    lbroute_decision decision;

    lbroute_decision_init(&decision, sizeof decision);
    if (lbroute_pick(meeting->fleet.router, &request, 0, &decision) ==
        LBROUTE_OK)
        atomic_fetch_add(&meeting->served, 1);
    return NULL;
}

/* All are inside at the same time, so no lock is held there; each is refused a
 * pick of its own, and none for another's sake. */
static void threads_meet_inside(void **state)
{
    struct meeting meeting;
    pthread_t threads[THREADS];
    (void)state;

    open_meeting(&meeting, THREADS, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pick_once, &meeting),
                         0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(meeting.refused, THREADS);
    assert_int_equal(meeting.served, THREADS);
    close_meeting(&meeting);
}

/* Who removes a scorer does not wait for it; the call that runs has it to the
 * end. */
static void removed_while_it_runs(void **state)
{
    struct meeting meeting;
    pthread_t thread;
    (void)state;

    for (int with_pool = 0; with_pool < 2; with_pool++) {
        open_meeting(&meeting, 2, 2);
        assert_int_equal(pthread_create(&thread, NULL, pick_once, &meeting), 0);
        pthread_barrier_wait(&meeting.inside);
        if (with_pool) {
            fleet_remove(&meeting.fleet, 0);
            fleet_remove(&meeting.fleet, 1);
            assert_int_equal(
                lbroute_pool_remove(meeting.fleet.router, meeting.fleet.pool),
                LBROUTE_OK);
        } else {
            assert_int_equal(
                lbroute_scorer_remove(meeting.fleet.router, meeting.scorer),
                LBROUTE_OK);
            assert_true(fleet_serve(&meeting.fleet) != FLEET_NONE);
        }
        assert_int_equal(meeting.destroyed, 0);
        pthread_barrier_wait(&meeting.leave);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(meeting.served, !with_pool);
        close_meeting(&meeting);
    }
}

/* ---- storm ---- */

struct storm {
    struct fleet fleet;
    atomic_int stop;
    atomic_int created, destroyed;
    atomic_int strange;
    atomic_int served;
};

/* A scorer with memory of its own: a call after its end is a use after free,
 * which the sanitizers see. */
struct guest {
    struct storm *storm;
    unsigned number;
};

static int guess(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    const struct guest *guest = user;
    lbroute_scorer_stats stats;

    for (size_t i = 0; i < count; i++)
        scores[i] =
            (double)((candidates[i].target + guest->number) % 8) / 7 - 0.1;
    lbroute_scorer_stats_init(&stats, sizeof stats);
    (void)lbroute_get_scorer_stats(guest->storm->fleet.router, request->scorer,
                                   &stats);
    return guest->number % 10 == 0;
}

static void leave(void *user)
{
    struct guest *guest = user;
    atomic_fetch_add(&guest->storm->destroyed, 1);
    free(guest);
}

static void add_guest(struct storm *storm, unsigned number)
{
    char name = (char)('a' + (char)(number % 6));
    struct guest *guest = malloc(sizeof *guest);
    lbroute_scorer_options options;
    lbroute_scorer scorer = 0;

    if (guest == NULL)
        return;
    guest->storm = storm;
    guest->number = number;
    lbroute_scorer_options_init(&options, sizeof options);
    options.name = &name;
    options.name_len = 1;
    options.kind = number % 3 == 0;
    options.score = guess;
    options.destroy = leave;
    options.user = guest;
    atomic_fetch_add(&storm->created, 1);
    if (lbroute_scorer_register(storm->fleet.router, storm->fleet.pool,
                                &options, &scorer) == LBROUTE_ERR_EXISTS)
        lbroute_scorer_remove(storm->fleet.router, scorer);
}

static void *disturb(void *user)
{
    struct storm *storm = user;
    lbroute_router *router = storm->fleet.router;

    for (unsigned i = 0; !atomic_load(&storm->stop); i++) {
        lbroute_scorer scorer = 0;
        lbroute_target target = 0;
        char name = (char)('A' + (char)(i % 4));
        add_guest(storm, i);
        if (i % 7 == 0 &&
            lbroute_scorer_next(router, 0, 0, &scorer) == LBROUTE_OK)
            lbroute_scorer_set_weight(router, scorer, i % 2);
        if (i % 5 == 0 &&
            lbroute_target_find(router, &name, 1, &target) == LBROUTE_OK)
            lbroute_target_drain(router, target, i % 2, 0);
        if (i % 50 == 0)
            lbroute_pool_update(router, storm->fleet.pool,
                                i % 100 ? "pipeline" : "cache_aware",
                                i % 100 ? 8 : 11);
    }
    return NULL;
}

static void *pick_and_explain(void *user)
{
    struct storm *storm = user;
    lbroute_request request = storm->fleet.request;
    lbroute_decision decision;
    lbroute_event event;

    lbroute_decision_init(&decision, sizeof decision);
    lbroute_event_init(&event, sizeof event);
    event.kind = LBROUTE_EVENT_SUCCESS;
    request.prompt = "a prompt for all";
    for (size_t i = 0; i < ROUNDS; i++) {
        int code;
        request.prompt_len = i % 16;
        code = i % 8 ? lbroute_pick(storm->fleet.router, &request, i, &decision)
                     : lbroute_explain(storm->fleet.router, &request, i,
                                       &decision, NULL, 0, NULL);
        if (code != LBROUTE_OK && code != LBROUTE_ERR_NO_TARGET)
            atomic_fetch_add(&storm->strange, 1);
        event.ticket = decision.ticket;
        if (code != LBROUTE_OK || i % 8 == 0)
            continue;
        atomic_fetch_add(&storm->served, 1);
        if (lbroute_observe(storm->fleet.router, &event, i) != LBROUTE_OK)
            atomic_fetch_add(&storm->strange, 1);
    }
    return NULL;
}

/* Scorers come and go under picks and explanations: none is called after its
 * end, each is destroyed once, and no slot is lost. */
static void scorers_come_and_go(void **state)
{
    static struct storm storm;
    pthread_t threads[THREADS];
    pthread_t disturber;
    (void)state;

    memset(&storm, 0, sizeof storm);
    fleet_open(&storm.fleet, "pipeline", 4, 1);
    assert_int_equal(pthread_create(&disturber, NULL, disturb, &storm), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, pick_and_explain, &storm), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&storm.stop, 1);
    assert_int_equal(pthread_join(disturber, NULL), 0);
    assert_int_equal(storm.strange, 0);
    assert_true(storm.served > 0);
    assert_int_equal(fleet_totals(&storm.fleet).open_tickets, 0);
    fleet_close(&storm.fleet);
    assert_int_equal(storm.destroyed, storm.created);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_meet_inside),
        cmocka_unit_test(removed_while_it_runs),
        cmocka_unit_test(scorers_come_and_go),
    };
    return cmocka_run_group_tests_name("scorer threads", tests, NULL, NULL);
}
