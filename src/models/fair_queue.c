/* SPDX-License-Identifier: MIT */
#include "models/fair_queue.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

enum { KIND_CLIENT = 14, KIND_FLOW = 14, CHUNK_BITS = 4 };

/* So many entries of a flow are tried in a round that find nobody. */
#define MOST_TRIES 4

void lbr_fair_table_init(struct lbr_fair_table *table,
                         struct lbr_memory *memory, uint32_t limit)
{
    lbr_slab_init(&table->clients, memory, KIND_CLIENT,
                  sizeof(struct lbr_fair_client), CHUNK_BITS,
                  limit + LBR_FAIR_IDLE);
    lbr_slab_init(&table->flows, memory, KIND_FLOW,
                  sizeof(struct lbr_fair_flow), CHUNK_BITS, limit);
    lbr_map_init(&table->keys, memory);
    lbr_list_init(&table->idle);
    table->idle_count = 0;
    table->entries = 0;
}

void lbr_fair_table_destroy(struct lbr_fair_table *table)
{
    lbr_map_destroy(&table->keys);
    lbr_slab_destroy(&table->flows);
    lbr_slab_destroy(&table->clients);
}

size_t lbr_fair_table_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_fair_client), CHUNK_BITS,
                             limit + LBR_FAIR_IDLE) +
           lbr_slab_estimate(sizeof(struct lbr_fair_flow), CHUNK_BITS, limit) +
           lbr_map_estimate(limit + LBR_FAIR_IDLE);
}

void lbr_fair_queue_init(struct lbr_fair_queue *queue,
                         struct lbr_fair_table *table)
{
    unsigned band;

    memset(queue, 0, sizeof *queue);
    queue->table = table;
    for (band = 0; band < LBR_FAIR_BANDS; band++) {
        lbr_list_init(&queue->bands[band].flows);
        lbr_list_init(&queue->bands[band].arrivals);
    }
}

/* ---- clients ---- */

static void forget(struct lbr_fair_table *table, struct lbr_fair_client *client)
{
    lbr_map_remove(&table->keys, client->key,
                   lbr_slab_index(client->slot.handle));
    lbr_slab_give(&table->clients, client);
}

static void forget_idle(struct lbr_fair_table *table,
                        struct lbr_fair_client *client)
{
    lbr_list_remove(&client->idle);
    table->idle_count--;
    forget(table, client);
}

void lbr_fair_queue_end(struct lbr_fair_queue *queue)
{
    struct lbr_fair_table *table = queue->table;
    struct lbr_link *link = table->idle.next;

    while (link != &table->idle) {
        struct lbr_fair_client *client =
            LBR_OWNER(link, struct lbr_fair_client, idle);

        link = link->next;
        if (client->queue == queue)
            forget_idle(table, client);
    }
}

static struct lbr_fair_client *find_client(const struct lbr_fair_queue *queue,
                                           uint64_t key)
{
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(&queue->table->keys, key, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_fair_client *client =
            lbr_slab_at(&queue->table->clients, index);

        if (client->queue == queue)
            return client;
    }
    return NULL;
}

static struct lbr_fair_flow *flow_of(const struct lbr_heap_node *node)
{
    return LBR_OWNER(node, struct lbr_fair_flow, node);
}

/* The counter that nobody who comes back may be below. */
static double lift(const struct lbr_fair_queue *queue)
{
    double lowest = (double)INFINITY;
    const struct lbr_link *link;
    unsigned band;

    for (band = 0; band < LBR_FAIR_BANDS; band++)
        if (queue->bands[band].top &&
            flow_of(queue->bands[band].top)->client->counter < lowest)
            lowest = flow_of(queue->bands[band].top)->client->counter;
    if (lowest < (double)INFINITY)
        return lowest;
    /* All that wait are set aside, or nobody does. */
    for (band = 0; band < LBR_FAIR_BANDS; band++)
        for (link = queue->bands[band].flows.next;
             link != &queue->bands[band].flows; link = link->next) {
            const struct lbr_fair_flow *flow =
                LBR_OWNER(link, const struct lbr_fair_flow, others);

            if (flow->client->counter < lowest)
                lowest = flow->client->counter;
        }
    return lowest < (double)INFINITY ? lowest : queue->floor;
}

