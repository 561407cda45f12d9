/* SPDX-License-Identifier: MIT */
/* Waiting requests get their turn. */
#include "base/abi.h"
#include "policy/decision.h"
#include "policy/filter.h"
#include "policy/queueing.h"
#include "policy/request.h"
#include "policy/route.h"

/* Beside the codes of routes: the waiter found nobody and waits on, or is gone.
 * Ask the next. */
#define WAITS_ON 100

static int64_t waited(const struct lbroute_router *router,
                      const struct lbr_waiter *waiter)
{
    return lbr_time_signed(
        lbr_time_since(router->clock, waiter->entry.arrived));
}

static void name_place(const struct lbroute_router *router,
                       const struct lbr_waiter *waiter,
                       lbroute_decision *decision)
{
    decision->place = waiter->slot.handle;
    decision->tag = waiter->tag;
    decision->wait_ns = waited(router, waiter);
}

/* Reports a waiter whose time is over. */
static int report_end(struct lbroute_router *router, lbroute_decision *decision)
{
    struct lbr_waiting *waiting = &router->waiting;
    struct lbr_waiter *waiter =
        LBR_OWNER(waiting->ended.next, struct lbr_waiter, link);
    int reason = (int)waiter->slot.spare;

    lbr_decision_give_up(decision, lbr_router_pool(router, waiter->pool),
                         reason);
    name_place(router, waiter, decision);
    router->rejections[reason]++;
    lbr_waiter_bury(waiting, waiter);
    return LBROUTE_ERR_SATURATED;
}

/* Whom to try next; NULL: nobody. */
static struct lbr_waiter *claim(struct lbroute_router *router)
{
    struct lbr_link *awake = &router->waiting.awake;
    struct lbr_waiter *waiter = NULL;

    while (!waiter && !lbr_list_empty(awake))
        waiter = lbr_room_claim(LBR_OWNER(awake->next, struct lbr_room, awake),
                                router->clock);
    return waiter;
}

/* ---- one waiter, under the lock ---- */

static int go(struct lbr_pick *pick, const struct lbr_choice *choice,
              struct lbr_waiter *waiter, lbroute_decision *decision)
{
    struct lbroute_router *router = pick->router;
    struct lbr_ticket *ticket;
    int result = lbr_tickets_open(&router->tickets, router->clock, &ticket);

    if (result) {
        lbr_waiter_return(waiter, 0);
        return result;
    }
    lbr_decision_accept(decision, pick, choice);
    lbr_route_commit(pick, choice, ticket);
    decision->ticket = ticket->slot.handle;
    name_place(router, waiter, decision);
    ticket->input = waiter->input;
    ticket->output = waiter->output;
    ticket->client = lbr_waiter_served(waiter);
    return LBROUTE_OK;
}

static int refuse(struct lbroute_router *router, struct lbr_waiter *waiter,
                  lbroute_decision *decision)
{
    name_place(router, waiter, decision);
    router->rejections[decision->reason]++;
    lbr_waiter_refuse(waiter);
    return LBROUTE_ERR_NO_TARGET;
}

/* Nobody takes it now: it waits on, unless nobody ever will. */
static int stay(const struct lbr_pick *pick, struct lbr_waiter *waiter,
                lbroute_decision *decision)
{
    struct lbr_rejection rejection;
    int result = lbr_filter_explain(pick, &rejection);

    if (result == LBROUTE_ERR_SATURATED ||
        rejection.verdicts[LBROUTE_REASON_BENCHED]) {
        lbr_waiter_return(waiter, 1);
        return WAITS_ON;
    }
    lbr_decision_reject(decision, pick, &rejection);
    return refuse(pick->router, waiter, decision);
}

static int try_now(struct lbroute_router *router, struct lbr_ask *ask,
                   struct lbr_waiter *waiter, lbroute_decision *decision,
                   size_t *block_bytes)
{
    struct lbr_pick pick;
    struct lbr_choice choice;
    int result;

    if (waiter->state == LBR_WAITER_CANCELLED) {
        lbr_waiter_return(waiter, 0);
        return WAITS_ON;
    }
    result = lbr_route(router, ask, router->clock, &pick, &choice);
    *block_bytes = pick.block_bytes;
    if (result > 0)
        return result;
    if (!result)
        return go(&pick, &choice, waiter, decision);
    if (result == LBROUTE_ERR_NO_TARGET)
        return stay(&pick, waiter, decision);
    if (result == LBROUTE_ERR_NOT_FOUND) {
        lbr_decision_give_up(decision, NULL, LBROUTE_REASON_NO_TARGETS);
        return refuse(router, waiter, decision);
    }
    lbr_waiter_return(waiter, 0);
    return result;
}

/* ---- one waiter, without the lock where that takes long ---- */

static int try_waiter(struct lbroute_router *router, struct lbr_waiter *waiter,
                      uint64_t now, lbroute_decision *decision)
{
    struct lbr_request_space space;
    struct lbr_ask ask;
    size_t block_bytes = 0;
    int result;

    /* It was read before, and is as it was then. */
    (void)lbr_request_read(router, &waiter->copy->request, &space, &ask);
    ask.arrived = 1;
    lbr_request_foresee(router, &ask);
    do {
        lbr_router_enter(router);
        lbr_router_advance(router, now);
        result = try_now(router, &ask, waiter, decision, &block_bytes);
        (void)lbr_router_leave(router, result);
    } while (lbr_route_supply(router, &ask, result, block_bytes));
    return result;
}

static int serve_next(struct lbroute_router *router, uint64_t now,
                      lbroute_decision *decision)
{
    struct lbr_waiter *waiter = NULL;
    struct lbr_ask none = {0};
    int result;

    lbr_router_enter(router);
    result = lbr_route_admit(router, &none);
    if (!result) {
        lbr_router_advance(router, now);
        if (!lbr_list_empty(&router->waiting.ended))
            result = report_end(router, decision);
        else
            waiter = claim(router);
        if (!result && !waiter)
            result = LBROUTE_ERR_NOT_FOUND;
    }
    (void)lbr_router_leave(router, result);
    return waiter ? try_waiter(router, waiter, now, decision) : result;
}

int lbroute_next_ready(lbroute_router *router, uint64_t now,
                       lbroute_decision *out)
{
    lbroute_decision whole;
    lbroute_decision *decision = out;
    int result;

    if (!router || !lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    /* An older caller's struct cannot take it all. */
    if (lbr_abi_size(out) < sizeof whole)
        decision = &whole;
    do
        result = serve_next(router, now, decision);
    while (result == WAITS_ON);
    if (decision == &whole && lbr_decision_made(result))
        (void)lbr_abi_write(out, &whole, sizeof whole);
    return result;
}

int lbroute_place_cancel(lbroute_router *router, lbroute_place place,
                         uint64_t now)
{
    struct lbr_waiter *waiter;

    if (!router)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    lbr_router_advance(router, now);
    waiter = lbr_waiter_find(&router->waiting, place);
    if (waiter)
        lbr_waiter_cancel(&router->waiting, waiter);
    return lbr_router_leave(router,
                            waiter ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}
