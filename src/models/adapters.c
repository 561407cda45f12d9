/* SPDX-License-Identifier: MIT */
#include "models/adapters.h"

#include "base/clock.h"
#include "base/hash.h"

#include <string.h>

#define MOST ((uint32_t)LBROUTE_ADAPTERS_MAX)
#define FIRST_CAPACITY 8

uint64_t lbr_adapter_digest(const char *name, size_t length)
{
    uint64_t digest = lbr_hash(name, length);

    return digest ? digest : 1;
}

void lbr_adapters_init(struct lbr_adapters *adapters)
{
    memset(adapters, 0, sizeof *adapters);
    adapters->slots = -1;
}

void lbr_adapters_destroy(struct lbr_adapters *adapters,
                          struct lbr_memory *memory)
{
    lbr_memory_free(memory, adapters->list, adapters->capacity,
                    sizeof *adapters->list);
    lbr_adapters_init(adapters);
}

int lbr_adapters_reserve(struct lbr_adapters *adapters,
                         struct lbr_memory *memory, size_t count)
{
    size_t wanted =
        count > MOST - adapters->count ? MOST : adapters->count + count;
    uint32_t capacity =
        adapters->capacity ? adapters->capacity : FIRST_CAPACITY;
    void *list = adapters->list;

    if (wanted <= adapters->capacity)
        return 1;
    while (capacity < wanted)
        capacity *= 2;
    if (!lbr_memory_grow(memory, &list, adapters->capacity, capacity,
                         sizeof *adapters->list))
        return 0;
    adapters->list = list;
    adapters->capacity = capacity;
    return 1;
}

static struct lbr_adapter *find(const struct lbr_adapters *adapters,
                                uint64_t digest)
{
    uint32_t i;

    for (i = 0; i < adapters->count; i++)
        if (adapters->list[i].digest == digest)
            return &adapters->list[i];
    return NULL;
}

/* Entries stay in the order of use. */
static void drop(struct lbr_adapters *adapters, struct lbr_adapter *adapter)
{
    size_t behind = (size_t)(adapters->list + --adapters->count - adapter);

    memmove(adapter, adapter + 1, behind * sizeof *adapter);
}

/* The adapter used longest ago that no request needs, or NULL. */
static struct lbr_adapter *least_used(const struct lbr_adapters *adapters)
{
    uint32_t i;

    for (i = 0; i < adapters->count; i++)
        if (!adapters->list[i].in_flight)
            return &adapters->list[i];
    return NULL;
}

static uint32_t limit_of(const struct lbr_adapters *adapters)
{
    if (adapters->slots < 0 || (uint32_t)adapters->slots > MOST)
        return MOST;
    return (uint32_t)adapters->slots;
}

/* Lets the list shrink to |limit|, as far as no request needs more. */
static void shrink(struct lbr_adapters *adapters, uint32_t limit)
{
    while (adapters->count > limit) {
        struct lbr_adapter *oldest = least_used(adapters);

        if (!oldest)
            return;
        drop(adapters, oldest);
    }
}

void lbr_adapters_set_slots(struct lbr_adapters *adapters, int32_t slots,
                            uint64_t now)
{
    adapters->slots_at = now;
    if (slots < 0)
        return;
    adapters->slots = slots;
    shrink(adapters, limit_of(adapters));
}

void lbr_adapters_forget(struct lbr_adapters *adapters)
{
    uint32_t i = adapters->count;

    while (i-- > 0) {
        adapters->list[i].seen_at = LBR_NEVER;
        if (!adapters->list[i].in_flight)
            drop(adapters, &adapters->list[i]);
    }
}

/* A new entry; the one used longest ago makes way. NULL without room. */
static struct lbr_adapter *add(struct lbr_adapters *adapters, uint64_t digest,
                               uint32_t limit)
{
    struct lbr_adapter *adapter;

    if (limit)
        shrink(adapters, limit - 1);
    if (adapters->count >= adapters->capacity)
        return NULL;
    adapter = &adapters->list[adapters->count++];
    adapter->digest = digest;
    adapter->seen_at = LBR_NEVER;
    adapter->in_flight = 0;
    return adapter;
}

/* Moves an entry to the end of the list, where the latest ones are. */
static void renew(struct lbr_adapters *adapters, struct lbr_adapter *adapter,
                  uint64_t now)
{
    struct lbr_adapter latest = *adapter;

    latest.seen_at = now;
    drop(adapters, adapter);
    adapters->list[adapters->count++] = latest;
}

