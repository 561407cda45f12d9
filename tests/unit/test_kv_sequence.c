/* SPDX-License-Identifier: MIT */
/* models/kv_sequence: what a batch is, as a table. */
#include "models/kv_sequence.h"

#include <math.h>

#include "support/test.h"

#define UNKNOWN ((double)NAN)

static struct lbr_kv_stamp stamp(uint64_t number, uint64_t digest, double time)
{
    struct lbr_kv_stamp stamp = {number, digest, time};

    return stamp;
}

/* Takes |count| batches over, from |first| on; each says its own number, at
 * that time in seconds if times are |timed|. */
static void take_row(struct lbr_kv_sequence *sequence, uint64_t first,
                     uint64_t count, int timed)
{
    for (uint64_t i = first; i < first + count; i++) {
        struct lbr_kv_stamp next = stamp(i, i, timed ? (double)i : UNKNOWN);

        assert_int_equal(lbr_kv_sequence_judge(sequence, &next),
                         LBR_KV_ORDER_NEXT);
        lbr_kv_sequence_take(sequence, &next);
    }
}

/* ---- the table: 100 batches were taken over, 0 to 99 ---- */

enum { OLD = -1, SAME = 0, NEW = 1, NONE = 2 };

struct row {
    uint64_t number;
    int same; /* says what the one with that number said */
    int time; /* against the latest one's; SAME of what is remembered: its own
               */
    enum lbr_kv_order order;
};

static const struct row rows[] = {
    /* next and ahead: whatever they say */
    {100, 0, NEW, LBR_KV_ORDER_NEXT},
    {100, 0, OLD, LBR_KV_ORDER_NEXT},
    {100, 0, NONE, LBR_KV_ORDER_NEXT},
    {101, 0, NEW, LBR_KV_ORDER_AHEAD},
    {101, 0, NONE, LBR_KV_ORDER_AHEAD},
    {UINT64_MAX - 1, 0, NONE, LBR_KV_ORDER_AHEAD},
    /* remembered, the same */
    {99, 1, SAME, LBR_KV_ORDER_DUPLICATE},
    {99, 1, NONE, LBR_KV_ORDER_DUPLICATE},
    {36, 1, SAME, LBR_KV_ORDER_DUPLICATE},
    {36, 1, NONE, LBR_KV_ORDER_DUPLICATE},
    /* … but later: an engine that says the same after each start */
    {99, 1, NEW, LBR_KV_ORDER_RESTARTED},
    {36, 1, NEW, LBR_KV_ORDER_RESTARTED},
    /* remembered, and others */
    {99, 0, SAME, LBR_KV_ORDER_RESTARTED},
    {36, 0, NONE, LBR_KV_ORDER_RESTARTED},
    {36, 0, OLD, LBR_KV_ORDER_RESTARTED},
    /* not remembered any more: by the clock */
    {35, 0, NEW, LBR_KV_ORDER_RESTARTED},
    {35, 0, OLD, LBR_KV_ORDER_DUPLICATE},
    {35, 0, NONE, LBR_KV_ORDER_DUPLICATE},
    {1, 1, OLD, LBR_KV_ORDER_DUPLICATE},
    {1, 1, NEW, LBR_KV_ORDER_RESTARTED},
    /* the first one, without a clock: an engine that has just started */
    {0, 1, NEW, LBR_KV_ORDER_RESTARTED},
    {0, 1, OLD, LBR_KV_ORDER_DUPLICATE},
    {0, 1, NONE, LBR_KV_ORDER_RESTARTED},
    {0, 0, NONE, LBR_KV_ORDER_RESTARTED},
};

static double time_of(const struct row *row)
{
    switch (row->time) {
    case OLD:
        return row->number < 36 ? (double)row->number : 0.5;
    case SAME:
        return (double)row->number;
    case NEW:
        return 1000;
    default:
        return UNKNOWN;
    }
}

static void check_row(const struct lbr_kv_sequence *sequence,
                      const struct row *row)
{
    struct lbr_kv_stamp its =
        stamp(row->number, row->same ? row->number : 12345, time_of(row));

    assert_int_equal(lbr_kv_sequence_judge(sequence, &its), row->order);
}

static void after_a_hundred_batches(void **state)
{
    struct lbr_kv_sequence sequence;
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, 0, 100, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(&sequence, &rows[i]);
    assert_int_equal(sequence.next, 100);
}

/* Without times a batch that is not remembered was there before, unless it is
 * the first one. */
