/* SPDX-License-Identifier: MIT */
/* Consistent hash ring: every owner has points on a circle of 32-bit hashes, a
 * key belongs to the first point at or after its own hash.
 *
 *     slots:  [    ][h=3 A][h=9 C][    ][h=21 B][    ] … tail
 *              ^ home of a hash = its top bits
 *
 * The points stand in one table in the order of their hashes, each at or after
 * its home slot, so a lookup starts at the key's home and steps over a slot or
 * two: one cache miss, whatever the number of points. A table at most half
 * full, an insert shifts to the next gap.
 *
 * An owner's points depend on its name alone. Points of equal hash are in the
 * order of their owners' names, so the order of arrival leaves no trace.
 *
 * Source: Karger et al., "Consistent Hashing and Random Trees", 1997. */
#ifndef LBR_MODELS_RING_H
#define LBR_MODELS_RING_H

#include "base/memory.h"
#include "base/text.h"

#define LBR_RING_POINTS 100       /* of an owner of weight 1 */
#define LBR_RING_MAX_POINTS 10000 /* of the heaviest owner */
#define LBR_RING_NONE UINT32_MAX

struct lbr_ring_point {
    uint32_t hash;
    uint32_t owner; /* the caller's number; LBR_RING_NONE: a gap */
};

struct lbr_ring {
    struct lbr_memory *memory;
    struct lbr_ring_point *slots;
    /* The name of an owner, for points of equal hash. */
    struct lbr_text (*name_of)(void *user, uint32_t owner);
    void *user;
    uint32_t slot_bits; /* 2^slot_bits home slots; 0: no table yet */
    uint32_t tail;      /* slots behind the last home */
    uint32_t points;
    uint32_t hash_bits; /* 32; fewer in tests, to make hashes collide */
};

void lbr_ring_init(struct lbr_ring *ring, struct lbr_memory *memory,
                   unsigned hash_bits,
                   struct lbr_text (*name_of)(void *user, uint32_t owner),
                   void *user);
void lbr_ring_destroy(struct lbr_ring *ring);

/* Points that an owner of |weight| has when points follow weights. */
uint32_t lbr_ring_points_for(double weight);

/* Makes room for |points| more. Returns 0 without memory. */
int lbr_ring_reserve(struct lbr_ring *ring, uint32_t points);

/* Adds an owner's first |points| points. Returns 0 without memory; then the
 * ring is as before. */
int lbr_ring_add(struct lbr_ring *ring, uint32_t owner, uint32_t points);

/* Changes the number of an owner's points from |before| to |after|. Returns 0
 * without memory; then the ring is as before. */
int lbr_ring_resize(struct lbr_ring *ring, uint32_t owner, uint32_t before,
                    uint32_t after);

/* Removes all of an owner's |points| points. */
void lbr_ring_remove(struct lbr_ring *ring, uint32_t owner, uint32_t points);

/* Slot of the point that owns |key|, or LBR_RING_NONE on an empty ring. */
uint32_t lbr_ring_find(const struct lbr_ring *ring, uint64_t key);

/* Slot of the point after |slot|, round the circle. */
uint32_t lbr_ring_next(const struct lbr_ring *ring, uint32_t slot);

static inline uint32_t lbr_ring_owner(const struct lbr_ring *ring,
                                      uint32_t slot)
{
    return ring->slots[slot].owner;
}

/* Upper bound of the memory of a ring, growth included. */
size_t lbr_ring_estimate(size_t points);

#endif
