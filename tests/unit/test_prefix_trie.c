/* SPDX-License-Identifier: MIT */
/* models/prefix_trie: small tries by hand; what is inside is checked after
 * every call. */
#include "models/prefix_trie.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "heap.h"
#include "support/rng.h"
#include "support/test.h"
#include "trie_check.h"

#define OWNERS 3
#define PLENTY ((size_t)1 << 30)
#define KIB ((size_t)1024)
#define MIB ((size_t)1 << 20)

struct table {
    struct unit_heap heap;
    struct lbr_trie trie;
    struct lbr_trie_owner owners[OWNERS];
};

static void open_table(struct table *table, uint32_t unit)
{
    unit_heap_open(&table->heap);
    lbr_trie_init(&table->trie, &table->heap.memory, unit, 5, 1);
    for (uint32_t i = 0; i < OWNERS; i++)
        lbr_trie_owner_init(&table->owners[i], i);
}

static void close_table(struct table *table)
{
    lbr_trie_destroy(&table->trie);
    unit_heap_close(&table->heap);
}

static void check(const struct table *table)
{
    trie_check(&table->trie, table->owners, OWNERS);
}

static void record_under(struct table *table, uint64_t root, size_t owner,
                         const void *bytes, size_t length, size_t budget)
{
    struct lbr_trie_match match =
        lbr_trie_find(&table->trie, root, bytes, length);

    lbr_trie_record(&table->trie, match, root, bytes, length,
                    &table->owners[owner], budget);
    check(table);
}

static void record(struct table *table, size_t owner, const char *prompt)
{
    record_under(table, 0, owner, prompt, strlen(prompt), PLENTY);
}

static void purge(struct table *table, size_t owner)
{
    lbr_trie_purge(&table->trie, &table->owners[owner]);
    check(table);
    assert_int_equal(table->owners[owner].charged, 0);
}

static size_t held_under(const struct table *table, uint64_t root, size_t owner,
                         const void *bytes, size_t length)
{
    return lbr_trie_held(&table->trie,
                         lbr_trie_find(&table->trie, root, bytes, length),
                         &table->owners[owner]);
}

static size_t held(const struct table *table, size_t owner, const char *prompt)
{
    return held_under(table, 0, owner, prompt, strlen(prompt));
}

static uint32_t nodes(const struct table *table)
{
    return table->trie.nodes.live;
}

/* ---- content ---- */

static void an_empty_trie_knows_nothing(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    assert_int_equal(held(&table, 0, ""), 0);
    assert_int_equal(held(&table, 0, "a"), 0);
    assert_int_equal(table.heap.memory.held, 0);
    record(&table, 0, "");
    assert_int_equal(nodes(&table), 0);
    purge(&table, 0);
    close_table(&table);
}

static void each_owner_holds_what_it_recorded(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record(&table, 0, "system prompt: sing");
    record(&table, 1, "system prompt: say");
    record(&table, 2, "other");
    assert_int_equal(held(&table, 0, "system prompt: sing a song"), 19);
    assert_int_equal(held(&table, 1, "system prompt: sing a song"), 16);
    assert_int_equal(held(&table, 2, "system prompt: sing a song"), 0);
    assert_int_equal(held(&table, 0, "system prompt: say"), 16);
    assert_int_equal(held(&table, 1, "system prompt: say"), 18);
    assert_int_equal(held(&table, 1, "sys"), 3);
    assert_int_equal(held(&table, 2, "o"), 1);
    assert_int_equal(nodes(&table), 4);
    close_table(&table);
}

static void roots_are_apart(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record_under(&table, 1, 0, "prompt", 6, PLENTY);
    record_under(&table, UINT64_MAX, 1, "prompt", 6, PLENTY);
    assert_int_equal(held_under(&table, 1, 0, "prompt", 6), 6);
    assert_int_equal(held_under(&table, 1, 1, "prompt", 6), 0);
    assert_int_equal(held_under(&table, UINT64_MAX, 1, "prompt", 6), 6);
    assert_int_equal(held_under(&table, 0, 0, "prompt", 6), 0);
    close_table(&table);
}

/* Hashes of blocks match whole, however many of their bytes are equal. */
static void hashes_are_symbols(void **state)
{
    static const uint64_t first[] = {1, 2, UINT64_C(0x0807060504030201)};
    static const uint64_t other[] = {1, 2, UINT64_C(0x0907060504030201)};
    struct table table;
    (void)state;

    open_table(&table, 8);
    record_under(&table, 0, 0, first, sizeof first, PLENTY);
    assert_int_equal(held_under(&table, 0, 0, other, sizeof other), 16);
    record_under(&table, 0, 1, other, sizeof other, PLENTY);
    assert_int_equal(held_under(&table, 0, 0, other, sizeof other), 16);
    assert_int_equal(held_under(&table, 0, 1, other, sizeof other), 24);
    assert_int_equal(held_under(&table, 0, 1, first, 8), 8);
    assert_int_equal(nodes(&table), 3);
    close_table(&table);
}

