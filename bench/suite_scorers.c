/* SPDX-License-Identifier: MIT */
/*
 * What a scorer of the host's own adds to a pick of `pipeline`:
 *
 *     pick.pipeline_scorer.N             one that gives each target its load
 *     pick.pipeline_scorer.N.2threads    two threads on one router
 */
#include "fleet.h"

static int give_load(void *user, const lbroute_score_request *request,
                     const lbroute_candidate *candidates, size_t count,
                     double *scores)
{
    (void)user;
    (void)request;
    for (size_t i = 0; i < count; i++)
        scores[i] = 1 / (1 + candidates[i].load);
    return 0;
}

static void register_scorer(const bench_lane *lane)
{
    lbroute_scorer_options options;
    lbroute_scorer scorer;

    lbroute_scorer_options_init(&options, sizeof options);
    options.name = "load";
    options.name_len = 4;
    options.score = give_load;
    bench_check(lbroute_scorer_register(lane->router, lane->request.pool,
                                        &options, &scorer),
                "scorer");
}

static void *open_scored(const bench_case *test)
{
    bench_fleet *fleet = bench_fleet_open(test);

    register_scorer(fleet->lanes[0]);
    return fleet;
}

static void work_scored(void *fixture, unsigned lane_number,
                        uint64_t operations)
{
    bench_fleet *fleet = fixture;
    bench_lane *lane = fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++)
        bench_lane_step(lane);
    bench_keep(lane->decision.ticket);
}

static void close_scored(void *fixture)
{
    bench_fleet_close(fixture);
}

static const bench_kind scored = {
    .open = open_scored, .work = work_scored, .close = close_scored};

void bench_suite_scorers(bench_list *list)
{
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        bench_case *test = bench_list_add_sized(
            list, &scored, "pick.pipeline_scorer", bench_sizes[i]);

        test->strategy = "pipeline";
        test = bench_list_add_sized(list, &scored, "pick.pipeline_scorer",
                                    bench_sizes[i]);
        bench_case_vary(test, ".2threads");
        test->strategy = "pipeline";
        test->lanes = 2;
        bench_case_compare(test, BENCH_COMPARE_THROUGHPUT,
                           "pick.pipeline_scorer");
    }
}
