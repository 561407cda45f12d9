/* SPDX-License-Identifier: MIT */
/* What simulated engines publish of their caches: the log, the token ids, the
 * payloads byte for byte, the batches, and what may be said after them. */
#include <stdlib.h>
#include <string.h>

#include "engine_drive.h"
#include "replay/block_tokens.h"
#include "replay/kv_cache.h"
#include "replay/kv_payload.h"
#include "replay/kv_shadow.h"
#include "replay/kv_stream.h"
#include "replay/workload_adapters.h"

#include "support/test.h"

enum { BLOCK = 16 };

/* --- Payloads ------------------------------------------------------------ */

/* Compares the payload with bytes in hexadecimal digits. */
static void assert_bytes(struct kv_payload *payload, const char *digits)
{
    size_t count = strlen(digits) / 2;

    assert_int_equal(payload->length, count);
    for (size_t i = 0; i < count; i++) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};

        assert_int_equal(payload->bytes[i], strtoul(pair, NULL, 16));
    }
    kv_payload_release(payload);
}

/* A batch at 1.0 s of one event. */
static void begin(struct kv_payload *payload)
{
    *payload = (struct kv_payload){0};
    kv_payload_begin(payload, 1.0, 1);
}

static const uint64_t a_hash = UINT64_C(0xdab89baa7b5857c0);
static const uint32_t two_tokens[] = {10, 11};

static struct kv_stored one_block(void)
{
    return (struct kv_stored){.hashes = &a_hash,
                              .hash_count = 1,
                              .tokens = two_tokens,
                              .token_count = 2,
                              .block_size = 2};
}

static void stored_as_array(void **state)
{
    struct kv_stored stored = one_block();
    struct kv_payload payload;

    (void)state;
    stored.has_parent = true;
    stored.parent = 7;
    begin(&payload);
    kv_payload_stored(&payload, KV_FORM_ARRAY, &stored);
    kv_payload_end(&payload, 0);
    assert_bytes(&payload,
                 "93cb3ff0000000000000919bab426c6f636b53746f72656491cfdab89baa"
                 "7b5857c007920a0b02c0a3475055c091c000ae66756c6c5f617474656e74"
                 "696f6e00");
}

static void stored_as_map(void **state)
{
    struct kv_stored stored = one_block();
    struct kv_payload payload;

    (void)state;
    begin(&payload);
    kv_payload_stored(&payload, KV_FORM_MAP, &stored);
    kv_payload_end(&payload, 0);
    assert_bytes(&payload,
                 "93cb3ff00000000000009189a474797065ab426c6f636b53746f726564ac"
                 "626c6f636b5f68617368657391cfdab89baa7b5857c0b1706172656e745f"
                 "626c6f636b5f68617368c0a9746f6b656e5f696473920a0baa626c6f636b"
                 "5f73697a6502a76c6f72615f6964c0a66d656469756da3475055a96c6f72"
                 "615f6e616d65c0a967726f75705f6964780000");
}

/* The name of the adapter stands in the extra keys of each block, too. */
static void stored_under_an_adapter(void **state)
{
    struct kv_stored stored = one_block();
    struct kv_payload payload;

    (void)state;
    stored.adapter = 3;
    stored.adapter_name = "ad";
    begin(&payload);
    kv_payload_stored(&payload, KV_FORM_ARRAY, &stored);
    kv_payload_end(&payload, 0);
    assert_bytes(&payload,
                 "93cb3ff0000000000000919bab426c6f636b53746f72656491cfdab89baa"
                 "7b5857c0c0920a0b0203a3475055a261649191a2616400ae66756c6c5f61"
                 "7474656e74696f6e00");
}

static void removed(void **state)
{
    struct kv_payload payload;

    (void)state;
    begin(&payload);
    kv_payload_removed(&payload, KV_FORM_ARRAY, 1);
    kv_payload_end(&payload, 0);
    assert_bytes(&payload, "93cb3ff00000000000009194ac426c6f636b52656d6f766564"
                           "9101a34750550000");
    begin(&payload);
    kv_payload_removed(&payload, KV_FORM_MAP, 1);
    kv_payload_end(&payload, 0);
    assert_bytes(&payload, "93cb3ff00000000000009184a474797065ac426c6f636b5265"
                           "6d6f766564ac626c6f636b5f6861736865739101a66d656469"
                           "756da3475055a967726f75705f6964780000");
}

