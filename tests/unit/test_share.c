/* SPDX-License-Identifier: MIT */
/* state/share: a sliding window of buckets, against a list of all requests. */
#include "state/share.h"

#include "support/rng.h"
#include "support/test.h"

#define MOST 3000

static uint64_t sent_in_window(const uint64_t *buckets, size_t count,
                               uint64_t last)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += buckets[i] <= last && last - buckets[i] < LBR_SHARE_BUCKETS;
    return sum;
}

static void check_from(uint64_t bucket)
{
    struct test_rng rng = {bucket};
    uint64_t buckets[MOST];
    struct lbr_share_log log = {0};

    for (size_t count = 0; count < MOST;) {
        if (test_rng_below(&rng, 4) == 0)
            bucket += test_rng_below(&rng, test_rng_below(&rng, 20) ? 3 : 40);
        lbr_share_count(&log, bucket);
        buckets[count++] = bucket;
        for (uint64_t later = 0; later < LBR_SHARE_BUCKETS + 3; later++)
            assert_int_equal(lbr_share_sum(&log, bucket + later),
                             sent_in_window(buckets, count, bucket + later));
    }
}

static void against_a_list(void **state)
{
    (void)state;
    check_from(0);
    check_from(1);
    check_from(11);
    check_from(12);
    check_from(1000000007);
}

static void nothing_was_sent_at_first(void **state)
{
    struct lbr_share_log log = {0};
    (void)state;

    assert_int_equal(lbr_share_sum(&log, 0), 0);
    assert_int_equal(lbr_share_sum(&log, 11), 0);
    assert_int_equal(lbr_share_sum(&log, UINT64_MAX), 0);
}

/* A window of another length numbers its buckets anew; what was counted
 * before must not show up in the new ones. */
static void numbers_that_jump_start_anew(void **state)
{
    struct lbr_share_log log = {0};
    (void)state;

    for (int i = 0; i < 10; i++)
        lbr_share_count(&log, 1000);
    lbr_share_count(&log, 100);
    assert_int_equal(lbr_share_sum(&log, 100), 1);
    lbr_share_count(&log, 5000);
    assert_int_equal(lbr_share_sum(&log, 5000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_list),
        cmocka_unit_test(nothing_was_sent_at_first),
        cmocka_unit_test(numbers_that_jump_start_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