/* ---- splitting and joining ---- */

static void a_split_is_joined_when_the_branch_goes(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record(&table, 0, "abcdef");
    record(&table, 1, "abcxyz");
    assert_int_equal(nodes(&table), 3);
    purge(&table, 1);
    assert_int_equal(nodes(&table), 1);
    assert_int_equal(held(&table, 0, "abcdef"), 6);
    purge(&table, 0);
    assert_int_equal(nodes(&table), 0);
    close_table(&table);
}

static void a_prefix_of_ones_own_splits_nothing(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record(&table, 0, "abcdef");
    record(&table, 0, "abc");
    assert_int_equal(nodes(&table), 1);
    assert_int_equal(held(&table, 0, "abcdef"), 6);
    close_table(&table);
}

static void owners_that_catch_up_share_one_node(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record(&table, 0, "abcdef");
    record(&table, 1, "abc");
    assert_int_equal(nodes(&table), 2);
    record(&table, 1, "abcdef");
    assert_int_equal(nodes(&table), 1);
    record_under(&table, 0, 2, "abcx", 4, 0);
    assert_int_equal(nodes(&table), 1);
    close_table(&table);
}

/* A conversation that goes on stays one node, until somebody shares it. */
static void a_growing_prompt_stays_one_node(void **state)
{
    static const char talk[] = "hello, how are you, and what else";
    struct table table;
    (void)state;

    open_table(&table, 1);
    for (size_t length = 1; length < sizeof talk; length++) {
        record_under(&table, 0, 0, talk, length, PLENTY);
        assert_int_equal(nodes(&table), 1);
        assert_int_equal(held(&table, 0, talk), length);
    }
    record(&table, 1, "hello, how are you");
    assert_int_equal(nodes(&table), 2);
    record(&table, 0, "hello, how are you, and what else is new");
    assert_int_equal(nodes(&table), 2);
    close_table(&table);
}

/* ---- budgets ---- */

static void a_lower_budget_holds_at_once(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record(&table, 0, "first");
    record(&table, 0, "second");
    record_under(&table, 0, 0, "second", 6, lbr_trie_cost(6));
    assert_int_equal(held(&table, 0, "first"), 0);
    assert_int_equal(held(&table, 0, "second"), 6);
    record_under(&table, 0, 0, "", 0, 0);
    assert_int_equal(nodes(&table), 0);
    close_table(&table);
}

/* What the runs of a head of |bytes| cost together. */
static size_t head_cost(size_t bytes)
{
    size_t cost = 0;

    for (; bytes > LBR_TRIE_LONGEST_RUN; bytes -= LBR_TRIE_LONGEST_RUN)
        cost += lbr_trie_cost(LBR_TRIE_LONGEST_RUN);
    return cost + lbr_trie_cost(bytes);
}

static void the_head_of_a_prompt_is_kept(void **state)
{
    unsigned char *prompt = calloc(MIB, 1);
    struct table table;
    (void)state;

    assert_non_null(prompt);
    open_table(&table, 1);
    for (size_t budget = 0; budget < 200 * KIB; budget += 7777) {
        size_t kept;

        record_under(&table, budget, 0, prompt, MIB, budget);
        kept = held_under(&table, budget, 0, prompt, MIB);
        assert_true(kept <= budget);
        /* Texts come in chunks, of which one may stay unused. */
        assert_true(head_cost(kept + 64 + 32 * KIB) > budget);
    }
    free(prompt);
    close_table(&table);
}

/* Prompts that differ in their first byte, whatever the order of bytes. */
static void numbered_prompt(unsigned char *prompt, size_t length, uint32_t n)
{
    memset(prompt, (int)(n % 251), length);
    for (size_t i = 0; i < sizeof n; i++)
        prompt[i] = (unsigned char)(n >> (8 * i));
}

/* CA-09: a hit refreshes, so the hot prompt outlives newer ones. */
static void ca_09_a_hit_refreshes(void **state)
{
    size_t budget = 10 * lbr_trie_cost(KIB);
    unsigned char prompt[1024];
    struct table table;
    (void)state;

    open_table(&table, 1);
    for (uint32_t i = 1; i <= 50; i++) {
        numbered_prompt(prompt, KIB, 0);
        record_under(&table, 0, 0, prompt, KIB, budget);
        numbered_prompt(prompt, KIB, i);
        record_under(&table, 0, 0, prompt, KIB, budget);
    }
    for (uint32_t i = 0; i <= 50; i++) {
        size_t wanted = i == 0 || i > 50 - 9 ? KIB : 0;

        numbered_prompt(prompt, KIB, i);
        if (wanted)
            assert_int_equal(held_under(&table, 0, 0, prompt, KIB), KIB);
        else
            assert_true(held_under(&table, 0, 0, prompt, KIB) < 4);
    }
    close_table(&table);
}

