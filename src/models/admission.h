/* SPDX-License-Identifier: MIT */
/* When a hybrid pool is busy: the two states, and what moves between them.
 *
 *              in flight ≥ busy, or arrivals ≥ busy
 *     quiet ───────────────────────────────────────▶ busy
 *           ◀───────────────────────────────────────
 *        both below calm × their threshold
 *
 * Arrivals are counted within a sliding window, in steps:
 *
 *     | 3 | 0 | 7 | … | 2 |        a full window of steps, and
 *                       └ now      the one that has just begun
 */
#ifndef LBR_MODELS_ADMISSION_H
#define LBR_MODELS_ADMISSION_H

#include <stdint.h>

/* Arrivals are counted over so long, ns, in so many steps. */
#define LBR_ADMISSION_WINDOW UINT64_C(5000000000)
#define LBR_ADMISSION_STEPS 20

struct lbr_admission_rules {
    double busy_in_flight; /* requests */
    double busy_arrivals;  /* in a window */
    double calm;           /* part of either that ends it */
};

struct lbr_admission {
    uint32_t steps[LBR_ADMISSION_STEPS + 1];
    uint32_t arrivals; /* of all of them */
    int busy;
    uint64_t step;    /* number of the current one since time 0 */
    uint64_t changes; /* of the state, so far */
};

/* Works out the state at |now| while |in_flight| requests are under way;
 * |arrives|: one more has just come. Returns whether the state changed. */
int lbr_admission_renew(struct lbr_admission *admission,
                        const struct lbr_admission_rules *rules, uint64_t now,
                        uint64_t in_flight, int arrives);

/* Lets only the window slide. */
void lbr_admission_advance(struct lbr_admission *admission, uint64_t now);

#endif
