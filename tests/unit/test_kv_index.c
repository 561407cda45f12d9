/* SPDX-License-Identifier: MIT */
/* models/kv_index: against a naive account; everything is counted anew after
 * every call. */
#include "models/kv_index.h"

#include "kv_check.h"
#include "kv_model.h"
#include "support/test.h"

#define PLENTY 4096

static void random_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct test_rng rng = {seed};
        static struct kv_model model;

        kv_model_open(&model, PLENTY, true);
        for (int step = 0; step < 1500; step++) {
            kv_model_random(&model, &rng);
            kv_model_check(&model);
        }
        assert_int_equal(model.refused, 0);
        kv_model_close(&model);
    }
}

/* Every call of the allocator fails once, and all from there on for a while. */
static void without_memory(uint64_t span)
{
    uint64_t lost = 0;

    for (uint64_t after = 0; after < 60; after++) {
        struct test_rng rng = {span + 7};
        static struct kv_model model;

        kv_model_open(&model, PLENTY, false);
        test_alloc_fail(&model.heap.alloc, after, span);
        for (int step = 0; step < 500; step++) {
            kv_model_random(&model, &rng);
            kv_model_check(&model);
        }
        test_alloc_heal(&model.heap.alloc);
        lost += model.refused + model.lost;
        kv_model_close(&model);
    }
    assert_true(lost > 0);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    without_memory(1);
}

static void allocations_fail_for_a_while(void **state)
{
    (void)state;
    without_memory(5);
}

/* Sets cannot be made, one less or two less than a call needs. */
static void no_memory_for_sets(void **state)
{
    uint64_t lost = 0;
    uint64_t refused = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct test_rng rng = {seed};
        static struct kv_model model;

        kv_model_open(&model, PLENTY, false);
        for (int step = 0; step < 1500; step++) {
            bool starved = test_rng_below(&rng, 8) == 0;

            if (starved)
                kv_model_starve(&model, (int)test_rng_below(&rng, 3));
            kv_model_random(&model, &rng);
            kv_model_feed(&model);
            kv_model_check(&model);
        }
        lost += model.lost;
        refused += model.refused;
        kv_model_close(&model);
    }
    assert_true(lost > 0 && refused > 0);
}

/* ---- by hand ---- */

struct fixture {
    struct unit_heap heap;
    struct lbr_kv_index index;
    struct lbr_kv_owner *owner;
    int renamed;
};

static void open_fixture(struct fixture *fixture, uint32_t limit)
{
    unit_heap_open(&fixture->heap);
    lbr_kv_index_init(&fixture->index, &fixture->heap.memory, KV_MODEL_KIND,
                      limit, 1);
    fixture->owner = lbr_kv_owner_add(&fixture->index, fixture);
    assert_non_null(fixture->owner);
}

static void close_fixture(struct fixture *fixture)
{
    lbr_kv_index_destroy(&fixture->index);
    unit_heap_close(&fixture->heap);
}

static enum lbr_kv_fate put(struct fixture *fixture, uint64_t name,
                            lbr_kv_label parent, uint64_t key, unsigned medium)
{
    struct lbr_kv_name its = {fixture->owner, name};

    return lbr_kv_index_put(&fixture->index, its, &parent, key, medium, 0,
                            &fixture->renamed);
}

static lbr_kv_label label_of(const struct fixture *fixture, uint64_t name)
{
    struct lbr_kv_name its = {fixture->owner, name};
    struct lbr_kv_spot spot = {0, 0};

    (void)lbr_kv_index_find(&fixture->index, its, &spot);
    return spot.label;
}

static enum lbr_kv_fate remove_all(struct fixture *fixture, uint64_t name)
{
    struct lbr_kv_name its = {fixture->owner, name};
    uint32_t left = 0;

    return lbr_kv_index_remove(&fixture->index, its, LBR_KV_MEDIA, 0, &left);
}

/* An entry counts to 15. */
static void copies_of_a_block_under_many_names(void **state)
{
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, PLENTY);
    for (uint64_t name = 1; name <= LBR_KV_MOST_LABELS; name++)
        assert_int_equal(put(&fixture, name, 0, 7, 0), LBR_KV_FATE_DONE);
    assert_int_equal(put(&fixture, 99, 0, 7, 0), LBR_KV_FATE_NO_ROOM);
    assert_int_equal(label_of(&fixture, 99), 0);
    assert_int_equal(put(&fixture, 99, 0, 7, 1), LBR_KV_FATE_DONE);
    assert_int_equal(put(&fixture, 99, 0, 7, 0), LBR_KV_FATE_NO_ROOM);
    kv_check_index(&fixture.index, 0);
    assert_int_equal(fixture.owner->blocks[0], LBR_KV_MOST_LABELS);
    assert_int_equal(fixture.owner->blocks[1], 1);
    assert_int_equal(remove_all(&fixture, 1), LBR_KV_FATE_DONE);
    assert_int_equal(put(&fixture, 99, 0, 7, 0), LBR_KV_FATE_DONE);
    kv_check_index(&fixture.index, 0);
    close_fixture(&fixture);
}

/* A ghost that cannot be counted is reported as lost, and takes nothing along
 * once its owner is retired. */
