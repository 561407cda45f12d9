/* SPDX-License-Identifier: MIT */
/* models/kv_index_sets: against a table of what each owner has in each. */
#include "models/kv_index_sets.h"

#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define HOLDERS 24 /* that hold a set each, as nodes do */
#define OWNERS 6
#define KIND 10
#define LIMIT 100000

struct model {
    struct unit_heap heap;
    struct lbr_kv_sets sets;
    lbr_kv_set held[HOLDERS];
    uint32_t labels[HOLDERS][OWNERS];
};

/* Owners are spread over all numbers that there are. */
static uint32_t number_of(int owner)
{
    return (uint32_t)owner * 13106;
}

static void open_model(struct model *model, uint32_t limit)
{
    memset(model, 0, sizeof *model);
    unit_heap_open(&model->heap);
    lbr_kv_sets_init(&model->sets, &model->heap.memory, KIND, limit, 1);
}

static void close_model(struct model *model)
{
    lbr_kv_sets_destroy(&model->sets);
    unit_heap_close(&model->heap);
}

static void change(struct model *model, int holder, int owner, uint32_t labels)
{
    lbr_kv_set set = lbr_kv_set_change(&model->sets, model->held[holder],
                                       number_of(owner), labels);

    assert_int_not_equal(set, LBR_KV_NO_SET);
    model->held[holder] = set;
    model->labels[holder][owner] = labels;
}

/* ---- checks ---- */

static uint32_t count_of(const struct model *model, int holder)
{
    uint32_t count = 0;

    for (int owner = 0; owner < OWNERS; owner++)
        count += model->labels[holder][owner] != 0;
    return count;
}

static void check_content(const struct model *model, int holder)
{
    const struct lbr_kv_members *members;
    uint32_t place = 0;

    assert_int_equal(model->held[holder] == 0, count_of(model, holder) == 0);
    for (int owner = 0; owner < OWNERS; owner++)
        assert_int_equal(lbr_kv_set_labels(&model->sets, model->held[holder],
                                           number_of(owner)),
                         model->labels[holder][owner]);
    assert_int_equal(
        lbr_kv_set_labels(&model->sets, model->held[holder], 40001), 0);
    if (!model->held[holder])
        return;
    members = lbr_kv_set_members(&model->sets, model->held[holder]);
    assert_int_equal(members->count, count_of(model, holder));
    for (int owner = 0; owner < OWNERS; owner++)
        if (model->labels[holder][owner])
            assert_int_equal(
                members->entries[place++],
                lbr_kv_entry(number_of(owner), model->labels[holder][owner]));
}

/* Equal content has equal numbers, and others have others; each is counted as
 * often as it is held. Returns 1 for the first holder of a set. */
static uint32_t check_number(const struct model *model, int holder)
{
    uint32_t references = 0;
    int first = holder;

    for (int other = HOLDERS - 1; other >= 0; other--) {
        int equal = !memcmp(model->labels[holder], model->labels[other],
                            sizeof model->labels[other]);

        assert_int_equal(model->held[holder] == model->held[other], equal);
        references += (uint32_t)equal;
        if (equal)
            first = other;
    }
    if (!model->held[holder])
        return 0;
    assert_int_equal(
        lbr_kv_set_members(&model->sets, model->held[holder])->references,
        references);
    return first == holder;
}

static void check(const struct model *model)
{
    uint32_t live = 0;
    size_t used = 0;

    for (int holder = 0; holder < HOLDERS; holder++) {
        check_content(model, holder);
        if (!check_number(model, holder))
            continue;
        live++;
        used += lbr_arena_cost(count_of(model, holder) * sizeof(uint32_t));
    }
    assert_int_equal(model->sets.slab.live, live);
    assert_int_equal(model->sets.by_hash.count, live);
    assert_int_equal(lbr_arena_used(&model->sets.arena), used);
}

static void let_go(struct model *model)
{
    for (int holder = 0; holder < HOLDERS; holder++)
        for (int owner = 0; owner < OWNERS; owner++)
            change(model, holder, owner, 0);
    check(model);
    assert_int_equal(model->sets.slab.live, 0);
    assert_int_equal(lbr_arena_used(&model->sets.arena), 0);
}

/* ---- tests ---- */

/* Few labels, so that holders often have the same. */
static uint32_t random_labels(struct test_rng *rng)
{
    return test_rng_below(rng, 3) ? 1U << 4 * test_rng_below(rng, LBR_KV_KINDS)
                                  : 0;
}

static void random_changes(void **state)
{
    struct test_rng rng = {1};
    static struct model model;
    (void)state;

    open_model(&model, LIMIT);
    for (int step = 0; step < 30000; step++) {
        change(&model, (int)test_rng_below(&rng, HOLDERS),
               (int)test_rng_below(&rng, OWNERS), random_labels(&rng));
        if (step % 10 == 0)
            check(&model);
    }
    let_go(&model);
    close_model(&model);
}

/* 0 to 15 labels of each kind, and all at once. */
static void counts_of_labels(void **state)
{
    static struct model model;
    (void)state;

    open_model(&model, LIMIT);
    for (unsigned kind = 0; kind < LBR_KV_KINDS; kind++)
        for (uint32_t count = 0; count <= LBR_KV_MOST_LABELS; count++) {
            change(&model, 0, 1, count << 4 * kind);
            change(&model, 1, 5, count << 4 * kind);
            check(&model);
            assert_int_equal(
                lbr_kv_set_labels(&model.sets, model.held[0], number_of(1)) &
                        LBR_KV_RESIDENT
                    ? 1
                    : 0,
                count && kind != LBR_KV_GHOST);
        }
    change(&model, 2, 5, 0xffff);
    change(&model, 3, 0, 0xffff);
    check(&model);
    let_go(&model);
    close_model(&model);
}

