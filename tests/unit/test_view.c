/* SPDX-License-Identifier: MIT */
/* state/view: a look ahead in time that leaves no trace. */
#include "state/view.h"

#include "consistency.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/state.h"
#include "support/test.h"

#define TARGETS 4
#define TTL (10 * TEST_S)

static void open_fleet(struct fleet *fleet)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.ticket_ttl = TTL;
    fleet_open_options(fleet, &options, "least_connections");
    for (size_t i = 0; i < TARGETS; i++)
        (void)fleet_add_limit(fleet, 5);
}

static struct lbr_target *target_at(struct fleet *fleet, size_t index)
{
    return lbr_router_target(fleet->router, fleet->targets[index]);
}

static struct lbr_group *groups_of(struct fleet *fleet)
{
    return lbr_router_pool(fleet->router, fleet->pool)->groups;
}

/* A request that the test knows of. */
struct sent {
    size_t index;
    uint64_t at;
};

/* Sends |count| requests, one every 300 ms. */
static void send_some(struct fleet *fleet, struct sent *sent, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fleet->now += 300 * TEST_MS;
        sent[i].index = fleet_pick(fleet);
        sent[i].at = fleet->now;
        assert_int_not_equal(sent[i].index, FLEET_NONE);
    }
}

static uint32_t left_at(const struct sent *sent, size_t count, size_t index,
                        uint64_t at)
{
    uint32_t left = 0;

    for (size_t i = 0; i < count; i++)
        left += sent[i].index == index && sent[i].at + TTL > at;
    return left;
}

#define SENT 16

/* Tickets that will have expired count as gone during the look, and only
 * then. */
static void look_ahead(struct fleet *fleet, const struct sent *sent,
                       uint64_t at)
{
    struct lbr_group *group = groups_of(fleet);
    struct lbr_target before[TARGETS];
    struct lbr_view view;
    double loads = group->load_sum;

    for (size_t i = 0; i < TARGETS; i++)
        before[i] = *target_at(fleet, i);
    lbr_view_begin(&view, fleet->router, at);
    assert_true(view.at == (at > fleet->now ? at : fleet->now));
    lbr_group_ensure(group, view.at);
    for (size_t i = 0; i < TARGETS; i++)
        assert_int_equal(target_at(fleet, i)->in_flight,
                         left_at(sent, SENT, i, view.at));
    check_group(group);
    lbr_view_restore(&view, group);
    lbr_view_end(&view);
    for (size_t i = 0; i < TARGETS; i++)
        assert_int_equal(target_at(fleet, i)->in_flight, before[i].in_flight);
    assert_near(group->load_sum, loads, 1e-9);
    check_group(group);
    check_router(fleet->router);
}

static void expired_tickets_count_as_gone(void **state)
{
    struct sent sent[SENT];
    struct fleet fleet;
    (void)state;

    open_fleet(&fleet);
    send_some(&fleet, sent, SENT);
    for (uint64_t at = 0; at < 3 * TTL; at += 130 * TEST_MS) {
        char *before = state_text(fleet.router, fleet.now, STATE_FULL);

        look_ahead(&fleet, sent, at);
        state_check(fleet.router, fleet.now, STATE_FULL, before);
    }
    look_ahead(&fleet, sent, UINT64_MAX);
    fleet_close(&fleet);
}

/* Trials that will have expired, too. */
static void trials_come_back(void **state)
{
    struct lbr_target *target;
    struct lbr_view view;
    struct fleet fleet;
    (void)state;

    open_fleet(&fleet);
    for (size_t i = 1; i < TARGETS; i++)
        fleet_drain(&fleet, i, 1);
    fleet_bench(&fleet, 0, TEST_S);
    fleet.now = 2 * TEST_S;
    assert_int_equal(fleet_pick(&fleet), 0);
    target = target_at(&fleet, 0);
    assert_int_equal(target->health.trials, 1);
    lbr_view_begin(&view, fleet.router, fleet.now + TTL);
    lbr_group_ensure(groups_of(&fleet), view.at);
    assert_int_equal(target->health.trials, 0);
    assert_true(lbr_target_usable(target));
    lbr_view_restore(&view, groups_of(&fleet));
    lbr_view_end(&view);
    assert_int_equal(target->health.trials, 1);
    assert_false(lbr_target_usable(target));
    check_group(groups_of(&fleet));
    fleet_close(&fleet);
}

/* Tickets of targets that are gone are nobody's. */
static void orphans_are_passed_over(void **state)
{
    struct sent sent[SENT];
    struct lbr_view view;
    struct fleet fleet;
    (void)state;

    open_fleet(&fleet);
    send_some(&fleet, sent, SENT);
    fleet_remove(&fleet, 2);
    lbr_view_begin(&view, fleet.router, UINT64_MAX);
    assert_int_equal(target_at(&fleet, 0)->in_flight, 0);
    lbr_view_end(&view);
    assert_int_equal(target_at(&fleet, 0)->in_flight,
                     left_at(sent, SENT, 0, 0));
    fleet_close(&fleet);
}

/* What a look at a later time shows is what is there once that time has
 * come. */
static void looks_come_true(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int round = 0; round < 50; round++) {
        struct sent sent[SENT];
        struct fleet fleet;
        lbroute_target_stats ahead[TARGETS];

        open_fleet(&fleet);
        fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 9);
        send_some(&fleet, sent, SENT);
        fleet_bench(&fleet, 1, 7 * TEST_S);
        fleet.now += test_rng_next(&rng) % (2 * TTL);
        for (size_t i = 0; i < TARGETS; i++)
            ahead[i] = fleet_stats(&fleet, i);
        assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
        for (size_t i = 0; i < TARGETS; i++) {
            lbroute_target_stats stats = fleet_stats(&fleet, i);

            assert_int_equal(stats.in_flight, ahead[i].in_flight);
            assert_int_equal(stats.benched, ahead[i].benched);
            assert_near(stats.load, ahead[i].load, 1e-9);
            assert_near(stats.weight, ahead[i].weight, 0);
        }
        fleet_close(&fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expired_tickets_count_as_gone),
        cmocka_unit_test(trials_come_back),
        cmocka_unit_test(orphans_are_passed_over),
        cmocka_unit_test(looks_come_true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