int lbr_fair_reserve(struct lbr_fair_table *table)
{
    int result = lbr_slab_reserve(&table->clients);

    if (!result)
        result = lbr_slab_reserve(&table->flows);
    if (!result && !lbr_map_reserve(&table->keys))
        result = LBROUTE_ERR_NO_MEMORY;
    return result;
}

static struct lbr_fair_client *make_client(struct lbr_fair_queue *queue,
                                           uint64_t key)
{
    struct lbr_fair_table *table = queue->table;
    struct lbr_fair_client *client;
    void *object;

    (void)lbr_slab_take(&table->clients, &object);
    client = object;
    client->queue = queue;
    client->key = key;
    client->counter = 0;
    lbr_list_init(&client->flows);
    lbr_map_add(&table->keys, key, lbr_slab_index(client->slot.handle));
    return client;
}

/* The client, lifted if it was idle. */
static struct lbr_fair_client *enter_client(struct lbr_fair_queue *queue,
                                            uint64_t key)
{
    struct lbr_fair_client *client = find_client(queue, key);
    double least;

    if (client && !lbr_list_empty(&client->flows))
        return client;
    least = lift(queue);
    if (client) {
        lbr_list_remove(&client->idle);
        queue->table->idle_count--;
    } else {
        client = make_client(queue, key);
    }
    if (client->counter < least)
        client->counter = least;
    return client;
}

/* A client without requests is remembered while it is in debt. */
static void leave_client(struct lbr_fair_client *client)
{
    struct lbr_fair_table *table = client->queue->table;

    if (client->counter <= client->queue->floor) {
        forget(table, client);
        return;
    }
    lbr_list_append(&table->idle, &client->idle);
    if (++table->idle_count > LBR_FAIR_IDLE)
        forget_idle(table,
                    LBR_OWNER(table->idle.next, struct lbr_fair_client, idle));
}

/* ---- flows ---- */

static struct lbr_fair_entry *head_of(const struct lbr_fair_flow *flow)
{
    return LBR_OWNER(flow->entries.next, struct lbr_fair_entry, link);
}

static struct lbr_fair_band *band_of(struct lbr_fair_queue *queue,
                                     const struct lbr_fair_flow *flow)
{
    return &queue->bands[flow->band];
}

static void take_from_heap(struct lbr_fair_queue *queue,
                           struct lbr_fair_flow *flow)
{
    if (flow->queued)
        lbr_heap_remove(&band_of(queue, flow)->top, &flow->node);
    flow->queued = 0;
}

/* The heap has the highest value on top. The bits of numbers that are not
 * negative are in the order of the numbers. */
static void add_to_heap(struct lbr_fair_queue *queue,
                        struct lbr_fair_flow *flow)
{
    uint64_t bits;

    memcpy(&bits, &flow->client->counter, sizeof bits);
    flow->node.value.high = ~bits;
    flow->node.value.low = 0;
    flow->node.order = head_of(flow)->order;
    lbr_heap_insert(&band_of(queue, flow)->top, &flow->node);
    flow->queued = 1;
}

/* Brings a flow to where its counter and its first entry belong. */
static void place(struct lbr_fair_queue *queue, struct lbr_fair_flow *flow)
{
    take_from_heap(queue, flow);
    if (flow->count && flow->tries < MOST_TRIES)
        add_to_heap(queue, flow);
}

static void place_all(struct lbr_fair_client *client)
{
    struct lbr_link *link = client->flows.next;

    for (; link != &client->flows; link = link->next)
        place(client->queue, LBR_OWNER(link, struct lbr_fair_flow, siblings));
}

static struct lbr_fair_flow *enter_flow(struct lbr_fair_queue *queue,
                                        struct lbr_fair_client *client,
                                        uint64_t kind, unsigned band)
{
    struct lbr_link *link = client->flows.next;
    struct lbr_fair_flow *flow;
    void *object;

    for (; link != &client->flows; link = link->next) {
        flow = LBR_OWNER(link, struct lbr_fair_flow, siblings);
        if (flow->band == band && flow->kind == kind)
            return flow;
    }
    (void)lbr_slab_take(&queue->table->flows, &object);
    flow = object;
    flow->client = client;
    flow->band = band;
    flow->kind = kind;
    flow->count = flow->held = flow->tries = 0;
    flow->queued = 0;
    flow->cost = 0;
    lbr_list_init(&flow->entries);
    lbr_list_append(&client->flows, &flow->siblings);
    lbr_list_append(&queue->bands[band].flows, &flow->others);
    return flow;
}

