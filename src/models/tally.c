/* SPDX-License-Identifier: MIT */
#include "models/tally.h"

#include <string.h>

#define SLOTS (LBR_TALLY_STEPS + 1)

void lbr_tally_advance(struct lbr_tally *tally, uint64_t now, uint64_t window)
{
    uint64_t step = now / (window / LBR_TALLY_STEPS);

    if (step <= tally->step)
        return;
    if (step - tally->step >= SLOTS) {
        memset(tally->steps, 0, sizeof tally->steps);
        tally->total = 0;
        tally->step = step;
    }
    while (tally->step < step) {
        uint32_t *next = &tally->steps[++tally->step % SLOTS];

        tally->total -= *next;
        *next = 0;
    }
}

void lbr_tally_count(struct lbr_tally *tally)
{
    if (tally->total == UINT32_MAX)
        return;
    tally->steps[tally->step % SLOTS]++;
    tally->total++;
}