static void the_same_again_is_the_same_set(void **state)
{
    static struct model model;
    lbr_kv_set set;
    (void)state;

    open_model(&model, LIMIT);
    change(&model, 0, 2, 1);
    set = model.held[0];
    change(&model, 0, 2, 1);
    assert_int_equal(model.held[0], set);
    check(&model);
    change(&model, 1, 3, 0); /* was not in it */
    assert_int_equal(model.held[1], 0);
    let_go(&model);
    close_model(&model);
}

/* Each set in turn lives only until the next one is there. */
static void four_thousand_owners(void **state)
{
    static struct model model;
    lbr_kv_set set = 0;
    lbr_kv_set again = 0;
    (void)state;

    open_model(&model, 3);
    for (uint32_t owner = 0; owner < 4096; owner++) {
        set = lbr_kv_set_change(&model.sets, set, owner * 16, 1);
        assert_int_not_equal(set, LBR_KV_NO_SET);
    }
    assert_int_equal(lbr_kv_set_members(&model.sets, set)->count, 4096);
    for (uint32_t owner = 4096; owner--;) {
        assert_int_equal(lbr_kv_set_labels(&model.sets, set, owner * 16), 1);
        assert_int_equal(lbr_kv_set_labels(&model.sets, set, owner * 16 + 1),
                         0);
        again = lbr_kv_set_change(&model.sets, again, owner * 16, 1);
    }
    assert_int_equal(again, set); /* in whatever order they came */
    assert_int_equal(model.sets.slab.live, 1);
    for (uint32_t owner = 0; owner < 4096; owner++) {
        set = lbr_kv_set_change(&model.sets, set, owner * 16, 0);
        again = lbr_kv_set_change(&model.sets, again, owner * 16, 0);
    }
    assert_int_equal(set | again, 0);
    assert_int_equal(model.sets.slab.live, 0);
    close_model(&model);
}

/* ---- memory ---- */

/* Nothing changes, and the reference is not lost. */
static void check_refused(struct model *model, int holder, uint32_t labels)
{
    assert_int_equal(lbr_kv_set_change(&model->sets, model->held[holder],
                                       number_of(2), labels),
                     LBR_KV_NO_SET);
    check(model);
}

static void each_allocation_fails(void **state)
{
    uint64_t after = 0;
    uint64_t failures;
    (void)state;

    do {
        static struct model model;

        open_model(&model, LIMIT);
        test_alloc_fail(&model.heap.alloc, after++, 1);
        if (lbr_kv_set_change(&model.sets, 0, number_of(0), 1) ==
            LBR_KV_NO_SET) {
            check(&model);
            assert_int_equal(model.sets.slab.live, 0);
        } else {
            model.held[0] = 1;
            model.labels[0][0] = 1;
        }
        failures = model.heap.alloc.failures;
        check(&model);
        let_go(&model);
        close_model(&model);
    } while (failures);
    assert_true(after > 3);
}

/* At the limit there is no other set; those that exist can be had. */
static void more_sets_than_the_limit(void **state)
{
    static struct model model;
    (void)state;

    open_model(&model, 2);
    change(&model, 0, 0, 1);
    change(&model, 1, 0, 1);
    change(&model, 2, 1, 1);
    check_refused(&model, 0, 1);
    check_refused(&model, 5, 1);
    change(&model, 3, 1, 1);
    check(&model);
    let_go(&model);
    close_model(&model);
}

/* Of two, taking one out needs memory, too: for what is left. */
static void taking_out_needs_memory(void **state)
{
    static struct model model;
    (void)state;

    open_model(&model, LIMIT);
    change(&model, 0, 2, 1);
    change(&model, 0, 3, 1);
    model.sets.slab.limit = model.sets.slab.used;
    change(&model, 1, 4, 1); /* the place that the first one left */
    check_refused(&model, 0, 0);
    check_refused(&model, 0, 16);
    change(&model, 1, 4, 0);
    change(&model, 0, 2, 0);
    check(&model);
    let_go(&model);
    close_model(&model);
}

/* A set for each block, as different as can be. */
static void the_estimate_holds(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks <= 4096; blocks = blocks * 3 + 1) {
        static struct model model;
        static lbr_kv_set sets[4096];

        open_model(&model, blocks + 1);
        for (uint32_t i = 0; i < blocks; i++)
            sets[i] = lbr_kv_set_change(&model.sets, 0, i, 1);
        assert_int_equal(model.sets.slab.live, blocks);
        for (uint32_t i = 0; i < blocks; i++)
            sets[i] = lbr_kv_set_change(&model.sets, sets[i], i, 0x111);
        assert_true(model.heap.alloc.peak_bytes <=
                    lbr_kv_sets_estimate(blocks));
        close_model(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes),
        cmocka_unit_test(counts_of_labels),
        cmocka_unit_test(the_same_again_is_the_same_set),
        cmocka_unit_test(four_thousand_owners),
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(more_sets_than_the_limit),
        cmocka_unit_test(taking_out_needs_memory),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