static void leave_flow(struct lbr_fair_queue *queue, struct lbr_fair_flow *flow)
{
    struct lbr_fair_client *client = flow->client;

    if (flow->count || flow->held)
        return;
    lbr_list_remove(&flow->siblings);
    lbr_list_remove(&flow->others);
    lbr_slab_give(&queue->table->flows, flow);
    if (lbr_list_empty(&client->flows))
        leave_client(client);
}

/* ---- entries ---- */

void lbr_fair_add(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry,
                  uint64_t key, uint64_t kind, unsigned band, double cost,
                  uint64_t now)
{
    struct lbr_fair_flow *flow =
        enter_flow(queue, enter_client(queue, key), kind, band);

    entry->flow = flow;
    entry->order = queue->table->entries++;
    entry->arrived = now;
    entry->cost = cost;
    lbr_list_append(&flow->entries, &entry->link);
    lbr_list_append(&queue->bands[band].arrivals, &entry->arrival);
    queue->bands[band].count++;
    flow->cost += cost;
    if (flow->count++ == 0)
        place(queue, flow);
}

/* Whether |a| goes before |b|, of another band; NULL is nobody. */
static int goes_before(const struct lbr_fair_flow *a,
                       const struct lbr_fair_flow *b)
{
    if (!b)
        return 1;
    return lbr_heap_above(a->node.value, a->node.order, b->node.value,
                          b->node.order);
}

static int has_aged(const struct lbr_fair_band *band, uint64_t now,
                    uint64_t aging)
{
    const struct lbr_link *oldest = band->arrivals.next;

    return oldest != &band->arrivals &&
           lbr_time_since(
               now, LBR_OWNER(oldest, const struct lbr_fair_entry, arrival)
                        ->arrived) >= aging;
}

struct lbr_fair_entry *lbr_fair_first(const struct lbr_fair_queue *queue,
                                      uint64_t now, uint64_t aging)
{
    const struct lbr_fair_flow *first = NULL;
    unsigned band = LBR_FAIR_BANDS;

    while (band-- > 0) {
        const struct lbr_fair_band *here = &queue->bands[band];

        if (here->top && (!first || has_aged(here, now, aging)) &&
            goes_before(flow_of(here->top), first))
            first = flow_of(here->top);
    }
    return first ? head_of(first) : NULL;
}

void lbr_fair_take(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry)
{
    struct lbr_fair_flow *flow = entry->flow;

    lbr_list_remove(&entry->link);
    lbr_list_remove(&entry->arrival);
    band_of(queue, flow)->count--;
    flow->count--;
    flow->held++;
    flow->cost = flow->count ? flow->cost - entry->cost : 0;
    place(queue, flow);
}

/* The link before which |order| belongs in a list of entries whose link stands
 * |at| bytes into them: mostly the first. */
static struct lbr_link *find_spot(struct lbr_link *head, uint64_t order,
                                  size_t at)
{
    struct lbr_link *link = head->next;

    while (link != head &&
           ((const struct lbr_fair_entry *)(uintptr_t)((const char *)link - at))
                   ->order < order)
        link = link->next;
    return link;
}

/* A list's append is an insertion before its head. */
void lbr_fair_put_back(struct lbr_fair_queue *queue,
                       struct lbr_fair_entry *entry)
{
    struct lbr_fair_flow *flow = entry->flow;
    struct lbr_fair_band *band = band_of(queue, flow);

    lbr_list_append(find_spot(&flow->entries, entry->order,
                              offsetof(struct lbr_fair_entry, link)),
                    &entry->link);
    lbr_list_append(find_spot(&band->arrivals, entry->order,
                              offsetof(struct lbr_fair_entry, arrival)),
                    &entry->arrival);
    band->count++;
    flow->count++;
    flow->held--;
    flow->cost += entry->cost;
    place(queue, flow);
}

