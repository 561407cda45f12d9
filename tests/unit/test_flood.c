/* SPDX-License-Identifier: MIT */
/* Tables that strangers fill. Each attack is made with the secret of one
 * router, which nobody has, and works there: its keys share one place. Tried on
 * a router with another secret, the same keys are spread. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "heap.h"
#include "models/kv_index_waiting.h"
#include "models/prefix_trie.h"
#include "models/price_catalog.h"
#include "state/kv_row.h"
#include "state/router.h"
#include "support/fleet.h"
#include "support/test.h"

#define KEYS 256
/* Bits that all keys have in common: more than the tables use of them. */
#define BITS 12
/* Of keys spread by chance in a table at most 3/4 full, no row is as long. */
#define LONG_ROW 100

#define KNOWN 1U
#define OTHER 2U

/* The longest row of taken places, which a search may walk along. */
static uint32_t longest_row(const struct lbr_map *map)
{
    uint32_t mask = (1U << map->bits) - 1;
    uint32_t longest = 0;
    uint32_t row = 0;

    for (uint32_t i = 0; i <= 2 * mask + 1; i++) {
        row = map->entries[i & mask].value ? row + 1 : 0;
        if (row > longest)
            longest = row;
    }
    assert_int_equal(map->count, KEYS);
    return longest;
}

static void expect_rows(uint32_t under_known, uint32_t under_other)
{
    assert_true(under_known >= KEYS);
    assert_true(under_other < LONG_ROW);
}

static int collides(uint64_t key)
{
    return key >> (64 - BITS) == 0;
}

/* ---- prompts ---- */

struct prompts {
    uint64_t roots[KEYS];
    uint64_t symbols[KEYS]; /* the first one of each */
};

static uint32_t row_of_prompts(const struct prompts *prompts, uint64_t secret)
{
    struct unit_heap heap;
    struct lbr_trie trie;
    struct lbr_trie_owner owner;
    uint32_t row;

    unit_heap_open(&heap);
    lbr_trie_init(&trie, &heap.memory, 8, 5, secret);
    lbr_trie_owner_init(&owner, 0);
    for (size_t i = 0; i < KEYS; i++) {
        struct lbr_trie_match match =
            lbr_trie_find(&trie, prompts->roots[i], &prompts->symbols[i], 8);

        lbr_trie_record(&trie, match, prompts->roots[i], &prompts->symbols[i],
                        8, &owner, 1 << 20);
    }
    row = longest_row(&trie.children);
    lbr_trie_destroy(&trie);
    unit_heap_close(&heap);
    return row;
}

/* Blocks that prompts may begin with, made so that their places agree. */
static void first_blocks(void **state)
{
    uint64_t parent = lbr_hash_pair(KNOWN, 7);
    static struct prompts prompts;
    size_t count = 0;
    (void)state;

    for (uint64_t symbol = 0; count < KEYS; symbol++)
        if (collides(lbr_hash_pair(parent, symbol))) {
            prompts.roots[count] = 7;
            prompts.symbols[count++] = symbol;
        }
    expect_rows(row_of_prompts(&prompts, KNOWN),
                row_of_prompts(&prompts, OTHER));
}

/* Salts give as many root keys as one likes: a block can be made for each that
 * takes the combination of both to the same value. */
static void roots_and_blocks(void **state)
{
    static struct prompts prompts;
    (void)state;

    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t parent = lbr_hash_pair(KNOWN, i);

        prompts.roots[i] = i;
        prompts.symbols[i] = parent - UINT64_C(0x9e3779b97f4a7c15) -
                             (parent << 6) - (parent >> 2);
    }
    expect_rows(row_of_prompts(&prompts, KNOWN),
                row_of_prompts(&prompts, OTHER));
}

/* ---- names that engines give to blocks ---- */