static void more_ghosts_than_an_entry_counts(void **state)
{
    struct fixture fixture;
    uint64_t name;
    (void)state;

    open_fixture(&fixture, PLENTY);
    for (name = 1; name <= LBR_KV_MOST_LABELS; name++) {
        put(&fixture, name, 0, 7, 0);
        put(&fixture, 100 + name, label_of(&fixture, name), 8, 0);
        assert_int_equal(remove_all(&fixture, name), LBR_KV_FATE_DONE);
    }
    assert_int_equal(put(&fixture, name, 0, 9, 0), LBR_KV_FATE_DONE);
    assert_int_equal(put(&fixture, name, 0, 7, 0), LBR_KV_FATE_LOST);
    lbr_kv_owner_retire(&fixture.index, fixture.owner);
    kv_check_index(&fixture.index, 1);
    kv_sweep_all(&fixture.index);
    kv_check_index(&fixture.index, 0);
    assert_int_equal(fixture.index.owners.live, 0);
    close_fixture(&fixture);
}

/* Where it would come after itself, a label has no parent. */
static void no_label_follows_itself(void **state)
{
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, PLENTY);
    put(&fixture, 1, 0, 11, 0);
    put(&fixture, 2, label_of(&fixture, 1), 12, 0);
    put(&fixture, 3, label_of(&fixture, 2), 13, 0);
    assert_int_equal(put(&fixture, 1, label_of(&fixture, 3), 14, 0),
                     LBR_KV_FATE_DONE);
    assert_true(fixture.renamed);
    kv_check_index(&fixture.index, 0);
    assert_int_equal(remove_all(&fixture, 1), LBR_KV_FATE_DONE);
    assert_int_equal(remove_all(&fixture, 2), LBR_KV_FATE_DONE);
    assert_int_equal(remove_all(&fixture, 3), LBR_KV_FATE_DONE);
    assert_int_equal(fixture.index.labels.live, 0);
    close_fixture(&fixture);
}

/* The count of children stays at its most; the parent then stays as a ghost
 * until its owner goes. */
static void more_children_than_can_be_counted(void **state)
{
    struct fixture fixture;
    lbr_kv_label parent;
    (void)state;

    open_fixture(&fixture, 70000);
    put(&fixture, 1, 0, 1, 0);
    parent = label_of(&fixture, 1);
    for (uint64_t name = 2; name < 66000; name++)
        assert_int_equal(put(&fixture, name, parent, name, 0),
                         LBR_KV_FATE_DONE);
    assert_int_equal(remove_all(&fixture, 1), LBR_KV_FATE_DONE);
    for (uint64_t name = 2; name < 66000; name++)
        assert_int_equal(remove_all(&fixture, name), LBR_KV_FATE_DONE);
    assert_int_equal(fixture.index.labels.live, 1);
    assert_int_equal(fixture.owner->resident, 0);
    assert_int_equal(label_of(&fixture, 1), parent);
    lbr_kv_owner_retire(&fixture.index, fixture.owner);
    kv_sweep_all(&fixture.index);
    kv_check_index(&fixture.index, 0);
    assert_int_equal(fixture.index.labels.live, 0);
    close_fixture(&fixture);
}

/* ---- owners ---- */

/* All numbers are given out; those of retired owners again once what they left
 * behind is swept. */
static void as_many_owners_as_there_are_numbers(void **state)
{
    static struct lbr_kv_owner *owners[LBR_KV_OWNERS];
    struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 64);
    owners[0] = fixture.owner;
    for (uint32_t i = 1; i < LBR_KV_OWNERS; i++) {
        owners[i] = lbr_kv_owner_add(&fixture.index, NULL);
        assert_non_null(owners[i]);
    }
    assert_null(lbr_kv_owner_add(&fixture.index, NULL));
    fixture.owner = owners[LBR_KV_OWNERS - 1];
    assert_int_equal(put(&fixture, 5, 0, 5, 0), LBR_KV_FATE_DONE);
    lbr_kv_owner_retire(&fixture.index, fixture.owner);
    fixture.owner = lbr_kv_owner_add(&fixture.index, NULL);
    assert_ptr_equal(fixture.owner, owners[LBR_KV_OWNERS - 1]);
    assert_int_equal(label_of(&fixture, 5), 0);
    assert_int_equal(fixture.index.labels.live, 0);
    assert_null(lbr_kv_owner_add(&fixture.index, NULL));
    close_fixture(&fixture);
}

/* Retired: nothing of it counts, though it is still there; its number is not
 * used before all of it is gone. */
static void a_retired_owner_counts_for_nobody(void **state)
{
    struct fixture fixture;
    struct lbr_kv_owner *old;
    (void)state;

    open_fixture(&fixture, PLENTY);
    for (uint64_t name = 1; name <= 20; name++)
        put(&fixture, name, 0, name, 0);
    old = fixture.owner;
    lbr_kv_owner_retire(&fixture.index, old);
    assert_int_equal(fixture.index.resident, 0);
    assert_int_equal(fixture.index.holders, 0);
    assert_int_equal(fixture.index.retired_labels, 20);
    fixture.owner = lbr_kv_owner_add(&fixture.index, NULL);
    assert_ptr_not_equal(fixture.owner, old);
    assert_int_equal(put(&fixture, 1, 0, 1, 0), LBR_KV_FATE_DONE);
    assert_true(fixture.index.retired_labels < 20);
    kv_check_index(&fixture.index, 0);
    kv_sweep_all(&fixture.index);
    kv_check_index(&fixture.index, 0);
    assert_int_equal(fixture.index.labels.live, 1);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(allocations_fail_for_a_while),
        cmocka_unit_test(no_memory_for_sets),
        cmocka_unit_test(copies_of_a_block_under_many_names),
        cmocka_unit_test(more_ghosts_than_an_entry_counts),
        cmocka_unit_test(no_label_follows_itself),
        cmocka_unit_test(more_children_than_can_be_counted),
        cmocka_unit_test(as_many_owners_as_there_are_numbers),
        cmocka_unit_test(a_retired_owner_counts_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
