/* SPDX-License-Identifier: MIT */
/* models/kv_index_labels: against an array of names. */
#include "models/kv_index_labels.h"

#include "heap.h"
#include "kv_check.h"
#include "support/rng.h"
#include "support/test.h"

#define MOST 3000U

struct entry {
    uint32_t owner;
    uint64_t name;
    lbr_kv_label label;
    uint32_t mark; /* kept in the record */
};

struct model {
    struct unit_heap heap;
    struct lbr_kv_labels labels;
    struct entry entries[MOST];
    uint32_t count;
};

static void open_model(struct model *model, uint32_t limit)
{
    unit_heap_open(&model->heap);
    lbr_kv_labels_init(&model->labels, &model->heap.memory, limit, 1);
    assert_int_equal(model->heap.alloc.calls, 0);
    assert_true(lbr_kv_labels_prepare(&model->labels));
    model->count = 0;
}

static void close_model(struct model *model)
{
    assert_true(model->heap.alloc.peak_bytes <=
                lbr_kv_labels_estimate(model->labels.limit));
    lbr_kv_labels_destroy(&model->labels);
    unit_heap_close(&model->heap);
}

static lbr_kv_label find(const struct model *model, uint32_t owner,
                         uint64_t name)
{
    return lbr_kv_label_find(&model->labels,
                             lbr_kv_label_hash(&model->labels, owner, name),
                             owner, name);
}

static void add(struct model *model, uint32_t owner, uint64_t name)
{
    struct entry entry = {owner, name, 0, model->count * 7 + 1};
    struct lbr_kv_record *record;

    assert_true(lbr_kv_label_reserve(&model->labels));
    entry.label = lbr_kv_label_add(
        &model->labels, lbr_kv_label_hash(&model->labels, owner, name), owner,
        name);
    record = lbr_kv_record(&model->labels, entry.label);
    assert_int_equal(record->parent, 0);
    assert_int_equal(record->children, 0);
    assert_int_equal(record->copies[0] + record->copies[1] + record->copies[2],
                     0);
    lbr_kv_set_word(record->key, entry.mark);
    model->entries[model->count++] = entry;
}

static void remove_at(struct model *model, uint32_t place)
{
    lbr_kv_label_remove(&model->labels, model->entries[place].label);
    model->entries[place] = model->entries[--model->count];
}

static void check(const struct model *model)
{
    kv_check_labels(&model->labels);
    assert_int_equal(model->labels.live, model->count);
    for (uint32_t i = 0; i < model->count; i++) {
        const struct entry *entry = &model->entries[i];
        lbr_kv_label label = find(model, entry->owner, entry->name);

        assert_int_equal(label, entry->label);
        assert_true(lbr_kv_word(lbr_kv_record(&model->labels, label)->key) ==
                    entry->mark);
        assert_int_equal(find(model, entry->owner + 1000, entry->name), 0);
        assert_int_equal(find(model, entry->owner, ~entry->name), 0);
    }
}

static void check_empty(struct model *model, struct test_rng *rng)
{
    while (model->count)
        remove_at(model, (uint32_t)test_rng_below(rng, model->count));
    check(model);
    for (uint32_t i = 0; i < model->labels.bucket_count; i++)
        assert_int_equal(model->labels.buckets[i].passed, 0);
}

/* Full, one or a few go and as many come. */
static void churn(struct model *model, struct test_rng *rng,
                  uint64_t (*name)(struct test_rng *rng), int steps)
{
    for (int step = 0; step < steps; step++) {
        while (model->count < model->labels.limit) {
            uint32_t owner = (uint32_t)test_rng_below(rng, 3) * 0x7fff;
            uint64_t next = name(rng);

            if (!find(model, owner, next))
                add(model, owner, next);
        }
        assert_false(lbr_kv_label_reserve(&model->labels));
        if (step % 50 == 0)
            check(model);
        for (uint64_t i = test_rng_below(rng, 4) + 1; i && model->count; i--)
            remove_at(model, (uint32_t)test_rng_below(rng, model->count));
    }
    assert_int_equal(model->labels.used, model->labels.limit);
}

static void at_the_limit(void **state)
{
    struct test_rng rng = {1};
    static struct model model;
    (void)state;

    open_model(&model, MOST);
    churn(&model, &rng, test_rng_next, 4000);
    check_empty(&model, &rng);
    close_model(&model);
}

/* The same names at several owners. */
static uint64_t common_name(struct test_rng *rng)
{
    return test_rng_below(rng, 60);
}

static void names_that_owners_share(void **state)
{
    struct test_rng rng = {2};
    static struct model model;
    (void)state;

    open_model(&model, 90);
    churn(&model, &rng, common_name, 3000);
    check_empty(&model, &rng);
    close_model(&model);
}

static void the_smallest_ones(void **state)
{
    (void)state;
    for (uint32_t limit = 1; limit < 40; limit++) {
        struct test_rng rng = {limit};
        static struct model model;

        open_model(&model, limit);
        churn(&model, &rng, test_rng_next, 200);
        check_empty(&model, &rng);
        close_model(&model);
    }
}

/* Names with the same tag and the same bucket: only the record tells them
 * apart. */
