/* SPDX-License-Identifier: MIT */
#include "state/room.h"

#include "base/clock.h"
#include "state/pool.h"

enum { KIND_PLACE = 15, CHUNK_BITS = 4 };

/* So many waiters are tried in a round whom the free slots do not suit. */
#define MOST_TRIES 64

void lbr_waiting_init(struct lbr_waiting *waiting, struct lbr_memory *memory,
                      const struct lbr_slab *pools, uint64_t *alarm,
                      uint32_t most_places, uint64_t most_bytes)
{
    waiting->memory = memory;
    waiting->pools = pools;
    lbr_slab_init(&waiting->places, memory, KIND_PLACE,
                  sizeof(struct lbr_waiter), CHUNK_BITS, most_places);
    lbr_fair_table_init(&waiting->fair, memory, most_places);
    lbr_list_init(&waiting->rooms);
    lbr_list_init(&waiting->awake);
    lbr_list_init(&waiting->ended);
    waiting->alarm = alarm;
    waiting->most_bytes = most_bytes;
}

static void free_room(struct lbr_room *room)
{
    lbr_list_remove(&room->siblings);
    lbr_memory_free(room->waiting->memory, room, 1, sizeof *room);
}

void lbr_waiting_destroy(struct lbr_waiting *waiting)
{
    struct lbr_waiter *waiter = NULL;

    while ((waiter = lbr_slab_next(&waiting->places,
                                   waiter ? waiter->slot.handle : 0)) != NULL)
        lbr_waiting_free_copy(waiting, waiter->copy);
    while (!lbr_list_empty(&waiting->rooms))
        free_room(LBR_OWNER(waiting->rooms.next, struct lbr_room, siblings));
    lbr_fair_table_destroy(&waiting->fair);
    lbr_slab_destroy(&waiting->places);
}

size_t lbr_waiting_estimate(uint32_t most_places, uint64_t most_bytes,
                            size_t groups)
{
    size_t copies =
        most_bytes < SIZE_MAX / 4 ? (size_t)most_bytes : SIZE_MAX / 4;

    /* Rooms without a group have a waiter each. */
    return lbr_slab_estimate(sizeof(struct lbr_waiter), CHUNK_BITS,
                             most_places) +
           lbr_fair_table_estimate(most_places) +
           (groups + most_places) * sizeof(struct lbr_room) + copies;
}

/* ---- copies ---- */

int lbr_waiting_take_copy(struct lbr_waiting *waiting, size_t bytes,
                          struct lbr_request_copy **copy)
{
    if (waiting->bytes > waiting->most_bytes ||
        bytes > waiting->most_bytes - waiting->bytes)
        return LBROUTE_ERR_LIMIT;
    *copy = lbr_memory_new(waiting->memory, 1, bytes);
    if (!*copy)
        return LBROUTE_ERR_NO_MEMORY;
    (*copy)->bytes = bytes;
    waiting->bytes += bytes;
    return LBROUTE_OK;
}

void lbr_waiting_free_copy(struct lbr_waiting *waiting,
                           struct lbr_request_copy *copy)
{
    if (!copy)
        return;
    waiting->bytes -= copy->bytes;
    lbr_memory_free(waiting->memory, copy, 1, copy->bytes);
}

/* ---- timers ---- */

static void stop_timer(struct lbr_waiting *waiting, struct lbr_timer *timer)
{
    if (!timer->set)
        return;
    lbr_heap_remove(&waiting->timers, &timer->node);
    timer->set = 0;
}

static void set_timer(struct lbr_waiting *waiting, struct lbr_timer *timer,
                      uint64_t at)
{
    stop_timer(waiting, timer);
    timer->node.order = at;
    if (at == LBR_NEVER)
        return;
    timer->node.value.high = timer->node.value.low = 0;
    lbr_heap_insert(&waiting->timers, &timer->node);
    timer->set = 1;
    if (at < *waiting->alarm)
        *waiting->alarm = at;
}

