/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include <stdlib.h>

#include "support/test.h"

void waiting_open(struct fleet *fleet, const char *strategy, size_t targets,
                  uint32_t limit)
{
    fleet_open(fleet, strategy, 0, 1);
    fleet_param(fleet, "queue.enabled", 1);
    for (size_t i = 0; i < targets; i++)
        fleet_add_limit(fleet, limit);
}

lbroute_place waiting_queue(struct fleet *fleet, uint64_t tag)
{
    fleet->request.tag = tag;
    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, LBROUTE_ERR_QUEUED);
    assert_int_not_equal(fleet->decision.place, 0);
    assert_int_equal(fleet->decision.tag, tag);
    assert_int_equal(fleet->decision.target, 0);
    assert_int_equal(fleet->decision.ticket, 0);
    assert_int_equal(fleet->decision.reason, LBROUTE_REASON_NONE);
    return fleet->decision.place;
}

static void hold(struct fleet *fleet, size_t index)
{
    fleet->held =
        realloc(fleet->held, (fleet->held_count + 1) * sizeof *fleet->held);
    assert_non_null(fleet->held);
    fleet->held_capacity = fleet->held_count + 1;
    fleet->held[fleet->held_count].ticket = fleet->decision.ticket;
    fleet->held[fleet->held_count++].index = index;
}

size_t waiting_next(struct fleet *fleet)
{
    size_t index = 0;

    fleet->code =
        lbroute_next_ready(fleet->router, fleet->now, &fleet->decision);
    if (fleet->code != LBROUTE_OK)
        return FLEET_NONE;
    assert_int_not_equal(fleet->decision.ticket, 0);
    while (index < fleet->count &&
           fleet->targets[index] != fleet->decision.target)
        index++;
    assert_true(index < fleet->count);
    hold(fleet, index);
    return index;
}

size_t waiting_expect(struct fleet *fleet, uint64_t tag)
{
    size_t index = waiting_next(fleet);

    assert_int_equal(fleet->code, LBROUTE_OK);
    assert_int_equal(fleet->decision.tag, tag);
    assert_int_not_equal(fleet->decision.place, 0);
    return index;
}

void waiting_expect_none(struct fleet *fleet)
{
    assert_int_equal(waiting_next(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, LBROUTE_ERR_NOT_FOUND);
}

void waiting_expect_refused(struct fleet *fleet, uint64_t tag, int code,
                            int reason)
{
    assert_int_equal(waiting_next(fleet), FLEET_NONE);
    assert_int_equal(fleet->code, code);
    assert_int_equal(fleet->decision.tag, tag);
    assert_int_equal(fleet->decision.reason, reason);
    assert_int_equal(fleet->decision.ticket, 0);
    assert_int_not_equal(fleet->decision.place, 0);
}

int waiting_cancel(struct fleet *fleet, lbroute_place place)
{
    return lbroute_place_cancel(fleet->router, place, fleet->now);
}

lbroute_pool_stats waiting_stats(struct fleet *fleet)
{
    lbroute_pool_stats stats;

    lbroute_pool_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_pool_stats(fleet->router, fleet->pool, &stats),
                     LBROUTE_OK);
    return stats;
}
