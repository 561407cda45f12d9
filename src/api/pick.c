/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "policy/decision.h"
#include "policy/filter.h"
#include "policy/queueing.h"
#include "policy/request.h"
#include "policy/route.h"

/* Lets the request wait, or says that it must be copied first. */
static int queue_up(const struct lbr_pick *pick, struct lbr_ask *ask,
                    const struct lbr_outlook *outlook,
                    lbroute_decision *decision)
{
    struct lbr_waiter *waiter;
    int result = ask->copy_failed;

    if (!ask->copy && !result)
        return LBR_ROUTE_NEEDS_COPY;
    if (!result)
        result = lbr_queueing_enter(pick, ask, outlook, &waiter);
    if (result)
        return result;
    decision->place = waiter->slot.handle;
    return LBROUTE_ERR_QUEUED;
}

/* For a request that nobody is to take now, though (|free|) somebody could. */
static int turn_away(const struct lbr_pick *pick, struct lbr_ask *ask, int free,
                     lbroute_decision *decision)
{
    struct lbr_rejection rejection;
    struct lbr_outlook outlook;
    int result = lbr_filter_explain(pick, &rejection);

    lbr_decision_reject(decision, pick, &rejection);
    if (free || result == LBROUTE_ERR_SATURATED) {
        lbr_queueing_foresee(pick, free, &outlook);
        lbr_queueing_describe(&outlook, decision);
        result = outlook.result;
        if (result == LBROUTE_ERR_QUEUED)
            result = queue_up(pick, ask, &outlook, decision);
        if (result == LBROUTE_ERR_LIMIT) {
            decision->reason = LBROUTE_REASON_QUEUE_FULL;
            result = LBROUTE_ERR_SATURATED;
        }
    }
    if (result == LBROUTE_ERR_SATURATED || result == LBROUTE_ERR_NO_TARGET)
        pick->router->rejections[decision->reason]++;
    return result;
}

/* Chooses and takes the slot, or says why not; or what must be done first
 * (LBR_ROUTE_…), with the size of blocks. */
static int pick_now(struct lbroute_router *router, struct lbr_ask *ask,
                    lbroute_decision *decision, size_t *block_bytes)
{
    struct lbr_pick pick;
    struct lbr_choice choice;
    struct lbr_ticket *ticket;
    int result = lbr_route(router, ask, router->clock, &pick, &choice);

    *block_bytes = pick.block_bytes;
    if (result == LBROUTE_ERR_NO_TARGET)
        return turn_away(&pick, ask, 0, decision);
    if (!result && lbr_queueing_must_wait(&pick))
        return turn_away(&pick, ask, 1, decision);
    if (!result)
        result = lbr_tickets_open(&router->tickets, router->clock, &ticket);
    if (result)
        return result;
    lbr_decision_accept(decision, &pick, &choice);
    lbr_route_commit(&pick, &choice, ticket);
    decision->ticket = ticket->slot.handle;
    return LBROUTE_OK;
}

static int pick_for(struct lbroute_router *router, struct lbr_ask *ask,
                    uint64_t now, lbroute_decision *decision)
{
    size_t block_bytes = 0;
    int result;

    lbr_request_foresee(router, ask);
    do {
        lbr_router_enter(router);
        result = lbr_route_admit(router, ask);
        if (!result) {
            lbr_router_advance(router, now);
            result = pick_now(router, ask, decision, &block_bytes);
        }
        (void)lbr_router_leave(router, result);
    } while (lbr_route_supply(router, ask, result, block_bytes));
    return result;
}

int lbroute_pick(lbroute_router *router, const lbroute_request *request,
                 uint64_t now, lbroute_decision *out)
{
    lbroute_decision whole;
    lbroute_decision *decision = out;
    struct lbr_request_space space;
    struct lbr_ask ask;
    int result;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    /* An older caller's struct cannot take it all. */
    if (lbr_abi_size(out) < sizeof whole)
        decision = &whole;
    result = lbr_request_read(router, request, &space, &ask);
    if (!result)
        result = pick_for(router, &ask, now, decision);
    if (decision == &whole && lbr_decision_made(result))
        (void)lbr_abi_write(out, &whole, sizeof whole);
    return result;
}
