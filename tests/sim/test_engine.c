/* SPDX-License-Identifier: MIT */
/* Small cases computed by hand. A block has 16 tokens; a step takes
 *
 *     10 ms + 1 ms a prefill token + 0.01 ms a token of decode context
 *
 * unless the case says otherwise. */
#include <string.h>

#include "engine_drive.h"

#include "support/test.h"

enum { BLOCK = 16 };

static const struct engine_spec plain = {
    .name = "plain",
    .cache_tokens = 1600,
    .fixed_ms = 10.0,
    .token_us = 1000.0,
    .decode_context_ns = 10000.0,
};

struct fixture {
    struct workload work;
    struct engine_options options;
    struct drive drive;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){0};
    workload_init(&fixture.work, BLOCK);
    fixture.options.spec = &plain;
    fixture.options.block_tokens = BLOCK;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    drive_release(&fixture->drive);
    workload_release(&fixture->work);
    return 0;
}

/* Adds a request whose first |count| blocks are |ids|. */
static void add_known(struct fixture *fixture, double at_ms, uint32_t input,
                      uint32_t output, const uint32_t *ids, size_t count)
{
    struct work_request request = {.at_s = at_ms / 1000.0,
                                   .input_tokens = input,
                                   .output_tokens = output,
                                   .follows = WORK_FOLLOWS_NONE};
    size_t prompt = input / BLOCK < count ? input / BLOCK : count;
    struct work_content content = {ids, prompt, ids, 0};

    if (count > 0) {
        content.answer = ids + prompt;
        content.answer_count = count - prompt;
    }
    workload_add(&fixture->work, &request, &content);
}

static void add(struct fixture *fixture, double at_ms, uint32_t input,
                uint32_t output)
{
    add_known(fixture, at_ms, input, output, NULL, 0);
}

static const struct drive_times *run(struct fixture *fixture)
{
    fixture->options.distinct_ids = fixture->work.distinct_ids;
    fixture->drive = drive_engine(&fixture->options, &fixture->work);
    return fixture->drive.times;
}

/* Prefill of 100 tokens, then decodes on 101 and 102 tokens of context. */
static void one_request(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    add(fixture, 5.0, 100, 3);
    times = run(fixture);
    assert_near(times[0].first_token, 5.0 + 110.0, 1e-9);
    assert_near(times[0].last_token, 115.0 + 11.01 + 11.02, 1e-9);
    assert_int_equal(fixture->drive.steps, 3);
    assert_int_equal(fixture->drive.prefilled, 100);
}

static void one_output_token(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    add(fixture, 0.0, 50, 1);
    times = run(fixture);
    assert_near(times[0].first_token, 60.0, 1e-9);
    assert_near(times[0].last_token, 60.0, 1e-9);
}

/* A budget of 64 tokens cuts 100 into 64 and 36. The chunk's own context costs
 * too: 64 × (0 + 32), then 36 × (64 + 18). */
static void a_long_prompt_comes_in_chunks(void **state)
{
    struct fixture *fixture = *state;
    struct engine_spec spec = plain;
    const struct drive_times *times;

    spec.chunk_context_ns = 1000.0;
    fixture->options.spec = &spec;
    fixture->options.step_tokens = 64;
    add(fixture, 0.0, 100, 1);
    times = run(fixture);
    assert_int_equal(fixture->drive.steps, 2);
    assert_near(times[0].first_token,
                10.0 + 64.0 + 64.0 * 32.0 * 1e-3 + 10.0 + 36.0 +
                    36.0 * 82.0 * 1e-3,
                1e-9);
}

/* The second prompt shares the budget with the decode of the first, which comes
 * first: 1 + 63 tokens, then 1 + 37. */
static void running_requests_come_first(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    fixture->options.step_tokens = 64;
    add(fixture, 0.0, 64, 3);
    add(fixture, 1.0, 100, 1);
    times = run(fixture);
    assert_near(times[0].first_token, 74.0, 1e-9);
    assert_near(times[0].last_token,
                74.0 + (10.0 + 63.0 + 0.65) + (10.0 + 37.0 + 0.66), 1e-9);
    assert_near(times[1].first_token, times[0].last_token, 1e-9);
}

/* Both fit into the first step; the third waits for a seat. */
static void seats_are_limited(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    fixture->options.max_seqs = 2;
    add(fixture, 0.0, 16, 2);
    add(fixture, 0.0, 16, 1);
    add(fixture, 0.0, 16, 1);
    times = run(fixture);
    assert_near(times[1].first_token, 42.0, 1e-9);
    assert_near(times[2].first_token, 42.0 + 10.0 + 16.0 + 0.17, 1e-9);
    assert_near(times[0].last_token, times[2].first_token, 1e-9);
}

