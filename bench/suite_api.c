/* SPDX-License-Identifier: MIT */
/*
 * Calls beside pick and observe:
 *
 *     explain.N           the answer with the verdict on all N candidates
 *     decision_header     all response headers of one decision
 */
#include "fleet.h"

#include <stdlib.h>

typedef struct explainer {
    bench_fleet *fleet;
    lbroute_candidate *candidates;
    size_t capacity;
} explainer;

static void *open_explain(const bench_case *test)
{
    explainer *self = bench_alloc(1, sizeof *self);

    self->fleet = bench_fleet_open(test);
    self->capacity = test->targets;
    self->candidates = bench_alloc(self->capacity, sizeof *self->candidates);
    for (size_t i = 0; i < self->capacity; i++)
        lbroute_candidate_init(&self->candidates[i],
                               sizeof self->candidates[i]);
    return self;
}

static void work_explain(void *fixture, unsigned lane_number,
                         uint64_t operations)
{
    explainer *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];
    size_t count = 0;

    for (uint64_t i = 0; i < operations; i++)
        bench_check(lbroute_explain(lane->router, &lane->request, lane->now,
                                    &lane->decision, self->candidates,
                                    self->capacity, &count),
                    "explain");
    bench_keep(count + lane->decision.target);
}

static void close_explain(void *fixture)
{
    explainer *self = fixture;

    bench_fleet_close(self->fleet);
    free(self->candidates);
    free(self);
}

static const bench_kind explain = {
    .open = open_explain, .work = work_explain, .close = close_explain};

static size_t write_headers(bench_lane *lane)
{
    char name[LBROUTE_NAME_MAX + 64];
    char value[4 * LBROUTE_NAME_MAX];
    size_t name_len;
    size_t value_len;
    size_t sum = 0;

    for (size_t i = 0;; i++) {
        int result = lbroute_decision_header(lane->router, &lane->decision, i,
                                             name, sizeof name, &name_len,
                                             value, sizeof value, &value_len);

        if (result == LBROUTE_ERR_NOT_FOUND)
            return sum;
        bench_check(result, "decision_header");
        sum += name_len + value_len;
    }
}

static void *open_headers(const bench_case *test)
{
    return bench_fleet_open(test);
}

static void work_headers(void *fixture, unsigned lane_number,
                         uint64_t operations)
{
    bench_fleet *fleet = fixture;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < operations; i++)
        sum += write_headers(fleet->lanes[lane_number]);
    bench_keep(sum);
}

static void close_headers(void *fixture)
{
    bench_fleet_close(fixture);
}

static const bench_kind headers = {
    .open = open_headers, .work = work_headers, .close = close_headers};

void bench_suite_api(bench_list *list)
{
    bench_case *test;

    for (size_t i = 0; i < BENCH_SIZES; i++) {
        test = bench_list_add_sized(list, &explain, "explain", bench_sizes[i]);
        test->strategy = "least_connections";
    }
    test = bench_list_add(list, &headers, "decision_header");
    test->strategy = "sticky_session";
    test->targets = 10;
}