/* The shortest form of each number, at both ends of its range. */
static void numbers(void **state)
{
    struct kv_payload payload;
    const uint64_t values[] = {0x7f,   0x80,    0xff,       0x100,
                               0xffff, 0x10000, 0xffffffff, 0x100000000};
    const char *const digits[] = {
        "7f",     "cc80",       "ccff",       "cd0100",
        "cdffff", "ce00010000", "ceffffffff", "cf0000000100000000"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char wanted[128] = "93cb3ff00000000000009194ac426c6f636b52656d6f766564"
                           "91";

        begin(&payload);
        kv_payload_removed(&payload, KV_FORM_ARRAY, values[i]);
        kv_payload_end(&payload, 0);
        strcat(wanted, digits[i]);
        strcat(wanted, "a34750550000");
        assert_bytes(&payload, wanted);
    }
}

/* Sixteen events do not fit into the first byte, nor do 70,000 into two. */
static void lengths(void **state)
{
    struct kv_payload payload = {0};

    (void)state;
    kv_payload_begin(&payload, 1.0, 16);
    assert_bytes(&payload, "93cb3ff0000000000000dc0010");
    kv_payload_begin(&payload, 1.0, 70000);
    assert_bytes(&payload, "93cb3ff0000000000000dd00011170");
}

/* --- Token ids ----------------------------------------------------------- */

static void add(struct workload *work, uint32_t input, uint32_t output,
                const uint32_t *ids, size_t count)
{
    struct work_request request = {.input_tokens = input,
                                   .output_tokens = output,
                                   .follows = WORK_FOLLOWS_NONE};
    size_t prompt = input / BLOCK < count ? input / BLOCK : count;
    const uint32_t *answer = ids ? ids + prompt : NULL;
    struct work_content content = {ids, prompt, answer, count - prompt};

    workload_add(work, &request, &content);
}

/* Ids 0 to |count| - 1 are given to content that requests share. */
static void start(struct workload *work, uint32_t count)
{
    workload_init(work, BLOCK);
    for (uint32_t i = 0; i < count; i++)
        workload_fresh_id(work);
}

/* A prompt of 40 tokens and its answer fill four blocks; the next prompt goes
 * on from there. A third has nothing in common with them. */
static void prompts_are_the_tokens_of_their_blocks(void **state)
{
    const uint32_t ids[] = {0, 1, 2, 3};
    uint32_t first[40];
    uint32_t next[70];
    uint32_t other[40];
    struct workload work;

    (void)state;
    start(&work, 4);
    add(&work, 40, 25, ids, 4);
    add(&work, 70, 5, ids, 4);
    add(&work, 40, 25, NULL, 0);
    block_tokens_prompt(&work, 0, first);
    block_tokens_prompt(&work, 1, next);
    block_tokens_prompt(&work, 2, other);
    assert_memory_equal(first, next, sizeof first);
    for (size_t i = 0; i < 40; i++)
        assert_int_not_equal(first[i], other[i]);
    for (size_t i = 1; i < 70; i++)
        assert_int_not_equal(next[i - 1], next[i]);
    workload_release(&work);
}

static void adapters_leave_tokens_as_they_are(void **state)
{
    struct adapter_options options = {.adapters = 50, .skew = 0.0, .seed = 1};
    const uint32_t ids[] = {0, 1};
    uint32_t tokens[2][2 * BLOCK];
    struct workload work;

    (void)state;
    start(&work, 2);
    add(&work, 2 * BLOCK, 1, ids, 2);
    add(&work, 2 * BLOCK, 1, ids, 2);
    workload_draw_adapters(&work, &options);
    assert_int_not_equal(work.requests[0].adapter, work.requests[1].adapter);
    assert_int_not_equal(work.ids[work.requests[0].first_id],
                         work.ids[work.requests[1].first_id]);
    block_tokens_prompt(&work, 0, tokens[0]);
    block_tokens_prompt(&work, 1, tokens[1]);
    assert_memory_equal(tokens[0], tokens[1], sizeof tokens[0]);
    workload_release(&work);
}

/* --- What a cache notes -------------------------------------------------- */

static void assert_change(const struct kv_log *log, size_t index,
                          enum kv_change_kind kind, uint32_t count,
                          uint32_t parent)
{
    assert_int_equal(log->changes[index].kind, kind);
    assert_int_equal(log->changes[index].count, count);
    assert_int_equal(log->changes[index].parent, parent);
}

static const struct engine_spec plain = {
    .name = "plain",
    .cache_tokens = 4 * BLOCK,
    .fixed_ms = 10.0,
    .token_us = 1000.0,
};

/* Room for four blocks. The first request fills two with its prompt and one
 * with its answer, the second finds one and needs two more: the oldest go, the
 * tail of the chain first. */
