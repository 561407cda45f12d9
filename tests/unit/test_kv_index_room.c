/* SPDX-License-Identifier: MIT */
/* models/kv_index_room: who makes room, and for whom. */
#include "models/kv_index_room.h"

#include "kv_check.h"
#include "kv_model.h"
#include "support/test.h"

#define OWNERS 4

struct fixture {
    struct unit_heap heap;
    struct lbr_kv_index index;
    struct lbr_kv_owner *owners[OWNERS];
    lbr_kv_label last[OWNERS]; /* ends of the prompts being stored */
};

static void open_fixture(struct fixture *fixture, uint32_t limit)
{
    unit_heap_open(&fixture->heap);
    lbr_kv_index_init(&fixture->index, &fixture->heap.memory, KV_MODEL_KIND,
                      limit, 1);
    for (int i = 0; i < OWNERS; i++) {
        fixture->owners[i] = lbr_kv_owner_add(&fixture->index, NULL);
        assert_non_null(fixture->owners[i]);
        fixture->last[i] = 0;
    }
}

static void close_fixture(struct fixture *fixture)
{
    kv_check_index(&fixture->index, 0);
    lbr_kv_index_destroy(&fixture->index);
    unit_heap_close(&fixture->heap);
}

/* Blocks of an owner are named by their keys. */
static enum lbr_kv_fate put(struct fixture *fixture, int owner,
                            lbr_kv_label *last, uint64_t key)
{
    struct lbr_kv_name name = {fixture->owners[owner], key};
    int renamed;

    return lbr_kv_index_put(&fixture->index, name, last, key, 0, 0, &renamed);
}

/* Stores the next block of the owner's prompt. */
static enum lbr_kv_fate extend(struct fixture *fixture, int owner, uint64_t key)
{
    return put(fixture, owner, &fixture->last[owner], key);
}

static enum lbr_kv_fate begin(struct fixture *fixture, int owner, uint64_t key)
{
    fixture->last[owner] = 0;
    return extend(fixture, owner, key);
}

static int knows(const struct fixture *fixture, int owner, uint64_t key)
{
    struct lbr_kv_name name = {fixture->owners[owner], key};
    struct lbr_kv_spot spot;

    return lbr_kv_index_find(&fixture->index, name, &spot);
}

static void check_full(struct fixture *fixture)
{
    kv_check_index(&fixture->index, 0);
    assert_int_equal(fixture->index.labels.live, fixture->index.labels.limit);
}

/* A prompt loses its end before its head, block by block. */
static void ends_before_heads(void **state)
{
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 10);
    begin(&fixture, 0, 1);
    for (uint64_t key = 2; key <= 10; key++)
        assert_int_equal(extend(&fixture, 0, key), LBR_KV_FATE_DONE);
    for (uint64_t gone = 10; gone > 5; gone--) {
        assert_int_equal(begin(&fixture, 1, 100 + gone), LBR_KV_FATE_DONE);
        assert_false(knows(&fixture, 0, gone));
        for (uint64_t key = 1; key < gone; key++)
            assert_true(knows(&fixture, 0, key));
        check_full(&fixture);
    }
    /* Both have their part: from now on the one that asks gives way. */
    for (uint64_t key = 200; key < 230; key++) {
        assert_int_equal(begin(&fixture, 1, key), LBR_KV_FATE_DONE);
        check_full(&fixture);
        assert_int_equal(fixture.owners[0]->labels, 5);
        assert_int_equal(fixture.owners[1]->labels, 5);
    }
    for (uint64_t key = 1; key <= 5; key++)
        assert_true(knows(&fixture, 0, key));
    assert_int_equal(fixture.owners[0]->evicted, 5);
    assert_int_equal(fixture.index.evicted,
                     fixture.owners[0]->evicted + fixture.owners[1]->evicted);
    close_fixture(&fixture);
}

