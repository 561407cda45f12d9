/* SPDX-License-Identifier: MIT */
/* Field reports CH: consistent hash ring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fleet.h"
#include "support/rng.h"
#include "support/test.h"

#include "models/ring.h"

/* ---- maps of keys to targets ---- */

/* The target of session k|i| under the current pool. */
static size_t owner_of(struct fleet *fleet, size_t key)
{
    char session[32];
    size_t index;

    snprintf(session, sizeof session, "k%zu", key);
    fleet_session(fleet, session);
    index = fleet_pick_frozen(fleet);
    fleet_session(fleet, NULL);
    assert_true(index != FLEET_NONE);
    return index;
}

/* Where each of |keys| sessions goes; the caller frees the map. */
static size_t *map_of(struct fleet *fleet, size_t keys)
{
    size_t *map = malloc(keys * sizeof *map);

    assert_non_null(map);
    for (size_t i = 0; i < keys; i++)
        map[i] = owner_of(fleet, i);
    return map;
}

static void open_ring(struct fleet *fleet, size_t targets)
{
    fleet_open(fleet, "consistent_hash", targets, 77);
}

/* ---- the reported cases ---- */

/* Points that depended on the number of hosts moved the keys of hosts that
 * nobody touched. */
static void ch_01_removal_moves_other_keys(void **state)
{
    enum { KEYS = 20000 };
    size_t *first, *without, *again, *eleven, moved = 0;
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 10);
    first = map_of(&fleet, KEYS);
    fleet_remove(&fleet, 3);
    without = map_of(&fleet, KEYS);
    fleet_add_again(&fleet, 3);
    again = map_of(&fleet, KEYS);
    fleet_add(&fleet);
    eleven = map_of(&fleet, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        assert_true(without[i] != 3);
        assert_true(first[i] == 3 || without[i] == first[i]);
        assert_true(eleven[i] == 10 || eleven[i] == first[i]);
        moved += eleven[i] == 10;
    }
    assert_memory_equal(again, first, KEYS * sizeof *first);
    assert_in_real_range((double)moved / KEYS, 0.06, 0.13);
    free(first);
    free(without);
    free(again);
    free(eleven);
    fleet_close(&fleet);
}

/* A ring seen from inside: owners are numbered as they came and have names
 * that say who they are. */
struct bare_ring {
    struct lbr_ring ring;
    struct lbr_memory memory;
    char names[16][24];
};

static struct lbr_text bare_name(void *user, uint32_t owner)
{
    struct bare_ring *bare = user;
    return lbr_text(bare->names[owner], strlen(bare->names[owner]));
}

static void bare_open(struct bare_ring *bare, unsigned hash_bits)
{
    static const lbroute_allocator heap = {NULL, NULL, NULL};
    memset(bare, 0, sizeof *bare);
    lbr_memory_init(&bare->memory, &heap);
    lbr_ring_init(&bare->ring, &bare->memory, hash_bits, bare_name, bare);
}

static void bare_add(struct bare_ring *bare, uint32_t owner, const char *name)
{
    snprintf(bare->names[owner], sizeof bare->names[owner], "%s", name);
    assert_true(lbr_ring_add(&bare->ring, owner, LBR_RING_POINTS));
}

static void bare_remove(struct bare_ring *bare, uint32_t owner)
{
    lbr_ring_remove(&bare->ring, owner, LBR_RING_POINTS);
}

/* Name of the owner of a key, then of the owners of the points behind it. */
static const char *bare_owner(struct bare_ring *bare, uint64_t key,
                              size_t behind)
{
    uint32_t slot = lbr_ring_find(&bare->ring, key);

    assert_true(slot != LBR_RING_NONE);
    for (size_t i = 0; i < behind; i++)
        slot = lbr_ring_next(&bare->ring, slot);
    return bare->names[lbr_ring_owner(&bare->ring, slot)];
}

static void expect_same_rings(struct bare_ring *a, struct bare_ring *b,
                              size_t keys)
{
    struct test_rng rng = {99};

    assert_int_equal(a->ring.points, b->ring.points);
    for (size_t i = 0; i < keys; i++) {
        uint64_t key = test_rng_next(&rng);
        for (size_t behind = 0; behind < 3; behind++)
            assert_string_equal(bare_owner(a, key, behind),
                                bare_owner(b, key, behind));
    }
}

/* Where hashes collided the last one to come won, so the order of arrival
 * decided and a point was lost. */
