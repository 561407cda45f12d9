/* SPDX-License-Identifier: MIT */
#include "kv_model.h"

#include <string.h>

#include "kv_check.h"
#include "support/test.h"

/* Labels are never named 0 in the index, so that 0 is nobody's. */
static struct lbr_kv_name name_of(const struct kv_model *model, int owner,
                                  int name)
{
    struct lbr_kv_name its = {model->owners[owner], (uint64_t)name + 1};

    return its;
}

static void new_owner(struct kv_model *model, int owner)
{
    memset(model->labels[owner], 0, sizeof model->labels[owner]);
    test_alloc_heal(&model->heap.alloc);
    model->owners[owner] = lbr_kv_owner_add(&model->index, model);
    assert_non_null(model->owners[owner]);
}

void kv_model_open(struct kv_model *model, uint32_t limit, bool exact)
{
    memset(model, 0, sizeof *model);
    unit_heap_open(&model->heap);
    lbr_kv_index_init(&model->index, &model->heap.memory, KV_MODEL_KIND, limit,
                      1);
    model->exact = exact;
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++)
        new_owner(model, owner);
}

void kv_model_close(struct kv_model *model)
{
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++)
        lbr_kv_owner_retire(&model->index, model->owners[owner]);
    kv_sweep_all(&model->index);
    kv_check_index(&model->index, 0);
    assert_int_equal(model->index.labels.live, 0);
    assert_int_equal(model->index.nodes.count, 0);
    assert_int_equal(model->index.sets.slab.live, 0);
    assert_int_equal(model->index.owners.live, 0);
    assert_int_equal(model->index.resident, 0);
    assert_true(model->heap.alloc.peak_bytes <=
                lbr_kv_index_estimate(model->index.labels.limit));
    lbr_kv_index_destroy(&model->index);
    unit_heap_close(&model->heap);
}

int kv_model_chain(struct kv_model *model, int before, uint64_t content)
{
    struct kv_model_chain *chain = model->chains;
    uint64_t key =
        before == KV_MODEL_NONE ? KV_MODEL_ROOT : model->chains[before].key;

    for (int i = 0; i < model->chain_count; i++, chain++)
        if (chain->before == before && chain->content == content)
            return i;
    assert_true(model->chain_count < KV_MODEL_CHAINS);
    chain->before = before;
    chain->content = content;
    chain->key = lbr_kv_key_after(key, content);
    return model->chain_count++;
}

/* ---- the account ---- */

static bool resident(const struct kv_model_label *label)
{
    return label->copies[0] + label->copies[1] + label->copies[2] > 0;
}

static bool has_child(const struct kv_model_label *labels, int name)
{
    for (int i = 0; i < KV_MODEL_NAMES; i++)
        if (labels[i].known && labels[i].parent == name)
            return true;
    return false;
}

/* What is nowhere and has nothing after it is unknown. */
static void prune(struct kv_model *model, int owner)
{
    struct kv_model_label *labels = model->labels[owner];
    bool again = true;

    while (again) {
        again = false;
        for (int i = 0; i < KV_MODEL_NAMES; i++)
            if (labels[i].known && !resident(&labels[i]) &&
                !has_child(labels, i)) {
                labels[i].known = false;
                again = true;
            }
    }
}

static bool comes_before(const struct kv_model_label *labels, int name,
                         int later)
{
    while (later != KV_MODEL_NONE && later != name)
        later = labels[later].parent;
    return later == name;
}

static void add_copy(struct kv_model_label *label, unsigned medium,
                     bool counted)
{
    if (!label->copies[medium] || counted)
        label->copies[medium]++;
}

/* Returns whether the name stood for another block. */
static bool move_label(struct kv_model *model, int owner, int name, int parent,
                       int chain)
{
    struct kv_model_label *labels = model->labels[owner];
    bool renamed = labels[name].known && labels[name].chain != chain;

    if (labels[name].known && !renamed)
        return false;
    if (comes_before(labels, name, parent))
        parent = KV_MODEL_NONE;
    memset(&labels[name], 0, sizeof labels[name]);
    labels[name].known = true;
    labels[name].chain = chain;
    labels[name].parent = parent;
    return renamed;
}

/* ---- both ---- */

/* The index knows less than is true from now on; nothing of it can be believed
 * where something was lost. */
static bool fell_short(struct kv_model *model, int owner, enum lbr_kv_fate fate)
{
    if (fate == LBR_KV_FATE_LOST) {
        assert_false(model->exact);
        model->lost++;
        kv_model_retire(model, owner);
        return true;
    }
    model->refused += fate == LBR_KV_FATE_NO_ROOM;
    return false;
}

