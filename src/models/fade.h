/* SPDX-License-Identifier: MIT */
/* Values that change with age alone, in steps of one sixteenth, so that what
 * is derived from them stays valid until a known time. */
#ifndef LBR_MODELS_FADE_H
#define LBR_MODELS_FADE_H

#include <stdint.h>

/* A value from 0 to 1 and the time at which it changes next (LBR_NEVER: it
 * does not). */
struct lbr_faded {
    double value;
    uint64_t until;
};

/* 1 for one |ttl| (at least 16 ns) from |since| on, then down to 0 over one
 * more. */
struct lbr_faded lbr_fade_out(uint64_t now, uint64_t since, uint64_t ttl);

/* From 1/16 at |since| up to 1 after |duration|; 1 throughout when that is
 * below 16 ns. */
struct lbr_faded lbr_fade_in(uint64_t now, uint64_t since, uint64_t duration);

#endif
