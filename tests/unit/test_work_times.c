/* SPDX-License-Identifier: MIT */
/* Times of work: equal members stay equal, slow ones are found, an error that
 * all share does not drift, and numbers that make no sense do nothing. */
#include "state/work_times.h"

#include <math.h>
#include <string.h>

#include "support/rng.h"
#include "support/test.h"

enum { MEMBERS = 4 };

#define FIRST LBR_PACE_FIRST
#define EACH LBR_PACE_EACH

struct fleet_times {
    struct lbr_work_times times;
    struct lbr_pace_member members[MEMBERS];
    double slow[MEMBERS]; /* true slowness */
    double noise;         /* part of a value, to both sides */
    struct test_rng rng;
};

static void open_times(struct fleet_times *fleet, double noise)
{
    memset(fleet, 0, sizeof *fleet);
    for (int i = 0; i < MEMBERS; i++) {
        lbr_pace_member_init(&fleet->members[i]);
        fleet->slow[i] = 1;
    }
    fleet->noise = noise;
    fleet->rng.state = 7;
}

static double part(struct fleet_times *fleet)
{
    return (double)test_rng_below(&fleet->rng, 1000001) / 1e6;
}

/* One answer: 20 ms, 1 ms for each running one, 50 ms a kilotoken. */
static void answer(struct fleet_times *fleet, int member, double scale)
{
    double running = (double)test_rng_below(&fleet->rng, 12);
    double work = 8 * part(fleet);
    double ns = (20e6 + 1e6 * running + 50e6 * work) * scale;

    ns *= fleet->slow[member] * (1 + fleet->noise * (2 * part(fleet) - 1));
    lbr_work_times_learn(&fleet->times, &fleet->members[member], LBR_PACE_FIRST,
                         running, work, ns);
}

static double slowness(const struct fleet_times *fleet, int member)
{
    return fleet->members[member].rate[FIRST].slowness;
}

static void equal_members_stay_equal(void **state)
{
    struct fleet_times fleet;
    (void)state;

    open_times(&fleet, 0);
    for (int i = 0; i < 20000; i++) {
        answer(&fleet, i % MEMBERS, 1);
        for (int m = 0; m < MEMBERS; m++)
            assert_true(slowness(&fleet, m) == 1);
    }
    assert_near(lbr_least_squares_at(&fleet.times.plane[FIRST], 5, 2), 125e6,
                125e4);
}

/* With noise they do so but for rare moments, and then nearly: one in twenty is
 * what two standard errors leave. */
static void equal_members_with_noise(void **state)
{
    struct fleet_times fleet;
    int off = 0;
    (void)state;

    open_times(&fleet, 0.5);
    for (int i = 0; i < 40000; i++) {
        answer(&fleet, i % MEMBERS, 1);
        for (int m = 0; m < MEMBERS; m++) {
            off += slowness(&fleet, m) != 1;
            assert_in_range((int)(1000 * slowness(&fleet, m)), 850, 1150);
        }
    }
    assert_true(off < 40000 * MEMBERS / 20);
}

/* Three are quick, one takes twice as long. */
static void slow_member_is_found(void **state)
{
    struct fleet_times fleet;
    double ratio;
    (void)state;

    open_times(&fleet, 0.3);
    fleet.slow[3] = 2;
    for (int i = 0; i < 64 * MEMBERS; i++)
        answer(&fleet, i % MEMBERS, 1);
    ratio = slowness(&fleet, 3) / slowness(&fleet, 0);
    assert_true(ratio > 1.4 && ratio < 2.2);
    for (int i = 0; i < 400 * MEMBERS; i++)
        answer(&fleet, i % MEMBERS, 1);
    ratio = slowness(&fleet, 3) / slowness(&fleet, 0);
    assert_true(ratio > 1.7 && ratio < 2.2);
    fleet.slow[3] = 1; /* mended */
    for (int i = 0; i < 400 * MEMBERS; i++)
        answer(&fleet, i % MEMBERS, 1);
    ratio = slowness(&fleet, 3) / slowness(&fleet, 0);
    assert_true(ratio > 0.9 && ratio < 1.1);
}

