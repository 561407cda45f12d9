/* SPDX-License-Identifier: MIT */
/* When a hybrid pool is busy: the two states, and what moves between them.
 *
 *              in flight ≥ busy, or arrivals ≥ busy
 *     quiet ───────────────────────────────────────▶ busy
 *           ◀───────────────────────────────────────
 *        both below calm × their threshold
 */
#ifndef LBR_MODELS_ADMISSION_H
#define LBR_MODELS_ADMISSION_H

#include "models/tally.h"

/* Arrivals are counted over so long, ns. */
#define LBR_ADMISSION_WINDOW UINT64_C(5000000000)

struct lbr_admission_rules {
    double busy_in_flight; /* requests */
    double busy_arrivals;  /* in a window */
    double calm;           /* part of either that ends it */
};

struct lbr_admission {
    struct lbr_tally arrivals;
    int busy;
    uint64_t changes; /* of the state, so far */
};

/* Works out the state at |now| while |in_flight| requests are under way;
 * |arrives|: one more has just come. Returns whether the state changed. */
int lbr_admission_renew(struct lbr_admission *admission,
                        const struct lbr_admission_rules *rules, uint64_t now,
                        uint64_t in_flight, int arrives);

#endif
