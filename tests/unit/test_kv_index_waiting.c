/* SPDX-License-Identifier: MIT */
/* models/kv_index_waiting, by way of the operations that use it: blocks told
 * before the one that they follow. */
#include "models/kv_index_waiting.h"

#include <stdbool.h>
#include <string.h>

#include "heap.h"
#include "kv_check.h"
#include "state/kv_row.h"
#include "support/rng.h"
#include "support/test.h"

#define ROOT UINT64_C(42)
#define NAMES 11
#define NOBODY 0
#define LEFT 64

enum place { NOWHERE, PLACED, WAITING };

/* What was said of a name, spelt out. */
struct said {
    enum place place;
    uint64_t key;           /* placed, … */
    uint64_t id, parent_id; /* … and what it was placed after, if anything */
    uint64_t parent, content; /* waiting */
    unsigned copies[LBR_KV_MEDIA];
};

struct fixture {
    struct unit_heap heap;
    struct lbr_kv_store store;
    struct lbr_kv_side side;
    struct lbr_kv_source *source;
    struct lbr_kv_rules rules;
    lbroute_kv_result result;
    /* By name, from 1 on; then what names have left that others follow. */
    struct said said[NAMES + LEFT];
};

static void open_fixture(struct fixture *fixture, uint32_t blocks)
{
    memset(fixture, 0, sizeof *fixture);
    unit_heap_open(&fixture->heap);
    lbr_kv_store_init(&fixture->store, &fixture->heap.memory, blocks, 4, 1);
    lbr_kv_side_init(&fixture->side);
    assert_int_equal(lbr_kv_source_get(&fixture->store, NULL, &fixture->side, 0,
                                       &fixture->source),
                     0);
}

static void close_fixture(struct fixture *fixture)
{
    lbr_kv_side_purge(&fixture->store, &fixture->side);
    kv_sweep_all(&fixture->store.index);
    kv_check_index(&fixture->store.index, 0);
    assert_int_equal(fixture->store.index.labels.live, 0);
    assert_int_equal(fixture->store.index.waiting.live, 0);
    lbr_kv_store_destroy(&fixture->store);
    unit_heap_close(&fixture->heap);
}

static int apply(struct fixture *fixture, enum lbr_kv_verb verb, uint64_t name,
                 uint64_t parent, uint64_t content, unsigned medium)
{
    struct lbr_kv_op op = {0};

    op.name = name;
    op.content = content;
    op.verb = (uint8_t)verb;
    op.medium = (uint8_t)medium;
    op.after = parent ? LBR_KV_AFTER_NAME : LBR_KV_AFTER_ROOT;
    op.before = parent ? parent : ROOT;
    return lbr_kv_row_apply(&fixture->store, fixture->source, &op,
                            &fixture->rules, &fixture->result);
}

static void store(struct fixture *fixture, uint64_t name, uint64_t parent,
                  uint64_t content)
{
    assert_true(apply(fixture, LBR_KV_STORE, name, parent, content, 0));
    kv_check_index(&fixture->store.index, 0);
}

static void take(struct fixture *fixture, uint64_t name)
{
    assert_true(apply(fixture, LBR_KV_TAKE, name, 0, 0, LBR_KV_MEDIA));
    kv_check_index(&fixture->store.index, 0);
}

static struct lbr_kv_name name_of(const struct fixture *fixture, uint64_t name)
{
    struct lbr_kv_name its = {fixture->source->owner, name};

    return its;
}

static bool waits(const struct fixture *fixture, uint64_t name)
{
    const struct lbr_link *head = &fixture->source->owner->waiting;

    for (const struct lbr_link *link = head->next; link != head;
         link = link->next)
        if (LBR_OWNER(link, struct lbr_kv_waiting, link)->name == name)
            return true;
    return false;
}

/* Whether a prompt of |count| blocks is resident to its end. */
static uint32_t run_of(struct fixture *fixture, const uint64_t *contents,
                       size_t count)
{
    struct lbr_kv_index *index = &fixture->store.index;
    uint64_t keys[32];
    uint64_t key = ROOT;

    for (size_t i = 0; i < count; i++)
        keys[i] = key = lbr_kv_key_after(key, contents[i]);
    lbr_kv_index_match(index, keys, count);
    return index->met_count ? fixture->source->owner->run : 0;
}

/* ---- by hand ---- */