/* All become three times as slow at once, and quick again, for a long time. */
static void shared_error_does_not_drift(void **state)
{
    struct fleet_times fleet;
    (void)state;

    open_times(&fleet, 0.2);
    for (int i = 0; i < 200000; i++) {
        double scale = i / 5000 % 2 ? 3 : 1;

        answer(&fleet, i % MEMBERS, scale);
        if (i % 5000 != 4999)
            continue;
        assert_near(lbr_least_squares_at(&fleet.times.plane[FIRST], 5, 2),
                    125e6 * scale, 20e6 * scale);
        for (int m = 0; m < MEMBERS; m++)
            assert_true(fabs(fleet.members[m].rate[FIRST].log) < 0.2);
    }
}

static void nonsense_changes_nothing(void **state)
{
    static const double bad[] = {-1, 0, 1e18, 1e300, -1e300};
    struct fleet_times fleet, before;
    (void)state;

    open_times(&fleet, 0.1);
    for (int i = 0; i < 100; i++)
        answer(&fleet, i % MEMBERS, 1);
    before = fleet;
    for (size_t i = 0; i < 7; i++) {
        double value = i == 5   ? (double)NAN
                       : i == 6 ? (double)INFINITY
                                : bad[i];
        struct lbr_pace_member *member = &fleet.members[0];

        lbr_work_times_learn(&fleet.times, member, FIRST, 1, 1, value);
        if (i != 1) {
            lbr_work_times_learn(&fleet.times, member, FIRST, value, 1, 1e8);
            lbr_work_times_learn(&fleet.times, member, FIRST, 1, value, 1e8);
        }
        if (i != 2) {
            lbr_pace_learn_output(&fleet.times.pace, value);
            lbr_pace_learn_found(&fleet.times.pace, value > 0 ? -1 : value, 1);
        }
    }
    assert_memory_equal(&fleet, &before, sizeof fleet);
}

/* The largest that makes sense, mixed with the smallest. */
static void extremes_stay_finite(void **state)
{
    static const double values[] = {1e-9, 1, 1e6, 9e17};
    struct fleet_times fleet;
    (void)state;

    open_times(&fleet, 0);
    for (int i = 0; i < 20000; i++) {
        struct lbr_pace_member *member = &fleet.members[i % MEMBERS];
        int kind = (int)test_rng_below(&fleet.rng, 2);

        lbr_work_times_learn(&fleet.times, member, (enum lbr_pace_kind)kind,
                             values[test_rng_below(&fleet.rng, 4)],
                             values[test_rng_below(&fleet.rng, 4)],
                             values[test_rng_below(&fleet.rng, 4)]);
        assert_true(isfinite(member->rate[kind].slowness) &&
                    member->rate[kind].slowness > 0);
        assert_true(isfinite(fleet.times.pace.lean[kind]));
    }
}

/* At first all samples count the same, then the latest 64 most. */
static void means(void **state)
{
    struct lbr_pace pace;
    (void)state;

    memset(&pace, 0, sizeof pace);
    for (int i = 1; i <= 64; i++)
        lbr_pace_learn_output(&pace, i);
    assert_near(pace.output.value, 32.5, 1e-9);
    for (int i = 0; i < 640; i++)
        lbr_pace_learn_output(&pace, 100);
    assert_near(pace.output.value, 100, 0.01);
    lbr_pace_learn_found(&pace, 0, 5);
    assert_true(pace.gone.samples == 0);
    lbr_pace_learn_found(&pace, 1000, 250);
    assert_near(pace.gone.value, 0.75, 1e-9);
    lbr_pace_learn_found(&pace, 1000, 2000);
    assert_near(pace.gone.value, 0.375, 1e-9);
}

/* A member that joins counts as one like all others until it has shown what it
 * is. */
static void newcomer(void **state)
{
    struct fleet_times fleet;
    (void)state;

    open_times(&fleet, 0.2);
    for (int i = 0; i < 1000; i++)
        answer(&fleet, i % (MEMBERS - 1), 1);
    fleet.slow[3] = 4;
    assert_true(slowness(&fleet, 3) == 1);
    answer(&fleet, 3, 1);
    assert_true(slowness(&fleet, 3) < 1.2); /* one answer says little */
    for (int i = 0; i < 30; i++)
        answer(&fleet, 3, 1);
    assert_true(slowness(&fleet, 3) > 2);
    assert_true(fleet.members[EACH].rate[EACH].slowness == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_members_stay_equal),
        cmocka_unit_test(equal_members_with_noise),
        cmocka_unit_test(slow_member_is_found),
        cmocka_unit_test(shared_error_does_not_drift),
        cmocka_unit_test(nonsense_changes_nothing),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(means),
        cmocka_unit_test(newcomer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