/* KA-07: the leaf that was used longest ago goes, not the head that all share,
 * though nobody asked for that alone. */
static void ka_07_leaves_go_before_their_head(void **state)
{
    uint64_t blocks[32];
    struct table table;
    size_t budget = 0;
    (void)state;

    open_table(&table, 8);
    for (size_t i = 0; i < 16; i++)
        blocks[i] = i;
    for (uint64_t leaf = 1; leaf <= 6; leaf++) {
        for (size_t i = 16; i < 32; i++)
            blocks[i] = leaf << 32 | i;
        record_under(&table, 0, 0, blocks, sizeof blocks,
                     leaf < 6 ? PLENTY : budget);
        budget = table.owners[0].charged;
    }
    for (uint64_t leaf = 0; leaf <= 6; leaf++) {
        for (size_t i = 16; i < 32; i++)
            blocks[i] = leaf << 32 | i;
        assert_int_equal(held_under(&table, 0, 0, blocks, sizeof blocks),
                         leaf >= 2 ? 256 : 128);
    }
    close_table(&table);
}

/* Each owner pays in full for what it holds, and evicts for itself alone. */
static void owners_evict_for_themselves(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record_under(&table, 0, 0, "shared", 6, lbr_trie_cost(6));
    record_under(&table, 0, 1, "shared", 6, lbr_trie_cost(6));
    assert_int_equal(table.owners[0].charged, lbr_trie_cost(6));
    assert_int_equal(table.owners[1].charged, lbr_trie_cost(6));
    record_under(&table, 0, 0, "others", 6, lbr_trie_cost(6));
    assert_int_equal(held(&table, 0, "shared"), 0);
    assert_int_equal(held(&table, 1, "shared"), 6);
    close_table(&table);
}

/* A split costs all holders of the node; those without room for that lose what
 * they used longest ago. */
static void a_split_keeps_others_within_their_budget(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, 1);
    record_under(&table, 0, 0, "old", 3, 2 * lbr_trie_cost(6));
    record_under(&table, 0, 0, "abcdef", 6, 2 * lbr_trie_cost(6));
    record(&table, 1, "abcxyz");
    assert_int_equal(held(&table, 0, "old"), 0);
    assert_int_equal(held(&table, 0, "abcdef"), 6);
    close_table(&table);
}

/* ---- CA-10: lengths and bytes at the edges ---- */

static void check_cuts(struct table *table, size_t owner,
                       const unsigned char *prompt, size_t length)
{
    static const size_t edges[] = {0, 255, 256, 32768, 65535, 65536, MIB};

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (size_t at = edges[i]; at < edges[i] + 8; at++) {
            size_t before = at < 4 ? 0 : at - 4;
            size_t cut = before < length ? before : length;
            /* Of that size exactly, so that reads beyond are seen. */
            unsigned char *copy = malloc(cut ? cut : 1);

            assert_non_null(copy);
            memcpy(copy, prompt, cut);
            assert_int_equal(held_under(table, 0, owner, copy, cut), cut);
            free(copy);
        }
}

static void record_edge(struct table *table, unsigned char *prompt,
                        size_t length)
{
    record_under(table, 0, 0, prompt, length, PLENTY);
    check_cuts(table, 0, prompt, length);
    prompt[length - 1] ^= 1;
    assert_int_equal(held_under(table, 0, 0, prompt, length), length - 1);
    record_under(table, 0, 1, prompt, length, PLENTY);
    check_cuts(table, 1, prompt, length);
    check_cuts(table, 0, prompt, length - 1);
}

static void ca_10_long_and_multi_byte_prompts(void **state)
{
    unsigned char *prompt = malloc(MIB);
    struct table table;
    (void)state;

    assert_non_null(prompt);
    open_table(&table, 1);
    memset(prompt, 'a', 254);
    memcpy(prompt + 254, "\xe4\xb8\xad\xe6\x96\x87", 6);
    record_edge(&table, prompt, 260);
    for (size_t i = 0; i < 300; i++)
        memcpy(prompt + 3 * i, "\xe5\xad\x97", 3);
    record_edge(&table, prompt, 900);
    for (size_t i = 0; i < 300; i++)
        prompt[i] = i % 2 ? 0x00 : 0xff;
    record_edge(&table, prompt, 300);
    for (size_t i = 0; i < MIB; i++)
        prompt[i] = (unsigned char)(i * 7 + i / 251);
    record_edge(&table, prompt, MIB);
    assert_int_equal(held(&table, 0, ""), 0);
    free(prompt);
    close_table(&table);
}