/* Each request costs something, whatever it does. */
static void sequences_cost(void **state)
{
    struct fixture *fixture = *state;
    struct engine_spec spec = plain;
    const struct drive_times *times;

    spec.sequence_us = 500.0;
    fixture->options.spec = &spec;
    add(fixture, 0.0, 16, 1);
    add(fixture, 0.0, 16, 1);
    times = run(fixture);
    assert_near(times[1].first_token, 10.0 + 32.0 + 2 * 0.5, 1e-9);
}

/* 40 tokens are two full blocks and a rest of 8. */
static void a_prefix_is_computed_once(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[] = {workload_fresh_id(&fixture->work),
                      workload_fresh_id(&fixture->work)};
    const struct drive_times *times;

    add_known(fixture, 0.0, 40, 1, ids, 2);
    add_known(fixture, 100.0, 40, 1, ids, 2);
    times = run(fixture);
    assert_int_equal(times[0].hit_tokens, 0);
    assert_int_equal(times[1].hit_tokens, 32);
    assert_near(times[1].first_token, 100.0 + 10.0 + 8.0, 1e-9);
}

/* 32 tokens are two full blocks, but the last token must be computed. */
static void the_last_token_is_computed_again(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[] = {workload_fresh_id(&fixture->work),
                      workload_fresh_id(&fixture->work)};
    const struct drive_times *times;

    add_known(fixture, 0.0, 32, 1, ids, 2);
    add_known(fixture, 100.0, 32, 1, ids, 2);
    times = run(fixture);
    assert_int_equal(times[1].hit_tokens, 16);
    assert_near(times[1].first_token, 100.0 + 10.0 + 16.0, 1e-9);
}

/* 16 tokens of prompt and 17 of answer: keys and values exist of 32, since
 * nothing was computed from the last one. */
static void answers_are_cached(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[] = {workload_fresh_id(&fixture->work),
                      workload_fresh_id(&fixture->work)};
    const struct drive_times *times;

    add_known(fixture, 0.0, 16, 17, ids, 2);
    add_known(fixture, 1000.0, 40, 1, ids, 2);
    times = run(fixture);
    assert_int_equal(times[1].hit_tokens, 32);
}

static void a_prefix_is_shared_within_a_step(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[] = {workload_fresh_id(&fixture->work),
                      workload_fresh_id(&fixture->work)};
    const struct drive_times *times;

    add_known(fixture, 0.0, 40, 1, ids, 2);
    add_known(fixture, 0.0, 40, 1, ids, 2);
    times = run(fixture);
    assert_int_equal(times[1].hit_tokens, 32);
    assert_near(times[1].first_token, 10.0 + 40.0 + 8.0, 1e-9);
}

/* Four blocks. Each request starts with two; at 33 tokens the older needs a
 * third and the newer, which is scheduled after it, has to go. It comes back
 * when the older is done, finds its own first block and the second one, and
 * computes the rest again. */
static void the_newest_is_preempted(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    fixture->options.cache_tokens = 4 * BLOCK;
    add(fixture, 0.0, 31, 4);
    add(fixture, 0.0, 31, 4);
    times = run(fixture);
    assert_int_equal(fixture->drive.preemptions, 1);
    /* Prefill of both; a decode of both on 32 tokens; the older alone on 33
     * and 34 tokens. */
    assert_near(times[0].last_token,
                72.0 + (10.0 + 0.64) + (10.0 + 0.33) + (10.0 + 0.34), 1e-9);
    /* The newer knows 33 tokens. The older took its second block, so it finds
     * the first 16 and computes 17; the fourth token is a decode on 34. */
    assert_near(times[1].last_token,
                times[0].last_token + (10.0 + 17.0) + (10.0 + 0.34), 1e-9);
    assert_int_equal(fixture->drive.prefilled, 31 + 31 + 17);
}

/* Four blocks, of which the first request holds two. The second needs three in
 * all, though only one in its first chunk: it waits. */
static void a_prompt_is_admitted_as_a_whole(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    fixture->options.cache_tokens = 4 * BLOCK;
    fixture->options.step_tokens = 32;
    add(fixture, 0.0, 31, 2);
    add(fixture, 0.0, 48, 1);
    times = run(fixture);
    assert_near(times[0].last_token, 41.0 + 10.32, 1e-9);
    assert_near(times[1].first_token, times[0].last_token + 42.0 + 26.0, 1e-9);
    assert_int_equal(fixture->drive.preemptions, 0);
}

