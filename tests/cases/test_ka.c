/* SPDX-License-Identifier: MIT */
/* Field reports KA: KV aware. A block is 256 bytes of text. */
#include <string.h>

#include "prompts.h"
#include "shares.h"
#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2
#define D 3

#define MATCH LBROUTE_RULE_KV_AWARE
#define TURN LBROUTE_RULE_WEIGHTED

enum { BLOCK = 256 };

static void open_ka(struct fleet *fleet, size_t targets, double capacity)
{
    fleet_open(fleet, "kv_aware", targets, 1);
    if (capacity > 0)
        fleet_param(fleet, "kv_aware.capacity", capacity);
}

/* Checks rule and matched blocks of the last decision. */
static void expect_blocks(const struct fleet *fleet, int rule, int64_t matched)
{
    const lbroute_decision *decision = &fleet->decision;

    assert_string_equal(lbroute_rule_name(decision->rule),
                        lbroute_rule_name(rule));
    assert_int_equal(decision->prefix_matched, matched);
    assert_int_equal(decision->prefix_total, fleet->request.prompt_len / BLOCK);
}

/* ---- KA-02 ---- */

/* A prompt of one block that only |number| decides. */
static void send_one_block(struct fleet *fleet, const char *client,
                           uint64_t number)
{
    static unsigned char text[BLOCK];

    prompt_fill(text, sizeof text, number);
    prompt_set(fleet, text, sizeof text);
    fleet_client(fleet, client);
    assert_true(fleet_serve(fleet) != FLEET_NONE);
}

static void expect_within(struct fleet *fleet, double capacity)
{
    size_t clients;

    assert_true(share_sum(fleet, A, &clients) <= capacity + 1e-6);
    assert_true(fleet_stats(fleet, A).prefix_blocks <= (uint64_t)capacity);
}

/* A client that was silent was favoured when it came back, and held its share
 * while it was away. */
static void ka_02_idle_clients_and_ghosts(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 1, 12);
    for (uint64_t i = 0; i < 4; i++)
        send_one_block(&fleet, "b", 100 + i);
    share_expect(&fleet, A, "b", 4, 12);
    fleet.now += TEST_H;
    share_expect(&fleet, A, "b", 4, 0);
    for (uint64_t i = 0; i < 12; i++) {
        send_one_block(&fleet, "a", 200 + i);
        expect_within(&fleet, 12);
    }
    share_expect(&fleet, A, "a", 12, 12);
    share_expect(&fleet, A, "b", 0, 0);
    for (uint64_t i = 0; i < 6; i++) {
        send_one_block(&fleet, "c", 300 + i);
        expect_within(&fleet, 12);
    }
    share_expect(&fleet, A, "a", 6, 6);
    share_expect(&fleet, A, "c", 6, 6);
    for (uint64_t i = 0; i < 20; i++) {
        send_one_block(&fleet, "b", 400 + i);
        expect_within(&fleet, 12);
    }
    share_expect(&fleet, A, "a", 4, 4);
    share_expect(&fleet, A, "b", 4, 4);
    share_expect(&fleet, A, "c", 4, 4);
    fleet_close(&fleet);
}

/* ---- KA-04 ---- */

/* Without a match the tie went to the same targets. */
static void ka_04_unrelated_prompts_spread(void **state)
{
    enum { TARGETS = 5, PICKS = 500, OPEN = 64 };
    static unsigned char text[2048];
    struct fleet fleet, twin;
    (void)state;

    open_ka(&fleet, TARGETS, 0);
    fleet_open(&twin, "weighted", TARGETS, 1);
    prompt_set(&fleet, text, sizeof text);
    for (size_t i = 0; i < PICKS; i++) {
        prompt_fill(text, sizeof text, i);
        assert_int_equal(fleet_pick(&fleet), fleet_pick(&twin));
        expect_blocks(&fleet, TURN, 0);
        if (i >= OPEN) {
            size_t oldest = fleet.held[0].index;
            fleet_settle(&fleet, oldest, LBROUTE_EVENT_SUCCESS);
            fleet_settle(&twin, oldest, LBROUTE_EVENT_SUCCESS);
        }
    }
    for (size_t i = 0; i < TARGETS; i++)
        assert_int_equal(fleet.picks[i], PICKS / TARGETS);
    fleet_close(&fleet);
    fleet_close(&twin);
}

/* ---- KA-05 ---- */

/* The history did not count, and equal scores were decided by chance. */
static void ka_05_conversation_stays(void **state)
{
    enum { TURNS = 12, MORE = 512 };
    static unsigned char text[TURNS * MORE];
    struct fleet fleet;
    size_t home = FLEET_NONE;
    (void)state;

    open_ka(&fleet, 2, 0);
    prompt_fill(text, sizeof text, 1);
    for (size_t i = 0; i < TURNS; i++) {
        size_t index;
        fleet.now += TEST_S;
        prompt_set(&fleet, text, (i + 1) * MORE);
        index = fleet_serve(&fleet);
        expect_blocks(&fleet, i == 0 ? TURN : MATCH, (int64_t)(2 * i));
        if (i == 0)
            home = index;
        assert_int_equal(index, home);
    }
    fleet_close(&fleet);
}

/* ---- KA-06 ---- */

static void hold_loads(struct fleet *fleet, const size_t loads[4])
{
    for (size_t i = 0; i < 4; i++)
        fleet_hold(fleet, i, loads[i]);
}

