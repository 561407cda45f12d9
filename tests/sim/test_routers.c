/* SPDX-License-Identifier: MIT */
/* Several routers in front of one fleet: which of them a request comes to, and
 * that each settles what it picked. */
#include <string.h>

#include "replay/fleet.h"
#include "replay/generate.h"

#include "support/test.h"

enum { ROUTERS = 4 };

struct fixture {
    struct workload work;
    struct fleet_spec fleet;
    struct fleet_options options;
    struct fleet_log log;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct generator_options traffic = {
        .rate = 30.0, .duration_s = 60.0, .seed = 1};
    struct fleet_defaults defaults = {engine_spec_at(0), 0, 0};
    char error[256];

    memset(&fixture, 0, sizeof fixture);
    generator_run(generator_find("chat"), &traffic, &fixture.work);
    if (!fleet_spec_parse("4", &defaults, &fixture.fleet, error, sizeof error))
        return -1;
    fixture.options.host = (struct host_options){
        .fleet = &fixture.fleet,
        .strategy = "least_connections",
        .seed = 1,
        .max_requests = fixture.work.count,
    };
    fixture.options.scrape_s = 5.0;
    fixture.options.routers = (struct routers_options){
        .count = ROUTERS, .interval_s = 0.1, .delay_s = 0.005};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    fleet_log_release(&fixture->log);
    fleet_spec_release(&fixture->fleet);
    workload_release(&fixture->work);
    return 0;
}

static const struct fleet_log *run(struct fixture *fixture)
{
    fleet_run(&fixture->work, &fixture->options, &fixture->log);
    return &fixture->log;
}

/* By what became of each request: all are served, each is counted where it came
 * to, and nobody holds a ticket of another's. */
static void assert_conserved(const struct fleet_log *log)
{
    uint64_t counts[ROUTERS] = {0};

    assert_int_equal(log->router_count, ROUTERS);
    for (size_t i = 0; i < log->request_count; i++) {
        assert_int_not_equal(log->outcomes[i].target, FLEET_NO_TARGET);
        assert_true(log->outcomes[i].last_token > 0);
        counts[log->outcomes[i].router]++;
    }
    for (size_t i = 0; i < ROUTERS; i++) {
        assert_true(counts[i] > 0);
        assert_int_equal(log->routers[i].requests, counts[i]);
        assert_int_equal(log->routers[i].open, 0);
    }
}

static void each_settles_its_own(void **state)
{
    struct fixture *fixture = *state;

    assert_conserved(run(fixture));
}

/* Three places for each router at each target: many wait at the hosts, and
 * nobody overtakes another one of the same router. */
static void hosts_have_queues_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    uint64_t latest[ROUTERS] = {0};
    const struct fleet_log *log;
    size_t waited = 0;

    for (size_t i = 0; i < fixture->fleet.count; i++)
        fixture->fleet.targets[i].limit = 3;
    log = run(fixture);
    assert_conserved(log);
    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[log->arrivals[i]];

        waited += outcome->waited;
        assert_true(outcome->dispatched >= latest[outcome->router]);
        latest[outcome->router] = outcome->dispatched;
    }
    assert_true(waited > 100);
}

static void routers_hold_requests_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct host_parameter parameters[] = {{"queue.enabled", 1.0},
                                          {"queue.depth", 100000.0},
                                          {"queue.timeout", 1e6}};
    const struct fleet_log *log;
    size_t waited = 0;

    for (size_t i = 0; i < fixture->fleet.count; i++)
        fixture->fleet.targets[i].limit = 3;
    fixture->options.host.parameters = parameters;
    fixture->options.host.parameter_count = 3;
    log = run(fixture);
    assert_conserved(log);
    for (size_t i = 0; i < log->request_count; i++)
        waited += log->outcomes[i].waited;
    assert_true(waited > 100);
}

static void in_turn(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_log *log;

    fixture->options.routers.balance = ROUTERS_ROUND_ROBIN;
    log = run(fixture);
    for (size_t i = 0; i < log->request_count; i++)
        assert_int_equal(log->outcomes[log->arrivals[i]].router, i % ROUTERS);
}

/* All of a session, or of a chain where no session is known. */
static void by_session(void **state)
{
    struct fixture *fixture = *state;
    const struct work_request *requests = fixture->work.requests;
    const struct fleet_log *log;
    size_t followers = 0;

    fixture->options.routers.balance = ROUTERS_SESSION;
    for (int hidden = 0; hidden < 2; hidden++) {
        if (hidden)
            workload_hide_sessions(&fixture->work);
        fleet_log_release(&fixture->log);
        log = run(fixture);
        assert_conserved(log);
        for (size_t i = 0; i < log->request_count; i++) {
            if (requests[i].follows == WORK_FOLLOWS_NONE)
                continue;
            followers++;
            assert_int_equal(log->outcomes[i].router,
                             log->outcomes[requests[i].follows].router);
        }
    }
    assert_true(followers > 1000);
}

/* Another one in its place does not know of what is under way there, and all
 * other routers settle theirs. */
static void one_starts_anew(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_log *log;

    fixture->options.handover = (struct fleet_handover_options){
        .wanted = true, .at = 40.0, .how = FLEET_BEGINS_COLD};
    log = run(fixture);
    assert_conserved(log);
    assert_true(log->handover.done);
    assert_true(log->handover.forgotten > 0);
}

/* The first delta of a router is written within the first interval, at another
 * time than those of the others; the run ends with the last answer. */
static void deltas_are_written_in_time(void **state)
{
    struct fixture *fixture = *state;
    const struct fleet_log *log;
    uint64_t last = 0;
    double each;

    fixture->options.routers.interval_s = 0.5;
    log = run(fixture);
    for (size_t i = 0; i < log->request_count; i++)
        if (log->outcomes[i].last_token > last)
            last = log->outcomes[i].last_token;
    each = (double)last / 1e9 / 0.5;
    assert_near((double)log->deltas.written, each * ROUTERS, ROUTERS + 1.0);
    assert_int_equal(log->deltas.applied, log->deltas.written * (ROUTERS - 1));
    assert_int_equal(log->deltas.lost, 0);
    assert_int_equal(log->deltas.missing, 0);
}

#define ROUTERS_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUTERS_TEST(each_settles_its_own),
        ROUTERS_TEST(hosts_have_queues_of_their_own),
        ROUTERS_TEST(routers_hold_requests_of_their_own),
        ROUTERS_TEST(in_turn),
        ROUTERS_TEST(by_session),
        ROUTERS_TEST(one_starts_anew),
        ROUTERS_TEST(deltas_are_written_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