/* The head of the queue waits for blocks; a smaller request behind it does not
 * overtake it. */
static void nobody_overtakes(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    fixture->options.cache_tokens = 4 * BLOCK;
    add(fixture, 0.0, 31, 2);
    add(fixture, 0.0, 48, 1);
    add(fixture, 0.0, 1, 1);
    times = run(fixture);
    assert_true(times[2].first_token >= times[1].first_token);
    assert_true(times[1].first_token > times[0].last_token);
}

/* Overlapped engines: max(10, tokens) where tokens counts decodes, too. */
static void fixed_time_hides_tokens(void **state)
{
    struct fixture *fixture = *state;
    struct engine_spec spec = plain;
    const struct drive_times *times;

    spec.overlapped = true;
    fixture->options.spec = &spec;
    add(fixture, 0.0, 100, 2);
    times = run(fixture);
    assert_near(times[0].first_token, 100.0, 1e-9);
    assert_near(times[0].last_token, 100.0 + 10.0 + 1.01, 1e-9);
}

static void too_long_does_not_fit(void **state)
{
    struct fixture *fixture = *state;
    struct engine *engine;

    fixture->options.cache_tokens = 4 * BLOCK + 15;
    engine = engine_create(&fixture->options);
    assert_int_equal(engine_blocks(engine), 4);
    assert_true(engine_fits(engine, 60, 4));
    assert_false(engine_fits(engine, 60, 5));
    assert_false(engine_fits(engine, UINT32_MAX, 2));
    engine_destroy(engine);
}

static void gauges_tell_the_state(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request first = {.input_tokens = 31, .output_tokens = 2};
    struct engine_request second = {.input_tokens = 48, .output_tokens = 1};
    uint32_t ids[] = {0, 1, 2};
    struct engine *engine;
    double ms;

    first.ids = ids;
    second.ids = ids;
    fixture->options.cache_tokens = 4 * BLOCK;
    fixture->options.distinct_ids = 3;
    engine = engine_create(&fixture->options);
    assert_false(engine_start_step(engine, &ms));
    engine_submit(engine, &first);
    engine_submit(engine, &second);
    assert_int_equal(engine_waiting(engine), 2);
    assert_true(engine_start_step(engine, &ms));
    assert_int_equal(engine_running(engine), 2);
    assert_int_equal(engine_waiting(engine), 0);
    /* Two blocks and three, of which they share the first. */
    assert_near(engine_kv_usage(engine), 1.0, 1e-9);
    engine_destroy(engine);
}

/* Tells of each request, by owner, what happened. */
struct told {
    unsigned first[4];
    unsigned done[4];
};

static void note(void *context, struct engine_request *request,
                 enum engine_event event)
{
    struct told *told = context;

    if (event == ENGINE_FIRST_TOKEN)
        told->first[request->owner]++;
    else
        told->done[request->owner]++;
}

/* An engine of four blocks, and requests of 16 tokens and two of output. */
static struct engine *small_engine(struct fixture *fixture,
                                   struct engine_request requests[4])
{
    static const uint32_t ids[] = {0, 1, 2, 3};
    struct engine *engine;

    fixture->options.cache_tokens = 4 * BLOCK;
    fixture->options.distinct_ids = 4;
    engine = engine_create(&fixture->options);
    for (uint32_t i = 0; i < 4; i++)
        requests[i] = (struct engine_request){.ids = &ids[i],
                                              .input_tokens = BLOCK,
                                              .output_tokens = 2,
                                              .owner = i};
    return engine;
}

static void run_out(struct engine *engine, struct told *told)
{
    double ms;

    while (engine_start_step(engine, &ms))
        engine_finish_step(engine, note, told);
}

/* Head, middle and tail of the queue may go; who is left runs, and a new tail
 * is found. */
static void waiting_ones_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request requests[4];
    struct engine *engine = small_engine(fixture, requests);

    for (uint32_t gone = 0; gone < 3; gone++) {
        struct told told = {{0}, {0}};

        for (uint32_t i = 0; i < 3; i++)
            engine_submit(engine, &requests[i]);
        engine_cancel(engine, &requests[gone]);
        assert_int_equal(engine_waiting(engine), 2);
        engine_submit(engine, &requests[3]);
        run_out(engine, &told);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(told.first[i], i != gone);
            assert_int_equal(told.done[i], i != gone);
        }
    }
    engine_destroy(engine);
}

/* In the step under way it yields no token, and its blocks are free; the block
 * that it filled can still be found. */