/* What is being extended is no end, even where it is the only one. */
static void no_parent_makes_room_for_its_child(void **state)
{
    struct fixture fixture;
    (void)state;

    for (uint32_t limit = 1; limit <= 3; limit++) {
        open_fixture(&fixture, limit);
        begin(&fixture, 0, 1);
        for (uint32_t i = 1; i < limit; i++)
            assert_int_equal(extend(&fixture, 0, 1 + i), LBR_KV_FATE_DONE);
        assert_int_equal(extend(&fixture, 0, 50), LBR_KV_FATE_NO_ROOM);
        check_full(&fixture);
        for (uint32_t i = 0; i < limit; i++)
            assert_true(knows(&fixture, 0, 1 + i));
        assert_int_equal(begin(&fixture, 0, 60), LBR_KV_FATE_DONE);
        check_full(&fixture);
        assert_false(knows(&fixture, 0, limit));
        close_fixture(&fixture);
    }
}

/* More owners than labels: each that asks takes from another. */
static void fewer_labels_than_owners(void **state)
{
    struct fixture fixture;
    (void)state;

    for (uint32_t limit = 1; limit < OWNERS; limit++) {
        open_fixture(&fixture, limit);
        for (uint64_t i = 0; i < 60; i++) {
            int owner = (int)(i % OWNERS);

            assert_int_equal(begin(&fixture, owner, i), LBR_KV_FATE_DONE);
            assert_true(knows(&fixture, owner, i));
            if (i >= limit)
                check_full(&fixture);
        }
        close_fixture(&fixture);
    }
}

/* Owners that store at different speeds end with equal parts. */
static void parts_become_equal(void **state)
{
    struct test_rng rng = {1};
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 100);
    for (uint64_t key = 1; key < 4000; key++) {
        int owner = (int)(test_rng_below(&rng, 16) % 7 % OWNERS);

        if (test_rng_below(&rng, 4) || !knows(&fixture, owner, key - 1))
            assert_int_equal(begin(&fixture, owner, key), LBR_KV_FATE_DONE);
        else
            (void)extend(&fixture, owner, key);
        if (key % 50 == 0)
            kv_check_index(&fixture.index, 0);
    }
    check_full(&fixture);
    for (int owner = 0; owner < OWNERS; owner++)
        assert_in_range(fixture.owners[owner]->labels, 23, 27);
    close_fixture(&fixture);
}

/* The hand looks at a few labels at a time and goes on where it was: an end is
 * found in the end, wherever it stands. */
static void the_hand_goes_on(void **state)
{
    struct fixture fixture;
    int refused = 0;
    (void)state;

    open_fixture(&fixture, 2000);
    begin(&fixture, 0, 1);
    for (uint64_t key = 2; key < 2000; key++)
        assert_int_equal(extend(&fixture, 0, key), LBR_KV_FATE_DONE);
    assert_int_equal(begin(&fixture, 1, 5000), LBR_KV_FATE_DONE);
    fixture.index.end = 0;
    while (begin(&fixture, 1, 6000) == LBR_KV_FATE_NO_ROOM)
        assert_true(++refused < 20);
    assert_true(refused > 2);
    assert_false(knows(&fixture, 0, 1999));
    assert_true(knows(&fixture, 0, 1998));
    for (uint64_t key = 6001; key < 6900; key++) /* the end is known now */
        assert_int_equal(begin(&fixture, 1, key), LBR_KV_FATE_DONE);
    check_full(&fixture);
    close_fixture(&fixture);
}

/* ---- retired owners ---- */

/* What they left behind goes first; nobody loses anything. */
static void retired_owners_make_room_first(void **state)
{
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 40);
    for (uint64_t key = 1; key <= 20; key++) {
        begin(&fixture, 0, key);
        begin(&fixture, 1, key);
    }
    lbr_kv_owner_retire(&fixture.index, fixture.owners[0]);
    for (uint64_t key = 101; key <= 120; key++) {
        assert_int_equal(begin(&fixture, 2, key), LBR_KV_FATE_DONE);
        kv_check_index(&fixture.index, 0);
    }
    assert_int_equal(fixture.index.evicted, 0);
    assert_int_equal(fixture.index.retired_labels, 0);
    assert_int_equal(fixture.owners[1]->labels, 20);
    close_fixture(&fixture);
}

