/* SPDX-License-Identifier: MIT */
/* Time arithmetic on nanoseconds that saturates instead of wrapping. */
#ifndef LBR_BASE_CLOCK_H
#define LBR_BASE_CLOCK_H

#include <stdint.h>

#define LBR_NEVER UINT64_MAX

static inline uint64_t lbr_time_add(uint64_t time, uint64_t duration)
{
    return duration > LBR_NEVER - time ? LBR_NEVER : time + duration;
}

/* Time passed from |then| to |now|; 0 when |then| lies ahead. */
static inline uint64_t lbr_time_since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* A parameter in seconds (not negative, at most some years) as ns. */
static inline uint64_t lbr_time_from_seconds(double seconds)
{
    return (uint64_t)(seconds * 1e9 + 0.5);
}

/* A duration for a field where -1 means unknown. */
static inline int64_t lbr_time_signed(uint64_t duration)
{
    return duration > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)duration;
}

#endif
