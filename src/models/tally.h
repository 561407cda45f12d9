/* SPDX-License-Identifier: MIT */
/* How many events there were within the latest while, counted in steps:
 *
 *     | 3 | 0 | 7 | … | 2 |        a full window of steps, and
 *                       └ now      the one that has just begun
 */
#ifndef LBR_MODELS_TALLY_H
#define LBR_MODELS_TALLY_H

#include <stdint.h>

#define LBR_TALLY_STEPS 20 /* in a window */

struct lbr_tally {
    uint32_t steps[LBR_TALLY_STEPS + 1];
    uint32_t total; /* of all of them */
    uint64_t step;  /* number of the current one since time 0 */
};

/* Lets time pass until |now|, where a window is |window| ns long. */
void lbr_tally_advance(struct lbr_tally *tally, uint64_t now, uint64_t window);

/* One event in the current step. */
void lbr_tally_count(struct lbr_tally *tally);

#endif
