/* SPDX-License-Identifier: MIT */
/* The same calls come to the same on every machine: decisions, to the last bit
 * of their scores, and what a snapshot says of them, byte by byte. The figures
 * below are those of amd64; tools/test-cross runs this on a machine of 32 bits,
 * on a big-endian one and on Windows. They change with the rules of strategies
 * and the format of snapshots, and with nothing else. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define DECISIONS UINT64_C(0x42a6d669a0fed2a6)
#define SNAPSHOT UINT64_C(0x4aec1466da4f400d)

#define TARGETS 3
#define REQUESTS 600
#define TOKENS 160

static const char *const strategies[] = {
    "cache_aware", "kv_aware",          "precise_cache_aware",
    "least_work",  "predicted_latency", "weighted",
    "pipeline",    "consistent_hash"};

#define POOLS (sizeof strategies / sizeof strategies[0])

/* FNV-1a, 64 bits: of bytes, so that it is itself the same everywhere. */
static uint64_t digest(uint64_t before, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;

    while (length--)
        before = (before ^ *next++) * UINT64_C(0x100000001b3);
    return before;
}

/* Numbers as bytes, least significant first. */
static uint64_t digest_u64(uint64_t before, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 8) {
        unsigned char byte = (unsigned char)number;

        before = digest(before, &byte, 1);
    }
    return before;
}

/* NaN is NaN, whatever its sign. */
static uint64_t digest_real(uint64_t before, double number)
{
    uint64_t bits = UINT64_MAX;

    if (number == number)
        memcpy(&bits, &number, sizeof bits);
    return digest_u64(before, bits);
}

struct run {
    struct fleet fleet;
    struct test_rng rng;
    lbroute_pool pools[POOLS];
    lbroute_target resident[TARGETS]; /* in the pool that hears of blocks */
    uint32_t tokens[TOKENS];
    char text[4 * TOKENS];
    uint64_t decisions;
};

static void add_targets(struct run *run, size_t pool)
{
    for (size_t i = 0; i < TARGETS; i++) {
        char name[32];
        size_t index;

        (void)snprintf(name, sizeof name, "%s-%u", strategies[pool],
                       (unsigned)i);
        index = fleet_add_named(&run->fleet, name);
        fleet_set_weight(&run->fleet, index, 1 + (double)i / 3);
        if (strcmp(strategies[pool], "precise_cache_aware") == 0)
            run->resident[i] = run->fleet.targets[index];
    }
}

static void open_run(struct run *run)
{
    memset(run, 0, sizeof *run);
    run->rng.state = 1;
    run->decisions = UINT64_C(0xcbf29ce484222325);
    fleet_open(&run->fleet, strategies[0], 0, 1);
    for (size_t i = 0; i < POOLS; i++) {
        run->pools[i] =
            i ? fleet_add_pool(&run->fleet, strategies[i], strategies[i])
              : run->fleet.pool;
        add_targets(run, i);
    }
}

/* One of some conversations, at some length. */
static void describe(struct run *run)
{
    uint32_t which = (uint32_t)test_rng_below(&run->rng, 12);
    size_t length = 40 + test_rng_below(&run->rng, TOKENS - 40);

    for (size_t i = 0; i < TOKENS; i++)
        run->tokens[i] = i < 20 ? (uint32_t)i : 1000 * which + (uint32_t)i;
    for (size_t i = 0; i < sizeof run->text; i++)
        run->text[i] = (char)('a' + (i < 80 ? i : i * (which + 1)) % 26);
    run->fleet.request.prompt = run->text;
    run->fleet.request.prompt_len = 4 * length;
    run->fleet.request.tokens =
        test_rng_below(&run->rng, 2) ? run->tokens : NULL;
    run->fleet.request.tokens_len = run->fleet.request.tokens ? length : 0;
    run->fleet.request.session = run->text + which;
    run->fleet.request.session_len = 5;
    run->fleet.request.client = run->text + which % 4;
    run->fleet.request.client_len = 3;
}

static void tell_of_blocks(struct run *run)
{
    size_t source = test_rng_below(&run->rng, TARGETS);
    uint64_t names[4];
    lbroute_kv_event event;
    lbroute_kv_batch batch;
    lbroute_kv_result result;

    for (size_t i = 0; i < 4; i++)
        names[i] = test_rng_below(&run->rng, 1000);
    lbroute_kv_event_init(&event, sizeof event);
    event.kind = LBROUTE_KV_STORED;
    event.hashes = names;
    event.hash_count = 4;
    event.tokens = run->tokens;
    event.token_count = 64;
    event.block_size = 16;
    lbroute_kv_batch_init(&batch, sizeof batch);
    batch.events = &event;
    batch.event_count = 1;
    lbroute_kv_result_init(&result, sizeof result);
    assert_int_equal(lbroute_kv_apply(run->fleet.router, run->resident[source],
                                      0, &batch, run->fleet.now, &result),
                     0);
}

static void note_decision(struct run *run, size_t index)
{
    const lbroute_decision *decision = &run->fleet.decision;

    run->decisions = digest_u64(run->decisions, index);
    run->decisions = digest_u64(run->decisions, (uint64_t)decision->rule);
    run->decisions =
        digest_u64(run->decisions, (uint64_t)decision->prefix_matched);
    run->decisions = digest_real(run->decisions, decision->load);
    run->decisions = digest_real(run->decisions, decision->score);
}

static void serve_one(struct run *run)
{
    uint64_t first = (1 + test_rng_below(&run->rng, 300)) * TEST_MS;
    size_t index;

    run->fleet.now += test_rng_below(&run->rng, 100) * TEST_MS;
    run->fleet.pool = run->pools[test_rng_below(&run->rng, POOLS)];
    run->fleet.request.pool = run->fleet.pool;
    describe(run);
    tell_of_blocks(run);
    index = fleet_pick(&run->fleet);
    assert_true(index != FLEET_NONE);
    note_decision(run, index);
    if (test_rng_below(&run->rng, 3))
        fleet_answer_last(&run->fleet, first,
                          first + test_rng_below(&run->rng, 900) * TEST_MS);
    else if (test_rng_below(&run->rng, 3) == 0)
        fleet_settle_last(&run->fleet, LBROUTE_EVENT_FAILURE);
}

static uint64_t snapshot_of(struct fleet *fleet)
{
    static unsigned char bytes[1 << 22];
    size_t length;

    assert_int_equal(lbroute_snapshot(fleet->router, fleet->now, bytes,
                                      sizeof bytes, &length),
                     0);
    return digest(UINT64_C(0xcbf29ce484222325), bytes, length);
}

static void the_same_everywhere(void **state)
{
    static struct run run;
    uint64_t snapshot;
    (void)state;

    open_run(&run);
    for (int i = 0; i < REQUESTS; i++)
        serve_one(&run);
    snapshot = snapshot_of(&run.fleet);
    fleet_settle_all(&run.fleet, LBROUTE_EVENT_CANCEL);
    fleet_close(&run.fleet);
    if (run.decisions != DECISIONS || snapshot != SNAPSHOT)
        print_error("decisions 0x%08lx%08lx, snapshot 0x%08lx%08lx\n",
                    (unsigned long)(run.decisions >> 32),
                    (unsigned long)(run.decisions & UINT32_MAX),
                    (unsigned long)(snapshot >> 32),
                    (unsigned long)(snapshot & UINT32_MAX));
    assert_true(run.decisions == DECISIONS);
    assert_true(snapshot == SNAPSHOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