static void an_engine_notes_what_it_stores_and_evicts(void **state)
{
    const uint32_t first[] = {0, 1, 2};
    const uint32_t second[] = {0, 3, 4};
    struct kv_log log = {0};
    struct engine_options options = {
        .spec = &plain, .block_tokens = BLOCK, .kv_log = &log};
    const uint32_t wanted[] = {0, 1, 2, 2, 3, 4};
    struct workload work;
    struct drive drive;

    (void)state;
    start(&work, 5);
    add(&work, 32, 17, first, 3);
    add(&work, 48, 1, second, 3);
    work.requests[1].at_s = 10.0;
    options.distinct_ids = work.distinct_ids;
    drive = drive_engine(&options, &work);
    assert_int_equal(drive.times[1].hit_tokens, BLOCK);
    assert_int_equal(log.change_count, 4);
    assert_change(&log, 0, KV_STORED, 2, KV_NO_PARENT);
    assert_change(&log, 1, KV_STORED, 1, 1);
    assert_change(&log, 2, KV_REMOVED, 1, KV_NO_PARENT);
    assert_change(&log, 3, KV_STORED, 2, 0);
    assert_int_equal(log.id_count, 6);
    assert_memory_equal(log.ids, wanted, sizeof wanted);
    drive_release(&drive);
    workload_release(&work);
    kv_log_release(&log);
}

static void count_done(void *context, struct engine_request *request,
                       enum engine_event event)
{
    (void)request;
    *(unsigned *)context += event == ENGINE_DONE;
}

/* A restart in the second step: all is computed again, and only this once. */
static void a_restarted_engine_starts_over(void **state)
{
    const uint32_t ids[] = {0, 1, 2};
    struct kv_log log = {0};
    struct engine_options options = {.spec = &plain,
                                     .block_tokens = BLOCK,
                                     .distinct_ids = 3,
                                     .kv_log = &log};
    struct engine_request request = {
        .ids = ids, .input_tokens = 40, .output_tokens = 2};
    struct engine *engine = engine_create(&options);
    unsigned done = 0;
    double ms;

    (void)state;
    engine_submit(engine, &request);
    assert_true(engine_start_step(engine, &ms));
    engine_finish_step(engine, count_done, &done);
    assert_true(engine_start_step(engine, &ms));
    engine_restart(engine);
    assert_int_equal(engine_running(engine), 0);
    assert_int_equal(engine_waiting(engine), 1);
    assert_true(engine_kv_usage(engine) == 0.0);
    assert_true(engine_start_step(engine, &ms));
    assert_near(ms, 10.0 + 41.0, 1e-9);
    engine_finish_step(engine, count_done, &done);
    assert_int_equal(done, 1);
    assert_int_equal(engine_preemptions(engine), 0);
    assert_int_equal(engine_prefilled(engine), 40 + 41);
    engine_destroy(engine);
    kv_log_release(&log);
}

/* --- Streams and shadows ------------------------------------------------- */

struct fixture {
    struct workload work;
    struct kv_stream stream;
    struct kv_shadow shadow;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    start(&fixture.work, 8);
    kv_stream_init(&fixture.stream, &fixture.work, KV_FORM_MAP, 0);
    kv_shadow_init(&fixture.shadow, &fixture.stream);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    kv_shadow_release(&fixture->shadow);
    kv_stream_release(&fixture->stream);
    workload_release(&fixture->work);
    return 0;
}

/* Publishes that this block was stored at the start of a prompt. */
static void publish_stored(struct fixture *fixture, uint32_t id)
{
    kv_log_stored(&fixture->stream.log, &id, 1, KV_NO_PARENT, 0);
    assert_true(kv_stream_publish(&fixture->stream, 1.0));
}

static void publish_removed(struct fixture *fixture, uint32_t id)
{
    kv_log_removed(&fixture->stream.log, id);
    assert_true(kv_stream_publish(&fixture->stream, 1.0));
}

static void assert_there(const struct fixture *fixture, uint32_t id, bool there)
{
    assert_int_equal(kv_shadow_run(&fixture->shadow, &id, 1), there);
}

static void numbers_begin_anew_with_each_process(void **state)
{
    struct fixture *fixture = *state;
    uint32_t never = 3;

    publish_stored(fixture, 1);
    assert_false(kv_stream_publish(&fixture->stream, 1.0));
    publish_stored(fixture, 2);
    kv_log_stored(&fixture->stream.log, &never, 1, KV_NO_PARENT, 0);
    kv_stream_restart(&fixture->stream);
    publish_stored(fixture, 4);
    assert_int_equal(fixture->stream.count, 3);
    assert_int_equal(fixture->stream.batches[1].seq, 1);
    assert_int_equal(fixture->stream.batches[2].seq, 0);
    for (size_t i = 0; i < 3; i++)
        kv_shadow_arrive(&fixture->shadow, i);
    assert_there(fixture, 1, false);
    assert_there(fixture, never, false);
    assert_there(fixture, 4, true);
}