static const uint64_t ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* Named as their contents. */
static void chains_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct test_rng rng = {seed};
        static struct fixture fixture;
        uint64_t order[10];

        open_fixture(&fixture, 256);
        for (size_t i = 0; i < 10; i++) { /* 0: in reverse order */
            size_t other = seed ? test_rng_below(&rng, i + 1) : 0;

            if (!seed)
                memmove(order + 1, order, i * sizeof *order);
            else
                order[i] = order[other];
            order[other] = i + 1;
        }
        for (int i = 0; i < 10; i++)
            store(&fixture, order[i], order[i] - 1, order[i]);
        assert_int_equal(run_of(&fixture, ten, 10), 10);
        assert_int_equal(fixture.source->owner->waiting_count, 0);
        assert_int_equal(fixture.result.stored, 10);
        close_fixture(&fixture);
    }
}

static void branches_follow(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 256);
    for (uint64_t name = 2; name <= 15; name++) /* a tree by halves */
        store(&fixture, name, name / 2, name);
    assert_int_equal(fixture.result.reasons[LBROUTE_KV_REASON_WAITING], 14);
    assert_int_equal(fixture.result.stored, 0);
    store(&fixture, 1, NOBODY, 1);
    assert_int_equal(fixture.result.stored, 15);
    for (uint64_t leaf = 8; leaf <= 15; leaf++) {
        uint64_t contents[] = {1, leaf / 4, leaf / 2, leaf};

        assert_int_equal(run_of(&fixture, contents, 4), 4);
    }
    close_fixture(&fixture);
}

/* At the limit an owner's own oldest goes; others lose nothing. */
static void the_oldest_of_an_owner_goes_first(void **state)
{
    static struct fixture fixture;
    struct lbr_kv_source *other;
    uint32_t limit = 80 / 8 + 1;
    (void)state;

    open_fixture(&fixture, 80);
    assert_int_equal(
        lbr_kv_source_get(&fixture.store, NULL, &fixture.side, 1, &other), 0);
    assert_true(lbr_kv_waiting_add(&fixture.store.index,
                                   (struct lbr_kv_name){other->owner, 2}, 1, 2,
                                   0, 0));
    for (uint64_t name = 2; name < 2 + limit + 3; name++)
        store(&fixture, name, 1, name);
    assert_int_equal(fixture.source->owner->waiting_count, limit - 1);
    assert_int_equal(other->owner->waiting_count, 1);
    for (uint64_t name = 2; name < 2 + limit + 3; name++)
        assert_int_equal(waits(&fixture, name), name >= 6);
    /* Who has none there cannot take from others. */
    lbr_kv_waiting_forget(&fixture.store.index, other->owner);
    store(&fixture, 90, 1, 90);
    assert_false(lbr_kv_waiting_add(&fixture.store.index,
                                    (struct lbr_kv_name){other->owner, 2}, 1, 2,
                                    0, 0));
    close_fixture(&fixture);
}

/* A store of the name with a known parent, or with another one, or with other
 * content, is what counts. */
static void the_latest_store_counts(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 256);
    store(&fixture, 3, 2, 3);
    store(&fixture, 3, NOBODY, 7); /* stored after all */
    assert_false(waits(&fixture, 3));
    store(&fixture, 5, 8, 5);
    store(&fixture, 5, 9, 5); /* waits for another one */
    store(&fixture, 6, 9, 6);
    store(&fixture, 6, 9, 4); /* with other content */
    store(&fixture, 2, NOBODY, 2);
    store(&fixture, 8, NOBODY, 8);
    store(&fixture, 9, NOBODY, 9);
    assert_int_equal(run_of(&fixture, (uint64_t[]){2, 3}, 2), 1);
    assert_int_equal(run_of(&fixture, (uint64_t[]){7}, 1), 1);
    assert_int_equal(run_of(&fixture, (uint64_t[]){8, 5}, 2), 1);
    assert_int_equal(run_of(&fixture, (uint64_t[]){9, 5}, 2), 2);
    assert_int_equal(run_of(&fixture, (uint64_t[]){9, 6}, 2), 1);
    assert_int_equal(run_of(&fixture, (uint64_t[]){9, 4}, 2), 2);
    close_fixture(&fixture);
}

static void check_blocks(const struct fixture *fixture, uint32_t gpu,
                         uint32_t host, uint32_t disk)
{
    assert_int_equal(fixture->source->owner->blocks[0], gpu);
    assert_int_equal(fixture->source->owner->blocks[1], host);
    assert_int_equal(fixture->source->owner->blocks[2], disk);
}

