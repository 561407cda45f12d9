/* SPDX-License-Identifier: MIT */
#include "models/admission.h"

/* Whether either figure has reached |part| of its threshold. */
static int reaches(const struct lbr_admission *admission,
                   const struct lbr_admission_rules *rules, uint64_t in_flight,
                   double part)
{
    return (double)in_flight >= part * rules->busy_in_flight ||
           admission->arrivals.total >= part * rules->busy_arrivals;
}

int lbr_admission_renew(struct lbr_admission *admission,
                        const struct lbr_admission_rules *rules, uint64_t now,
                        uint64_t in_flight, int arrives)
{
    int busy;

    lbr_tally_advance(&admission->arrivals, now, LBR_ADMISSION_WINDOW);
    if (arrives)
        lbr_tally_count(&admission->arrivals);
    busy =
        reaches(admission, rules, in_flight, admission->busy ? rules->calm : 1);
    if (busy == admission->busy)
        return 0;
    admission->busy = busy;
    admission->changes++;
    return 1;
}
