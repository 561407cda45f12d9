/* SPDX-License-Identifier: MIT */
/* policy/filter: the order of reasons, and who is left. */
#include "policy/filter.h"

#include <string.h>

#include "containers/bits.h"
#include "policy/request.h"
#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

/* Reasons that a target can have at a time, one bit each. */
enum {
    BIT_EXCLUDED = 1 << LBROUTE_REASON_EXCLUDED,
    BIT_TIER = 1 << LBROUTE_REASON_TIER,
    BIT_DRAINING = 1 << LBROUTE_REASON_DRAINING,
    BIT_BENCHED = 1 << LBROUTE_REASON_BENCHED,
    BIT_SATURATED = 1 << LBROUTE_REASON_SATURATED,
    BIT_TOO_LARGE = 1 << LBROUTE_REASON_TOO_LARGE,
    BIT_MODEL = 1 << LBROUTE_REASON_MODEL,
    BIT_ALL = (1 << LBROUTE_REASON_NO_TARGETS) - 2
};

/* A request for model "m" with 100 tokens in the empty tier. */
static void set_request(struct fleet *fleet)
{
    fleet->request.model = "m";
    fleet->request.model_len = 1;
    fleet->request.input_tokens = 100;
}

/* Adds a target that has these reasons against that request; exclusion is
 * the request's matter. */
static size_t add_with(struct fleet *fleet, int reasons)
{
    lbroute_target_options options;
    size_t index;

    fleet_target_options(fleet, &options);
    options.model = reasons & BIT_MODEL ? "x" : "m";
    options.model_len = 1;
    options.tier = "gold";
    options.tier_len = reasons & BIT_TIER ? 4 : 0;
    options.max_input_tokens = reasons & BIT_TOO_LARGE ? 99 : 100;
    options.max_concurrency = 2;
    index = fleet_add_options(fleet, &options);
    if (reasons & BIT_DRAINING)
        fleet_drain(fleet, index, 1);
    if (reasons & BIT_BENCHED)
        fleet_bench(fleet, index, TEST_H);
    return index;
}

static struct lbr_target *target_at(struct fleet *fleet, size_t index)
{
    return lbr_router_target(fleet->router, fleet->targets[index]);
}

/* Fills a target as if two requests were in flight. */
static void fill(struct fleet *fleet, size_t index)
{
    target_at(fleet, index)->in_flight = 2;
}

static void begin(struct fleet *fleet, struct lbr_ask *ask,
                  struct lbr_pick *pick)
{
    static struct lbr_request_space space;

    memset(pick, 0, sizeof *pick);
    assert_int_equal(
        lbr_request_read(fleet->router, &fleet->request, &space, ask), 0);
    pick->router = fleet->router;
    pick->ask = ask;
    pick->now = fleet->now;
    assert_int_equal(
        lbr_scope_resolve(fleet->router, ask->request, &pick->scope), 0);
    pick->group = pick->scope.group;
    if (pick->group)
        lbr_group_ensure(pick->group, pick->now);
    lbr_filter_exclude(pick);
}

static int lowest_reason(int reasons)
{
    int reason = LBROUTE_REASON_NONE;

    while (reasons && !(reasons >> reason & 1))
        reason++;
    return reasons ? reason : LBROUTE_REASON_NONE;
}

/* Of all reasons that a target has, the first in the order of the codes is
 * its verdict: all 128 combinations. */
static void verdicts_in_order(void **state)
{
    (void)state;
    for (int reasons = 0; reasons <= BIT_ALL; reasons += 2) {
        struct fleet fleet;
        struct lbr_ask ask;
        struct lbr_pick pick;
        size_t index;

        fleet_open(&fleet, "weighted", 0, 1);
        set_request(&fleet);
        index = add_with(&fleet, reasons);
        if (reasons & BIT_SATURATED)
            fill(&fleet, index);
        fleet.request.exclude = &fleet.targets[index];
        fleet.request.exclude_len = reasons & BIT_EXCLUDED ? 1 : 0;
        begin(&fleet, &ask, &pick);
        assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, index)),
                         lowest_reason(reasons));
        pick.bench_ignored = 1;
        assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, index)),
                         lowest_reason(reasons & ~BIT_BENCHED));
        target_at(&fleet, index)->in_flight = 0;
        fleet_close(&fleet);
    }
}

/* A target that names no model serves any that is asked of its pool, and none
 * that is asked without a pool. */
static void targets_without_a_model(void **state)
{
    struct fleet fleet;
    struct lbr_ask ask;
    struct lbr_pick pick;
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    set_request(&fleet);
    begin(&fleet, &ask, &pick);
    assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, 0)),
                     LBROUTE_REASON_NONE);
    fleet.request.pool = 0;
    begin(&fleet, &ask, &pick);
    assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, 0)),
                     LBROUTE_REASON_MODEL);
    fleet_close(&fleet);
}

/* The members that may be chosen are those without a verdict. */
static void check_mask(struct fleet *fleet)
{
    struct lbr_ask ask;
    struct lbr_pick pick;
    uint32_t eligible = 0;

    begin(fleet, &ask, &pick);
    if (!pick.group)
        return;
    lbr_group_ensure(pick.group, fleet->now);
    lbr_filter_apply(&pick);
    for (uint32_t i = 0; i < pick.group->count; i++) {
        int chosen = lbr_filter_verdict(&pick, pick.group->members[i]) == 0;

        assert_int_equal(lbr_bits_has(pick.mask, i), chosen);
        eligible += (uint32_t)chosen;
    }
    assert_int_equal(pick.eligible, eligible);
}

