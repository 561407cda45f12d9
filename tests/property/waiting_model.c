/* SPDX-License-Identifier: MIT */
#include "waiting_model.h"

#include <math.h>
#include <string.h>

size_t room_waiting(const struct room *room)
{
    size_t count = 0;

    for (size_t i = 0; i < room->count; i++)
        count += room->waiters[i].state == ROOM_WAITS;
    return count;
}

static int is_active(const struct room *room, size_t client)
{
    for (size_t i = 0; i < room->count; i++)
        if (room->waiters[i].state == ROOM_WAITS &&
            room->waiters[i].client == client)
            return 1;
    return 0;
}

static double lowest_active(const struct room *room)
{
    double lowest = (double)INFINITY;

    for (size_t i = 0; i < ROOM_CLIENTS; i++)
        if (is_active(room, i) && room->clients[i].counter < lowest)
            lowest = room->clients[i].counter;
    return lowest < (double)INFINITY ? lowest : room->floor;
}

void room_enter(struct room *room, const struct room_waiter *waiter)
{
    struct room_client *client = &room->clients[waiter->client];

    if (!is_active(room, waiter->client)) {
        double least = lowest_active(room);
        if (!client->known)
            client->counter = 0;
        client->known = 1;
        if (client->counter < least)
            client->counter = least;
    }
    room->waiters[room->count++] = *waiter;
}

/* A client without requests is remembered only while it is in debt. */
static void forget(struct room *room, size_t number)
{
    struct room_client *client = &room->clients[number];

    if (is_active(room, number) || client->counter > room->floor)
        return;
    client->known = 0;
    client->number++;
}

void room_expire(struct room *room, uint64_t now)
{
    for (size_t i = 0; i < room->count; i++) {
        struct room_waiter *waiter = &room->waiters[i];
        if (waiter->state != ROOM_WAITS || waiter->expiry > now)
            continue;
        waiter->state = ROOM_OVER;
        forget(room, waiter->client);
    }
}

/* ---- order ---- */

struct search {
    const struct room *room;
    uint64_t now;
    int gone[ROOM_MOST];  /* passed over */
    int tries[ROOM_MOST]; /* of its flow, noted at the flow's first waiter */
};

static int same_flow(const struct room_waiter *a, const struct room_waiter *b)
{
    return a->client == b->client && a->model == b->model &&
           a->priority == b->priority;
}

/* Stands for the flow of a waiter: the first of those that ever were in it. */
static size_t flow_of(const struct room *room, size_t waiter)
{
    size_t i = 0;

    while (!same_flow(&room->waiters[i], &room->waiters[waiter]))
        i++;
    return i;
}

static int is_there(const struct search *search, size_t waiter)
{
    return search->room->waiters[waiter].state == ROOM_WAITS &&
           !search->gone[waiter];
}

/* Whether somebody of that priority has waited for long. */
static int is_raised(const struct search *search, int priority)
{
    for (size_t i = 0; i < search->room->count; i++) {
        const struct room_waiter *waiter = &search->room->waiters[i];
        if (is_there(search, i) && waiter->priority == priority)
            return search->now - waiter->arrived >= search->room->aging;
    }
    return 0;
}

static int may_be_tried(const struct search *search, size_t waiter)
{
    return is_there(search, waiter) &&
           search->tries[flow_of(search->room, waiter)] < ROOM_TRIES;
}

static int highest_priority(const struct search *search)
{
    int highest = -100;

    for (size_t i = 0; i < search->room->count; i++)
        if (may_be_tried(search, i) &&
            search->room->waiters[i].priority > highest)
            highest = search->room->waiters[i].priority;
    return highest;
}

/* The first in the order; ROOM_MOST: nobody. Of equal counters the one that
 * came first. */
static size_t find(const struct search *search)
{
    int highest = highest_priority(search);
    size_t best = ROOM_MOST;

    for (size_t i = 0; i < search->room->count; i++) {
        const struct room_waiter *waiter = &search->room->waiters[i];
        double counter = search->room->clients[waiter->client].counter;

        if (!may_be_tried(search, i) || (waiter->priority != highest &&
                                         !is_raised(search, waiter->priority)))
            continue;
        if (best == ROOM_MOST ||
            counter < search->room->clients[search->room->waiters[best].client]
                          .counter)
            best = i;
    }
    return best;
}

struct room_waiter *room_first(const struct room *room, uint64_t now,
                               room_suits *suits, void *user)
{
    struct search search = {room, now, {0}, {0}};

    for (;;) {
        size_t i = find(&search);
        if (i == ROOM_MOST) {
            memset(search.tries, 0, sizeof search.tries);
            i = find(&search);
        }
        if (i == ROOM_MOST)
            return NULL;
        if (suits(&room->waiters[i], user))
            return (struct room_waiter *)(uintptr_t)&room->waiters[i];
        search.gone[i] = 1;
        search.tries[flow_of(room, i)]++;
    }
}

/* ---- ends ---- */

struct room_waiter *room_tagged(const struct room *room, uint64_t tag)
{
    for (size_t i = 0; i < room->count; i++)
        if (room->waiters[i].tag == tag)
            return (struct room_waiter *)(uintptr_t)&room->waiters[i];
    return NULL;
}

void room_drop(struct room *room, struct room_waiter *waiter)
{
    size_t client = waiter->client;
    int waited = waiter->state == ROOM_WAITS;
    size_t at = (size_t)(waiter - room->waiters);

    memmove(waiter, waiter + 1, (room->count - at - 1) * sizeof *waiter);
    room->count--;
    if (waited)
        forget(room, client);
}

void room_serve(struct room *room, struct room_waiter *waiter)
{
    struct room_client *client = &room->clients[waiter->client];

    if (room->floor < client->counter)
        room->floor = client->counter;
    client->counter += waiter->cost;
    room_drop(room, waiter);
}

void room_correct(struct room *room, size_t number, uint64_t time,
                  double difference)
{
    struct room_client *client = &room->clients[number];

    if (!client->known || client->number != time)
        return;
    client->counter += difference;
    if (client->counter < 0)
        client->counter = 0;
}

void room_reset(struct room *room)
{
    for (size_t i = 0; i < ROOM_CLIENTS; i++) {
        room->clients[i].known = 0;
        room->clients[i].counter = 0;
        room->clients[i].number++;
    }
    room->floor = 0;
}
