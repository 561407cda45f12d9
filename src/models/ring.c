/* SPDX-License-Identifier: MIT */
#include "models/ring.h"

#include "base/hash.h"

#include <string.h>

#define FIRST_BITS 8
#define FIRST_TAIL 64

void lbr_ring_init(struct lbr_ring *ring, struct lbr_memory *memory,
                   unsigned hash_bits,
                   struct lbr_text (*name_of)(void *user, uint32_t owner),
                   void *user)
{
    memset(ring, 0, sizeof *ring);
    ring->memory = memory;
    ring->hash_bits = hash_bits;
    ring->name_of = name_of;
    ring->user = user;
}

static size_t slot_count(const struct lbr_ring *ring)
{
    return ring->slot_bits ? ((size_t)1 << ring->slot_bits) + ring->tail : 0;
}

void lbr_ring_destroy(struct lbr_ring *ring)
{
    lbr_memory_free(ring->memory, ring->slots, slot_count(ring),
                    sizeof *ring->slots);
}

uint32_t lbr_ring_points_for(double weight)
{
    double points = weight * LBR_RING_POINTS + 0.5;

    if (points < 1.0)
        return 1;
    return points > LBR_RING_MAX_POINTS ? LBR_RING_MAX_POINTS
                                        : (uint32_t)points;
}

/* The circle's position of a hash, with only the bits in use. */
static uint32_t position_of(const struct lbr_ring *ring, uint64_t hash)
{
    uint32_t top = (uint32_t)(hash >> 32);

    return top & (UINT32_MAX << (32 - ring->hash_bits));
}

static uint32_t home_of(const struct lbr_ring *ring, uint32_t hash)
{
    return hash >> (32 - ring->slot_bits);
}

/* Whether point |a| stands before |b|. */
static int before(const struct lbr_ring *ring, struct lbr_ring_point a,
                  struct lbr_ring_point b)
{
    if (a.hash != b.hash)
        return a.hash < b.hash;
    return lbr_text_compare(ring->name_of(ring->user, a.owner),
                            ring->name_of(ring->user, b.owner)) < 0;
}

/* Puts a point into its place. Returns 0 when the tail is full. */
static int insert(struct lbr_ring *ring, struct lbr_ring_point point)
{
    size_t end = slot_count(ring);
    size_t place = home_of(ring, point.hash);
    size_t gap;

    while (place < end && ring->slots[place].owner != LBR_RING_NONE &&
           before(ring, ring->slots[place], point))
        place++;
    for (gap = place; gap < end && ring->slots[gap].owner != LBR_RING_NONE;)
        gap++;
    if (gap == end)
        return 0;
    memmove(ring->slots + place + 1, ring->slots + place,
            (gap - place) * sizeof *ring->slots);
    ring->slots[place] = point;
    ring->points++;
    return 1;
}

/* Closes the gap at |slot| with later points that may stand nearer home. */
static void close_gap(struct lbr_ring *ring, size_t slot)
{
    size_t end = slot_count(ring);
    size_t next = slot + 1;

    while (next < end && ring->slots[next].owner != LBR_RING_NONE &&
           home_of(ring, ring->slots[next].hash) < next) {
        ring->slots[next - 1] = ring->slots[next];
        next++;
    }
    ring->slots[next - 1].owner = LBR_RING_NONE;
}

static int rebuild(struct lbr_ring *ring, uint32_t slot_bits, uint32_t tail)
{
    struct lbr_ring old = *ring;
    size_t i;

    ring->slot_bits = slot_bits;
    ring->tail = tail;
    ring->points = 0;
    ring->slots =
        lbr_memory_new(ring->memory, slot_count(ring), sizeof *ring->slots);
    if (!ring->slots) {
        *ring = old;
        return 0;
    }
    for (i = 0; i < slot_count(ring); i++)
        ring->slots[i].owner = LBR_RING_NONE;
    for (i = 0; i < slot_count(&old); i++)
        if (old.slots[i].owner != LBR_RING_NONE && !insert(ring, old.slots[i]))
            break;
    if (i < slot_count(&old)) {
        lbr_ring_destroy(ring);
        *ring = old;
        return rebuild(ring, slot_bits, tail * 2);
    }
    lbr_ring_destroy(&old);
    return 1;
}