/* The end of a prompt may be of an owner that has been retired since. Its
 * parent's place may be another's by now. */
static void the_known_end_is_of_a_retired_owner(void **state)
{
    struct fixture fixture;
    lbr_kv_label end;
    (void)state;

    open_fixture(&fixture, 14);
    begin(&fixture, 0, 1);
    for (uint64_t key = 2; key <= 10; key++)
        extend(&fixture, 0, key);
    for (uint64_t key = 11; key <= 14; key++)
        begin(&fixture, (int)(key % 2) + 1, key);
    assert_int_equal(begin(&fixture, 1, 15), LBR_KV_FATE_DONE);
    end = fixture.index.end;
    assert_true(end);
    lbr_kv_owner_retire(&fixture.index, fixture.owners[0]);
    assert_true(lbr_kv_label_forget(
        &fixture.index, lbr_kv_record(&fixture.index.labels, end)->parent));
    for (uint64_t key = 16; key < 40; key++) {
        fixture.index.hand = end; /* nothing to sweep comes next */
        assert_int_equal(begin(&fixture, (int)(key % 2) + 1, key),
                         LBR_KV_FATE_DONE);
        kv_check_index(&fixture.index, 0);
    }
    close_fixture(&fixture);
}

/* ---- memory ---- */

/* An end that cannot be taken has not been. */
static void no_memory_to_make_room(void **state)
{
    static struct kv_model model;
    (void)state;

    kv_model_open(&model, 6, false);
    for (int owner = 0; owner < 3; owner++) {
        kv_model_put(&model, owner, 0, KV_MODEL_NONE, 0, 0, false);
        kv_model_put(&model, owner, 1, KV_MODEL_NONE, 1, 0, false);
    }
    kv_model_starve(&model, 0);
    kv_model_put(&model, 3, 0, KV_MODEL_NONE, 2, 0, false);
    kv_model_feed(&model);
    kv_model_check(&model);
    assert_int_equal(model.refused, 1);
    assert_int_equal(model.index.labels.live, 6);
    assert_int_equal(model.index.evicted, 0);
    for (int owner = 0; owner < 3; owner++)
        assert_int_equal(model.owners[owner]->evicted, 0);
    kv_model_close(&model);
}

/* ---- against the account ---- */

/* At every limit, with and without memory, nobody is said to hold what it does
 * not. */
static void nothing_is_made_up(void **state)
{
    uint64_t evicted = 0;
    (void)state;

    for (uint32_t limit = 1; limit <= 40; limit++) {
        struct test_rng rng = {limit};
        static struct kv_model model;

        kv_model_open(&model, limit, false);
        for (int step = 0; step < 1000; step++) {
            bool starved = test_rng_below(&rng, 32) == 0;

            if (starved)
                kv_model_starve(&model, (int)test_rng_below(&rng, 3));
            kv_model_random(&model, &rng);
            if (starved)
                kv_model_feed(&model);
            kv_model_check(&model);
            assert_true(model.index.labels.live <= limit);
        }
        evicted += model.index.evicted;
        kv_model_close(&model);
    }
    assert_true(evicted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_before_heads),
        cmocka_unit_test(no_parent_makes_room_for_its_child),
        cmocka_unit_test(fewer_labels_than_owners),
        cmocka_unit_test(parts_become_equal),
        cmocka_unit_test(the_hand_goes_on),
        cmocka_unit_test(retired_owners_make_room_first),
        cmocka_unit_test(the_known_end_is_of_a_retired_owner),
        cmocka_unit_test(no_memory_to_make_room),
        cmocka_unit_test(nothing_is_made_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