/* Where the index has the parent; elsewhere the block would have to wait, which
 * is none of this model's business. */
static bool find_spot(struct kv_model *model, int owner, int parent,
                      struct lbr_kv_spot *spot)
{
    spot->key = KV_MODEL_ROOT;
    spot->label = 0;
    if (parent == KV_MODEL_NONE)
        return true;
    if (!lbr_kv_index_find(&model->index, name_of(model, owner, parent),
                           spot)) {
        assert_false(model->exact);
        return false;
    }
    assert_true(spot->key ==
                model->chains[model->labels[owner][parent].chain].key);
    return true;
}

/* With room and memory there is no reason to refuse a store. */
static void check_put(const struct kv_model *model, enum lbr_kv_fate fate,
                      bool was_there, bool renamed, bool was_renamed)
{
    if (!model->exact)
        return;
    assert_int_equal(renamed, was_renamed);
    assert_int_equal(fate, was_there ? LBR_KV_FATE_NOTHING : LBR_KV_FATE_DONE);
}

void kv_model_put(struct kv_model *model, int owner, int name, int parent,
                  uint64_t content, unsigned medium, bool counted)
{
    struct kv_model_label *label = &model->labels[owner][name];
    int before = parent == KV_MODEL_NONE ? KV_MODEL_NONE
                                         : model->labels[owner][parent].chain;
    int chain = kv_model_chain(model, before, content);
    struct lbr_kv_spot spot;
    enum lbr_kv_fate fate;
    bool was_renamed;
    int renamed;

    if (!find_spot(model, owner, parent, &spot))
        return;
    fate = lbr_kv_index_store(&model->index, name_of(model, owner, name), &spot,
                              content, medium, counted, &renamed);
    if (fell_short(model, owner, fate))
        return;
    was_renamed = move_label(model, owner, name, parent, chain);
    check_put(model, fate, label->copies[medium] > 0, renamed, was_renamed);
    assert_true(spot.key == model->chains[chain].key);
    add_copy(label, medium, counted);
    prune(model, owner);
}

void kv_model_add_copy(struct kv_model *model, int owner, int name,
                       unsigned medium, bool counted)
{
    struct kv_model_label *label = &model->labels[owner][name];
    enum lbr_kv_fate fate = lbr_kv_index_add_copy(
        &model->index, name_of(model, owner, name), medium, counted);
    enum lbr_kv_fate wanted = LBR_KV_FATE_UNKNOWN;

    if (label->known)
        wanted = label->copies[medium] ? LBR_KV_FATE_NOTHING : LBR_KV_FATE_DONE;
    if (model->exact)
        assert_int_equal(fate, wanted);
    if (fell_short(model, owner, fate) || !label->known)
        return;
    add_copy(label, medium, counted);
}

/* Returns the number of media that it has left. */
static uint32_t take_copies(struct kv_model_label *label, unsigned medium,
                            bool counted)
{
    uint32_t left = 0;

    for (unsigned i = 0; i < LBR_KV_MEDIA; i++) {
        if ((medium != LBR_KV_MEDIA && medium != i) || !label->copies[i])
            continue;
        label->copies[i] -= counted ? 1 : label->copies[i];
        left += !label->copies[i];
    }
    return left;
}

void kv_model_remove(struct kv_model *model, int owner, int name,
                     unsigned medium, bool counted)
{
    struct kv_model_label *label = &model->labels[owner][name];
    bool was_there = label->known && resident(label);
    enum lbr_kv_fate wanted = LBR_KV_FATE_UNKNOWN;
    enum lbr_kv_fate fate;
    uint32_t wanted_left = 0;
    uint32_t left = 0;

    fate = lbr_kv_index_remove(&model->index, name_of(model, owner, name),
                               medium, counted, &left);
    if (fell_short(model, owner, fate))
        return;
    if (was_there) {
        wanted_left = take_copies(label, medium, counted);
        wanted = wanted_left ? LBR_KV_FATE_DONE : LBR_KV_FATE_NOTHING;
    }
    if (model->exact) {
        assert_int_equal(fate, wanted);
        assert_int_equal(left, wanted_left);
    }
    prune(model, owner);
}

void kv_model_retire(struct kv_model *model, int owner)
{
    lbr_kv_owner_retire(&model->index, model->owners[owner]);
    new_owner(model, owner);
}

/* ---- lack of memory ---- */

