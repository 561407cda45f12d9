/* SPDX-License-Identifier: MIT */
/* A number that is written under a lock and read without it. A reader may see
 * an old value: what it does with it must be checked under the lock. */
#ifndef LBR_BASE_PUBLISHED_H
#define LBR_BASE_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>

struct lbr_published {
    _Atomic uint64_t value;
};

static inline void lbr_publish(struct lbr_published *published, uint64_t value)
{
    atomic_store_explicit(&published->value, value, memory_order_relaxed);
}

static inline uint64_t lbr_published_value(struct lbr_published *published)
{
    return atomic_load_explicit(&published->value, memory_order_relaxed);
}

#endif
