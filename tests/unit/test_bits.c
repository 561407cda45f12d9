/* SPDX-License-Identifier: MIT */
/* containers/bits: against an array of flags. */
#include "containers/bits.h"

#include <stdbool.h>

#include "support/rng.h"
#include "support/test.h"

#define MOST 200
#define WORDS ((MOST + 63) / 64)

struct both {
    uint32_t n;
    bool flags[MOST];
    uint64_t bits[WORDS];
};

/* Each position is set with a chance of |percent|. */
static void fill(struct both *both, uint32_t n, uint64_t percent,
                 struct test_rng *rng)
{
    both->n = n;
    for (uint32_t i = 0; i < WORDS; i++)
        both->bits[i] = 0;
    for (uint32_t i = 0; i < n; i++) {
        both->flags[i] = test_rng_below(rng, 100) < percent;
        if (both->flags[i])
            lbr_bits_set(both->bits, i);
    }
}

static void check(const struct both *both)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < both->n; i++) {
        assert_int_equal(lbr_bits_has(both->bits, i), both->flags[i]);
        if (both->flags[i])
            assert_int_equal(lbr_bits_select(both->bits, rank++), i);
    }
    for (uint32_t from = 0; from <= both->n + 70; from++) {
        uint32_t wanted = from;

        while (wanted < both->n && !both->flags[wanted])
            wanted++;
        if (wanted >= both->n)
            wanted = LBR_BITS_NONE;
        assert_int_equal(lbr_bits_next(both->bits, both->n, from), wanted);
    }
}

static void next_and_select(void **state)
{
    static const uint64_t percents[] = {0, 3, 50, 97, 100};
    struct test_rng rng = {1};
    struct both both;
    (void)state;

    for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++)
        for (uint32_t n = 1; n <= MOST; n += n < 70 ? 1 : 13) {
            fill(&both, n, percents[p], &rng);
            check(&both);
        }
}

static void set_and_clear(void **state)
{
    struct test_rng rng = {2};
    struct both both;
    (void)state;

    fill(&both, MOST, 50, &rng);
    for (int step = 0; step < 2000; step++) {
        uint32_t i = (uint32_t)test_rng_below(&rng, MOST);

        both.flags[i] = test_rng_below(&rng, 2);
        if (both.flags[i])
            lbr_bits_set(both.bits, i);
        else
            lbr_bits_clear(both.bits, i);
        if (step % 50 == 0)
            check(&both);
    }
    check(&both);
}

static void delete_one(struct both *both, uint32_t position)
{
    lbr_bits_delete(both->bits, both->n, position);
    both->n--;
    for (uint32_t i = position; i < both->n; i++)
        both->flags[i] = both->flags[i + 1];
}

static void deleting_moves_later_ones_down(void **state)
{
    struct test_rng rng = {3};
    struct both both;
    (void)state;

    for (uint32_t first = 0; first < MOST; first++) {
        fill(&both, MOST, 50, &rng);
        delete_one(&both, first);
        check(&both);
    }
    fill(&both, MOST, 50, &rng);
    while (both.n > 1) {
        delete_one(&both, (uint32_t)test_rng_below(&rng, both.n));
        check(&both);
    }
}

static void words_cover_all_positions(void **state)
{
    (void)state;
    assert_int_equal(lbr_bits_words(0), 0);
    assert_int_equal(lbr_bits_words(1), 1);
    assert_int_equal(lbr_bits_words(64), 1);
    assert_int_equal(lbr_bits_words(65), 2);
    assert_int_equal(lbr_bits_words(1048576), 16384);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_and_select),
        cmocka_unit_test(set_and_clear),
        cmocka_unit_test(deleting_moves_later_ones_down),
        cmocka_unit_test(words_cover_all_positions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
