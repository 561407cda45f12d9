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

/* Looks for a prompt; who is met has some of it, and nobody else. */
static void check_prompt(struct kv_model *model, const int *chains,
                         size_t count)
{
    uint32_t met = 0;
    uint64_t keys[LONGEST];

    for (size_t i = 0; i < count; i++)
        keys[i] = model->chains[chains[i]].key;
    lbr_kv_index_match(&model->index, keys, count);
    for (int i = 0; i < KV_MODEL_OWNERS; i++) {
        const struct lbr_kv_owner *owner = model->owners[i];
        struct run run = run_of(model, i, chains, count);

        assert_int_equal(owner->met_by == model->index.matches,
                         run.length != 0);
        if (!run.length)
            continue;
        assert_int_equal(owner->run, run.length);
        assert_memory_equal(owner->found, run.found, sizeof run.found);
        met++;
    }
    assert_int_equal(model->index.met_count, met);
    for (uint32_t i = 0; i < met; i++) {
        const struct lbr_kv_owner *owner =
            lbr_slab_at(&model->index.owners, model->index.met[i]);

        assert_true(owner->met_by == model->index.matches && !owner->retired);
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

static void an_index_without_tables(void **state)
{
    struct unit_heap heap;
    struct lbr_kv_index index;
    uint64_t key = 7;
    (void)state;

    unit_heap_open(&heap);
    lbr_kv_index_init(&index, &heap.memory, KV_MODEL_KIND, 100);
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
        cmocka_unit_test(an_index_without_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