static void ch_03_collisions_follow_arrival(void **state)
{
    static const char *const names[8] = {"A", "B", "C", "D",
                                         "E", "F", "G", "H"};
    static const uint32_t shuffled[8] = {4, 1, 7, 0, 6, 3, 5, 2};
    struct bare_ring one, two, three;
    (void)state;

    bare_open(&one, 12);
    bare_open(&two, 12);
    bare_open(&three, 12);
    for (uint32_t i = 0; i < 8; i++) {
        bare_add(&one, i, names[i]);
        bare_add(&two, i, names[7 - i]);
        bare_add(&three, i, names[shuffled[i]]);
    }
    bare_remove(&three, 2);
    bare_remove(&three, 5);
    bare_add(&three, 5, names[shuffled[2]]);
    bare_add(&three, 2, names[shuffled[5]]);
    assert_int_equal(one.ring.points, 8 * LBR_RING_POINTS);
    expect_same_rings(&one, &two, 20000);
    expect_same_rings(&one, &three, 20000);
    lbr_ring_destroy(&one.ring);
    lbr_ring_destroy(&two.ring);
    lbr_ring_destroy(&three.ring);
}

/* Checks the shares of ten targets with the names |name_format| gives over
 * |keys| sessions. */
static void check_spread(const char *prefix, size_t first, size_t keys)
{
    char text[64];
    struct fleet fleet;

    open_ring(&fleet, 0);
    for (size_t i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "%s%zu", prefix, first + i);
        fleet_add_named(&fleet, text);
    }
    for (size_t i = 1; i <= keys; i++) {
        snprintf(text, sizeof text, "/products/sku-%zu", i);
        fleet_session(&fleet, text);
        fleet_pick_frozen(&fleet);
    }
    for (size_t i = 0; i < 10; i++)
        assert_in_real_range((double)fleet.picks[i] / (double)keys, 0.06, 0.15);
    fleet_close(&fleet);
}

/* A single point for each of ten similar names gave one of them 94 %. */
static void ch_04_one_point_per_target(void **state)
{
    (void)state;
    check_spread("http://127.0.0.1:90", 10, 100000);
    check_spread("http://127.0.0.1:", 9001, 100000);
}

/* Adds a target in tier |tier| whose handle goes to its letter's index. */
static void add_lettered(struct fleet *fleet, size_t letter, double weight,
                         const char *tier)
{
    lbroute_target_options options;
    char name[32];

    fleet_target_options(fleet, &options);
    fleet_name(letter, name);
    options.name = name;
    options.name_len = strlen(name);
    options.weight = weight;
    options.tier = tier;
    options.tier_len = strlen(tier);
    fleet_add_options(fleet, &options);
}

/* Map by letter, for a fleet whose indexes are not in the order of letters. */
static void letters_of(struct fleet *fleet, size_t keys, char *letters)
{
    for (size_t i = 0; i < keys; i++) {
        owner_of(fleet, i);
        letters[i] = fleet->decision.target_name[0];
    }
    letters[keys] = '\0';
}

/* Rings that followed the weights differed between clients that had been told
 * different ones. */
static void ch_06_rings_follow_weights(void **state)
{
    enum { KEYS = 5000 };
    static const double weights[3] = {2, 3, 1};
    static const size_t order[3] = {2, 0, 1};
    static char one[KEYS + 1], two[KEYS + 1], three[KEYS + 1];
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 3);
    letters_of(&fleet, KEYS, one);
    fleet_close(&fleet);

    open_ring(&fleet, 0);
    for (size_t i = 0; i < 3; i++)
        fleet_add_weight(&fleet, weights[i]);
    letters_of(&fleet, KEYS, two);
    assert_string_equal(two, one);
    /* Weights count only where somebody says so. */
    fleet_param(&fleet, "consistent_hash.weighted_points", 1);
    letters_of(&fleet, KEYS, two);
    assert_string_not_equal(two, one);
    fleet_close(&fleet);

    open_ring(&fleet, 0);
    for (size_t i = 0; i < 3; i++)
        add_lettered(&fleet, order[i], 1, "gold");
    fleet.request.tier = "gold";
    fleet.request.tier_len = 4;
    fleet_hold(&fleet, 0, 20);
    fleet_gauge(&fleet, 1, LBROUTE_GAUGE_RUNNING, 50);
    fleet_gauge(&fleet, 2, LBROUTE_GAUGE_KV_USAGE, 0.99);
    letters_of(&fleet, KEYS, three);
    assert_string_equal(three, one);
    fleet_close(&fleet);
}

