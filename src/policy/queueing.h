/* SPDX-License-Identifier: MIT */
/* What becomes of a request that finds no slot: it waits, or is turned away,
 * with an estimate of the time that it takes. */
#ifndef LBR_POLICY_QUEUEING_H
#define LBR_POLICY_QUEUEING_H

#include "policy/pick.h"

struct lbr_outlook {
    int result;     /* LBROUTE_ERR_QUEUED or LBROUTE_ERR_SATURATED */
    int reason;     /* of the latter, NONE: all are full */
    uint32_t ahead; /* requests that would go before */
    int64_t wait;   /* expected, ns; -1: unknown */
    const struct lbr_params *params;
    struct lbr_turn_asked turn;
    uint32_t input, output; /* tokens that it is to cost */
};

/* Whether requests for these targets may wait. */
int lbr_queueing_is_on(const struct lbr_pick *pick);

/* Whether a request with a choice must queue up all the same: others wait who
 * might go first. */
static inline int lbr_queueing_must_wait(const struct lbr_pick *pick)
{
    const struct lbr_room *room = pick->group->room;

    return room && room->is_awake && lbr_queueing_is_on(pick);
}

/* Works that out for a pick that found nobody, or (|free|) must queue up. Moves
 * nothing. */
void lbr_queueing_foresee(const struct lbr_pick *pick, int free,
                          struct lbr_outlook *outlook);

/* Lets the request wait, whose copy has been made. Returns 0,
 * LBROUTE_ERR_LIMIT or LBROUTE_ERR_NO_MEMORY. */
int lbr_queueing_enter(const struct lbr_pick *pick, struct lbr_ask *ask,
                       const struct lbr_outlook *outlook,
                       struct lbr_waiter **waiter);

/* Writes down the outlook in a decision that says so far why nobody is
 * eligible. */
void lbr_queueing_describe(const struct lbr_outlook *outlook,
                           lbroute_decision *decision);

/* Makes the copy, without its prompt if there is no room for that. The lock is
 * not held. */
void lbr_queueing_copy(struct lbroute_router *router, struct lbr_ask *ask);

/* Gives up a copy that was not needed. */
void lbr_queueing_release(struct lbroute_router *router, struct lbr_ask *ask);

/* Corrects what the client of a ticket paid, now that it ends. */
void lbr_queueing_settle(struct lbroute_router *router,
                         const struct lbr_ticket *ticket,
                         const lbroute_event *event);

#endif
