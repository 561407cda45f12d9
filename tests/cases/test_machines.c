/* SPDX-License-Identifier: MIT */
/* The same calls come to the same on every machine: decisions, to the last bit
 * of their scores, and what a snapshot says of them, byte by byte. The figures
 * below are those of amd64; tools/test-cross runs this on a machine of 32 bits,
 * on a big-endian one and on Windows. They change with the rules of strategies
 * and the format of snapshots, and with nothing else.
 *
 * Two things are not: where numbers are compared or hashed byte by byte, as
 * token ids always are, their bytes are those of the machine; and so are hashes
 * of blocks that a snapshot tells of prompts. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#define DECISIONS UINT64_C(0x5abe1593d4985793)
#define SNAPSHOT UINT64_C(0x95e0bc4bf9422cee)

#define TARGETS 3
#define REQUESTS 600
#define BLOCKS 40
#define BLOCK_BYTES 16

static const char *const strategies[] = {
    "kv_aware",    "least_work",        "precise_cache_aware",
    "cache_aware", "predicted_latency", "weighted",
    "pipeline",    "consistent_hash"};

#define POOLS (sizeof strategies / sizeof strategies[0])
#define BLOCK_POOLS 3 /* the first so many compare blocks … */
#define HASH_POOLS 2  /* … and of these so many keep hashes of prompts */

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
    size_t first; /* pool that is used */
    lbroute_pool pools[POOLS];
    lbroute_target resident[TARGETS]; /* in the pool that hears of blocks */
    uint64_t blocks[BLOCKS];
    char text[BLOCK_BYTES * BLOCKS];
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

static void open_run(struct run *run, size_t first)
{
    memset(run, 0, sizeof *run);
    run->first = first;
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
static void describe(struct run *run, int as_blocks)
{
    uint32_t which = (uint32_t)test_rng_below(&run->rng, 12);
    size_t length = BLOCKS / 4 + test_rng_below(&run->rng, BLOCKS * 3 / 4);
    lbroute_request *request = &run->fleet.request;

    for (size_t i = 0; i < BLOCKS; i++)
        run->blocks[i] = i < 5 ? i : ((uint64_t)which << 40) + i;
    for (size_t i = 0; i < sizeof run->text; i++)
        run->text[i] = (char)('a' + (i < 80 ? i : i * (which + 1)) % 26);
    request->prompt = run->text;
    request->prompt_len = BLOCK_BYTES * length;
    request->blocks = as_blocks ? run->blocks : NULL;
    request->blocks_len = request->blocks ? length : 0;
    request->session = run->text + which;
    request->session_len = 5;
    request->client = run->text + which % 4;
    request->client_len = 3;
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
    event.blocks = run->blocks;
    event.block_count = 4;
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
    size_t pool = run->first + test_rng_below(&run->rng, POOLS - run->first);
    size_t index;

    run->fleet.now += test_rng_below(&run->rng, 100) * TEST_MS;
    run->fleet.pool = run->pools[pool];
    run->fleet.request.pool = run->fleet.pool;
    describe(run, pool < BLOCK_POOLS);
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

static void expect(const char *what, uint64_t value, uint64_t wanted)
{
    if (value == wanted)
        return;
    print_error("%s: 0x%08lx%08lx\n", what, (unsigned long)(value >> 32),
                (unsigned long)(value & UINT32_MAX));
    fail();
}

/* Serves requests, and gives the digest of the decisions or of a snapshot. */
static uint64_t digest_of_run(size_t first, int of_snapshot)
{
    static struct run run;
    uint64_t result;

    open_run(&run, first);
    for (int i = 0; i < REQUESTS; i++)
        serve_one(&run);
    result = of_snapshot ? snapshot_of(&run.fleet) : run.decisions;
    fleet_settle_all(&run.fleet, LBROUTE_EVENT_CANCEL);
    fleet_close(&run.fleet);
    return result;
}

static void decisions(void **state)
{
    (void)state;
    expect("decisions", digest_of_run(0, 0), DECISIONS);
}

static void snapshots(void **state)
{
    (void)state;
    expect("snapshot", digest_of_run(HASH_POOLS, 1), SNAPSHOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),
        cmocka_unit_test(snapshots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
