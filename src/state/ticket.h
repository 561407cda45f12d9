/* SPDX-License-Identifier: MIT */
/* Open tickets: requests that hold a slot, oldest first for expiry. */
#ifndef LBR_STATE_TICKET_H
#define LBR_STATE_TICKET_H

#include "base/clock.h"
#include "containers/list.h"
#include "containers/slab.h"
#include "models/health.h"
#include "state/account.h"

struct lbr_ticket {
    struct lbr_slot slot;  /* spare: the health mark */
    struct lbr_link link;  /* in order of picking */
    lbroute_target target; /* stale once the target was removed */
    uint64_t picked_at;
    uint64_t pin_key; /* what a success pins to the target; 0: nothing */
    uint64_t adapter; /* counted among those of the target; 0: none */
    struct lbr_task task;
    uint64_t client;        /* who waited for it, and paid; 0: nobody */
    uint32_t input, output; /* tokens that were paid */
};

struct lbr_tickets {
    struct lbr_slab slab;
    struct lbr_link open;
    uint64_t ttl;
};

void lbr_tickets_init(struct lbr_tickets *tickets, struct lbr_memory *memory,
                      uint32_t limit, uint64_t ttl);
void lbr_tickets_destroy(struct lbr_tickets *tickets);

/* Takes a ticket of time |now|; the caller fills in the rest. Returns as
 * lbr_slab_take(). */
int lbr_tickets_open(struct lbr_tickets *tickets, uint64_t now,
                     struct lbr_ticket **ticket);

void lbr_tickets_close(struct lbr_tickets *tickets, struct lbr_ticket *ticket);

static inline struct lbr_ticket *lbr_tickets_find(
    const struct lbr_tickets *tickets, lbroute_ticket handle)
{
    return lbr_slab_find(&tickets->slab, handle);
}

/* Time at which the oldest ticket expires, LBR_NEVER without any. */
static inline uint64_t lbr_tickets_deadline(const struct lbr_tickets *tickets)
{
    const struct lbr_link *first = tickets->open.next;

    if (first == &tickets->open)
        return LBR_NEVER;
    return lbr_time_add(
        LBR_OWNER(first, const struct lbr_ticket, link)->picked_at,
        tickets->ttl);
}

/* The ticket after |previous| (NULL: the oldest) if it has expired at |now|,
 * else NULL. */
struct lbr_ticket *lbr_tickets_expired(const struct lbr_tickets *tickets,
                                       const struct lbr_ticket *previous,
                                       uint64_t now);

/* The ticket picked before |ticket|, or NULL. */
struct lbr_ticket *lbr_tickets_before(const struct lbr_tickets *tickets,
                                      const struct lbr_ticket *ticket);

size_t lbr_tickets_estimate(uint32_t limit);

#endif
