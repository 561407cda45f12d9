/* SPDX-License-Identifier: MIT */
/* models/admission: the states of a hybrid pool, at and around both
 * thresholds. */
#include "models/admission.h"

#include "support/rng.h"
#include "support/test.h"

static const struct lbr_admission_rules rules = {10, 50, 0.8};

static int renew(struct lbr_admission *admission, uint64_t now,
                 uint64_t in_flight)
{
    return lbr_admission_renew(admission, &rules, now, in_flight, 0);
}

static void by_requests_in_flight(void **state)
{
    static const struct {
        uint64_t in_flight;
        int busy;
    } steps[] = {{0, 0}, {9, 0}, {10, 1}, {9, 1},  {8, 1}, {7, 0},
                 {8, 0}, {9, 0}, {10, 1}, {50, 1}, {0, 0}};
    struct lbr_admission admission = {{0}, 0, 0, 0, 0};
    uint64_t changes = 0;
    (void)state;

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int before = admission.busy;
        int changed = renew(&admission, i, steps[i].in_flight);
        assert_int_equal(admission.busy, steps[i].busy);
        assert_int_equal(changed, before != steps[i].busy);
        changes += changed != 0;
        assert_int_equal(admission.changes, changes);
    }
}

static void by_arrivals(void **state)
{
    struct lbr_admission admission = {{0}, 0, 0, 0, 0};
    (void)state;

    for (int i = 1; i <= 50; i++) {
        lbr_admission_renew(&admission, &rules, TEST_S, 0, 1);
        assert_int_equal(admission.busy, i >= 50);
    }
    /* They are forgotten a whole window later, in a step. */
    renew(&admission, TEST_S + LBR_ADMISSION_WINDOW - 1, 0);
    assert_int_equal(admission.busy, 1);
    renew(&admission, TEST_S + LBR_ADMISSION_WINDOW + 250 * TEST_MS, 0);
    assert_int_equal(admission.busy, 0);
    assert_int_equal(admission.arrivals, 0);
}

/* What is counted lies between the arrivals of 5 s and those of 5.25 s. */
static void the_window_slides(void **state)
{
    enum { ARRIVALS = 20000 };
    static uint64_t times[ARRIVALS];
    struct lbr_admission admission = {{0}, 0, 0, 0, 0};
    struct test_rng rng = {3};
    uint64_t now = 0;
    (void)state;

    for (size_t i = 0; i < ARRIVALS; i++) {
        uint32_t least = 0;
        uint32_t most = 0;
        now += test_rng_below(&rng, i % 1000 == 0 ? 9000 : 100) * TEST_MS;
        times[i] = now;
        lbr_admission_renew(&admission, &rules, now, 0, 1);
        for (size_t j = i + 1; j-- > 0 && now - times[j] <= 5250 * TEST_MS;) {
            most++;
            least += now - times[j] < 5000 * TEST_MS;
        }
        assert_in_range(admission.arrivals, least, most);
    }
}

/* Whatever comes, a change needs a figure beyond its threshold. */
static void no_flapping(void **state)
{
    struct lbr_admission admission = {{0}, 0, 0, 0, 0};
    struct test_rng rng = {5};
    uint64_t now = 0;
    (void)state;

    for (int i = 0; i < 100000; i++) {
        uint64_t in_flight = 8 + test_rng_below(&rng, 2);
        now += test_rng_below(&rng, 600) * TEST_MS;
        lbr_admission_renew(&admission, &rules, now, in_flight, 0);
        assert_int_equal(admission.changes, 0);
    }
    renew(&admission, now, 10);
    for (int i = 0; i < 100000; i++)
        renew(&admission, now, 8 + test_rng_below(&rng, 4));
    assert_int_equal(admission.changes, 1);
}

/* Time at its end, and as many arrivals as a counter holds. */
static void edges(void **state)
{
    struct lbr_admission admission = {{0}, 0, 0, 0, 0};
    (void)state;

    assert_int_equal(renew(&admission, UINT64_MAX, UINT64_MAX), 1);
    assert_int_equal(renew(&admission, 0, 0), 1);
    admission.arrivals = admission.steps[0] = UINT32_MAX;
    lbr_admission_renew(&admission, &rules, UINT64_MAX, 0, 1);
    assert_int_equal(admission.arrivals, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_requests_in_flight),
        cmocka_unit_test(by_arrivals),
        cmocka_unit_test(the_window_slides),
        cmocka_unit_test(no_flapping),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