static size_t pick_with_loads(size_t a, int64_t matched)
{
    static unsigned char text[10 * BLOCK];
    const size_t loads[4] = {a, 2, 3, 8};
    struct fleet fleet;
    size_t index;

    open_ka(&fleet, 4, 0);
    hold_loads(&fleet, loads);
    prompt_fill(text, sizeof text, 1);
    prompt_warm(&fleet, A, text, sizeof text);
    prompt_warm(&fleet, C, text, 6 * BLOCK);
    prompt_set(&fleet, text, sizeof text);
    index = fleet_pick(&fleet);
    expect_blocks(&fleet, MATCH, matched);
    fleet_close(&fleet);
    return index;
}

/* The shortest queue won outright. The window holds who has at most 2 more than
 * the least busy, or at most 1.5 times as much: 3 against 2 is inside. */
static void ka_06_nearly_idle_holder(void **state)
{
    (void)state;
    assert_int_equal(pick_with_loads(9, 6), C);
    assert_int_equal(pick_with_loads(3, 10), A);
}

/* ---- KA-07 ---- */

/* Two blocks: S, and one that only |number| decides. */
static void set_branch(struct fleet *fleet, uint64_t number)
{
    static unsigned char text[2 * BLOCK];

    prompt_fill(text, BLOCK, 1);
    prompt_fill(text + BLOCK, BLOCK, 100 + number);
    prompt_set(fleet, text, sizeof text);
}

static int64_t known_of_branch(struct fleet *fleet, uint64_t number)
{
    set_branch(fleet, number);
    return (int64_t)prompt_known_blocks(fleet, A, fleet->request.prompt,
                                        fleet->request.prompt_len);
}

/* The head that all branches share went before long private ends. */
static void ka_07_common_head_goes_last(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ka(&fleet, 1, 6);
    fleet_client(&fleet, "a");
    for (uint64_t i = 1; i <= 6; i++) {
        set_branch(&fleet, i);
        fleet_serve(&fleet);
    }
    assert_int_equal(known_of_branch(&fleet, 1), 1);
    for (uint64_t i = 2; i <= 6; i++)
        assert_int_equal(known_of_branch(&fleet, i), 2);
    set_branch(&fleet, 7);
    fleet_serve(&fleet);
    expect_blocks(&fleet, TURN, 1);
    assert_int_equal(known_of_branch(&fleet, 2), 1);
    share_expect(&fleet, A, "a", 6, 6);

    /* Split between those who use it. */
    fleet_client(&fleet, "b");
    set_branch(&fleet, 7);
    fleet_serve(&fleet);
    share_expect(&fleet, A, "a", 5, 3);
    share_expect(&fleet, A, "b", 1, 3);
    fleet_close(&fleet);
}

/* ---- long prompts in rotation ---- */

enum { DOCUMENTS = 9, LENGTH = 40 * BLOCK, ROUNDS = 5, ROOM = 5 };

/* What one target's cache of ROOM documents holds, least recently used out. */
struct cache {
    size_t count;
    size_t documents[ROOM];
};

static int is_cached(struct cache *cache, size_t document)
{
    size_t at = 0;
    int found;

    while (at < cache->count && cache->documents[at] != document)
        at++;
    found = at < cache->count;
    if (!found && cache->count < ROOM)
        cache->count++;
    if (at == cache->count)
        at--;
    memmove(&cache->documents[1], &cache->documents[0],
            at * sizeof cache->documents[0]);
    cache->documents[0] = document;
    return found;
}

/* Requests whose document the target still had. */
static size_t count_reuse(const char *strategy, size_t *most)
{
    static unsigned char text[LENGTH];
    struct cache caches[2] = {{0, {0}}, {0, {0}}};
    struct fleet fleet;
    size_t reused = 0;

    fleet_open(&fleet, strategy, 2, 1);
    fleet_param(&fleet, "kv_aware.capacity", ROOM * LENGTH / BLOCK);
    prompt_set(&fleet, text, sizeof text);
    for (size_t i = 0; i < ROUNDS * DOCUMENTS; i++) {
        prompt_fill(text, sizeof text, 1 + i % DOCUMENTS);
        reused +=
            (size_t)is_cached(&caches[fleet_serve(&fleet)], i % DOCUMENTS);
    }
    *most = fleet.picks[A] > fleet.picks[B] ? fleet.picks[A] : fleet.picks[B];
    fleet_close(&fleet);
    return reused;
}

/* Nine long documents are asked about in turn; two targets have room for five
 * each. In rotation each has to take up all nine, and has lost what it is asked
 * for; by affinity together they have them all. */
static void ka_documents_in_rotation(void **state)
{
    const size_t requests = ROUNDS * DOCUMENTS;
    size_t most;
    (void)state;

    assert_true(count_reuse("weighted", &most) * 20 <= requests);
    assert_true(count_reuse("kv_aware", &most) * 10 >= 7 * requests);
    assert_true(most * 10 <= 6 * requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ka_02_idle_clients_and_ghosts),
        cmocka_unit_test(ka_04_unrelated_prompts_spread),
        cmocka_unit_test(ka_05_conversation_stays),
        cmocka_unit_test(ka_06_nearly_idle_holder),
        cmocka_unit_test(ka_07_common_head_goes_last),
        cmocka_unit_test(ka_documents_in_rotation),
    };
    return cmocka_run_group_tests_name("KA", tests, NULL, NULL);
}