static void masks_agree_with_verdicts(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int round = 0; round < 300; round++) {
        struct fleet fleet;
        lbroute_target excluded[3];

        fleet_open(&fleet, "weighted", 0, 1);
        for (size_t i = 0; i < 12; i++)
            (void)add_with(&fleet, (int)(test_rng_next(&rng) &
                                         test_rng_next(&rng) & BIT_ALL));
        if (test_rng_below(&rng, 2))
            set_request(&fleet);
        for (size_t i = 0; i < 3; i++)
            excluded[i] = fleet.targets[test_rng_below(&rng, 12)];
        fleet.request.exclude = excluded;
        fleet.request.exclude_len = (size_t)test_rng_below(&rng, 4);
        fleet.request.input_tokens = (int64_t)test_rng_below(&rng, 300) - 1;
        fleet.request.tier = "gold";
        fleet.request.tier_len = test_rng_below(&rng, 2) ? 4 : 0;
        check_mask(&fleet);
        fleet_close(&fleet);
    }
}

/* One pick's exclusions are not the next one's. */
static void exclusions_hold_for_one_pick(void **state)
{
    struct fleet fleet;
    struct lbr_ask ask;
    struct lbr_pick pick;
    (void)state;

    fleet_open(&fleet, "weighted", 2, 1);
    fleet.request.exclude = fleet.targets;
    fleet.request.exclude_len = 1;
    begin(&fleet, &ask, &pick);
    assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, 0)),
                     LBROUTE_REASON_EXCLUDED);
    fleet.request.exclude_len = 0;
    begin(&fleet, &ask, &pick);
    assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, 0)),
                     LBROUTE_REASON_NONE);
    fleet.request.exclude = fleet.targets + 1;
    fleet.request.exclude_len = 1;
    begin(&fleet, &ask, &pick);
    assert_int_equal(lbr_filter_verdict(&pick, target_at(&fleet, 0)),
                     LBROUTE_REASON_NONE);
    fleet_close(&fleet);
}

/* Who is eligible once benching is ignored, if it may be: only when nothing
 * else keeps the last suitable targets out. */
static uint32_t left_without_benches(struct fleet *fleet)
{
    struct lbr_ask ask;
    struct lbr_pick pick;

    begin(fleet, &ask, &pick);
    lbr_group_ensure(pick.group, fleet->now);
    lbr_filter_apply(&pick);
    assert_int_equal(pick.eligible, 0);
    lbr_filter_ignore_benching(&pick);
    assert_true(pick.bench_ignored || pick.eligible == 0);
    return pick.eligible;
}

static void benching_is_ignored_as_a_last_resort(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    set_request(&fleet);
    (void)add_with(&fleet, BIT_BENCHED);
    (void)add_with(&fleet, BIT_BENCHED);
    (void)add_with(&fleet, BIT_BENCHED | BIT_DRAINING);
    (void)add_with(&fleet, BIT_TOO_LARGE);
    assert_int_equal(left_without_benches(&fleet), 2);

    /* A full target that is well comes back soon: waiting helps. */
    fill(&fleet, add_with(&fleet, 0));
    assert_int_equal(left_without_benches(&fleet), 0);
    target_at(&fleet, 4)->in_flight = 0;
    fleet_close(&fleet);
}

static int explain(struct fleet *fleet, struct lbr_rejection *rejection)
{
    struct lbr_ask ask;
    struct lbr_pick pick;

    begin(fleet, &ask, &pick);
    return lbr_filter_explain(&pick, rejection);
}

static void rejections_count_reasons(void **state)
{
    struct lbr_rejection rejection;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    set_request(&fleet);
    assert_int_equal(explain(&fleet, &rejection), LBROUTE_ERR_NO_TARGET);
    assert_int_equal(rejection.main_reason, LBROUTE_REASON_NO_TARGETS);

    (void)add_with(&fleet, BIT_DRAINING);
    (void)add_with(&fleet, BIT_TIER);
    (void)add_with(&fleet, BIT_TIER | BIT_DRAINING);
    assert_int_equal(explain(&fleet, &rejection), LBROUTE_ERR_NO_TARGET);
    assert_int_equal(rejection.main_reason, LBROUTE_REASON_TIER);
    assert_int_equal(rejection.verdicts[LBROUTE_REASON_TIER], 2);
    assert_int_equal(rejection.verdicts[LBROUTE_REASON_DRAINING], 1);
    assert_int_equal(rejection.limit, 0);
    fleet_close(&fleet);
}

/* Full targets that could take the request make waiting worth while; full
 * ones that never could do not. */
static void waiting_for_a_full_target(void **state)
{
    struct lbr_rejection rejection;
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    set_request(&fleet);
    fill(&fleet, add_with(&fleet, BIT_TOO_LARGE));
    assert_int_equal(explain(&fleet, &rejection), LBROUTE_ERR_NO_TARGET);
    assert_int_equal(rejection.limit, 0);

    fill(&fleet, add_with(&fleet, 0));
    fill(&fleet, add_with(&fleet, 0));
    (void)add_with(&fleet, BIT_DRAINING);
    assert_int_equal(explain(&fleet, &rejection), LBROUTE_ERR_SATURATED);
    assert_int_equal(rejection.main_reason, LBROUTE_REASON_SATURATED);
    assert_int_equal(rejection.in_flight, 4);
    assert_int_equal(rejection.limit, 4);
    for (size_t i = 0; i < fleet.count; i++)
        target_at(&fleet, i)->in_flight = 0;
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_in_order),
        cmocka_unit_test(targets_without_a_model),
        cmocka_unit_test(masks_agree_with_verdicts),
        cmocka_unit_test(exclusions_hold_for_one_pick),
        cmocka_unit_test(benching_is_ignored_as_a_last_resort),
        cmocka_unit_test(rejections_count_reasons),
        cmocka_unit_test(waiting_for_a_full_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
