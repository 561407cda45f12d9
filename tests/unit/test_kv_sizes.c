/* SPDX-License-Identifier: MIT */
/* state/kv_sizes: against a sorted array. */
#include "state/kv_sizes.h"

#include <string.h>

#include "support/rng.h"
#include "support/test.h"

struct sorted {
    uint32_t sizes[LBR_KV_SIZES];
    unsigned count;
};

static void model_add(struct sorted *sorted, uint32_t size)
{
    unsigned place = 0;

    if (!size || size > 65535 || sorted->count == LBR_KV_SIZES)
        return;
    while (place < sorted->count && sorted->sizes[place] < size)
        place++;
    if (place < sorted->count && sorted->sizes[place] == size)
        return;
    memmove(&sorted->sizes[place + 1], &sorted->sizes[place],
            (sorted->count - place) * sizeof *sorted->sizes);
    sorted->sizes[place] = size;
    sorted->count++;
}

static void check(uint64_t sizes, const struct sorted *sorted)
{
    for (unsigned i = 0; i < LBR_KV_SIZES; i++)
        assert_int_equal(lbr_kv_size(sizes, i),
                         i < sorted->count ? sorted->sizes[i] : 0);
}

static void random_sizes(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int round = 0; round < 3000; round++) {
        struct sorted sorted = {{0}, 0};
        uint64_t sizes = 0;

        for (int i = 0; i < 8; i++) {
            uint32_t size = (uint32_t)test_rng_below(&rng, 6);

            if (test_rng_below(&rng, 3) == 0)
                size = 65538 - size;
            sizes = lbr_kv_sizes_add(sizes, size);
            model_add(&sorted, size);
            check(sizes, &sorted);
        }
    }
}

static void no_size_and_too_large_ones(void **state)
{
    uint64_t sizes;
    (void)state;

    assert_true(lbr_kv_sizes_add(0, 0) == 0);
    assert_true(lbr_kv_sizes_add(0, 65536) == 0);
    assert_true(lbr_kv_sizes_add(0, UINT32_MAX) == 0);
    sizes = lbr_kv_sizes_add(0, 65535);
    assert_int_equal(lbr_kv_size(sizes, 0), 65535);
    sizes = lbr_kv_sizes_add(sizes, 1);
    assert_int_equal(lbr_kv_size(sizes, 0), 1);
    assert_int_equal(lbr_kv_size(sizes, 1), 65535);
}

/* The fifth is left out, whichever it is. */
static void one_too_many(void **state)
{
    uint64_t sizes = 0;
    (void)state;

    for (uint32_t size = 16; size <= 128; size *= 2)
        sizes = lbr_kv_sizes_add(sizes, size);
    assert_true(lbr_kv_sizes_add(sizes, 8) == sizes);
    assert_true(lbr_kv_sizes_add(sizes, 24) == sizes);
    assert_true(lbr_kv_sizes_add(sizes, 256) == sizes);
    assert_true(lbr_kv_sizes_add(sizes, 64) == sizes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sizes),
        cmocka_unit_test(no_size_and_too_large_ones),
        cmocka_unit_test(one_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
