/* SPDX-License-Identifier: MIT */
#include "state/ticket.h"

#define KIND 3
#define CHUNK_BITS 8

void lbr_tickets_init(struct lbr_tickets *tickets, struct lbr_memory *memory,
                      uint32_t limit, uint64_t ttl)
{
    lbr_slab_init(&tickets->slab, memory, KIND, sizeof(struct lbr_ticket),
                  CHUNK_BITS, limit);
    lbr_list_init(&tickets->open);
    tickets->ttl = ttl;
}

void lbr_tickets_destroy(struct lbr_tickets *tickets)
{
    lbr_slab_destroy(&tickets->slab);
}

int lbr_tickets_open(struct lbr_tickets *tickets, uint64_t now,
                     struct lbr_ticket **ticket)
{
    void *object;
    int result = lbr_slab_take(&tickets->slab, &object);

    if (result)
        return result;
    *ticket = object;
    (*ticket)->picked_at = now;
    (*ticket)->adapter = 0;
    (*ticket)->client = 0;
    lbr_list_append(&tickets->open, &(*ticket)->link);
    return LBROUTE_OK;
}

void lbr_tickets_close(struct lbr_tickets *tickets, struct lbr_ticket *ticket)
{
    lbr_list_remove(&ticket->link);
    lbr_slab_give(&tickets->slab, ticket);
}

struct lbr_ticket *lbr_tickets_expired(const struct lbr_tickets *tickets,
                                       const struct lbr_ticket *previous,
                                       uint64_t now)
{
    const struct lbr_link *link =
        previous ? previous->link.next : tickets->open.next;
    struct lbr_ticket *ticket;

    if (link == &tickets->open)
        return NULL;
    ticket = LBR_OWNER(link, struct lbr_ticket, link);
    return now >= lbr_time_add(ticket->picked_at, tickets->ttl) ? ticket : NULL;
}

struct lbr_ticket *lbr_tickets_before(const struct lbr_tickets *tickets,
                                      const struct lbr_ticket *ticket)
{
    const struct lbr_link *link = ticket->link.previous;

    return link == &tickets->open ? NULL
                                  : LBR_OWNER(link, struct lbr_ticket, link);
}

size_t lbr_tickets_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_ticket), CHUNK_BITS, limit);
}