/* Picks 200 conversations that |tell_apart| makes different, twice. */
static void check_conversations(char *text, size_t len, char *tell_apart,
                                int as_conversation)
{
    size_t first[200];
    struct fleet fleet;

    open_ring(&fleet, 4);
    for (size_t i = 0; i < 400; i++) {
        size_t index;
        memset(tell_apart, 0, 32);
        snprintf(tell_apart, 32, "question number %zu", i % 200);
        fleet.request.prompt = text;
        fleet.request.prompt_len = as_conversation ? 2000 : len;
        fleet.request.conversation = as_conversation ? text : NULL;
        fleet.request.conversation_len = as_conversation ? len : 0;
        index = fleet_pick_frozen(&fleet);
        assert_true(index != FLEET_NONE);
        if (i < 200)
            first[i] = index;
        else
            assert_int_equal(index, first[i - 200]);
    }
    for (size_t i = 0; i < 4; i++)
        assert_in_real_range((double)fleet.picks[i] / 400, 0.12, 0.40);
    fleet_close(&fleet);
}

/* A cut of the first 32 bytes stood in for a hash, so all behind one template
 * shared a key. */
static void ch_08_key_is_a_prefix(void **state)
{
    static char text[2000 + 4000];
    (void)state;

    memset(text, 's', sizeof text);
    /* One system prompt and many questions. */
    check_conversations(text, 2032, text + 2000, 0);
    /* Equal texts; what differs is an image or tool result further on. */
    check_conversations(text, sizeof text, text + 5000, 1);
}

/* Sessions got lost on one path, and a key of its own for each request sent a
 * conversation all over the fleet. */
static void ch_09_session_ignored(void **state)
{
    static const char *const turns[5] = {
        "[id 81] hello", "[id 17] hello, again", "[id 4] hello, again and",
        "[id 23] hello, again and again,",
        "[id 99] hello, again and again, bye"};
    struct fleet fleet;
    char session[8];
    size_t seen[4] = {0}, distinct = 0, home;
    (void)state;

    open_ring(&fleet, 4);
    fleet_session(&fleet, "s1");
    fleet_prompt(&fleet, turns[0]);
    home = fleet_serve(&fleet);
    for (size_t i = 1; i < 5; i++) {
        fleet_prompt(&fleet, turns[i]);
        assert_int_equal(fleet_serve(&fleet), home);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_CONSISTENT_HASH);
    }
    fleet_prompt(&fleet, turns[0]);
    for (int i = 2; i <= 21; i++) {
        snprintf(session, sizeof session, "s%d", i);
        fleet_session(&fleet, session);
        seen[fleet_serve(&fleet)]++;
    }
    for (size_t i = 0; i < 4; i++)
        distinct += seen[i] > 0;
    assert_true(distinct >= 2);
    fleet_close(&fleet);
}

/* ---- more of the same kind ---- */

/* Whatever happens to targets, a key moves only away from those that are gone
 * or to those that came: three hundred random changes. */
static void ch_kind_random_membership(void **state)
{
    enum { TARGETS = 12, KEYS = 1500 };
    struct test_rng rng = {21};
    struct fleet fleet;
    int present[TARGETS];
    size_t *before, *after;
    (void)state;

    open_ring(&fleet, TARGETS);
    for (size_t i = 0; i < TARGETS; i++)
        present[i] = 1;
    before = map_of(&fleet, KEYS);
    for (int change = 0; change < 60; change++) {
        size_t i = test_rng_below(&rng, TARGETS - 1);
        if (present[i])
            fleet_remove(&fleet, i);
        else
            fleet_add_again(&fleet, i);
        present[i] = !present[i];
        after = map_of(&fleet, KEYS);
        for (size_t k = 0; k < KEYS; k++)
            assert_true(after[k] == before[k] ||
                        (present[i] ? after[k] == i : before[k] == i));
        free(before);
        before = after;
    }
    free(before);
    fleet_close(&fleet);
}

/* What a removed target leaves is spread over the others, not handed to one
 * neighbour; the same for one that is drained, benched or excluded. */