/* Labels that had to go on from the buckets they belong to. */
static uint32_t displaced(const uint64_t *names, uint64_t secret)
{
    struct unit_heap heap;
    struct lbr_kv_labels labels;
    uint32_t passed = 0;

    unit_heap_open(&heap);
    lbr_kv_labels_init(&labels, &heap.memory, 4096, secret);
    assert_true(lbr_kv_labels_prepare(&labels));
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t hash = lbr_kv_label_hash(&labels, 0, names[i]);

        assert_true(lbr_kv_label_reserve(&labels));
        assert_int_not_equal(lbr_kv_label_add(&labels, hash, 0, names[i]), 0);
    }
    for (uint32_t i = 0; i < labels.bucket_count; i++)
        passed += labels.buckets[i].passed;
    lbr_kv_labels_destroy(&labels);
    unit_heap_close(&heap);
    return passed;
}

static void names_of_blocks(void **state)
{
    static uint64_t names[KEYS];
    size_t count = 0;
    (void)state;

    for (uint64_t name = 0; count < KEYS; name++)
        if (collides(lbr_hash_pair(lbr_hash_pair(KNOWN, name), 0)))
            names[count++] = name;
    /* 15 fit where they belong, the others pass one bucket or more. */
    assert_true(displaced(names, KNOWN) >= KEYS - 15);
    assert_true(displaced(names, OTHER) < KEYS / 10);
}

/* Any number of blocks may wait for one that never comes: they are found, and
 * forgotten, without a look at the others. */
static void followers_of_one_block(void **state)
{
    struct unit_heap heap;
    struct lbr_kv_store store;
    struct lbr_kv_side side;
    struct lbr_kv_source *source;
    struct lbr_kv_rules rules = {0};
    lbroute_kv_result result = {0};
    struct lbr_kv_op op = {0};
    (void)state;

    unit_heap_open(&heap);
    lbr_kv_store_init(&store, &heap.memory, 65536, 4, KNOWN);
    lbr_kv_side_init(&side);
    assert_int_equal(lbr_kv_source_get(&store, NULL, &side, 0, &source), 0);
    op.verb = LBR_KV_STORE;
    op.after = LBR_KV_AFTER_NAME;
    op.before = 1;
    for (op.name = 2; op.name < 20000; op.name++)
        assert_true(lbr_kv_row_apply(&store, source, &op, &rules, &result));
    assert_int_equal(store.index.waiting.live, 65536 / 8 + 1);
    assert_int_equal(store.index.waiting_parents.count, 1);
    lbr_kv_side_purge(&store, &side);
    lbr_kv_store_destroy(&store);
    unit_heap_close(&heap);
}

/* ---- price catalogs ---- */

static uint32_t row_of_prices(char names[KEYS][16], uint64_t secret)
{
    struct unit_heap heap;
    struct lbr_price_catalog catalog;
    struct lbr_price *price;
    uint32_t row;

    unit_heap_open(&heap);
    memset(&catalog, 0, sizeof catalog);
    lbr_prices_init(&catalog, &heap.memory, KEYS, secret);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(lbr_prices_add(&catalog,
                                        lbr_text(names[i], strlen(names[i])),
                                        &price),
                         0);
    row = longest_row(&catalog.keys);
    lbr_prices_destroy(&catalog);
    unit_heap_close(&heap);
    return row;
}

/* Names that collide in a table of names under |secret|. */
static void make_names(char names[KEYS][16], uint64_t secret)
{
    size_t count = 0;

    for (unsigned i = 0; count < KEYS; i++) {
        (void)snprintf(names[count], sizeof names[count], "m%u", i);
        count += (size_t)collides(
            lbr_hash_seeded(names[count], strlen(names[count]), secret));
    }
}

static void models_of_a_catalog(void **state)
{
    static char names[KEYS][16];
    (void)state;

    make_names(names, KNOWN);
    expect_rows(row_of_prices(names, KNOWN), row_of_prices(names, OTHER));
}

/* ---- routers ---- */

static void open_router(struct fleet *fleet, uint64_t seed)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    fleet_open_options(fleet, &options, "sticky_session");
}

static uint32_t row_of_targets(char names[KEYS][16], uint64_t seed)
{
    struct fleet fleet;
    uint32_t row;

    open_router(&fleet, seed);
    for (size_t i = 0; i < KEYS; i++) {
        lbroute_target_options options;

        fleet_target_options(&fleet, &options);
        options.name = names[i];
        options.name_len = strlen(names[i]);
        (void)fleet_add_options(&fleet, &options);
    }
    row = longest_row(&fleet.router->target_names);
    fleet_close(&fleet);
    return row;
}

