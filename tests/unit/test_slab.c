/* SPDX-License-Identifier: MIT */
/* containers/slab: objects that stay where they are, handles that go stale. */
#include "containers/slab.h"

#include <stdbool.h>
#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define KIND 9
#define LIMIT 100
#define CHUNK_BITS 3

/* A handle: kind (4) | generation (36) | index + 1 (24). */
#define LAST_GENERATION (((UINT64_C(1) << 36) - 1) << 24)

struct object {
    struct lbr_slot slot;
    uint64_t payload[3];
};

struct table {
    struct unit_heap heap;
    struct lbr_slab slab;
};

static void open_table(struct table *table)
{
    unit_heap_open(&table->heap);
    lbr_slab_init(&table->slab, &table->heap.memory, KIND,
                  sizeof(struct object), CHUNK_BITS, LIMIT);
}

static void close_table(struct table *table)
{
    lbr_slab_destroy(&table->slab);
    unit_heap_close(&table->heap);
}

static struct object *take(struct table *table)
{
    void *object = NULL;

    assert_int_equal(lbr_slab_take(&table->slab, &object), LBROUTE_OK);
    assert_non_null(object);
    return object;
}

/* The slot is set; what the object itself holds is its owner's business. */
static void a_new_object_is_live(void **state)
{
    struct table table;
    struct object *object;
    (void)state;

    open_table(&table);
    for (int i = 0; i < 3; i++) {
        object = take(&table);
        assert_int_not_equal(object->slot.handle, 0);
        assert_int_equal(object->slot.next_free, LBR_SLOT_LIVE);
        assert_ptr_equal(lbr_slab_find(&table.slab, object->slot.handle),
                         object);
        lbr_slab_give(&table.slab, object);
    }
    close_table(&table);
}

static void handles_carry_their_kind(void **state)
{
    struct table table;
    struct object *object;
    (void)state;

    open_table(&table);
    object = take(&table);
    assert_int_equal(object->slot.handle >> 60, KIND);
    for (uint64_t kind = 0; kind < 16; kind++) {
        uint64_t handle = (object->slot.handle & (UINT64_MAX >> 4)) | kind
                                                                          << 60;

        assert_ptr_equal(lbr_slab_find(&table.slab, handle),
                         kind == KIND ? object : NULL);
    }
    close_table(&table);
}

static void no_other_number_is_a_handle(void **state)
{
    struct table table;
    struct object *object;
    (void)state;

    open_table(&table);
    assert_null(lbr_slab_find(&table.slab, 0));
    assert_null(lbr_slab_find(&table.slab, UINT64_MAX));
    object = take(&table);
    assert_null(lbr_slab_find(&table.slab, 0));
    for (int bit = 0; bit < 64; bit++)
        assert_null(lbr_slab_find(&table.slab,
                                  object->slot.handle ^ UINT64_C(1) << bit));
    close_table(&table);
}

static void a_freed_handle_stays_stale(void **state)
{
    uint64_t handles[1000];
    struct table table;
    (void)state;

    open_table(&table);
    for (size_t i = 0; i < 1000; i++) {
        struct object *object = take(&table);

        handles[i] = object->slot.handle;
        assert_ptr_equal(lbr_slab_find(&table.slab, handles[i]), object);
        for (size_t j = 0; j < i; j++) {
            assert_true(handles[j] != handles[i]);
            assert_null(lbr_slab_find(&table.slab, handles[j]));
        }
        lbr_slab_give(&table.slab, object);
        assert_null(lbr_slab_find(&table.slab, handles[i]));
    }
    assert_int_equal(table.slab.used, 1);
    close_table(&table);
}

/* Live objects by place, with a payload that tells them apart. */
struct live {
    struct object *objects[LIMIT];
    uint64_t marks[LIMIT];
    size_t count;
};

static void check_live(const struct table *table, const struct live *live)
{
    struct object *object = NULL;
    size_t walked = 0;

    for (size_t i = 0; i < live->count; i++) {
        assert_true(live->objects[i]->payload[1] == live->marks[i]);
        assert_ptr_equal(
            lbr_slab_find(&table->slab, live->objects[i]->slot.handle),
            live->objects[i]);
    }
    while ((object = lbr_slab_next(&table->slab,
                                   object ? object->slot.handle : 0)) != NULL)
        walked++;
    assert_int_equal(walked, live->count);
    assert_int_equal(table->slab.live, live->count);
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct live live = {.count = 0};
    struct table table;
    (void)state;

    open_table(&table);
    for (uint64_t step = 0; step < 5000; step++) {
        if (test_rng_below(&rng, 2) && live.count < LIMIT) {
            struct object *object = take(&table);

            object->payload[1] = step;
            live.marks[live.count] = step;
            live.objects[live.count++] = object;
        } else if (live.count) {
            size_t i = (size_t)test_rng_below(&rng, live.count);

            lbr_slab_give(&table.slab, live.objects[i]);
            live.objects[i] = live.objects[--live.count];
            live.marks[i] = live.marks[live.count];
        }
        check_live(&table, &live);
    }
    close_table(&table);
}