/* ---- failing allocations ---- */

static void record_random(struct table *table, struct test_rng *rng)
{
    unsigned char prompt[600];
    size_t length = (size_t)test_rng_below(rng, sizeof prompt);
    size_t budget;

    memset(prompt, 'p', sizeof prompt);
    for (size_t i = 0; i < 4; i++)
        prompt[test_rng_below(rng, sizeof prompt)] ^= 1;
    budget = test_rng_below(rng, 4) ? 30000 : 5000;
    record_under(table, 0, (size_t)test_rng_below(rng, OWNERS), prompt, length,
                 budget);
    if (!test_rng_below(rng, 20))
        purge(table, (size_t)test_rng_below(rng, OWNERS));
}

/* From some allocation on all fail, for a while; then all is as before. */
static bool run_dry(uint64_t after)
{
    struct test_rng rng = {after};
    struct table table;
    bool failed;

    open_table(&table, 1);
    test_alloc_fail(&table.heap.alloc, after, UINT64_MAX);
    for (int i = 0; i < 200; i++)
        record_random(&table, &rng);
    failed = table.heap.alloc.failures > 0;
    test_alloc_heal(&table.heap.alloc);
    for (int i = 0; i < 100; i++)
        record_random(&table, &rng);
    record(&table, 1, "as good as new");
    assert_int_equal(held(&table, 1, "as good as new"), 14);
    for (size_t i = 0; i < OWNERS; i++)
        purge(&table, i);
    assert_int_equal(nodes(&table), 0);
    close_table(&table);
    return failed;
}

#define DEEP (4 * LBR_TRIE_DEEPEST)

/* Records prompts that leave |text| after 1, 2, … bytes, or from its end on. */
static void leave_everywhere(struct table *table, char *text, bool from_end)
{
    for (size_t i = 1; i < DEEP; i++) {
        size_t length = from_end ? DEEP - i : i;
        char kept = text[length];
        struct lbr_trie_match match;

        text[length] = '!';
        match = lbr_trie_find(&table->trie, 0, text, length + 1);
        lbr_trie_record(&table->trie, match, 0, text, length + 1,
                        &table->owners[0], PLENTY);
        text[length] = kept;
    }
    check(table);
}

/* A text that others leave at each byte is one node a byte; a look at it ends
 * after some of them, and a record adds nothing. */
static void as_deep_as_it_gets(void **state)
{
    (void)state;
    for (int from_end = 0; from_end < 2; from_end++) {
        struct table table;
        struct lbr_trie_match match;
        char text[DEEP];
        uint32_t before;

        memset(text, 'a', sizeof text);
        open_table(&table, 1);
        record_under(&table, 0, 1, text, DEEP, PLENTY);
        leave_everywhere(&table, text, from_end);
        match = lbr_trie_find(&table.trie, 0, text, DEEP);
        assert_true(match.deep);
        assert_int_equal(match.matched, LBR_TRIE_DEEPEST);
        before = nodes(&table);
        record_under(&table, 0, 2, text, DEEP, PLENTY);
        assert_int_equal(nodes(&table), before);
        assert_int_equal(held_under(&table, 0, 2, text, DEEP),
                         LBR_TRIE_DEEPEST);
        assert_int_equal(held_under(&table, 0, 2, text, 10), 10);
        purge(&table, 0);
        assert_int_equal(held_under(&table, 0, 1, text, DEEP), DEEP);
        close_table(&table);
    }
}

static void no_memory_leaves_a_usable_trie(void **state)
{
    uint64_t after = 0;
    (void)state;

    while (run_dry(after))
        after++;
    assert_true(after > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_trie_knows_nothing),
        cmocka_unit_test(each_owner_holds_what_it_recorded),
        cmocka_unit_test(roots_are_apart),
        cmocka_unit_test(hashes_are_symbols),
        cmocka_unit_test(a_split_is_joined_when_the_branch_goes),
        cmocka_unit_test(a_prefix_of_ones_own_splits_nothing),
        cmocka_unit_test(owners_that_catch_up_share_one_node),
        cmocka_unit_test(a_growing_prompt_stays_one_node),
        cmocka_unit_test(a_lower_budget_holds_at_once),
        cmocka_unit_test(the_head_of_a_prompt_is_kept),
        cmocka_unit_test(ca_09_a_hit_refreshes),
        cmocka_unit_test(ka_07_leaves_go_before_their_head),
        cmocka_unit_test(owners_evict_for_themselves),
        cmocka_unit_test(a_split_keeps_others_within_their_budget),
        cmocka_unit_test(ca_10_long_and_multi_byte_prompts),
        cmocka_unit_test(as_deep_as_it_gets),
        cmocka_unit_test(no_memory_leaves_a_usable_trie),
    };

    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
