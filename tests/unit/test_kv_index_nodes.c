/* SPDX-License-Identifier: MIT */
/* models/kv_index_nodes: against an array of pairs. */
#include "models/kv_index_nodes.h"

#include "heap.h"
#include "kv_check.h"
#include "support/rng.h"
#include "support/test.h"

#define MOST 2000U

struct pair {
    uint64_t key;
    lbr_kv_set set;
};

struct model {
    struct unit_heap heap;
    struct lbr_kv_nodes nodes;
    uint32_t limit;
    struct pair pairs[MOST];
    uint32_t count;
};

static void open_model(struct model *model, uint32_t limit)
{
    unit_heap_open(&model->heap);
    lbr_kv_nodes_init(&model->nodes, &model->heap.memory, limit);
    assert_int_equal(model->heap.alloc.calls, 0);
    assert_true(lbr_kv_nodes_prepare(&model->nodes));
    model->limit = limit;
    model->count = 0;
}

static void close_model(struct model *model)
{
    assert_int_equal(model->heap.alloc.calls, 1);
    assert_true(model->heap.alloc.peak_bytes <=
                lbr_kv_nodes_estimate(model->limit));
    lbr_kv_nodes_destroy(&model->nodes);
    unit_heap_close(&model->heap);
}

static void add(struct model *model, uint64_t key, lbr_kv_set set)
{
    struct pair pair = {key, set};

    lbr_kv_node_add(&model->nodes, key, set);
    model->pairs[model->count++] = pair;
}

static void remove_at(struct model *model, uint32_t place)
{
    lbr_kv_node_remove(&model->nodes, model->pairs[place].key);
    model->pairs[place] = model->pairs[--model->count];
}

static void check(const struct model *model)
{
    kv_check_nodes(&model->nodes);
    assert_int_equal(model->nodes.count, model->count);
    for (uint32_t i = 0; i < model->count; i++) {
        lbr_kv_set *set = lbr_kv_node_find(&model->nodes, model->pairs[i].key);

        assert_non_null(set);
        assert_int_equal(*set, model->pairs[i].set);
        assert_null(lbr_kv_node_find(&model->nodes, ~model->pairs[i].key));
    }
}

static void check_empty(struct model *model, struct test_rng *rng)
{
    while (model->count)
        remove_at(model, (uint32_t)test_rng_below(rng, model->count));
    check(model);
    for (uint32_t i = 0; i < model->nodes.bucket_count; i++)
        assert_int_equal(model->nodes.buckets[i].passed, 0);
}

/* Full, one goes and one comes. Sets change in place. */
static void churn(struct model *model, struct test_rng *rng,
                  uint64_t (*key)(struct test_rng *rng), int steps)
{
    for (int step = 0; step < steps; step++) {
        while (model->count < model->limit)
            add(model, key(rng), (lbr_kv_set)test_rng_below(rng, 9) + 1);
        if (step % 50 == 0)
            check(model);
        for (uint64_t i = test_rng_below(rng, 4) + 1; i && model->count; i--)
            remove_at(model, (uint32_t)test_rng_below(rng, model->count));
    }
}

static void at_the_limit(void **state)
{
    struct test_rng rng = {1};
    static struct model model;
    (void)state;

    open_model(&model, MOST);
    churn(&model, &rng, test_rng_next, 5000);
    check_empty(&model, &rng);
    close_model(&model);
}

/* All of one home, or of the last one: rows that go on at the beginning. */
static uint64_t crowded_key(struct test_rng *rng)
{
    uint64_t home = test_rng_below(rng, 3) ? UINT32_MAX : 0;

    return home << 32 | (test_rng_next(rng) & UINT32_MAX);
}

static void crowds_across_the_end(void **state)
{
    struct test_rng rng = {2};
    static struct model model;
    (void)state;

    open_model(&model, 100);
    churn(&model, &rng, crowded_key, 3000);
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

static void keys_at_both_ends(void **state)
{
    struct test_rng rng = {3};
    static struct model model;
    (void)state;

    open_model(&model, 4);
    assert_null(lbr_kv_node_find(&model.nodes, 0)); /* a free place says 0 */
    add(&model, UINT64_MAX, 1);
    add(&model, 0, UINT32_MAX - 1);
    check_empty(&model, &rng);
    close_model(&model);
}

/* ---- memory ---- */

static void without_memory(void **state)
{
    struct unit_heap heap;
    struct lbr_kv_nodes nodes;
    (void)state;

    unit_heap_open(&heap);
    lbr_kv_nodes_init(&nodes, &heap.memory, 10);
    test_alloc_fail(&heap.alloc, 0, 1);
    assert_false(lbr_kv_nodes_prepare(&nodes));
    assert_true(lbr_kv_nodes_prepare(&nodes));
    assert_true(lbr_kv_nodes_prepare(&nodes));
    assert_null(lbr_kv_node_find(&nodes, 1));
    lbr_kv_nodes_destroy(&nodes);
    unit_heap_close(&heap);
}

/* Gives memory that is aligned to 8 and nothing more. */
struct odd_heap {
    _Alignas(64) unsigned char bytes[4096 + 64];
    size_t offset;
};

static void *odd_allocate(void *user, size_t bytes)
{
    struct odd_heap *heap = user;

    return bytes <= 4096 ? heap->bytes + heap->offset : NULL;
}

static void odd_release(void *user, void *object, size_t bytes)
{
    (void)user;
    (void)object;
    (void)bytes;
}

static void buckets_are_lines_wherever_memory_begins(void **state)
{
    static struct odd_heap heap;
    lbroute_allocator allocator = {odd_allocate, odd_release, &heap};
    (void)state;

    for (heap.offset = 0; heap.offset < 64; heap.offset += 8) {
        struct lbr_memory memory;
        struct lbr_kv_nodes nodes;
        const unsigned char *end;

        lbr_memory_init(&memory, &allocator);
        lbr_kv_nodes_init(&nodes, &memory, 200);
        assert_true(lbr_kv_nodes_prepare(&nodes));
        assert_int_equal((uintptr_t)nodes.buckets % 64, 0);
        end = (const unsigned char *)(nodes.buckets + nodes.bucket_count);
        assert_true((const unsigned char *)nodes.buckets >=
                    heap.bytes + heap.offset);
        assert_true(end <= heap.bytes + heap.offset + memory.held);
        lbr_kv_nodes_destroy(&nodes);
        assert_int_equal(memory.held, 0);
    }
}

/* Homes of the largest table fill it from end to end. */
static void homes_of_the_largest_table(void **state)
{
    struct lbr_kv_nodes nodes;
    (void)state;

    lbr_kv_nodes_init(&nodes, NULL, 16777215);
    assert_true(lbr_kv_nodes_estimate(16777215) >=
                (size_t)nodes.bucket_count * 64);
    assert_true((uint64_t)nodes.bucket_count * LBR_KV_NODES_IN_BUCKET >
                16777215);
    assert_int_equal(((UINT64_MAX >> 32) * nodes.bucket_count) >> 32,
                     nodes.bucket_count - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_limit),
        cmocka_unit_test(crowds_across_the_end),
        cmocka_unit_test(the_smallest_ones),
        cmocka_unit_test(keys_at_both_ends),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(buckets_are_lines_wherever_memory_begins),
        cmocka_unit_test(homes_of_the_largest_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