/* The same batch is the same bytes whenever it is sent; another process has
 * other hashes for the same block. */
static void hashes_belong_to_a_process(void **state)
{
    struct fixture *fixture = *state;
    struct kv_payload payloads[3] = {{0}};

    publish_stored(fixture, 1);
    kv_stream_write(&fixture->stream, 0, &payloads[0]);
    kv_stream_restart(&fixture->stream);
    publish_stored(fixture, 1);
    kv_stream_write(&fixture->stream, 0, &payloads[1]);
    kv_stream_write(&fixture->stream, 1, &payloads[2]);
    assert_int_equal(payloads[0].length, payloads[1].length);
    assert_memory_equal(payloads[0].bytes, payloads[1].bytes,
                        payloads[0].length);
    assert_int_equal(payloads[0].length, payloads[2].length);
    assert_memory_not_equal(payloads[0].bytes, payloads[2].bytes,
                            payloads[0].length);
    for (size_t i = 0; i < 3; i++)
        kv_payload_release(&payloads[i]);
}

static void nothing_is_known_behind_a_gap(void **state)
{
    struct fixture *fixture = *state;

    publish_stored(fixture, 1);
    publish_removed(fixture, 1);
    publish_stored(fixture, 2);
    kv_shadow_arrive(&fixture->shadow, 0);
    assert_there(fixture, 1, true);
    kv_shadow_arrive(&fixture->shadow, 2);
    assert_false(kv_shadow_known(&fixture->shadow));
    assert_there(fixture, 1, false);
    kv_shadow_arrive(&fixture->shadow, 1);
    kv_shadow_arrive(&fixture->shadow, 2);
    assert_true(kv_shadow_known(&fixture->shadow));
    assert_there(fixture, 1, false);
    assert_there(fixture, 2, true);
}

static void copies_count(void **state)
{
    struct fixture *fixture = *state;

    publish_stored(fixture, 1);
    publish_stored(fixture, 1);
    publish_removed(fixture, 1);
    publish_removed(fixture, 1);
    for (size_t i = 0; i < 4; i++) {
        kv_shadow_arrive(&fixture->shadow, i);
        assert_there(fixture, 1, i < 3);
    }
}

static void cleared_it_begins_anywhere(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 4; i++)
        publish_stored(fixture, i);
    kv_shadow_arrive(&fixture->shadow, 0);
    kv_shadow_arrive(&fixture->shadow, 2);
    kv_shadow_clear(&fixture->shadow);
    assert_there(fixture, 0, false);
    kv_shadow_arrive(&fixture->shadow, 3);
    assert_true(kv_shadow_known(&fixture->shadow));
    assert_there(fixture, 2, false);
    assert_there(fixture, 3, true);
}

static void only_a_leading_run_counts(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t stored[] = {1, 2, 4};
    const uint32_t asked[] = {1, 2, 3, 4};

    kv_log_stored(&fixture->stream.log, stored, 3, KV_NO_PARENT, 0);
    assert_true(kv_stream_publish(&fixture->stream, 1.0));
    kv_shadow_arrive(&fixture->shadow, 0);
    assert_int_equal(kv_shadow_run(&fixture->shadow, asked, 4), 2);
    assert_int_equal(kv_shadow_run(&fixture->shadow, asked, 1), 1);
}

static void guesses_end(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t ids[] = {1, 2, 3};

    assert_int_equal(kv_shadow_guessed_run(&fixture->shadow, ids, 3, 0), 0);
    kv_shadow_guess(&fixture->shadow, ids, 2, 10);
    assert_int_equal(kv_shadow_guessed_run(&fixture->shadow, ids, 3, 9), 2);
    assert_int_equal(kv_shadow_guessed_run(&fixture->shadow, ids, 3, 10), 0);
    assert_there(fixture, 1, false);
}

#define with_stream(test)                                                      \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_as_array),
        cmocka_unit_test(stored_as_map),
        cmocka_unit_test(stored_under_an_adapter),
        cmocka_unit_test(removed),
        cmocka_unit_test(numbers),
        cmocka_unit_test(lengths),
        cmocka_unit_test(prompts_are_the_tokens_of_their_blocks),
        cmocka_unit_test(adapters_leave_tokens_as_they_are),
        cmocka_unit_test(an_engine_notes_what_it_stores_and_evicts),
        cmocka_unit_test(a_restarted_engine_starts_over),
        with_stream(numbers_begin_anew_with_each_process),
        with_stream(hashes_belong_to_a_process),
        with_stream(nothing_is_known_behind_a_gap),
        with_stream(copies_count),
        with_stream(cleared_it_begins_anywhere),
        with_stream(only_a_leading_run_counts),
        with_stream(guesses_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
