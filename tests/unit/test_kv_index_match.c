/* SPDX-License-Identifier: MIT */
/* models/kv_index_match: leading runs, against a walk block by block. */
#include <string.h>

#include "kv_check.h"
#include "kv_model.h"
#include "support/test.h"

#define LONGEST 40

/* What an owner should have of a prompt. */
struct run {
    uint32_t length;
    uint32_t found[LBR_KV_MEDIA];
};

static struct run run_of(const struct kv_model *model, int owner,
                         const int *chains, size_t count)
{
    struct run run = {0, {0}};
    unsigned medium;

    while (run.length < count &&
           kv_model_holds(model, owner, chains[run.length], &medium)) {
        run.found[medium]++;
        run.length++;
    }
    return run;
}

static void check_owner(const struct kv_model *model, int which,
                        const int *chains, size_t count)
{
    const struct lbr_kv_owner *owner = model->owners[which];
    struct run run = run_of(model, which, chains, count);

    assert_int_equal(owner->met_by == model->index.matches, run.length != 0);
    if (!run.length)
        return;
    assert_int_equal(owner->run, run.length);
    assert_memory_equal(owner->found, run.found, sizeof run.found);
}

/* Looks for a prompt; who is met has some of it, and nobody else. */
static void check_prompt(struct kv_model *model, const int *chains,
                         size_t count)
{
    uint64_t keys[LONGEST];

    for (size_t i = 0; i < count; i++)
        keys[i] = model->chains[chains[i]].key;
    lbr_kv_index_match(&model->index, keys, count);
    lbr_kv_index_meet_all(&model->index);
    for (int i = 0; i < KV_MODEL_OWNERS; i++)
        check_owner(model, i, chains, count);
    for (uint32_t i = 0; i < model->index.met_count; i++) {
        const struct lbr_kv_owner *owner =
            lbr_slab_at(&model->index.owners, model->index.met[i]);

        assert_ptr_equal(owner->context, model);
        assert_int_equal(owner->met_by, model->index.matches);
    }
}

static void check_random_prompt(struct kv_model *model, struct test_rng *rng)
{
    int chains[LONGEST];
    size_t count = test_rng_below(rng, 8);
    int before = KV_MODEL_NONE;

    for (size_t i = 0; i < count; i++)
        chains[i] = before =
            kv_model_chain(model, before, test_rng_below(rng, 2));
    check_prompt(model, chains, count);
}

static void random_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct test_rng rng = {seed};
        static struct kv_model model;

        kv_model_open(&model, 2048, true);
        for (int step = 0; step < 1000; step++) {
            kv_model_random(&model, &rng);
            for (int i = 0; i < 4; i++)
                check_random_prompt(&model, &rng);
        }
        kv_model_close(&model);
    }
}

/* ---- one long prompt ---- */

struct prompt {
    struct kv_model model;
    int chains[LONGEST];
};

/* The prompt's blocks are 0, 1, 2 …; as many are stored as there are names. */
static void open_prompt(struct prompt *prompt)
{
    int before = KV_MODEL_NONE;

    kv_model_open(&prompt->model, 2048, true);
    for (int i = 0; i < LONGEST; i++)
        prompt->chains[i] = before =
            kv_model_chain(&prompt->model, before, (uint64_t)i);
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++)
        for (int i = 0; i < KV_MODEL_NAMES; i++)
            kv_model_put(&prompt->model, owner, i, i - 1, (uint64_t)i, 0,
                         false);
}

/* At every length, also those beyond what is known. */
static void check_lengths(struct prompt *prompt)
{
    for (size_t count = 0; count <= LONGEST; count++)
        check_prompt(&prompt->model, prompt->chains, count);
}

static void prompts_longer_than_what_is_known(void **state)
{
    static struct prompt prompt;
    (void)state;

    open_prompt(&prompt);
    check_lengths(&prompt);
    assert_int_equal(prompt.model.owners[0]->run, KV_MODEL_NAMES);
    kv_model_close(&prompt.model);
}

/* Ghosts in the middle, those of every owner elsewhere. */
static void holes(void **state)
{
    static struct prompt prompt;
    (void)state;

    open_prompt(&prompt);
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++) {
        kv_model_remove(&prompt.model, owner, owner * 3, LBR_KV_MEDIA, false);
        check_lengths(&prompt);
    }
    assert_int_not_equal(prompt.model.owners[0]->met_by,
                         prompt.model.index.matches);
    for (int owner = 1; owner < KV_MODEL_OWNERS; owner++)
        assert_int_equal(prompt.model.owners[owner]->run, owner * 3);
    kv_model_close(&prompt.model);
}

/* The set is another one with each block, and the same two in turn. */
static void sets_that_alternate(void **state)
{
    static struct prompt prompt;
    (void)state;

    open_prompt(&prompt);
    for (int i = 0; i < KV_MODEL_NAMES; i += 2)
        kv_model_add_copy(&prompt.model, 0, i, 1, false);
    check_lengths(&prompt);
    for (int i = 0; i < KV_MODEL_NAMES; i += 2)
        kv_model_remove(&prompt.model, 0, i, 0, false);
    check_lengths(&prompt);
    assert_int_equal(prompt.model.owners[0]->run, KV_MODEL_NAMES);
    assert_int_equal(prompt.model.owners[0]->found[1], KV_MODEL_NAMES / 2);
    for (int i = 1; i < KV_MODEL_NAMES; i += 2)
        kv_model_remove(&prompt.model, 1, i, LBR_KV_MEDIA, false);
    check_lengths(&prompt);
    assert_int_equal(prompt.model.owners[1]->run, 1);
    kv_model_close(&prompt.model);
}

