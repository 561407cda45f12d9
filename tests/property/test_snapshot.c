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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_keeps_all),
    };
    return cmocka_run_group_tests_name("snapshot", tests, check_use_cmocka,
                                       NULL);
}
