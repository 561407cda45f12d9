/* SPDX-License-Identifier: MIT */
#include "models/rotation.h"

#include "containers/bits.h"

uint32_t lbr_rotation_peek(const struct lbr_rotation *rotation,
                           const uint64_t *usable, uint32_t n)
{
    uint32_t position = lbr_bits_next(usable, n, rotation->next);

    if (position == LBR_BITS_NONE)
        position = lbr_bits_next(usable, n, 0);
    return position;
}