uint64_t lbr_fair_served(struct lbr_fair_queue *queue,
                         struct lbr_fair_entry *entry)
{
    struct lbr_fair_flow *flow = entry->flow;
    struct lbr_fair_client *client = flow->client;
    uint64_t handle = client->slot.handle;

    if (queue->floor < client->counter)
        queue->floor = client->counter;
    client->counter += entry->cost;
    place_all(client);
    flow->held--;
    leave_flow(queue, flow);
    return handle;
}

void lbr_fair_drop(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry)
{
    entry->flow->held--;
    leave_flow(queue, entry->flow);
}

void lbr_fair_failed(struct lbr_fair_queue *queue, struct lbr_fair_entry *entry)
{
    if (++entry->flow->tries == MOST_TRIES)
        place(queue, entry->flow);
}

int lbr_fair_restore(struct lbr_fair_queue *queue)
{
    struct lbr_link *link;
    unsigned band;
    int restored = 0;

    for (band = 0; band < LBR_FAIR_BANDS; band++)
        for (link = queue->bands[band].flows.next;
             link != &queue->bands[band].flows; link = link->next) {
            struct lbr_fair_flow *flow =
                LBR_OWNER(link, struct lbr_fair_flow, others);
            int aside = flow->tries >= MOST_TRIES;

            flow->tries = 0;
            if (aside)
                place(queue, flow);
            restored |= flow->queued & aside;
        }
    return restored;
}

void lbr_fair_correct(struct lbr_fair_table *table, uint64_t handle,
                      double difference)
{
    struct lbr_fair_client *client = lbr_slab_find(&table->clients, handle);

    if (!client || difference == 0)
        return;
    client->counter += difference;
    if (client->counter < 0)
        client->counter = 0;
    place_all(client);
}

/* ---- how long it takes ---- */

/* What a client pays before it gets to |band|. */
static double cost_above(const struct lbr_fair_client *client, unsigned band)
{
    const struct lbr_link *link = client->flows.next;
    double cost = 0;

    for (; link != &client->flows; link = link->next) {
        const struct lbr_fair_flow *flow =
            LBR_OWNER(link, const struct lbr_fair_flow, siblings);

        if (flow->band > band)
            cost += flow->cost;
    }
    return cost;
}

/* Entries of another client's flow that start before the counter |start|. */
static uint32_t ahead_in(const struct lbr_fair_flow *flow, double start)
{
    double lead =
        start - flow->client->counter - cost_above(flow->client, flow->band);
    double mean;
    double number;

    if (!flow->count || lead < 0)
        return 0;
    mean = flow->cost / flow->count;
    if (!(mean > 0))
        return flow->count;
    number = floor(lead / mean) + 1;
    return number < flow->count ? (uint32_t)number : flow->count;
}

/* The counter at which a new entry would start, and its client, if known. */
static const struct lbr_fair_client *find_own(
    const struct lbr_fair_queue *queue, uint64_t key, unsigned band,
    double *start)
{
    const struct lbr_fair_client *client = find_client(queue, key);
    const struct lbr_link *link;

    *start = lift(queue);
    if (!client)
        return NULL;
    if (client->counter > *start || !lbr_list_empty(&client->flows))
        *start = client->counter;
    *start += cost_above(client, band);
    for (link = client->flows.next; link != &client->flows; link = link->next) {
        const struct lbr_fair_flow *flow =
            LBR_OWNER(link, const struct lbr_fair_flow, siblings);

        if (flow->band == band)
            *start += flow->cost;
    }
    return client;
}

uint32_t lbr_fair_ahead(const struct lbr_fair_queue *queue, uint64_t key,
                        unsigned band)
{
    const struct lbr_link *flows = &queue->bands[band].flows;
    uint64_t ahead = 0;
    double start;
    const struct lbr_fair_client *own = find_own(queue, key, band, &start);
    const struct lbr_link *link;
    unsigned higher;

    for (higher = band + 1; higher < LBR_FAIR_BANDS; higher++)
        ahead += queue->bands[higher].count;
    for (link = flows->next; link != flows; link = link->next) {
        const struct lbr_fair_flow *flow =
            LBR_OWNER(link, const struct lbr_fair_flow, others);

        ahead += flow->client == own ? flow->count : ahead_in(flow, start);
    }
    return ahead < UINT32_MAX ? (uint32_t)ahead : UINT32_MAX;
}
