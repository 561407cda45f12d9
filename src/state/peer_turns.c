/* SPDX-License-Identifier: MIT */
#include "state/peer_turns.h"

#include "base/clock.h"
#include "state/group.h"
#include "state/router.h"

/* More than that between two deltas are as many. */
#define MOST_TURNS 1024

/* The group whose weighted sequence a target takes part in, or NULL. */
static struct lbr_group *sequence_of(const struct lbr_target *target)
{
    struct lbr_group *group = target ? target->by_pool.group : NULL;

    return group && group->uses & LBR_USES_SCHEDULE ? group : NULL;
}

/* Notes how many turns the peer had when it was last heard. */
static void recall_turns(struct lbroute_router *router,
                         const struct lbr_peer *peer)
{
    uint32_t i;

    for (i = 0; i < peer->row_count; i++) {
        struct lbr_target *target =
            lbr_router_target(router, peer->rows[i].target);

        if (target) {
            target->told_by = router->sharing.tellings;
            target->told_turns = peer->rows[i].turns;
        }
    }
}

static void charge_turns(const struct lbroute_router *router,
                         struct lbr_target *target, uint64_t turns)
{
    struct lbr_group *group = sequence_of(target);
    uint64_t before =
        target->told_by == router->sharing.tellings ? target->told_turns : 0;
    uint64_t more = turns > before ? turns - before : 0;

    if (!group || !more)
        return;
    if (more > MOST_TURNS)
        more = MOST_TURNS;
    lbr_group_ensure(group, router->clock); /* who takes part */
    while (more--)
        lbr_schedule_serve_elsewhere(&group->schedule, &target->by_pool.turn);
}

/* Where weights differ from those there, nobody is made to pay for it for
 * long. */
static void settle_sequence(const struct lbroute_router *router,
                            const struct lbr_target *target)
{
    struct lbr_group *group = sequence_of(target);

    if (!group || group->told_by == router->sharing.tellings)
        return;
    group->told_by = router->sharing.tellings;
    lbr_group_clamp_turns(group);
}

void lbr_peer_take_turns(struct lbroute_router *router,
                         const struct lbr_peer *peer,
                         const struct lbr_peer_row *rows, uint32_t count)
{
    uint32_t i;

    if (peer->until == LBR_NEVER)
        return;
    router->sharing.tellings++;
    recall_turns(router, peer);
    for (i = 0; i < count; i++) {
        struct lbr_target *target = lbr_router_target(router, rows[i].target);

        if (target)
            charge_turns(router, target, rows[i].turns);
    }
    for (i = 0; i < count; i++)
        settle_sequence(router, lbr_router_target(router, rows[i].target));
}
