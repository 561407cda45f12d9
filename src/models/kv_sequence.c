/* SPDX-License-Identifier: MIT */
#include "models/kv_sequence.h"

#include <math.h>

static void begin(struct lbr_kv_sequence *sequence, uint64_t next)
{
    uint32_t i;

    sequence->next = next;
    sequence->ahead = 0;
    sequence->time = (double)NAN;
    for (i = 0; i < LBR_KV_REMEMBERED; i++)
        sequence->taken[i].number = LBR_KV_NO_NUMBER;
}

void lbr_kv_sequence_init(struct lbr_kv_sequence *sequence)
{
    begin(sequence, LBR_KV_NO_NUMBER);
}

void lbr_kv_sequence_restart(struct lbr_kv_sequence *sequence)
{
    begin(sequence, 0);
}

/* Unknown times are as good as any. */
static int is_same(const struct lbr_kv_stamp *a, const struct lbr_kv_stamp *b)
{
    return a->digest == b->digest && !(a->time < b->time) &&
           !(a->time > b->time);
}

/* A number below the next one. Engines may say the same after each start, but
 * not at the same time. */
static enum lbr_kv_order judge_past(const struct lbr_kv_sequence *sequence,
                                    const struct lbr_kv_stamp *stamp)
{
    const struct lbr_kv_stamp *taken =
        &sequence->taken[stamp->number % LBR_KV_REMEMBERED];

    if (taken->number == stamp->number)
        return is_same(taken, stamp) ? LBR_KV_ORDER_DUPLICATE
                                     : LBR_KV_ORDER_RESTARTED;
    if (stamp->time > sequence->time)
        return LBR_KV_ORDER_RESTARTED;
    if (!stamp->number && !(stamp->time < sequence->time))
        return LBR_KV_ORDER_RESTARTED;
    return LBR_KV_ORDER_DUPLICATE;
}

enum lbr_kv_order lbr_kv_sequence_judge(const struct lbr_kv_sequence *sequence,
                                        const struct lbr_kv_stamp *stamp)
{
    if (sequence->next == LBR_KV_NO_NUMBER || stamp->number == sequence->next)
        return LBR_KV_ORDER_NEXT;
    if (stamp->number > sequence->next)
        return LBR_KV_ORDER_AHEAD;
    return judge_past(sequence, stamp);
}

void lbr_kv_sequence_take(struct lbr_kv_sequence *sequence,
                          const struct lbr_kv_stamp *stamp)
{
    sequence->taken[stamp->number % LBR_KV_REMEMBERED] = *stamp;
    sequence->next = stamp->number + 1;
    /* Of a batch without a time nothing is known; the clock does not matter. */
    if (!isnan(stamp->time))
        sequence->time = stamp->time;
}

void lbr_kv_sequence_see(struct lbr_kv_sequence *sequence, uint64_t number)
{
    if (number >= sequence->ahead)
        sequence->ahead = number + 1;
}