static void without_a_clock(void **state)
{
    struct lbr_kv_sequence sequence;
    struct lbr_kv_stamp its;
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, 0, 100, 0);
    for (uint64_t number = 0; number < 100; number++)
        for (int timed = 0; timed < 2; timed++) {
            double time = timed ? 7 : UNKNOWN;

            its = stamp(number, number, time);
            assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                             number ? LBR_KV_ORDER_DUPLICATE
                                    : LBR_KV_ORDER_RESTARTED);
            its = stamp(number, 999, time);
            assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                             number && number < 36 ? LBR_KV_ORDER_DUPLICATE
                                                   : LBR_KV_ORDER_RESTARTED);
        }
}

/* ---- beginnings ---- */

static void the_first_number_is_the_base(void **state)
{
    static const uint64_t firsts[] = {0, 1, 63, 64, 1000, UINT64_MAX - 2};
    (void)state;

    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        struct lbr_kv_sequence sequence;
        struct lbr_kv_stamp its;

        lbr_kv_sequence_init(&sequence);
        assert_false(lbr_kv_sequence_broken(&sequence));
        take_row(&sequence, firsts[i], 1, 0);
        assert_true(sequence.next == firsts[i] + 1);
        assert_false(lbr_kv_sequence_broken(&sequence));
        if (!firsts[i])
            continue;
        its = stamp(firsts[i] - 1, 0, UNKNOWN); /* was never seen */
        assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                         its.number ? LBR_KV_ORDER_DUPLICATE
                                    : LBR_KV_ORDER_RESTARTED);
    }
}

/* A new count: what was remembered is not, nor is the clock. */
static void a_new_count(void **state)
{
    struct lbr_kv_sequence sequence;
    struct lbr_kv_stamp its;
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, 0, 100, 1);
    lbr_kv_sequence_see(&sequence, 120);
    lbr_kv_sequence_restart(&sequence);
    assert_false(lbr_kv_sequence_broken(&sequence));
    its = stamp(1, 1, 1);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_AHEAD);
    take_row(&sequence, 0, 3, 0);
    its = stamp(2, 2, 1000); /* no time is known of this count */
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_DUPLICATE);
}

/* ---- gaps ---- */

static void a_gap_opens_and_closes(void **state)
{
    struct lbr_kv_sequence sequence;
    struct lbr_kv_stamp its;
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, 0, 10, 1);
    lbr_kv_sequence_see(&sequence, 9);
    assert_false(lbr_kv_sequence_broken(&sequence));
    lbr_kv_sequence_see(&sequence, 14);
    lbr_kv_sequence_see(&sequence, 12);
    assert_true(lbr_kv_sequence_broken(&sequence));
    for (uint64_t number = 10; number <= 14; number++) {
        assert_true(lbr_kv_sequence_broken(&sequence));
        take_row(&sequence, number, 1, 1);
    }
    assert_false(lbr_kv_sequence_broken(&sequence));
    /* What was left out was never taken over. */
    its = stamp(30, 30, 30);
    lbr_kv_sequence_take(&sequence, &its);
    its = stamp(20, 20, 20);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_DUPLICATE);
    its = stamp(14, 0, 14); /* is remembered still */
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_RESTARTED);
}

/* A batch without a time leaves the clock as it was. */
static void a_clock_with_gaps(void **state)
{
    struct lbr_kv_sequence sequence;
    struct lbr_kv_stamp its = stamp(200, 1, UNKNOWN);
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, 100, 100, 1);
    lbr_kv_sequence_take(&sequence, &its);
    its = stamp(50, 1, 198);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_DUPLICATE);
    its = stamp(50, 1, 199.5);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_RESTARTED);
}

/* ---- the largest numbers ---- */

/* After the last number there is, any will do. */
static void the_largest_numbers(void **state)
{
    struct lbr_kv_sequence sequence;
    struct lbr_kv_stamp its;
    (void)state;

    lbr_kv_sequence_init(&sequence);
    take_row(&sequence, UINT64_MAX - 100, 98, 1);
    its = stamp(UINT64_MAX - 1, 0, UNKNOWN);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_AHEAD);
    lbr_kv_sequence_see(&sequence, UINT64_MAX - 1);
    assert_true(lbr_kv_sequence_broken(&sequence));
    its = stamp(UINT64_MAX - 100, 0, UNKNOWN);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its),
                     LBR_KV_ORDER_DUPLICATE);
    take_row(&sequence, UINT64_MAX - 2, 2, 0);
    assert_false(lbr_kv_sequence_broken(&sequence));
    its = stamp(5, 0, UNKNOWN);
    assert_int_equal(lbr_kv_sequence_judge(&sequence, &its), LBR_KV_ORDER_NEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_hundred_batches),
        cmocka_unit_test(without_a_clock),
        cmocka_unit_test(the_first_number_is_the_base),
        cmocka_unit_test(a_new_count),
        cmocka_unit_test(a_gap_opens_and_closes),
        cmocka_unit_test(a_clock_with_gaps),
        cmocka_unit_test(the_largest_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