static void ch_kind_orphans_are_spread(void **state)
{
    enum { KEYS = 20000 };
    (void)state;

    for (int way = 0; way < 4; way++) {
        size_t *first, *then, moved[6] = {0}, total = 0;
        struct fleet fleet;
        open_ring(&fleet, 6);
        first = map_of(&fleet, KEYS);
        if (way == 0)
            fleet_remove(&fleet, 2);
        if (way == 1)
            fleet_drain(&fleet, 2, 1);
        if (way == 2)
            fleet_bench(&fleet, 2, TEST_H);
        if (way == 3) {
            fleet.request.exclude = &fleet.targets[2];
            fleet.request.exclude_len = 1;
        }
        then = map_of(&fleet, KEYS);
        for (size_t i = 0; i < KEYS; i++) {
            assert_true(first[i] == 2 ? then[i] != 2 : then[i] == first[i]);
            if (first[i] == 2) {
                moved[then[i]]++;
                total++;
            }
        }
        for (size_t i = 0; i < 6; i++)
            assert_in_real_range((double)moved[i] / (double)total,
                                 i == 2 ? 0 : 0.05, i == 2 ? 0 : 0.4);
        free(first);
        free(then);
        fleet_close(&fleet);
    }
}

/* An owner that is out passes its keys on under the rule's own name, and has
 * them back, under all ways to be out, as soon as it can serve. */
static void ch_kind_owner_comes_back(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct fleet fleet;
        size_t owner;
        open_ring(&fleet, 5);
        owner = owner_of(&fleet, 1);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_CONSISTENT_HASH);
        if (way == 0)
            fleet_drain(&fleet, owner, 1);
        if (way == 1)
            fleet_bench(&fleet, owner, TEST_S);
        if (way == 2)
            fleet_hold(&fleet, owner, 32);
        assert_true(owner_of(&fleet, 1) != owner);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_RING_NEXT);
        if (way == 0)
            fleet_drain(&fleet, owner, 0);
        if (way == 1)
            fleet.now += TEST_S;
        if (way == 2)
            fleet_settle(&fleet, owner, LBROUTE_EVENT_SUCCESS);
        assert_int_equal(owner_of(&fleet, 1), owner);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_CONSISTENT_HASH);
        fleet_close(&fleet);
    }
}

/* Updates, scrapes, failures and successes do not move a key. */
static void ch_kind_update_storm(void **state)
{
    enum { KEYS = 1000 };
    size_t *first, *then;
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 7);
    first = map_of(&fleet, KEYS);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 7; i++) {
            fleet_reapply(&fleet, i);
            fleet_set_weight(&fleet, i, 0.5 + (double)((i + 3) % 5));
            fleet_gauge(&fleet, i, LBROUTE_GAUGE_RUNNING, (double)(i * 7));
            fleet_send(&fleet, i, LBROUTE_EVENT_FAILURE);
            fleet_send(&fleet, i, LBROUTE_EVENT_SUCCESS);
        }
        fleet_strategy(&fleet, "consistent_hash");
        fleet.now += TEST_S;
    }
    then = map_of(&fleet, KEYS);
    assert_memory_equal(then, first, KEYS * sizeof *first);
    free(first);
    free(then);
    fleet_close(&fleet);
}

/* Order of arrival leaves no trace at the full hash either, nor does a change
 * of strategy and back. */
static void ch_kind_order_of_arrival(void **state)
{
    enum { KEYS = 3000, TARGETS = 20 };
    static char one[KEYS + 1], two[KEYS + 1];
    struct test_rng rng = {4};
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, TARGETS);
    letters_of(&fleet, KEYS, one);
    fleet_strategy(&fleet, "random");
    fleet_serve(&fleet);
    fleet_strategy(&fleet, "consistent_hash");
    letters_of(&fleet, KEYS, two);
    assert_string_equal(two, one);
    fleet_close(&fleet);

    for (int round = 0; round < 5; round++) {
        size_t letters[TARGETS];
        for (size_t i = 0; i < TARGETS; i++)
            letters[i] = i;
        open_ring(&fleet, 0);
        for (size_t left = TARGETS; left > 0; left--) {
            size_t at = test_rng_below(&rng, left);
            add_lettered(&fleet, letters[at], 1, "");
            letters[at] = letters[left - 1];
        }
        letters_of(&fleet, KEYS, two);
        assert_string_equal(two, one);
        fleet_close(&fleet);
    }
}

