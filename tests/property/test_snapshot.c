/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: what comes back is what was there, and bytes that are no snapshot
 * change nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "learned.h"
#include "prng.h"

enum { PROGRAMS = 6, STEPS = 4000 };
#define BEGIN (UINT64_C(1000000) * SECOND)

static const struct gateway_options usual = {1, 9, 0, TIGHT_PROMPTS};
static const struct gateway_options other_order = {77, 9, 5, TIGHT_PROMPTS};

static void check_all_there(const struct gateway *gateway,
                            const lbroute_restore_result *result)
{
    CHECK_U(result->targets, gateway->pools * LEARNED_TARGETS);
    CHECK_U(result->targets_unknown + result->targets_kept, 0);
    CHECK_I(result->same_key, 1);
    CHECK(result->prefix_bytes > 0 && result->sessions > 0);
    CHECK(result->kv_sources > 0 && result->kv_blocks > 0);
    CHECK(result->prices > 0);
    CHECK_U(result->prefix_bytes_skipped + result->sessions_skipped, 0);
    CHECK_U(result->kv_sources_skipped + result->kv_blocks_skipped, 0);
    CHECK_U(result->prices_skipped + result->sections_skipped, 0);
}

/* Both say the same now. */
static void check_same_snapshot(const struct gateway *a,
                                const struct gateway *b)
{
    size_t lengths[2];
    uint8_t *first = gateway_snapshot(a, &lengths[0]);
    uint8_t *second = gateway_snapshot(b, &lengths[1]);

    CHECK_U(lengths[1], lengths[0]);
    CHECK(same_bytes(first, lengths[0], second, lengths[1]));
    free(first);
    free(second);
}

/* Starts |after| with what |before| has learned. */
static void restart(struct gateway *before, struct gateway *after)
{
    size_t length;
    uint8_t *bytes = gateway_snapshot(before, &length);
    lbroute_restore_result result;

    gateway_start(after, &other_order, before->now);
    result = gateway_restore(after, bytes, length, 0);
    check_all_there(after, &result);
    free(bytes);
}

/* By another seed, and targets in another order: the second snapshot is the
 * first. What both say of all candidates is the same, and stays so while they
 * live alike. Reports of load are not kept: they have faded by then. */
static void a_restart_keeps_all(void **state)
{
    (void)state;
    for (uint64_t program = 1; program <= scaled(PROGRAMS); program++) {
        struct gateway before;
        struct gateway after;
        check_context("restart", program);
        gateway_start(&before, &usual, BEGIN);
        gateway_live(&before, program, STEPS, 0);
        restart(&before, &after);
        check_same_snapshot(&before, &after);
        before.now += 25 * SECOND;
        after.now += 25 * SECOND;
        check_same_snapshot(&before, &after);
        gateways_compare(&before, &after, program, 400);
        gateway_live(&before, program + 1000, STEPS, 1);
        gateway_live(&after, program + 1000, STEPS, 1);
        check_same_snapshot(&before, &after);
        gateways_compare(&before, &after, program, 400);
        gateway_end(&before);
        gateway_end(&after);
    }
}

/* ---- bytes that are no snapshot ---- */

static const struct gateway_options small = {5, 9, 2, TIGHT_PROMPTS};

/* Bytes are refused, and nothing changed. */
static void check_refused(struct gateway *gateway, const uint8_t *bytes,
                          size_t length, int code)
{
    lbroute_restore_result result;
    char untouched[sizeof result];

    lbroute_restore_result_init(&result, sizeof result);
    memcpy(untouched, &result, sizeof result);
    CHECK_I(lbroute_restore(gateway->router, bytes, length, gateway->now, 0,
                            &result),
            code);
    CHECK(memcmp(untouched, &result, sizeof result) == 0);
}

/* A snapshot of a gateway that has lived for a while, and one that waits for
 * it. */
struct pair {
    struct gateway from, to;
    uint8_t *bytes;
    size_t length;
    uint8_t *empty; /* what the second one says before anything */
    size_t empty_length;
};

static void open_pair(struct pair *pair, const struct gateway_options *options,
                      uint64_t seed, size_t steps)
{
    gateway_start(&pair->from, &usual, BEGIN);
    gateway_live(&pair->from, seed, steps, 0);
    pair->bytes = gateway_snapshot(&pair->from, &pair->length);
    gateway_start(&pair->to, options, pair->from.now);
    pair->empty = gateway_snapshot(&pair->to, &pair->empty_length);
}

static void close_pair(struct pair *pair)
{
    free(pair->bytes);
    free(pair->empty);
    gateway_end(&pair->from);
    gateway_end(&pair->to);
}

static void check_untouched(const struct pair *pair)
{
    size_t length;
    uint8_t *bytes = gateway_snapshot(&pair->to, &length);

    CHECK(same_bytes(bytes, length, pair->empty, pair->empty_length));
    free(bytes);
}

static void every_changed_byte_is_noticed(void **state)
{
    struct pair pair;
    (void)state;

    open_pair(&pair, &other_order, 3, 1500);
    for (size_t i = 0; i < pair.length; i++) {
        uint8_t was = pair.bytes[i];
        check_step(i);
        pair.bytes[i] ^= (uint8_t)(1 << i % 8);
        check_refused(&pair.to, pair.bytes, pair.length, LBROUTE_ERR_FORMAT);
        pair.bytes[i] = was;
    }
    check_untouched(&pair);
    close_pair(&pair);
}