int lbr_ring_reserve(struct lbr_ring *ring, uint32_t points)
{
    uint32_t bits = ring->slot_bits ? ring->slot_bits : FIRST_BITS;
    uint64_t wanted = (uint64_t)ring->points + points;

    while (bits < 31 && wanted * 2 > (uint64_t)1 << bits)
        bits++;
    if (bits == ring->slot_bits)
        return 1;
    return rebuild(ring, bits, ring->tail ? ring->tail : FIRST_TAIL);
}

static struct lbr_ring_point point_of(const struct lbr_ring *ring,
                                      uint32_t owner, uint32_t number)
{
    struct lbr_text name = ring->name_of(ring->user, owner);
    struct lbr_ring_point point;

    point.hash =
        position_of(ring, lbr_hash_seeded(name.bytes, name.length, number));
    point.owner = owner;
    return point;
}

static void remove_points(struct lbr_ring *ring, uint32_t owner, uint32_t from,
                          uint32_t to)
{
    uint32_t i;

    for (i = from; i < to; i++) {
        struct lbr_ring_point point = point_of(ring, owner, i);
        size_t slot = home_of(ring, point.hash);

        while (ring->slots[slot].hash != point.hash ||
               ring->slots[slot].owner != owner)
            slot++;
        close_gap(ring, slot);
        ring->points--;
    }
}

static int add_points(struct lbr_ring *ring, uint32_t owner, uint32_t from,
                      uint32_t to)
{
    uint32_t i = from;

    if (!lbr_ring_reserve(ring, to - from))
        return 0;
    while (i < to) {
        if (insert(ring, point_of(ring, owner, i))) {
            i++;
        } else if (!rebuild(ring, ring->slot_bits, ring->tail * 2)) {
            remove_points(ring, owner, from, i);
            return 0;
        }
    }
    return 1;
}

int lbr_ring_add(struct lbr_ring *ring, uint32_t owner, uint32_t points)
{
    return add_points(ring, owner, 0, points);
}

int lbr_ring_resize(struct lbr_ring *ring, uint32_t owner, uint32_t before,
                    uint32_t after)
{
    if (after > before)
        return add_points(ring, owner, before, after);
    remove_points(ring, owner, after, before);
    return 1;
}

void lbr_ring_remove(struct lbr_ring *ring, uint32_t owner, uint32_t points)
{
    remove_points(ring, owner, 0, points);
}

uint32_t lbr_ring_find(const struct lbr_ring *ring, uint64_t key)
{
    uint32_t hash = position_of(ring, key);
    size_t end = slot_count(ring);
    size_t slot;

    if (!ring->points)
        return LBR_RING_NONE;
    for (slot = home_of(ring, hash); slot < end; slot++) {
        struct lbr_ring_point point = ring->slots[slot];

        if (point.owner != LBR_RING_NONE && point.hash >= hash)
            return (uint32_t)slot;
    }
    return lbr_ring_next(ring, (uint32_t)(end - 1));
}

uint32_t lbr_ring_next(const struct lbr_ring *ring, uint32_t slot)
{
    uint32_t end = (uint32_t)slot_count(ring);

    do
        slot = slot + 1 == end ? 0 : slot + 1;
    while (ring->slots[slot].owner == LBR_RING_NONE);
    return slot;
}

size_t lbr_ring_estimate(size_t points)
{
    size_t slots = (size_t)1 << FIRST_BITS;

    while (slots < points * 2)
        slots *= 2;
    /* The old table lives until the new one is filled; tails are small. */
    return (slots + slots / 2 + 16 * FIRST_TAIL + points) *
           sizeof(struct lbr_ring_point);
}