static void copies_by_medium(void **state)
{
    static struct fixture fixture;
    (void)state;

    for (int counted = 0; counted < 2; counted++) {
        open_fixture(&fixture, 256);
        fixture.rules.counted = counted;
        apply(&fixture, LBR_KV_STORE, 2, 1, 2, 1);
        apply(&fixture, LBR_KV_STORE, 2, 1, 2, 1);
        apply(&fixture, LBR_KV_COPY, 2, 0, 0, 2);
        apply(&fixture, LBR_KV_COPY, 2, 0, 0, 0);
        apply(&fixture, LBR_KV_TAKE, 2, 0, 0, 0);
        store(&fixture, 1, NOBODY, 1);
        check_blocks(&fixture, 1, 1, 1);
        apply(&fixture, LBR_KV_TAKE, 2, 0, 0, 1);
        check_blocks(&fixture, 1, (uint32_t)counted, 1);
        apply(&fixture, LBR_KV_TAKE, 2, 0, 0, 1);
        check_blocks(&fixture, 1, 0, 1);
        close_fixture(&fixture);
    }
}

/* The name stood for a block that others follow: what is said of it from now on
 * is about the block that waits. */
static void what_is_said_of_a_name_that_waits(void **state)
{
    static struct fixture fixture;
    (void)state;

    for (int again = 0; again < 3; again++) {
        open_fixture(&fixture, 256);
        store(&fixture, 1, NOBODY, 1);
        store(&fixture, 2, 1, 2);
        store(&fixture, 1, 9, 5); /* 9 is not known */
        assert_int_equal(fixture.result.reasons[LBROUTE_KV_REASON_RENAMED], 1);
        if (again == 0)
            take(&fixture, 1);
        if (again == 1)
            apply(&fixture, LBR_KV_COPY, 1, 0, 0, 1);
        if (again == 2)
            apply(&fixture, LBR_KV_STORE, 1, 9, 5, 1);
        assert_int_equal(run_of(&fixture, (uint64_t[]){1, 2}, 2), 0);
        store(&fixture, 9, NOBODY, 9);
        assert_int_equal(run_of(&fixture, (uint64_t[]){9, 5}, 2),
                         again ? 2 : 1);
        check_blocks(&fixture, again ? 3 : 2, again ? 1 : 0, 0);
        close_fixture(&fixture);
    }
}

/* ---- against an account ---- */

static bool resident(const struct said *said)
{
    return said->copies[0] + said->copies[1] + said->copies[2] > 0;
}

static bool is_followed(const struct said *said, uint64_t name)
{
    for (uint64_t i = 1; i < NAMES + LEFT; i++)
        if (said[i].place == PLACED && said[i].parent_id == said[name].id)
            return true;
    return false;
}

/* Known as a parent: it has a place, and it or one after it is resident. */
static void prune(struct said *said)
{
    for (int round = 0; round < NAMES + LEFT; round++)
        for (uint64_t name = 1; name < NAMES + LEFT; name++)
            if (said[name].place == PLACED && !resident(&said[name]) &&
                !is_followed(said, name))
                memset(&said[name], 0, sizeof said[name]);
}

static bool spot_of(const struct said *said, uint64_t parent, uint64_t *key)
{
    *key = parent ? said[parent].key : ROOT;
    return !parent || said[parent].place == PLACED;
}

/* A name that waits, or stood for nothing, begins anew. */
static void model_place(struct said *said, uint64_t name, uint64_t parent,
                        uint64_t key)
{
    static uint64_t latest_id;

    if (said[name].place == PLACED && said[name].key == key)
        return;
    said[name].id = said[name].place == PLACED ? said[name].id : ++latest_id;
    said[name].place = PLACED;
    said[name].key = key;
    said[name].parent_id = parent ? said[parent].id : 0;
    memset(said[name].copies, 0, sizeof said[name].copies);
}

static void model_leave(struct said *said, uint64_t name)
{
    uint64_t i = NAMES;

    if (said[name].place != PLACED)
        return;
    while (said[i].place != NOWHERE)
        assert_true(++i < NAMES + LEFT);
    said[i] = said[name];
    memset(said[i].copies, 0, sizeof said[i].copies);
}

/* Names are only followed by higher ones, so that there are no circles. */
static void model_follow(struct said *said)
{
    for (uint64_t name = 1; name < NAMES; name++) {
        struct said waiting = said[name];
        uint64_t key;

        if (waiting.place != WAITING || !spot_of(said, waiting.parent, &key))
            continue;
        model_place(said, name, waiting.parent,
                    lbr_kv_key_after(key, waiting.content));
        memcpy(said[name].copies, waiting.copies, sizeof waiting.copies);
    }
}