/* A walk goes on from a handle that went stale in between. */
static void walks_survive_removal(void **state)
{
    struct object *objects[6];
    uint64_t stale;
    struct table table;
    (void)state;

    open_table(&table);
    assert_null(lbr_slab_next(&table.slab, 0));
    for (size_t i = 0; i < 6; i++)
        objects[i] = take(&table);
    assert_ptr_equal(lbr_slab_next(&table.slab, 0), objects[0]);
    stale = objects[2]->slot.handle;
    lbr_slab_give(&table.slab, objects[2]);
    lbr_slab_give(&table.slab, objects[3]);
    assert_ptr_equal(lbr_slab_next(&table.slab, stale), objects[4]);
    assert_ptr_equal(lbr_slab_next(&table.slab, objects[1]->slot.handle),
                     objects[4]);
    assert_null(lbr_slab_next(&table.slab, objects[5]->slot.handle));
    assert_null(lbr_slab_next(&table.slab, UINT64_MAX));
    close_table(&table);
}

static void the_limit_is_a_limit(void **state)
{
    struct object *objects[LIMIT];
    void *object = NULL;
    struct table table;
    (void)state;

    open_table(&table);
    for (size_t i = 0; i < LIMIT; i++)
        objects[i] = take(&table);
    assert_int_equal(lbr_slab_take(&table.slab, &object), LBROUTE_ERR_LIMIT);
    assert_int_equal(table.slab.live, LIMIT);
    lbr_slab_give(&table.slab, objects[50]);
    assert_ptr_equal(take(&table), objects[50]);
    assert_int_equal(lbr_slab_take(&table.slab, &object), LBROUTE_ERR_LIMIT);
    assert_true(table.heap.alloc.peak_bytes <=
                lbr_slab_estimate(sizeof(struct object), CHUNK_BITS, LIMIT));
    close_table(&table);
}

/* The slot last freed is used first: it is still in the cache. */
static void last_freed_is_first_used(void **state)
{
    struct object *a;
    struct object *b;
    struct table table;
    (void)state;

    open_table(&table);
    a = take(&table);
    b = take(&table);
    lbr_slab_give(&table.slab, a);
    lbr_slab_give(&table.slab, b);
    assert_ptr_equal(take(&table), b);
    assert_ptr_equal(take(&table), a);
    close_table(&table);
}

/* A slot whose generations are used up never comes back. */
static void generations_run_out(void **state)
{
    struct object *object;
    struct object *other;
    uint64_t last;
    struct table table;
    (void)state;

    open_table(&table);
    object = take(&table);
    object->slot.handle |= LAST_GENERATION;
    last = object->slot.handle;
    assert_ptr_equal(lbr_slab_find(&table.slab, last), object);
    lbr_slab_give(&table.slab, object);
    assert_null(lbr_slab_find(&table.slab, last));
    assert_null(lbr_slab_next(&table.slab, 0));
    for (size_t i = 1; i < LIMIT; i++) {
        other = take(&table);
        assert_ptr_not_equal(other, object);
        assert_int_equal(other->slot.handle >> 60, KIND);
    }
    assert_int_equal(table.slab.live, LIMIT - 1);
    close_table(&table);
}

/* One before the last is still reused. */
static void the_last_generation_is_used(void **state)
{
    struct object *object;
    struct table table;
    (void)state;

    open_table(&table);
    object = take(&table);
    object->slot.handle |= LAST_GENERATION;
    object->slot.handle -= UINT64_C(1) << 24;
    lbr_slab_give(&table.slab, object);
    assert_ptr_equal(take(&table), object);
    assert_int_equal(object->slot.handle >> 60, KIND);
    assert_true((object->slot.handle & LAST_GENERATION) == LAST_GENERATION);
    close_table(&table);
}

static void without_memory_nothing_changes(void **state)
{
    struct live live = {.count = 0};
    bool refused = false;
    struct table table;
    (void)state;

    open_table(&table);
    for (uint64_t after = 0; live.count < LIMIT; after = refused ? after : 0) {
        void *object = NULL;
        int result;

        test_alloc_fail(&table.heap.alloc, after, 1);
        result = lbr_slab_take(&table.slab, &object);
        test_alloc_heal(&table.heap.alloc);
        refused = result != LBROUTE_OK;
        if (refused) {
            assert_int_equal(result, LBROUTE_ERR_NO_MEMORY);
            after++;
        } else {
            live.marks[live.count] = 0;
            live.objects[live.count++] = object;
        }
        check_live(&table, &live);
    }
    assert_true(table.heap.alloc.failures >= LIMIT >> CHUNK_BITS);
    close_table(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_object_is_live),
        cmocka_unit_test(handles_carry_their_kind),
        cmocka_unit_test(no_other_number_is_a_handle),
        cmocka_unit_test(a_freed_handle_stays_stale),
        cmocka_unit_test(random_operations),
        cmocka_unit_test(walks_survive_removal),
        cmocka_unit_test(the_limit_is_a_limit),
        cmocka_unit_test(last_freed_is_first_used),
        cmocka_unit_test(generations_run_out),
        cmocka_unit_test(the_last_generation_is_used),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