/* Fewer bits still: every hash collides, and nothing is lost. */
static void ch_kind_collisions_at_every_width(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 16; bits++) {
        struct bare_ring one, two;
        char name[24];
        bare_open(&one, bits);
        bare_open(&two, bits);
        for (uint32_t i = 0; i < 16; i++) {
            snprintf(name, sizeof name, "node-%u", (unsigned)i);
            bare_add(&one, i, name);
            snprintf(name, sizeof name, "node-%u", (unsigned)(15 - i));
            bare_add(&two, i, name);
        }
        for (uint32_t i = 0; i < 16; i += 3) {
            bare_remove(&two, i);
            snprintf(name, sizeof name, "node-%u", (unsigned)(15 - i));
            bare_add(&two, i, name);
        }
        expect_same_rings(&one, &two, 500);
        for (uint32_t i = 0; i < 16; i++) {
            bare_remove(&one, i);
            bare_remove(&two, 15 - i);
            if (i < 15)
                expect_same_rings(&one, &two, 50);
        }
        assert_int_equal(one.ring.points, 0);
        assert_int_equal(lbr_ring_find(&one.ring, 1), LBR_RING_NONE);
        lbr_ring_destroy(&one.ring);
        lbr_ring_destroy(&two.ring);
    }
}

/* Shares stay even for names of every shape that differ in one place. */
static void ch_kind_similar_names(void **state)
{
    (void)state;
    check_spread("", 0, 20000);
    check_spread("n", 990, 20000);
    check_spread("10.0.0.", 1, 20000);
    check_spread("gpu-worker-with-a-rather-long-name-0000000000", 0, 20000);
}

/* The session wins over client, conversation and prompt; the conversation over
 * the prompt. */
static void ch_kind_precedence_of_keys(void **state)
{
    struct fleet fleet;
    char text[32];
    size_t home;
    (void)state;

    open_ring(&fleet, 8);
    fleet_session(&fleet, "one session");
    home = fleet_pick_frozen(&fleet);
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "text %d", i);
        fleet_client(&fleet, text);
        fleet_prompt(&fleet, text);
        fleet.request.conversation = text;
        fleet.request.conversation_len = strlen(text);
        assert_int_equal(fleet_pick_frozen(&fleet), home);
    }
    fleet_session(&fleet, NULL);
    fleet.request.conversation = "one conversation";
    fleet.request.conversation_len = 16;
    home = fleet_pick_frozen(&fleet);
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "text %d", i);
        fleet_prompt(&fleet, text);
        assert_int_equal(fleet_pick_frozen(&fleet), home);
    }
    fleet_close(&fleet);
}

/* Every byte of a key counts, at the front, in the middle and at the end, at
 * all lengths, zero bytes included. */
static void ch_kind_every_byte_of_the_key_counts(void **state)
{
    static const size_t lengths[] = {1, 8, 31, 32, 33, 255, 256, 257, 70000};
    static char text[70000];
    (void)state;

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t places[3] = {0, lengths[l] / 2, lengths[l] - 1};
        for (size_t p = 0; p < 3; p++) {
            struct fleet fleet;
            memset(text, 0, sizeof text);
            open_ring(&fleet, 4);
            for (int value = 0; value < 256; value++) {
                text[places[p]] = (char)value;
                fleet.request.session = text;
                fleet.request.session_len = lengths[l];
                fleet_pick_frozen(&fleet);
            }
            for (size_t i = 0; i < 4; i++)
                assert_in_real_range((double)fleet.picks[i] / 256, 0.08, 0.45);
            fleet_close(&fleet);
        }
    }
}

/* Routers with seeds of their own agree once they share a digest key. */
static void ch_kind_routers_share_a_key(void **state)
{
    enum { KEYS = 2000 };
    static char one[KEYS + 1], two[KEYS + 1];
    struct fleet fleet;
    lbroute_router_options options;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    memset(options.digest_key, 0x5c, sizeof options.digest_key);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        options.seed = seed;
        fleet_open_options(&fleet, &options, "consistent_hash");
        for (size_t i = 0; i < 5; i++)
            fleet_add(&fleet);
        letters_of(&fleet, KEYS, seed == 1 ? one : two);
        if (seed > 1)
            assert_string_equal(two, one);
        fleet_close(&fleet);
    }
}

/* With a bound on the load one hot key may not fill its owner: it is sent on
 * under the rule's own name, and nobody passes the bound. */
