/* SPDX-License-Identifier: MIT */
/* Round robin over positions 0 … n - 1: the next usable position after the one
 * served last. Since it continues from what was really served, a position
 * that is out gives its share to all others, not to its neighbour. */
#ifndef LBR_MODELS_ROTATION_H
#define LBR_MODELS_ROTATION_H

#include <stdint.h>

struct lbr_rotation {
    uint32_t next; /* where the search starts: 0 … n */
};

/* The position to serve among the set bits of |usable| (n bits, at least one
 * set). Does not move the rotation. */
uint32_t lbr_rotation_peek(const struct lbr_rotation *rotation,
                           const uint64_t *usable, uint32_t n);

/* Notes that |position| was served. */
static inline void lbr_rotation_served(struct lbr_rotation *rotation,
                                       uint32_t position)
{
    rotation->next = position + 1;
}

/* Notes that |position| was taken out and later ones moved down by one. */
static inline void lbr_rotation_removed(struct lbr_rotation *rotation,
                                        uint32_t position)
{
    if (position < rotation->next)
        rotation->next--;
}

/* For tests: as if |served| requests had been served one by one. */
static inline void lbr_rotation_preset(struct lbr_rotation *rotation,
                                       uint64_t served, uint32_t n)
{
    rotation->next = (uint32_t)(served % n);
}

#endif
