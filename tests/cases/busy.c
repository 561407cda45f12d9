/* SPDX-License-Identifier: MIT */
#include "busy.h"

#include <stdio.h>
#include <string.h>

static void add_targets(struct fleet *fleet)
{
    lbroute_target_options options;

    for (size_t i = 0; i < 5; i++) {
        fleet_target_options(fleet, &options);
        options.weight = (double)(i % 3) + 1;
        options.max_concurrency = 4;
        options.max_input_tokens = i == 3 ? 1000 : 0;
        options.tier = "gold";
        options.tier_len = i == 4 ? 4 : 0;
        options.model = "model-1";
        options.model_len = 7;
        fleet_add_options(fleet, &options);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_RUNNING, (double)i);
        fleet_gauge(fleet, i, LBROUTE_GAUGE_KV_USAGE, 0.25);
    }
}

static void add_history(struct fleet *fleet)
{
    fleet->now = TEST_S;
    fleet_session(fleet, "s1");
    for (int i = 0; i < 5; i++)
        fleet_serve(fleet);
    fleet_session(fleet, NULL);
    for (int i = 0; i < 6; i++)
        fleet_pick(fleet);
    fleet_settle_last(fleet, LBROUTE_EVENT_FAILURE);
    fleet_bench(fleet, 1, TEST_H);
    fleet_drain(fleet, 2, 1);
}

static void open_one(struct fleet *fleet, const char *strategy)
{
    lbroute_pool first;

    fleet_open(fleet, strategy, 0, 9);
    first = fleet->pool;
    add_targets(fleet);
    add_history(fleet);
    fleet_add_pool(fleet, "second", "random");
    fleet_add(fleet);
    fleet->pool = first;
    fleet->request.pool = first;
}

static void make_stale(struct busy *busy)
{
    struct fleet *fleet = &busy->fleet;
    lbroute_pool_options pool;
    lbroute_target_options target;

    lbroute_pool_options_init(&pool, sizeof pool);
    pool.name = "gone";
    pool.name_len = 4;
    assert_int_equal(lbroute_pool_add(fleet->router, &pool, &busy->gone_pool),
                     LBROUTE_OK);
    assert_int_equal(lbroute_pool_remove(fleet->router, busy->gone_pool),
                     LBROUTE_OK);
    fleet_target_options(fleet, &target);
    target.pool = busy->pools[1];
    target.name = "gone";
    target.name_len = 4;
    assert_int_equal(lbroute_target_add(fleet->router, &target, fleet->now,
                                        &busy->gone_target),
                     LBROUTE_OK);
    assert_int_equal(lbroute_target_remove(fleet->router, busy->gone_target),
                     LBROUTE_OK);
}

void busy_open(struct busy *busy, const char *strategy)
{
    memset(busy, 0, sizeof *busy);
    open_one(&busy->fleet, strategy);
    open_one(&busy->twin, strategy);
    busy->pools[0] = busy->fleet.pool;
    assert_int_equal(
        lbroute_pool_find(busy->fleet.router, "second", 6, &busy->pools[1]),
        LBROUTE_OK);
    make_stale(busy);
    for (size_t i = 0; i < 2; i++) {
        struct fleet *fleet = i == 0 ? &busy->fleet : &busy->twin;
        assert_true(fleet_pick(fleet) != FLEET_NONE);
        if (i == 0)
            busy->gone_ticket = fleet->decision.ticket;
        fleet_settle_last(fleet, LBROUTE_EVENT_SUCCESS);
        assert_true(fleet_pick(fleet) != FLEET_NONE);
    }
    busy->open_ticket = busy->fleet.decision.ticket;
}

void busy_close(struct busy *busy)
{
    char session[16];

    for (size_t i = 0; i < 40; i++) {
        size_t index;
        snprintf(session, sizeof session, "s%zu", i % 4);
        fleet_session(&busy->fleet, i % 2 == 0 ? session : NULL);
        fleet_session(&busy->twin, i % 2 == 0 ? session : NULL);
        index = fleet_serve(&busy->twin);
        assert_int_equal(fleet_serve(&busy->fleet), index);
        assert_int_equal(busy->fleet.code, busy->twin.code);
        assert_int_equal(busy->fleet.decision.rule, busy->twin.decision.rule);
    }
    fleet_close(&busy->fleet);
    fleet_close(&busy->twin);
}