static uint64_t secret_of(uint64_t seed)
{
    struct fleet fleet;
    uint64_t secret;

    open_router(&fleet, seed);
    secret = fleet.router->table_secret;
    fleet_close(&fleet);
    return secret;
}

static void names_of_targets(void **state)
{
    static char names[KEYS][16];
    (void)state;

    make_names(names, secret_of(KNOWN));
    expect_rows(row_of_targets(names, KNOWN), row_of_targets(names, OTHER));
}

static uint32_t row_of_pins(char texts[KEYS][16], uint64_t seed)
{
    struct fleet fleet;
    uint32_t row;

    open_router(&fleet, seed);
    (void)fleet_add(&fleet);
    for (size_t i = 0; i < KEYS; i++) {
        fleet.request.conversation = texts[i];
        fleet.request.conversation_len = strlen(texts[i]);
        fleet_serve(&fleet);
    }
    row = longest_row(&fleet.router->sessions.by_key);
    fleet_close(&fleet);
    return row;
}

/* The pool's name is known to whoever reads the headers. */
static uint64_t pin_key(uint64_t secret, const char *text, uint64_t pool)
{
    return lbr_hash_pair(lbr_hash_pair(secret, lbr_hash(text, strlen(text))),
                         pool);
}

static void pins_of_conversations(void **state)
{
    static char texts[KEYS][16];
    uint64_t secret = secret_of(KNOWN);
    struct fleet fleet;
    uint64_t pool;
    size_t count = 0;
    (void)state;

    open_router(&fleet, KNOWN);
    pool = lbr_router_pool(fleet.router, fleet.pool)->pin_key;
    fleet_close(&fleet);
    for (unsigned i = 0; count < KEYS; i++) {
        (void)snprintf(texts[count], sizeof texts[count], "c%u", i);
        count += (size_t)collides(pin_key(secret, texts[count], pool));
    }
    expect_rows(row_of_pins(texts, KNOWN), row_of_pins(texts, OTHER));
}

/* Models that nobody serves are not told apart: else each of them was looked at
 * whenever one more came. */
static void models_made_up_by_waiters(void **state)
{
    struct fleet fleet;
    (void)state;

    open_router(&fleet, 1);
    fleet_param(&fleet, "queue.enabled", 1);
    fleet_param(&fleet, "queue.depth", 1000);
    (void)fleet_add_limit(&fleet, 1);
    fleet_hold(&fleet, 0, 1);
    for (unsigned i = 0; i < 500; i++) {
        char model[16];

        (void)snprintf(model, sizeof model, "m%u", i);
        fleet.request.model = model;
        fleet.request.model_len = strlen(model);
        (void)fleet_pick(&fleet);
        assert_int_equal(fleet.code, LBROUTE_ERR_QUEUED);
    }
    assert_int_equal(fleet.router->waiting.fair.flows.live, 1);
    fleet_close(&fleet);
}

/* Digests of sessions are shown to whoever chose the session's name. */
static void no_digest_tells_a_secret(void **state)
{
    static const char *const names[] = {"blocks", "tables", "snapshot"};
    struct fleet fleet;
    (void)state;

    open_router(&fleet, 1);
    (void)fleet_add(&fleet);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t client;

        fleet.request.session = names[i];
        fleet.request.session_len = strlen(names[i]);
        fleet_serve(&fleet);
        assert_int_equal(lbroute_client_digest(fleet.router, names[i],
                                               strlen(names[i]), &client),
                         0);
        assert_true(fleet.decision.sticky_digest != fleet.router->kv_secret);
        assert_true(fleet.decision.sticky_digest != fleet.router->table_secret);
        assert_true(client != fleet.router->kv_secret);
        assert_true(client != fleet.router->table_secret);
    }
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_blocks),
        cmocka_unit_test(roots_and_blocks),
        cmocka_unit_test(names_of_blocks),
        cmocka_unit_test(followers_of_one_block),
        cmocka_unit_test(models_of_a_catalog),
        cmocka_unit_test(names_of_targets),
        cmocka_unit_test(pins_of_conversations),
        cmocka_unit_test(models_made_up_by_waiters),
        cmocka_unit_test(no_digest_tells_a_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
