/* SPDX-License-Identifier: MIT */
/* base/memory: zeroed memory, sized frees, an account of what is held. */
#include "base/memory.h"

#include <string.h>

#include "heap.h"
#include "support/test.h"

static void new_memory_is_zeroed_and_aligned(void **state)
{
    static const unsigned char zeroes[24 * 7] = {0};
    struct unit_heap heap;
    void *object;
    (void)state;

    unit_heap_open(&heap);
    object = lbr_memory_new(&heap.memory, 7, 24);
    assert_non_null(object);
    assert_memory_equal(object, zeroes, sizeof zeroes);
    assert_int_equal((uintptr_t)object % _Alignof(max_align_t), 0);
    lbr_memory_free(&heap.memory, object, 7, 24);
    unit_heap_close(&heap);
}

static void what_is_held_is_counted(void **state)
{
    struct unit_heap heap;
    void *a;
    void *b;
    (void)state;

    unit_heap_open(&heap);
    a = lbr_memory_new(&heap.memory, 10, 8);
    assert_int_equal(heap.memory.held, 80);
    b = lbr_memory_new(&heap.memory, 1, 5);
    assert_int_equal(heap.memory.held, 85);
    assert_int_equal(heap.memory.allocations, 2);
    lbr_memory_free(&heap.memory, a, 10, 8);
    assert_int_equal(heap.memory.held, 5);
    lbr_memory_free(&heap.memory, b, 1, 5);
    assert_int_equal(heap.memory.allocations, 2);
    unit_heap_close(&heap);
}

static void nothing_can_be_freed(void **state)
{
    struct unit_heap heap;
    (void)state;

    unit_heap_open(&heap);
    lbr_memory_free(&heap.memory, NULL, 10, 8);
    unit_heap_close(&heap);
}

/* A product that wraps must not become a small block. */
static void overflow_is_no_memory(void **state)
{
    struct unit_heap heap;
    (void)state;

    unit_heap_open(&heap);
    assert_null(lbr_memory_new(&heap.memory, SIZE_MAX / 2 + 1, 2));
    assert_null(lbr_memory_new(&heap.memory, 2, SIZE_MAX / 2 + 1));
    assert_null(lbr_memory_new(&heap.memory, SIZE_MAX, SIZE_MAX));
    assert_int_equal(heap.alloc.calls, 0);
    unit_heap_close(&heap);
}

static void a_refusal_is_passed_on(void **state)
{
    struct unit_heap heap;
    (void)state;

    unit_heap_open(&heap);
    test_alloc_fail(&heap.alloc, 0, 1);
    assert_null(lbr_memory_new(&heap.memory, 1, 8));
    assert_int_equal(heap.memory.held, 0);
    unit_heap_close(&heap);
}

static void growing_keeps_the_old_and_zeroes_the_new(void **state)
{
    static const uint32_t grown[6] = {1, 2, 3, 0, 0, 0};
    struct unit_heap heap;
    void *array = NULL;
    (void)state;

    unit_heap_open(&heap);
    assert_true(lbr_memory_grow(&heap.memory, &array, 0, 3, 4));
    memcpy(array, grown, 3 * 4);
    assert_true(lbr_memory_grow(&heap.memory, &array, 3, 6, 4));
    assert_memory_equal(array, grown, sizeof grown);
    assert_int_equal(heap.memory.held, 24);

    test_alloc_fail(&heap.alloc, 0, 1);
    assert_false(lbr_memory_grow(&heap.memory, &array, 6, 12, 4));
    assert_memory_equal(array, grown, sizeof grown);
    assert_int_equal(heap.memory.held, 24);
    lbr_memory_free(&heap.memory, array, 6, 4);
    unit_heap_close(&heap);
}

static void without_an_allocator_the_heap_serves(void **state)
{
    static const lbroute_allocator none = {NULL, NULL, NULL};
    struct lbr_memory memory;
    unsigned char *object;
    (void)state;

    lbr_memory_init(&memory, &none);
    object = lbr_memory_new(&memory, 3, 100);
    assert_non_null(object);
    assert_int_equal(object[0], 0);
    assert_int_equal(object[299], 0);
    assert_int_equal(memory.held, 300);
    lbr_memory_free(&memory, object, 3, 100);
    assert_int_equal(memory.held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed_and_aligned),
        cmocka_unit_test(what_is_held_is_counted),
        cmocka_unit_test(nothing_can_be_freed),
        cmocka_unit_test(overflow_is_no_memory),
        cmocka_unit_test(a_refusal_is_passed_on),
        cmocka_unit_test(growing_keeps_the_old_and_zeroes_the_new),
        cmocka_unit_test(without_an_allocator_the_heap_serves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