void lbr_adapters_see(struct lbr_adapters *adapters, uint64_t digest,
                      uint64_t now)
{
    struct lbr_adapter *adapter = find(adapters, digest);

    if (!adapter)
        adapter = add(adapters, digest, limit_of(adapters));
    if (!adapter)
        return;
    renew(adapters, adapter, now);
    shrink(adapters, limit_of(adapters));
}

int lbr_adapters_sent(struct lbr_adapters *adapters, struct lbr_memory *memory,
                      uint64_t digest)
{
    struct lbr_adapter *adapter = find(adapters, digest);

    if (!adapter && lbr_adapters_reserve(adapters, memory, 1))
        adapter = add(adapters, digest, MOST);
    if (!adapter)
        return 0;
    adapter->in_flight++;
    return 1;
}

void lbr_adapters_shift(struct lbr_adapters *adapters, uint64_t digest,
                        int step)
{
    find(adapters, digest)->in_flight += (uint32_t)step;
}

void lbr_adapters_ended(struct lbr_adapters *adapters, uint64_t digest)
{
    struct lbr_adapter *adapter = find(adapters, digest);

    if (--adapter->in_flight)
        return;
    if (adapter->seen_at == LBR_NEVER)
        drop(adapters, adapter);
    else
        shrink(adapters, limit_of(adapters));
}

static int is_held(const struct lbr_adapter *adapter, uint64_t now,
                   uint64_t ttl)
{
    return adapter->in_flight || (adapter->seen_at != LBR_NEVER &&
                                  lbr_time_since(now, adapter->seen_at) <= ttl);
}

int lbr_adapters_hold(const struct lbr_adapters *adapters, uint64_t digest,
                      uint64_t now, uint64_t ttl)
{
    const struct lbr_adapter *adapter = find(adapters, digest);

    return adapter && is_held(adapter, now, ttl);
}

uint32_t lbr_adapters_held(const struct lbr_adapters *adapters, uint64_t now,
                           uint64_t ttl)
{
    uint32_t held = 0;
    uint32_t i;

    for (i = 0; i < adapters->count; i++)
        held += (uint32_t)is_held(&adapters->list[i], now, ttl);
    return held;
}

enum lbr_adapter_room lbr_adapters_room(const struct lbr_adapters *adapters,
                                        uint64_t now, uint64_t ttl)
{
    if (adapters->slots < 0 || lbr_time_since(now, adapters->slots_at) > ttl)
        return LBR_ADAPTER_UNSURE;
    if (lbr_adapters_held(adapters, now, ttl) < (uint32_t)adapters->slots)
        return LBR_ADAPTER_ROOM;
    return LBR_ADAPTER_FULL;
}

size_t lbr_adapters_estimate(void)
{
    return (MOST + MOST / 2) * sizeof(struct lbr_adapter);
}

/* ---- as bytes ---- */

static uint32_t count_seen(const struct lbr_adapters *adapters)
{
    uint32_t seen = 0;
    uint32_t i;

    for (i = 0; i < adapters->count; i++)
        seen += (uint32_t)(adapters->list[i].seen_at != LBR_NEVER);
    return seen;
}

void lbr_adapters_save(const struct lbr_adapters *adapters,
                       struct lbr_writer *writer)
{
    uint32_t i;

    lbr_put_count(writer, (uint64_t)(adapters->slots + INT64_C(1)));
    if (adapters->slots >= 0)
        lbr_put_age(writer, adapters->slots_at);
    lbr_put_count(writer, count_seen(adapters));
    for (i = 0; i < adapters->count; i++) {
        if (adapters->list[i].seen_at == LBR_NEVER)
            continue;
        lbr_put_u64(writer, adapters->list[i].digest);
        lbr_put_age(writer, adapters->list[i].seen_at);
    }
}

static void load_slots(struct lbr_adapters *adapters, struct lbr_reader *reader)
{
    uint64_t slots = lbr_get_count(reader, (uint64_t)INT32_MAX + 1);
    uint64_t at = slots ? lbr_get_age(reader) : 0;

    if (!adapters)
        return;
    adapters->slots = (int32_t)((int64_t)slots - 1);
    adapters->slots_at = at;
}

uint32_t lbr_adapters_load(struct lbr_adapters *adapters,
                           struct lbr_reader *reader)
{
    uint64_t count;
    uint64_t i;

    load_slots(adapters, reader);
    count = lbr_get_count(reader, MOST);
    for (i = 0; i < count && !reader->broken; i++) {
        uint64_t digest = lbr_get_u64(reader);
        uint64_t at = lbr_get_age(reader);

        lbr_demand(reader, digest != 0);
        if (adapters && adapters->count < adapters->capacity &&
            !find(adapters, digest))
            adapters->list[adapters->count++] =
                (struct lbr_adapter){digest, at, 0};
    }
    return (uint32_t)count;
}