static void ch_kind_bounded_load(void **state)
{
    struct fleet fleet;
    size_t owner, spilled = 0;
    (void)state;

    open_ring(&fleet, 4);
    fleet_param(&fleet, "consistent_hash.bounded", 1);
    fleet_session(&fleet, "hot");
    owner = fleet_explain(&fleet);
    for (size_t total = 1; total <= 100; total++) {
        size_t index = fleet_pick(&fleet);
        double bound = 1.25 * (double)total / 4;
        assert_true(index != FLEET_NONE);
        spilled += index != owner;
        assert_int_equal(fleet.decision.rule, index == owner
                                                  ? LBROUTE_RULE_CONSISTENT_HASH
                                                  : LBROUTE_RULE_RING_NEXT);
        assert_true((double)fleet_in_flight(&fleet, index) < bound + 1);
    }
    assert_true(spilled > 50);
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(fleet_pick(&fleet), owner);
    fleet_close(&fleet);
}

/* Weighted points, once asked for, follow the weights; equal weights give the
 * plain ring. */
static void ch_kind_weighted_points(void **state)
{
    enum { KEYS = 20000 };
    static const double weights[3] = {1, 2, 5};
    size_t *plain, *equal;
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 3);
    plain = map_of(&fleet, KEYS);
    fleet_param(&fleet, "consistent_hash.weighted_points", 1);
    equal = map_of(&fleet, KEYS);
    assert_memory_equal(equal, plain, KEYS * sizeof *plain);
    for (size_t i = 0; i < 3; i++)
        fleet_set_weight(&fleet, i, weights[i]);
    fleet_reset_picks(&fleet);
    for (size_t i = 0; i < KEYS; i++)
        owner_of(&fleet, i);
    for (size_t i = 0; i < 3; i++)
        assert_near((double)fleet.picks[i] / KEYS, weights[i] / 8, 0.06);
    free(plain);
    free(equal);
    fleet_close(&fleet);
}

/* A ring that was emptied and filled again is the old one. */
static void ch_kind_emptied_and_filled(void **state)
{
    enum { KEYS = 2000 };
    size_t *first, *then;
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 5);
    first = map_of(&fleet, KEYS);
    for (size_t i = 0; i < 5; i++)
        fleet_remove(&fleet, i);
    fleet_session(&fleet, "k0");
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.decision.reason, LBROUTE_REASON_NO_TARGETS);
    for (size_t i = 5; i > 0; i--)
        fleet_add_again(&fleet, i - 1);
    then = map_of(&fleet, KEYS);
    assert_memory_equal(then, first, KEYS * sizeof *first);
    free(first);
    free(then);
    fleet_close(&fleet);
}

/* Requests without any key do not all share the key "nothing": load decides,
 * and the decision says so. */
static void ch_kind_no_key_at_all(void **state)
{
    struct fleet fleet;
    (void)state;

    open_ring(&fleet, 4);
    for (int i = 0; i < 40; i++) {
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
        assert_int_equal(fleet.decision.sticky_digest, 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fleet.picks[i], 10);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ch_01_removal_moves_other_keys),
        cmocka_unit_test(ch_03_collisions_follow_arrival),
        cmocka_unit_test(ch_04_one_point_per_target),
        cmocka_unit_test(ch_06_rings_follow_weights),
        cmocka_unit_test(ch_08_key_is_a_prefix),
        cmocka_unit_test(ch_09_session_ignored),
        cmocka_unit_test(ch_kind_random_membership),
        cmocka_unit_test(ch_kind_orphans_are_spread),
        cmocka_unit_test(ch_kind_owner_comes_back),
        cmocka_unit_test(ch_kind_update_storm),
        cmocka_unit_test(ch_kind_order_of_arrival),
        cmocka_unit_test(ch_kind_collisions_at_every_width),
        cmocka_unit_test(ch_kind_similar_names),
        cmocka_unit_test(ch_kind_precedence_of_keys),
        cmocka_unit_test(ch_kind_every_byte_of_the_key_counts),
        cmocka_unit_test(ch_kind_routers_share_a_key),
        cmocka_unit_test(ch_kind_bounded_load),
        cmocka_unit_test(ch_kind_weighted_points),
        cmocka_unit_test(ch_kind_emptied_and_filled),
        cmocka_unit_test(ch_kind_no_key_at_all),
    };
    return cmocka_run_group_tests_name("CH", tests, NULL, NULL);
}