/* ---- rooms ---- */

static struct lbr_room *make_room(struct lbr_waiting *waiting,
                                  struct lbr_group *group)
{
    struct lbr_room *room = lbr_memory_new(waiting->memory, 1, sizeof *room);

    if (!room)
        return NULL;
    waiting->used = 1;
    room->waiting = waiting;
    room->group = group;
    room->key = group->room_key;
    room->look.of_room = 1;
    lbr_fair_queue_init(&room->queue, &waiting->fair);
    lbr_list_init(&room->tried);
    lbr_list_append(&waiting->rooms, &room->siblings);
    group->room = room;
    return room;
}

struct lbr_room *lbr_room_of(struct lbr_waiting *waiting,
                             struct lbr_group *group)
{
    return group->room ? group->room : make_room(waiting, group);
}

void lbr_waiting_adopt(struct lbr_waiting *waiting, struct lbr_group *group)
{
    const struct lbr_link *link = waiting->rooms.next;

    for (; link != &waiting->rooms; link = link->next) {
        struct lbr_room *room = LBR_OWNER(link, struct lbr_room, siblings);

        if (room->group || room->key != group->room_key)
            continue;
        room->group = group;
        group->room = room;
        lbr_room_wake(room);
        return;
    }
}

static void fall_asleep(struct lbr_room *room)
{
    if (room->is_awake)
        lbr_list_remove(&room->awake);
    room->is_awake = 0;
}

/* Frees a room that nobody needs any more. */
static void leave_room(struct lbr_room *room)
{
    if (room->count)
        return;
    fall_asleep(room);
    stop_timer(room->waiting, &room->look);
    if (room->group)
        return;
    lbr_fair_queue_end(&room->queue);
    free_room(room);
}

void lbr_room_orphan(struct lbr_room *room)
{
    room->group = NULL;
    lbr_room_wake(room);
    leave_room(room);
}

void lbr_room_wake(struct lbr_room *room)
{
    room->wakes++;
    if (!room->count || room->is_awake)
        return;
    room->is_awake = 1;
    lbr_list_append(&room->waiting->awake, &room->awake);
    stop_timer(room->waiting, &room->look);
}

/* Sleeps until something depends on time, or is woken before. */
static void watch(struct lbr_room *room)
{
    if (!room->is_awake && room->count)
        set_timer(room->waiting, &room->look,
                  room->group ? room->group->valid_until : LBR_NEVER);
}

static void put_back(struct lbr_waiter *waiter);

static void put_back_tried(struct lbr_room *room)
{
    while (!lbr_list_empty(&room->tried)) {
        struct lbr_waiter *waiter =
            LBR_OWNER(room->tried.next, struct lbr_waiter, link);

        lbr_list_remove(&waiter->link);
        put_back(waiter);
    }
}

/* Those that were cancelled meanwhile go: somebody else must still be there. */
static void end_round(struct lbr_room *room)
{
    if (!room->tries)
        return;
    room->tries = 0;
    (void)lbr_fair_restore(&room->queue);
    put_back_tried(room);
}

/* Whether a slot can be had: unless somebody serves, but is full. */
static int may_have_slot(struct lbr_group *group, uint64_t now)
{
    uint32_t i;

    lbr_group_ensure(group, now);
    if (group->usable_count)
        return 1;
    for (i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];

        if (target->in_service && lbr_target_full(target) &&
            lbr_health_open(&target->health, now))
            return 0;
    }
    return 1;
}

static void take(struct lbr_room *room, struct lbr_waiter *waiter)
{
    lbr_fair_take(&room->queue, &waiter->entry);
    waiter->state = LBR_WAITER_CLAIMED;
    stop_timer(room->waiting, &waiter->expiry);
}

/* Who is tried next; a few of each flow first, then a few more. */
static struct lbr_fair_entry *find_next(struct lbr_room *room, uint64_t now)
{
    struct lbr_fair_entry *entry;

