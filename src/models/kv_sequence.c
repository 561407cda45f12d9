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

/* ---- as bytes ---- */

/* A time that is no number is not known. */
static void put_time(struct lbr_writer *writer, double time)
{
    lbr_put_u8(writer, isfinite(time) != 0);
    if (isfinite(time))
        lbr_put_real(writer, time);
}

static double get_time(struct lbr_reader *reader)
{
    uint8_t known = lbr_get_u8(reader);

    lbr_demand(reader, known <= 1);
    return known ? lbr_get_real(reader) : (double)NAN;
}

static uint8_t count_taken(const struct lbr_kv_sequence *sequence)
{
    uint8_t count = 0;
    uint32_t i;

    for (i = 0; i < LBR_KV_REMEMBERED; i++)
        if (sequence->taken[i].number != LBR_KV_NO_NUMBER)
            count++;
    return count;
}

void lbr_kv_sequence_save(const struct lbr_kv_sequence *sequence, uint64_t open,
                          struct lbr_writer *writer)
{
    uint64_t ahead = sequence->ahead;
    uint32_t i;

    if (open != LBR_KV_NO_NUMBER && ahead < sequence->next)
        ahead = sequence->next;
    lbr_put_u64(writer, open != LBR_KV_NO_NUMBER ? open : sequence->next);
    lbr_put_u64(writer, ahead);
    put_time(writer, sequence->time);
    lbr_put_u8(writer, count_taken(sequence));
    for (i = 0; i < LBR_KV_REMEMBERED; i++) {
        const struct lbr_kv_stamp *stamp = &sequence->taken[i];

        if (stamp->number == LBR_KV_NO_NUMBER)
            continue;
        lbr_put_u64(writer, stamp->number);
        lbr_put_u64(writer, stamp->digest);
        put_time(writer, stamp->time);
    }
}

void lbr_kv_sequence_load(struct lbr_kv_sequence *sequence,
                          struct lbr_reader *reader)
{
    uint8_t count;

    begin(sequence, lbr_get_u64(reader));
    sequence->ahead = lbr_get_u64(reader);
    sequence->time = get_time(reader);
    count = lbr_get_u8(reader);
    lbr_demand(reader, count <= LBR_KV_REMEMBERED);
    for (; count && !reader->broken; count--) {
        struct lbr_kv_stamp stamp;

        stamp.number = lbr_get_u64(reader);
        stamp.digest = lbr_get_u64(reader);
        stamp.time = get_time(reader);
        lbr_demand(reader, stamp.number != LBR_KV_NO_NUMBER);
        sequence->taken[stamp.number % LBR_KV_REMEMBERED] = stamp;
    }
}