void kv_model_starve(struct kv_model *model, int spare)
{
    struct lbr_arena *arena = &model->index.sets.arena;
    void *piece;

    lbr_arena_set_limit(arena, 1);
    while ((piece = lbr_arena_take(arena, sizeof(uint32_t))) != NULL) {
        assert_true(model->ballast_count < KV_MODEL_BALLAST);
        model->ballast[model->ballast_count++] = piece;
    }
    while (spare-- && model->ballast_count)
        lbr_arena_give(arena, model->ballast[--model->ballast_count]);
}

void kv_model_feed(struct kv_model *model)
{
    struct lbr_arena *arena = &model->index.sets.arena;

    while (model->ballast_count)
        lbr_arena_give(arena, model->ballast[--model->ballast_count]);
    lbr_arena_set_limit(arena, SIZE_MAX);
}

/* ---- random ---- */

/* A name that something can follow. Without memory or room the index may have
 * forgotten one that is nowhere, and be told of it anew. */
static int random_parent(const struct kv_model *model, struct test_rng *rng,
                         int owner, int name)
{
    int parent = (int)test_rng_below(rng, KV_MODEL_NAMES);
    const struct kv_model_label *label = &model->labels[owner][parent];

    if (parent == name || !label->known || (!model->exact && !resident(label)))
        return KV_MODEL_NONE;
    return parent;
}

void kv_model_random(struct kv_model *model, struct test_rng *rng)
{
    int owner = (int)test_rng_below(rng, KV_MODEL_OWNERS);
    int name = (int)test_rng_below(rng, KV_MODEL_NAMES);
    int parent = random_parent(model, rng, owner, name);
    unsigned medium = (unsigned)test_rng_below(rng, LBR_KV_MEDIA);
    bool counted = test_rng_below(rng, 2);

    switch (test_rng_below(rng, 8)) {
    case 0:
    case 1:
        kv_model_remove(model, owner, name,
                        test_rng_below(rng, 4) ? LBR_KV_MEDIA : medium,
                        counted);
        break;
    case 2:
        kv_model_add_copy(model, owner, name, medium, counted);
        break;
    case 3:
        if (!test_rng_below(rng, 16)) {
            kv_model_retire(model, owner);
            break;
        }
        /* fall through */
    default:
        kv_model_put(model, owner, name, parent, test_rng_below(rng, 2), medium,
                     counted);
        break;
    }
}

/* ---- checks ---- */

static void check_copies(const struct kv_model *model,
                         const struct lbr_kv_record *record,
                         const struct kv_model_label *label)
{
    for (unsigned medium = 0; medium < LBR_KV_MEDIA; medium++)
        if (model->exact)
            assert_int_equal(record->copies[medium], label->copies[medium]);
        else
            assert_true(record->copies[medium] <= label->copies[medium]);
}

static void check_parent(const struct kv_model *model,
                         const struct lbr_kv_record *record,
                         const struct kv_model_label *label)
{
    const struct lbr_kv_record *parent;

    assert_int_equal(record->parent != 0, label->parent != KV_MODEL_NONE);
    if (!record->parent)
        return;
    parent = lbr_kv_record(&model->index.labels, record->parent);
    assert_true(lbr_kv_word(parent->name) == (uint64_t)label->parent + 1);
}

static void check_label(const struct kv_model *model, int owner, int name)
{
    const struct kv_model_label *label = &model->labels[owner][name];
    const struct lbr_kv_record *record;
    struct lbr_kv_spot spot;
    int found =
        lbr_kv_index_find(&model->index, name_of(model, owner, name), &spot);

    if (model->exact)
        assert_int_equal(found, label->known);
    if (!found)
        return;
    record = lbr_kv_record(&model->index.labels, spot.label);
    check_copies(model, record, label);
    if (!model->exact && !resident(label))
        return;
    assert_true(spot.key == model->chains[label->chain].key);
    if (model->exact)
        check_parent(model, record, label);
}

void kv_model_check(struct kv_model *model)
{
    kv_check_index(&model->index, !model->exact);
    for (int owner = 0; owner < KV_MODEL_OWNERS; owner++)
        for (int name = 0; name < KV_MODEL_NAMES; name++)
            check_label(model, owner, name);
}

bool kv_model_holds(const struct kv_model *model, int owner, int chain,
                    unsigned *medium)
{
    bool holds = false;

    *medium = LBR_KV_MEDIA;
    for (int name = 0; name < KV_MODEL_NAMES; name++) {
        const struct kv_model_label *label = &model->labels[owner][name];

        for (unsigned i = 0; i < *medium; i++)
            if (label->known && label->chain == chain && label->copies[i]) {
                *medium = i;
                holds = true;
            }
    }
    return holds;
}