    if (room->tries >= MOST_TRIES ||
        (room->group && !may_have_slot(room->group, now)))
        return NULL;
    entry = lbr_fair_first(&room->queue, now, room->aging);
    if (!entry && room->tries && lbr_fair_restore(&room->queue))
        entry = lbr_fair_first(&room->queue, now, room->aging);
    return entry;
}

struct lbr_waiter *lbr_room_claim(struct lbr_room *room, uint64_t now)
{
    struct lbr_fair_entry *entry;
    struct lbr_waiter *waiter;

    if (!room->tries)
        room->wakes_at_scan = room->wakes;
    entry = find_next(room, now);
    if (entry) {
        waiter = LBR_OWNER(entry, struct lbr_waiter, entry);
        room->tries++;
        take(room, waiter);
        return waiter;
    }
    room->count++;
    end_round(room);
    room->count--;
    if (room->wakes == room->wakes_at_scan) {
        fall_asleep(room);
        watch(room);
    }
    leave_room(room);
    return NULL;
}

uint32_t lbr_room_expiring(const struct lbr_room *room, uint64_t now)
{
    uint32_t count = 0;
    unsigned band;

    for (band = 0; band < LBR_FAIR_BANDS; band++) {
        const struct lbr_link *head = &room->queue.bands[band].arrivals;
        const struct lbr_link *link = head->next;

        for (; link != head; link = link->next) {
            const struct lbr_waiter *waiter =
                LBR_OWNER(link, const struct lbr_waiter, entry.arrival);

            count += waiter->expiry.node.order <= now;
        }
    }
    return count;
}

/* ---- waiters ---- */

/* What is counted of its pool. */
static struct lbr_waiting_counts *counts_of(struct lbr_waiting *waiting,
                                            const struct lbr_waiter *waiter)
{
    struct lbr_pool *pool = lbr_slab_find(waiting->pools, waiter->pool);

    return pool ? &pool->waits : &waiting->loose;
}

int lbr_waiter_create(struct lbr_waiting *waiting, struct lbr_waiter **waiter)
{
    void *object;
    int result = lbr_fair_reserve(&waiting->fair);

    if (!result)
        result = lbr_slab_take(&waiting->places, &object);
    if (result)
        return result;
    *waiter = object;
    (*waiter)->copy = NULL;
    (*waiter)->room = NULL;
    (*waiter)->expiry.set = (*waiter)->expiry.of_room = 0;
    return LBROUTE_OK;
}

void lbr_waiter_enter(struct lbr_waiter *waiter, struct lbr_room *room,
                      const struct lbr_turn_asked *turn, uint64_t now,
                      uint64_t until)
{
    struct lbr_waiting *waiting = room->waiting;

    waiter->state = LBR_WAITER_WAITS;
    waiter->room = room;
    lbr_fair_add(&room->queue, &waiter->entry, turn->client, turn->kind,
                 turn->band, turn->cost, now);
    set_timer(waiting, &waiter->expiry, until);
    room->count++;
    waiting->count++;
    waiting->counts.queued++;
    counts_of(waiting, waiter)->queued++;
    watch(room);
}

/* Ends the stay of a waiter who is out of the order of the room. */
static void leave(struct lbr_waiter *waiter)
{
    struct lbr_room *room = waiter->room;
    struct lbr_waiting *waiting = room->waiting;

    stop_timer(waiting, &waiter->expiry);
    lbr_waiting_free_copy(waiting, waiter->copy);
    waiter->copy = NULL;
    waiter->room = NULL;
    room->count--;
    waiting->count--;
    leave_room(room);
}

/* Frees a waiter who is out of the order of the room. */
static void drop(struct lbr_waiter *waiter)
{
    struct lbr_waiting *waiting = waiter->room->waiting;

    lbr_fair_drop(&waiter->room->queue, &waiter->entry);
    leave(waiter);
    lbr_slab_give(&waiting->places, waiter);
}