static void a_running_one_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request requests[4];
    struct engine *engine = small_engine(fixture, requests);
    struct told told = {{0}, {0}};
    double ms;

    requests[2].input_tokens = BLOCK + 1;
    requests[2].ids = requests[0].ids;
    engine_submit(engine, &requests[0]);
    engine_submit(engine, &requests[1]);
    assert_true(engine_start_step(engine, &ms));
    engine_cancel(engine, &requests[0]);
    assert_int_equal(engine_running(engine), 1);
    assert_near(engine_kv_usage(engine), 0.25, 1e-9);
    engine_finish_step(engine, note, &told);
    engine_submit(engine, &requests[2]);
    run_out(engine, &told);
    assert_int_equal(told.first[0] + told.done[0], 0);
    assert_int_equal(told.done[1], 1);
    assert_int_equal(requests[2].hit_tokens, BLOCK);
    assert_near(engine_kv_usage(engine), 0.0, 1e-9);
    engine_destroy(engine);
}

/* The head waits for blocks; once it went, the one behind it need not. */
static void a_blocked_head_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request requests[4];
    struct engine *engine = small_engine(fixture, requests);
    struct told told = {{0}, {0}};
    static const uint32_t ids[] = {1, 2, 3};
    double ms;

    requests[0].output_tokens = 16;
    requests[1].input_tokens = 4 * BLOCK - 1;
    requests[1].output_tokens = 1;
    requests[1].ids = ids;
    engine_submit(engine, &requests[0]);
    engine_submit(engine, &requests[1]);
    engine_submit(engine, &requests[2]);
    assert_true(engine_start_step(engine, &ms));
    assert_int_equal(engine_waiting(engine), 2);
    engine_finish_step(engine, note, &told);
    engine_cancel(engine, &requests[1]);
    assert_true(engine_start_step(engine, &ms));
    assert_int_equal(engine_running(engine), 2);
    engine_finish_step(engine, note, &told);
    run_out(engine, &told);
    assert_int_equal(told.done[1], 0);
    assert_int_equal(told.done[0] + told.done[2], 2);
    engine_destroy(engine);
}

/* One slot: the other adapter's request runs as soon as it is given back. */
static void cancelling_gives_the_adapter_slot_back(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request requests[4];
    struct engine *engine;
    struct told told = {{0}, {0}};
    double ms;

    fixture->options.adapter_slots = 1;
    engine = small_engine(fixture, requests);
    requests[0].adapter = 1;
    requests[1].adapter = 2;
    engine_submit(engine, &requests[0]);
    engine_submit(engine, &requests[1]);
    assert_true(engine_start_step(engine, &ms));
    assert_int_equal(engine_waiting(engine), 1);
    engine_cancel(engine, &requests[0]);
    engine_finish_step(engine, note, &told);
    run_out(engine, &told);
    assert_int_equal(told.done[1], 1);
    engine_destroy(engine);
}

static void every_engine_has_a_name_and_a_size(void **state)
{
    const struct engine_spec *spec;
    size_t count = 0;

    (void)state;
    for (; (spec = engine_spec_at(count)) != NULL; count++) {
        assert_ptr_equal(engine_spec_find(spec->name, strlen(spec->name)),
                         spec);
        assert_true(spec->cache_tokens > 0);
        assert_true(spec->fixed_ms > 0.0);
    }
    assert_int_equal(count, 6);
    assert_null(engine_spec_find("8b", 2));
}

#define ENGINE_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(one_request),
        ENGINE_TEST(one_output_token),
        ENGINE_TEST(a_long_prompt_comes_in_chunks),
        ENGINE_TEST(running_requests_come_first),
        ENGINE_TEST(seats_are_limited),
        ENGINE_TEST(sequences_cost),
        ENGINE_TEST(a_prefix_is_computed_once),
        ENGINE_TEST(the_last_token_is_computed_again),
        ENGINE_TEST(answers_are_cached),
        ENGINE_TEST(a_prefix_is_shared_within_a_step),
        ENGINE_TEST(the_newest_is_preempted),
        ENGINE_TEST(a_prompt_is_admitted_as_a_whole),
        ENGINE_TEST(nobody_overtakes),
        ENGINE_TEST(fixed_time_hides_tokens),
        ENGINE_TEST(too_long_does_not_fit),
        ENGINE_TEST(gauges_tell_the_state),
        ENGINE_TEST(waiting_ones_can_be_cancelled),
        ENGINE_TEST(a_running_one_can_be_cancelled),
        ENGINE_TEST(a_blocked_head_can_be_cancelled),
        ENGINE_TEST(cancelling_gives_the_adapter_slot_back),
        ENGINE_TEST(every_engine_has_a_name_and_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
