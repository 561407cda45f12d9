/* SPDX-License-Identifier: MIT */
/* containers/sort: pointers in order. */
#include "support/test.h"

#include "containers/sort.h"

enum { MOST = 300 };

static int before(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b;
}

/* Of any number of items, in any order, with equal ones: all are there, and in
 * order. */
static void all_in_order(void **state)
{
    static int values[MOST];
    static void *items[MOST];
    uint64_t random = 1;
    (void)state;

    for (size_t count = 0; count <= MOST; count++) {
        long sum = 0;
        for (size_t i = 0; i < count; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            values[i] = (int)(random >> 33) % (1 + (int)(count % 17) * 10);
            items[i] = &values[i];
            sum += values[i];
        }
        lbr_sort(items, count, before);
        for (size_t i = 0; i < count; i++) {
            sum -= *(int *)items[i];
            assert_true(i == 0 || !before(items[i], items[i - 1]));
        }
        assert_int_equal(sum, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_order),
    };

    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