static void every_cut_is_noticed(void **state)
{
    struct pair pair;
    (void)state;

    open_pair(&pair, &other_order, 3, 400);
    for (size_t i = 0; i < pair.length; i++) {
        uint8_t *cut = malloc(i + 1);
        check_step(i);
        CHECK(cut != NULL);
        memcpy(cut, pair.bytes, i);
        check_refused(&pair.to, cut, i, LBROUTE_ERR_FORMAT);
        mend_snapshot(cut, i);
        if (i > 32 && lbroute_restore(pair.to.router, cut, i, pair.to.now, 0,
                                      NULL) == LBROUTE_OK) {
            /* Cut between two sections: what is left is one. */
            gateway_end(&pair.to);
            gateway_start(&pair.to, &other_order, pair.from.now);
        } else if (i % 64 == 0) {
            check_untouched(&pair);
        }
        free(cut);
    }
    check_untouched(&pair);
    close_pair(&pair);
}

/* With the checksum put right, bytes are refused with nothing changed, or are a
 * snapshot of something: then the gateway can say so, restore what it says, and
 * live on. */
static void whatever_the_bytes_say(void **state)
{
    struct pair pair;
    struct rng rng;
    size_t accepted = 0;
    size_t rounds = scaled(3000);
    (void)state;

    open_pair(&pair, &small, 4, 1200);
    rng_seed(&rng, 9);
    for (size_t i = 0; i < rounds; i++) {
        uint8_t *bytes = malloc(pair.length);
        check_step(i);
        CHECK(bytes != NULL);
        memcpy(bytes, pair.bytes, pair.length);
        for (uint32_t n = rng_between(&rng, 1, 4); n; n--)
            bytes[32 + rng_below(&rng, (uint32_t)pair.length - 32)] =
                (uint8_t)rng_below(&rng, 256);
        mend_snapshot(bytes, pair.length);
        if (lbroute_restore(pair.to.router, bytes, pair.length, pair.to.now, 0,
                            NULL) == LBROUTE_OK) {
            size_t length;
            accepted++;
            free(gateway_snapshot(&pair.to, &length));
            gateway_live(&pair.to, i, 100, 0);
            gateway_end(&pair.to);
            gateway_start(&pair.to, &small, pair.from.now);
        } else {
            check_untouched(&pair);
        }
        free(bytes);
    }
    CHECK(accepted > rounds / 50 && accepted < rounds);
    close_pair(&pair);
}

/* ---- memory ---- */

/* Restores while the call for memory with that number fails. Returns whether
 * there were as many. */
static int restore_without(struct pair *pair, uint64_t call)
{
    lbroute_restore_result result;
    int code;

    pair->to.heap.fail_at = pair->to.heap.calls + call;
    lbroute_restore_result_init(&result, sizeof result);
    code = lbroute_restore(pair->to.router, pair->bytes, pair->length,
                           pair->to.now, 0, &result);
    pair->to.heap.fail_at = 0;
    if (code == LBROUTE_OK) {
        check_all_there(&pair->to, &result);
        return 0;
    }
    CHECK_I(code, LBROUTE_ERR_NO_MEMORY);
    CHECK_U(result.targets + result.prefix_bytes, 0);
    check_untouched(pair);
    return 1;
}

/* Without memory somewhere on the way nothing has changed, and it can be done
 * again; once there is enough, everything is there. */
static void all_or_nothing(void **state)
{
    struct pair pair;
    uint64_t calls = 0;
    (void)state;

    open_pair(&pair, &other_order, 8, 1500);
    while (restore_without(&pair, ++calls)) {
        check_step(calls);
        if (calls % 3 == 0) {
            CHECK(!restore_without(&pair, UINT64_MAX / 2));
            check_same_snapshot(&pair.from, &pair.to);
        }
        gateway_end(&pair.to);
        gateway_start(&pair.to, &other_order, pair.from.now);
    }
    CHECK(calls > 50);
    check_same_snapshot(&pair.from, &pair.to);
    close_pair(&pair);
}

/* The same of the snapshot itself. */
static void a_snapshot_without_memory(void **state)
{
    struct pair pair;
    uint64_t calls = 0;
    int code;
    (void)state;

    open_pair(&pair, &other_order, 8, 1500);
    do {
        size_t length = 12345;
        pair.from.heap.fail_at = pair.from.heap.calls + ++calls;
        code = lbroute_snapshot(pair.from.router, pair.from.now, pair.bytes,
                                pair.length, &length);
        pair.from.heap.fail_at = 0;
        if (code == LBROUTE_OK)
            break;
        CHECK_I(code, LBROUTE_ERR_NO_MEMORY);
        CHECK_U(length, 12345);
    } while (calls < 1000);
    CHECK(calls > 4);
    CHECK_I(lbroute_restore(pair.to.router, pair.bytes, pair.length,
                            pair.to.now, 0, NULL),
            LBROUTE_OK);
    check_same_snapshot(&pair.from, &pair.to);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_keeps_all),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(whatever_the_bytes_say),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(a_snapshot_without_memory),
    };
    return cmocka_run_group_tests_name("snapshot", tests, check_use_cmocka,
                                       NULL);
}