static void tags_that_collide(void **state)
{
    struct test_rng rng = {3};
    static struct model model;
    uint64_t home = UINT64_MAX;
    (void)state;

    open_model(&model, 500);
    for (uint64_t name = 0; model.count < 40; name++) {
        uint64_t hash = lbr_kv_label_hash(&model.labels, 7, name);
        uint64_t bucket = (hash >> 32) * model.labels.bucket_count >> 32;

        if ((hash & 0xff) != 5 || (home != UINT64_MAX && bucket != home))
            continue;
        home = bucket;
        add(&model, 7, name);
    }
    check(&model);
    while (model.count > 20) {
        remove_at(&model, (uint32_t)test_rng_below(&rng, model.count));
        check(&model);
    }
    check_empty(&model, &rng);
    close_model(&model);
}

/* Places are used again, the latest first; no new ones meanwhile. */
static void free_places_are_used_again(void **state)
{
    static struct model model;
    lbr_kv_label first;
    lbr_kv_label second;
    (void)state;

    open_model(&model, 100);
    for (uint64_t name = 0; name < 10; name++)
        add(&model, 1, name);
    first = find(&model, 1, 3);
    second = find(&model, 1, 5);
    lbr_kv_label_remove(&model.labels, first);
    lbr_kv_label_remove(&model.labels, second);
    assert_int_equal(find(&model, 1, 3), 0);
    assert_int_equal(lbr_kv_label_add(&model.labels,
                                      lbr_kv_label_hash(&model.labels, 2, 3), 2,
                                      3),
                     second);
    assert_int_equal(lbr_kv_label_add(&model.labels,
                                      lbr_kv_label_hash(&model.labels, 2, 5), 2,
                                      5),
                     first);
    assert_int_equal(model.labels.used, 10);
    assert_int_equal(find(&model, 1, 5), 0);
    close_model(&model);
}

/* The name is free, and so is the place once the label is removed. */
static void a_label_without_a_name_is_not_found(void **state)
{
    static struct model model;
    (void)state;

    open_model(&model, 100);
    for (uint64_t name = 0; name < 90; name++)
        add(&model, 1, name);
    for (uint32_t i = 0; i < 90; i += 2) {
        lbr_kv_label_unname(&model.labels, model.entries[i].label);
        assert_int_equal(find(&model, 1, i), 0);
        assert_true(lbr_kv_record(&model.labels, model.entries[i].label)->live);
    }
    kv_check_labels(&model.labels);
    assert_int_equal(model.labels.live, 90);
    for (uint32_t i = 0; i < 10; i += 2) /* a second one of that name */
        add(&model, 1, i);
    while (model.count)
        remove_at(&model, 0);
    check(&model);
    close_model(&model);
}

/* ---- memory ---- */

static void without_memory(void **state)
{
    struct unit_heap heap;
    struct lbr_kv_labels labels;
    (void)state;

    unit_heap_open(&heap);
    lbr_kv_labels_init(&labels, &heap.memory, 10, 1);
    test_alloc_fail(&heap.alloc, 0, 1);
    assert_false(lbr_kv_labels_prepare(&labels));
    assert_true(lbr_kv_labels_prepare(&labels));
    assert_true(lbr_kv_labels_prepare(&labels));
    for (uint64_t after = 0; after < 2; after++) {
        test_alloc_fail(&heap.alloc, after, 1);
        assert_false(lbr_kv_label_reserve(&labels));
        kv_check_labels(&labels);
    }
    assert_true(lbr_kv_label_reserve(&labels));
    lbr_kv_labels_destroy(&labels);
    unit_heap_close(&heap);
}

/* The last places of the largest table there may be, without the others. */
static void places_of_24_bits(void **state)
{
    static struct model model;
    struct lbr_kv_labels *labels = &model.labels;
    struct test_rng rng = {4};
    (void)state;

    open_model(&model, 500);
    labels->limit = LBR_KV_MOST_BLOCKS;
    labels->chunk_capacity = (LBR_KV_MOST_BLOCKS >> LBR_KV_CHUNK_BITS) + 1;
    labels->chunk_count = labels->chunk_capacity - 1;
    labels->chunks = lbr_memory_new(labels->memory, labels->chunk_capacity,
                                    sizeof *labels->chunks);
    labels->used = labels->chunk_count << LBR_KV_CHUNK_BITS;
    while (model.count < 500)
        add(&model, 65534, test_rng_next(&rng));
    labels->used = LBR_KV_MOST_BLOCKS - 1;
    add(&model, 65534, 1);
    assert_int_equal(find(&model, 65534, 1), LBR_KV_MOST_BLOCKS);
    assert_false(lbr_kv_label_reserve(labels));
    for (uint32_t i = 0; i < model.count; i++)
        assert_int_equal(find(&model, 65534, model.entries[i].name),
                         model.entries[i].label);
    while (model.count)
        remove_at(&model, model.count - 1);
    assert_int_equal(labels->live, 0);
    for (uint32_t i = 0; i < labels->bucket_count; i++)
        assert_int_equal(labels->buckets[i].passed, 0);
    close_model(&model);
}

static void records_have_no_gaps(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct lbr_kv_record), 28);
    assert_int_equal(sizeof(struct lbr_kv_label_bucket), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_limit),
        cmocka_unit_test(names_that_owners_share),
        cmocka_unit_test(the_smallest_ones),
        cmocka_unit_test(tags_that_collide),
        cmocka_unit_test(free_places_are_used_again),
        cmocka_unit_test(a_label_without_a_name_is_not_found),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(places_of_24_bits),
        cmocka_unit_test(records_have_no_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