/* A claimed waiter waits on, unless it was cancelled meanwhile. */
static void put_back(struct lbr_waiter *waiter)
{
    struct lbr_room *room = waiter->room;

    if (waiter->state == LBR_WAITER_CANCELLED) {
        drop(waiter);
        return;
    }
    lbr_fair_put_back(&room->queue, &waiter->entry);
    waiter->state = LBR_WAITER_WAITS;
    set_timer(room->waiting, &waiter->expiry, waiter->expiry.node.order);
}

/* Without a round, for instance because another thread has ended it, there is
 * nothing to wait for. */
void lbr_waiter_return(struct lbr_waiter *waiter, int tried)
{
    struct lbr_room *room = waiter->room;

    if (tried && room->tries) {
        lbr_fair_failed(&room->queue, &waiter->entry);
        lbr_list_append(&room->tried, &waiter->link);
        return;
    }
    end_round(room);
    put_back(waiter);
}

uint64_t lbr_waiter_served(struct lbr_waiter *waiter)
{
    struct lbr_room *room = waiter->room;
    struct lbr_waiting *waiting = room->waiting;
    uint64_t client = lbr_fair_served(&room->queue, &waiter->entry);

    waiting->counts.served++;
    counts_of(waiting, waiter)->served++;
    end_round(room);
    if (room->is_awake) {
        lbr_list_remove(&room->awake);
        lbr_list_append(&waiting->awake, &room->awake);
    }
    leave(waiter);
    lbr_slab_give(&waiting->places, waiter);
    return client;
}

void lbr_waiter_refuse(struct lbr_waiter *waiter)
{
    struct lbr_waiting *waiting = waiter->room->waiting;

    end_round(waiter->room);
    waiting->counts.refused++;
    counts_of(waiting, waiter)->refused++;
    drop(waiter);
}

void lbr_waiter_bury(struct lbr_waiting *waiting, struct lbr_waiter *waiter)
{
    lbr_list_remove(&waiter->link);
    lbr_slab_give(&waiting->places, waiter);
}

void lbr_waiter_cancel(struct lbr_waiting *waiting, struct lbr_waiter *waiter)
{
    if (waiter->state == LBR_WAITER_OVER) {
        lbr_waiter_bury(waiting, waiter);
        return;
    }
    waiting->counts.cancelled++;
    counts_of(waiting, waiter)->cancelled++;
    if (waiter->state == LBR_WAITER_WAITS) {
        take(waiter->room, waiter);
        drop(waiter);
        return;
    }
    waiter->state = LBR_WAITER_CANCELLED;
}

/* ---- time ---- */

static void end_waiter(struct lbr_waiting *waiting, struct lbr_waiter *waiter)
{
    struct lbr_room *room = waiter->room;

    waiter->slot.spare = waiter->misses_deadline ? LBROUTE_REASON_DEADLINE
                                                 : LBROUTE_REASON_QUEUE_TIMEOUT;
    take(room, waiter);
    lbr_fair_drop(&room->queue, &waiter->entry);
    leave(waiter);
    waiter->state = LBR_WAITER_OVER;
    lbr_list_append(&waiting->ended, &waiter->link);
    waiting->counts.timed_out++;
    counts_of(waiting, waiter)->timed_out++;
}

void lbr_waiting_expire(struct lbr_waiting *waiting, uint64_t now)
{
    while (waiting->timers && waiting->timers->order <= now) {
        struct lbr_timer *timer =
            LBR_OWNER(waiting->timers, struct lbr_timer, node);

        if (timer->of_room) {
            struct lbr_room *room = LBR_OWNER(timer, struct lbr_room, look);

            stop_timer(waiting, timer);
            lbr_room_wake(room);
        } else {
            end_waiter(waiting, LBR_OWNER(timer, struct lbr_waiter, expiry));
        }
    }
}
