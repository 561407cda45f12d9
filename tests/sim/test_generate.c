/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "replay/draw.h"
#include "replay/generate.h"

#include "support/test.h"

enum { DRAWS = 200000 };

static void draws_have_their_means(void **state)
{
    struct draw draw = draw_start(1, 2);
    double uniform = 0.0;
    double exponential = 0.0;
    double logarithm = 0.0;
    double trials = 0.0;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        uniform += draw_uniform(&draw) / DRAWS;
        exponential += draw_exponential(&draw, 3.0) / DRAWS;
        logarithm += log(draw_lognormal(&draw, 50.0, 0.5)) / DRAWS;
        trials += (double)draw_geometric(&draw, 5.0) / DRAWS;
    }
    /* Five standard errors each. */
    assert_near(uniform, 0.5, 5.0 * 0.2887 / sqrt(DRAWS));
    assert_near(exponential, 3.0, 5.0 * 3.0 / sqrt(DRAWS));
    assert_near(logarithm, log(50.0), 5.0 * 0.5 / sqrt(DRAWS));
    assert_near(trials, 5.0, 5.0 * sqrt(20.0) / sqrt(DRAWS));
}

static void ranks_are_drawn_by_zipf(void **state)
{
    enum { RANKS = 10 };
    struct draw draw = draw_start(1, 2);
    double counts[RANKS] = {0};
    double sum = 0.0;

    (void)state;
    for (int i = 0; i < DRAWS; i++)
        counts[draw_zipf(&draw, RANKS)]++;
    for (int rank = 0; rank < RANKS; rank++)
        sum += 1.0 / (rank + 1);
    for (int rank = 0; rank < RANKS; rank++) {
        double share = 1.0 / (rank + 1) / sum;

        assert_near(counts[rank] / DRAWS, share,
                    5.0 * sqrt(share * (1.0 - share) / DRAWS));
    }
}

/* A rate of 5 for 200 s. */
static struct generator_options options_of(uint64_t seed)
{
    struct generator_options options = {.rate = 5.0,
                                        .duration_s = 200.0,
                                        .seed = seed,
                                        .documents = 9,
                                        .document_tokens = 10000};

    return options;
}

static void generate(const char *name, uint64_t seed, struct workload *work)
{
    struct generator_options options = options_of(seed);

    assert_non_null(generator_find(name));
    generator_run(generator_find(name), &options, work);
}

/* Of every kind: all requests are sound, times in open loop do not go back,
 * and there are about as many as asked for. */
static void workloads_are_sound(void **state)
{
    struct generator_options options = options_of(3);
    const struct generator *generator;

    (void)state;
    options.rate = 10.0;
    options.duration_s = 500.0;
    for (size_t i = 0; (generator = generator_at(i)) != NULL; i++) {
        struct workload work;
        double last = 0.0;

        generator_run(generator, &options, &work);
        assert_in_real_range((double)work.count, 3500.0, 6500.0);
        for (size_t k = 0; k < work.count; k++) {
            const struct work_request *request = &work.requests[k];

            assert_true(request->input_tokens > 0);
            assert_true(request->output_tokens > 0);
            assert_true(request->first_id + request->prompt_ids <=
                        work.id_count);
            if (request->follows != WORK_FOLLOWS_NONE) {
                assert_true(request->follows < k);
                continue;
            }
            assert_in_real_range(request->at_s, last, 500.0);
            last = request->at_s;
        }
        workload_release(&work);
    }
}

static void equal_seeds_give_equal_workloads(void **state)
{
    struct workload first;
    struct workload second;
    struct workload other;

    (void)state;
    generate("chat", 3, &first);
    generate("chat", 3, &second);
    generate("chat", 4, &other);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(first.requests, second.requests,
                        first.count * sizeof *first.requests);
    assert_memory_equal(first.ids, second.ids,
                        first.id_count * sizeof *first.ids);
    assert_true(first.requests[0].at_s != other.requests[0].at_s);
    workload_release(&first);
    workload_release(&second);
    workload_release(&other);
}

/* The next turn of a conversation holds the prompt and the answer before. */
static void histories_grow(void **state)
{
    struct workload work;
    size_t turns = 0;

    (void)state;
    generate("chat", 3, &work);
    for (size_t i = 0; i < work.count; i++) {
        const struct work_request *now = &work.requests[i];
        const struct work_request *before;
        uint32_t history;

        if (now->follows == WORK_FOLLOWS_NONE)
            continue;
        before = &work.requests[now->follows];
        history = before->input_tokens + before->output_tokens;
        assert_true(now->input_tokens > history);
        assert_int_equal(now->session, before->session);
        for (uint32_t k = 0; k < (history - 1) / work.block_tokens; k++)
            assert_int_equal(work.ids[now->first_id + k],
                             work.ids[before->first_id + k]);
        turns++;
    }
    assert_true(turns > 100);
    workload_release(&work);
}

/* How many leading ids the prompts of two requests have in common. */
static uint32_t common_blocks(const struct workload *work, size_t left,
                              size_t right)
{
    const uint32_t *a = work->ids + work->requests[left].first_id;
    const uint32_t *b = work->ids + work->requests[right].first_id;
    uint32_t count = 0;

    while (count < work->requests[left].prompt_ids &&
           count < work->requests[right].prompt_ids && a[count] == b[count])
        count++;
    return count;
}

/* One question at a time, about each of the nine in turn: 400 tokens of system
 * prompt for all, 10,000 of document, then the question. */
static void documents_take_turns(void **state)
{
    struct workload work;

    (void)state;
    generate("documents", 3, &work);
    assert_int_equal(work.count, 1000);
    assert_int_equal(work.requests[0].follows, WORK_FOLLOWS_NONE);
    for (uint32_t i = 1; i < work.count; i++) {
        assert_int_equal(work.requests[i].follows, i - 1);
        assert_near(work.requests[i].at_s, 0.2, 1e-12);
        assert_int_equal(work.requests[i].session, 0);
        assert_true(work.requests[i].input_tokens > 10400);
        assert_int_equal(common_blocks(&work, i - 1, i), 400 / 16);
        if (i >= 9)
            assert_int_equal(common_blocks(&work, i - 9, i), 10400 / 16);
    }
    workload_release(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_their_means),
        cmocka_unit_test(ranks_are_drawn_by_zipf),
        cmocka_unit_test(workloads_are_sound),
        cmocka_unit_test(equal_seeds_give_equal_workloads),
        cmocka_unit_test(histories_grow),
        cmocka_unit_test(documents_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
