/* SPDX-License-Identifier: MIT */
#include "models/admission.h"

#include <string.h>

#define SLOTS (LBR_ADMISSION_STEPS + 1)
#define STEP (LBR_ADMISSION_WINDOW / LBR_ADMISSION_STEPS)

void lbr_admission_advance(struct lbr_admission *admission, uint64_t now)
{
    uint64_t step = now / STEP;

    if (step <= admission->step)
        return;
    if (step - admission->step >= SLOTS) {
        memset(admission->steps, 0, sizeof admission->steps);
        admission->arrivals = 0;
        admission->step = step;
    }
    while (admission->step < step) {
        uint32_t *next = &admission->steps[++admission->step % SLOTS];

        admission->arrivals -= *next;
        *next = 0;
    }
}

static void count(struct lbr_admission *admission)
{
    if (admission->arrivals == UINT32_MAX)
        return;
    admission->steps[admission->step % SLOTS]++;
    admission->arrivals++;
}

/* Whether either figure has reached |part| of its threshold. */
static int reaches(const struct lbr_admission *admission,
                   const struct lbr_admission_rules *rules, uint64_t in_flight,
                   double part)
{
    return (double)in_flight >= part * rules->busy_in_flight ||
           admission->arrivals >= part * rules->busy_arrivals;
}

int lbr_admission_renew(struct lbr_admission *admission,
                        const struct lbr_admission_rules *rules, uint64_t now,
                        uint64_t in_flight, int arrives)
{
    int busy;

    lbr_admission_advance(admission, now);
    if (arrives)
        count(admission);
    busy =
        reaches(admission, rules, in_flight, admission->busy ? rules->calm : 1);
    if (busy == admission->busy)
        return 0;
    admission->busy = busy;
    admission->changes++;
    return 1;
}