/* The blocks are still there, and so are their sets. */
static void retired_owners_have_nothing(void **state)
{
    static struct prompt prompt;
    (void)state;

    open_prompt(&prompt);
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++) {
        kv_model_retire(&prompt.model, owner);
        check_lengths(&prompt);
    }
    assert_int_equal(prompt.model.index.met_count, 0);
    assert_true(prompt.model.index.nodes.count > 0);
    kv_model_close(&prompt.model);
}

/* ---- crowds ---- */

#define CROWD 60
#define BLOCKS 24U

struct crowd {
    struct unit_heap heap;
    struct lbr_kv_index index;
    struct lbr_kv_owner *owners[CROWD];
    unsigned media[CROWD][BLOCKS]; /* LBR_KV_MEDIA: not there */
};

/* The first blocks are everybody's, then they are fewer and fewer; some miss
 * one. */
static bool is_held(struct test_rng *rng, uint32_t block)
{
    if (block < 4)
        return test_rng_below(rng, 40) != 0;
    return test_rng_below(rng, BLOCKS) > block - 3;
}

static void put_block(struct crowd *crowd, int owner, uint32_t block,
                      unsigned medium)
{
    struct lbr_kv_name name = {crowd->owners[owner], block + 1};
    lbr_kv_label none = 0;
    int renamed;

    crowd->media[owner][block] = medium;
    if (medium < LBR_KV_MEDIA)
        assert_int_equal(lbr_kv_index_put(&crowd->index, name, &none, block + 1,
                                          medium, 0, &renamed),
                         LBR_KV_FATE_DONE);
}

static void open_crowd(struct crowd *crowd, struct test_rng *rng)
{
    unit_heap_open(&crowd->heap);
    lbr_kv_index_init(&crowd->index, &crowd->heap.memory, KV_MODEL_KIND, 4096,
                      1);
    for (int owner = 0; owner < CROWD; owner++) {
        crowd->owners[owner] = lbr_kv_owner_add(&crowd->index, NULL);
        assert_non_null(crowd->owners[owner]);
        for (uint32_t block = 0; block < BLOCKS; block++)
            put_block(crowd, owner, block,
                      is_held(rng, block)
                          ? (unsigned)(test_rng_below(rng, 20) == 0)
                          : LBR_KV_MEDIA);
    }
}

static void close_crowd(struct crowd *crowd)
{
    lbr_kv_index_destroy(&crowd->index);
    unit_heap_close(&crowd->heap);
}

static uint32_t check_member(const struct crowd *crowd, int which,
                             uint32_t count, uint32_t run)
{
    const struct lbr_kv_owner *owner = crowd->owners[which];
    uint32_t found[LBR_KV_MEDIA] = {0};
    uint32_t length = 0;

    while (!owner->retired && length < count &&
           crowd->media[which][length] < LBR_KV_MEDIA)
        found[crowd->media[which][length++]]++;
    assert_int_equal(run, length);
    if (length)
        assert_memory_equal(owner->found, found, sizeof found);
    return length;
}

static uint32_t run_met(const struct crowd *crowd, int which)
{
    const struct lbr_kv_owner *owner = crowd->owners[which];

    return owner->met_by == crowd->index.matches ? owner->run : 0;
}

/* One by one, in another order, or all at once. */
static void check_crowd(struct crowd *crowd, uint32_t count)
{
    uint64_t keys[BLOCKS];
    uint32_t met = 0;

    for (uint32_t i = 0; i < BLOCKS; i++)
        keys[i] = i + 1;
    lbr_kv_index_match(&crowd->index, keys, count);
    for (int i = 0; i < CROWD; i++) {
        uint32_t before = run_met(crowd, i);
        uint32_t run = lbr_kv_index_meet(&crowd->index, crowd->owners[i]);

        met += check_member(crowd, i, count, run) != 0;
        assert_true(before ? before == run
                           : run <= lbr_kv_index_unmet(&crowd->index));
    }
    assert_int_equal(crowd->index.met_count, met);
    lbr_kv_index_match(&crowd->index, keys, count);
    lbr_kv_index_meet_all(&crowd->index);
    assert_int_equal(crowd->index.met_count, met);
    for (int i = 0; i < CROWD; i++)
        check_member(crowd, i, count, run_met(crowd, i));
}

static void crowds(void **state)
{
    uint64_t heads = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct test_rng rng = {seed};
        static struct crowd crowd;

        open_crowd(&crowd, &rng);
        for (uint32_t count = 0; count <= BLOCKS; count++)
            check_crowd(&crowd, count);
        heads += crowd.index.head_count;
        for (int i = 0; i < CROWD; i += 2) {
            lbr_kv_owner_retire(&crowd.index, crowd.owners[i]);
            check_crowd(&crowd, (uint32_t)i % (BLOCKS + 1));
        }
        close_crowd(&crowd);
    }
    assert_true(heads > 60);
}

static void an_index_without_tables(void **state)
{
    struct unit_heap heap;
    struct lbr_kv_index index;
    uint64_t key = 7;
    (void)state;

    unit_heap_open(&heap);
    lbr_kv_index_init(&index, &heap.memory, KV_MODEL_KIND, 100, 1);
    lbr_kv_index_match(&index, &key, 1);
    assert_int_equal(index.met_count, 0);
    lbr_kv_index_destroy(&index);
    assert_int_equal(heap.alloc.calls, 0);
    unit_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls),
        cmocka_unit_test(prompts_longer_than_what_is_known),
        cmocka_unit_test(holes),
        cmocka_unit_test(sets_that_alternate),
        cmocka_unit_test(retired_owners_have_nothing),
        cmocka_unit_test(crowds),
        cmocka_unit_test(an_index_without_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
