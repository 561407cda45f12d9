/* SPDX-License-Identifier: MIT */
/* In which order waiting requests are served: by bands of priority, within a
 * band fairly among clients, and first in, first out for each of them.
 *
 *     queue ── band 15 ──▶ heap of flows, lowest counter on top
 *            …              │
 *              band 0       └ flow = what a client has waiting in a band
 *                               └▶ entry ─▶ entry ─▶ …      oldest first
 *
 *     client ── counter (virtual tokens)  ── its flows
 *
 * A client's counter grows by the cost of each request that is served. The
 * client with the lowest goes next, so those with requests waiting get equal
 * service, whatever they ask for. Who comes back from idleness is lifted to the
 * lowest counter of those that wait, so that nobody saves up; a debt stays.
 *
 * A band whose oldest entry has waited for long is served on a par with the
 * highest band that waits: counters decide between them. So priority cannot
 * starve anybody, and what many wait for does not beat the fair order.
 *
 * Source: Sheng, Cao, Li, Zhu, Li, Zhuo, Gonzalez, Stoica, "Fairness in Serving
 * Large Language Models", OSDI 2024 (virtual token counters). */
#ifndef LBR_MODELS_FAIR_QUEUE_H
#define LBR_MODELS_FAIR_QUEUE_H

#include "containers/heap.h"
#include "containers/list.h"
#include "containers/map.h"
#include "containers/slab.h"

#define LBR_FAIR_BANDS 16

/* Clients that are remembered without a request waiting, in all queues. */
#define LBR_FAIR_IDLE 1024

/* Clients and flows of all queues of a router. */
struct lbr_fair_table {
    struct lbr_slab clients, flows;
    struct lbr_map keys;  /* key of a client in a queue ─▶ client */
    struct lbr_link idle; /* clients with a debt, longest idle first */
    uint32_t idle_count;
    uint64_t entries; /* so far: their order */
};

struct lbr_fair_queue;

struct lbr_fair_client {
    struct lbr_slot slot;
    struct lbr_fair_queue *queue;
    uint64_t key;
    double counter;        /* virtual tokens, never below 0 */
    struct lbr_link flows; /* empty: it is idle … */
    struct lbr_link idle;  /* … and in the table's list */
};

struct lbr_fair_flow {
    struct lbr_slot slot;
    struct lbr_fair_client *client;
    struct lbr_link siblings; /* flows of the client */
    struct lbr_link others;   /* flows of the band */
    struct lbr_link entries;
    uint32_t count; /* of these */
    uint32_t held;  /* taken out, not yet settled */
    uint32_t tries; /* entries that could not be served in this round */
    int queued;     /* in the band's heap */
    double cost;    /* sum of the entries' */
    unsigned band;
    uint64_t kind;
    struct lbr_heap_node node;
};

struct lbr_fair_entry {
    struct lbr_fair_flow *flow;
    struct lbr_link link;    /* in its flow */
    struct lbr_link arrival; /* in its band */
    uint64_t order;          /* of arrival */
    uint64_t arrived;        /* ns */
    double cost;             /* virtual tokens */
};

struct lbr_fair_band {
    struct lbr_heap_node *top;
    struct lbr_link flows;
    struct lbr_link arrivals; /* entries, oldest first */
    uint32_t count;           /* of entries, without those taken out */
};

struct lbr_fair_queue {
    struct lbr_fair_table *table;
    struct lbr_fair_band bands[LBR_FAIR_BANDS];
    double floor; /* counter of whom was served last, before that */
};

void lbr_fair_table_init(struct lbr_fair_table *table,
                         struct lbr_memory *memory, uint32_t limit);
void lbr_fair_table_destroy(struct lbr_fair_table *table);
size_t lbr_fair_table_estimate(uint32_t limit);

void lbr_fair_queue_init(struct lbr_fair_queue *queue,
                         struct lbr_fair_table *table);
/* Forgets the idle clients of a queue without entries. */
void lbr_fair_queue_end(struct lbr_fair_queue *queue);

/* Makes room for one more entry. Returns as lbr_slab_take(). */
int lbr_fair_reserve(struct lbr_fair_table *table);

/* Puts an entry at the end of what the client |key| has waiting in |band|;
 * lbr_fair_reserve() has made room. Entries of one |kind| suit the same
 * servers, as far as the caller can tell: those that find nobody do not stand
 * before those of others. */
void lbr_fair_add(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry,
                  uint64_t key, uint64_t kind, unsigned band, double cost,
                  uint64_t now);

/* Who goes next at |now|, where a band is raised after |aging|; NULL: nobody
 * waits, or all that do are set aside. */
struct lbr_fair_entry *lbr_fair_first(const struct lbr_fair_queue *queue,
                                      uint64_t now, uint64_t aging);

/* Takes an entry out for the time being. It ends by one of the next three. */
void lbr_fair_take(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry);
/* It goes back to its place. */
void lbr_fair_put_back(struct lbr_fair_queue *queue,
                       struct lbr_fair_entry *entry);
/* It was served: its client pays. Returns the client's handle. */
uint64_t lbr_fair_served(struct lbr_fair_queue *queue,
                         struct lbr_fair_entry *entry);
/* It will never be. */
void lbr_fair_drop(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry);

/* An entry that was taken out could not be served. After some of them the
 * others of its flow are passed over until lbr_fair_restore(). */
void lbr_fair_failed(struct lbr_fair_queue *queue,
                     struct lbr_fair_entry *entry);
/* Returns whether any are passed over no more. */
int lbr_fair_restore(struct lbr_fair_queue *queue);

/* What was served to a client (stale handles do nothing) cost |difference|
 * more than it paid. */
void lbr_fair_correct(struct lbr_fair_table *table, uint64_t client,
                      double difference);

/* How many entries would be served before a new one of the client |key| in
 * |band|, if no more came. */
uint32_t lbr_fair_ahead(const struct lbr_fair_queue *queue, uint64_t key,
                        unsigned band);

#endif