static void model_store(struct said *said, uint64_t name, uint64_t parent,
                        uint64_t content, unsigned medium)
{
    uint64_t key;

    if (spot_of(said, parent, &key)) {
        model_place(said, name, parent, lbr_kv_key_after(key, content));
    } else if (said[name].place != WAITING || said[name].parent != parent ||
               said[name].content != content) {
        model_leave(said, name);
        memset(&said[name], 0, sizeof said[name]);
        said[name].place = WAITING;
        said[name].parent = parent;
        said[name].content = content;
    }
    said[name].copies[medium] = 1;
    model_follow(said);
}

static void model_take(struct said *said, uint64_t name, unsigned medium)
{
    for (unsigned i = 0; i < LBR_KV_MEDIA; i++)
        if (medium == LBR_KV_MEDIA || medium == i)
            said[name].copies[i] = 0;
    if (said[name].place == WAITING && !resident(&said[name]))
        memset(&said[name], 0, sizeof said[name]);
}

static void random_step(struct fixture *fixture, struct test_rng *rng)
{
    size_t name = 1 + test_rng_below(rng, NAMES - 1);
    uint64_t parent = test_rng_below(rng, name);
    uint64_t content = test_rng_below(rng, 2) + 1;
    unsigned medium = (unsigned)test_rng_below(rng, LBR_KV_MEDIA);

    switch (test_rng_below(rng, 4)) {
    case 0:
        medium += (unsigned)test_rng_below(rng, 2) * LBR_KV_MEDIA;
        medium = medium < LBR_KV_MEDIA ? medium : LBR_KV_MEDIA;
        apply(fixture, LBR_KV_TAKE, name, 0, 0, medium);
        model_take(fixture->said, name, medium);
        break;
    case 1:
        apply(fixture, LBR_KV_COPY, name, 0, 0, medium);
        if (fixture->said[name].place != NOWHERE)
            fixture->said[name].copies[medium] = 1;
        break;
    default:
        apply(fixture, LBR_KV_STORE, name, parent, content, medium);
        model_store(fixture->said, name, parent, content, medium);
        break;
    }
    prune(fixture->said);
}

/* A name that waits stands for nothing else. */
static void check_name(const struct fixture *fixture, uint64_t name)
{
    const struct lbr_kv_index *index = &fixture->store.index;
    const struct said *said = &fixture->said[name];
    struct lbr_kv_spot spot;
    int found = lbr_kv_index_find(index, name_of(fixture, name), &spot);
    const struct lbr_kv_record *record =
        found ? lbr_kv_record(&index->labels, spot.label) : NULL;

    assert_int_equal(waits(fixture, name), said->place == WAITING);
    if (said->place == PLACED) {
        assert_true(found && spot.key == said->key);
        for (unsigned i = 0; i < LBR_KV_MEDIA; i++)
            assert_int_equal(record->copies[i], said->copies[i]);
    } else {
        assert_false(found);
    }
}

static void random_stores_and_removals(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct test_rng rng = {seed};
        static struct fixture fixture;

        open_fixture(&fixture, 1024);
        for (int step = 0; step < 1500; step++) {
            random_step(&fixture, &rng);
            kv_check_index(&fixture.store.index, 0);
            for (uint64_t name = 1; name < NAMES; name++)
                check_name(&fixture, name);
        }
        close_fixture(&fixture);
    }
}

/* ---- memory ---- */

static void without_memory_nothing_waits(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 8; after++) {
        static struct fixture fixture;
        struct lbr_kv_name name;
        int added;

        open_fixture(&fixture, 256);
        name = name_of(&fixture, 2);
        test_alloc_fail(&fixture.heap.alloc, after, 2);
        added = lbr_kv_waiting_add(&fixture.store.index, name, 1, 2, 0, 0);
        assert_int_equal(added, fixture.heap.alloc.failures == 0);
        kv_check_index(&fixture.store.index, 0);
        test_alloc_heal(&fixture.heap.alloc);
        assert_true(lbr_kv_waiting_add(&fixture.store.index, name, 1, 2, 0, 0));
        store(&fixture, 1, NOBODY, 1);
        assert_int_equal(run_of(&fixture, ten, 2), 2);
        close_fixture(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_in_any_order),
        cmocka_unit_test(branches_follow),
        cmocka_unit_test(the_oldest_of_an_owner_goes_first),
        cmocka_unit_test(the_latest_store_counts),
        cmocka_unit_test(copies_by_medium),
        cmocka_unit_test(what_is_said_of_a_name_that_waits),
        cmocka_unit_test(random_stores_and_removals),
        cmocka_unit_test(without_memory_nothing_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
