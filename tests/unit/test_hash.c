/* SPDX-License-Identifier: MIT */
/* base/hash: what routers must agree on is XXH3 to the bit. */
#include "base/hash.h"

#include "support/rng.h"
#include "support/test.h"

#define PRIME32 UINT64_C(2654435761)
#define PRIME64 UINT64_C(11400714785074694797)

/* The self test of xxHash (cli/xsum_sanity_check.c): lengths that take each
 * branch of XXH3 once. */
static const struct {
    size_t length;
    uint64_t seed, hash;
} vectors[] = {
    {0, 0, UINT64_C(0x2D06800538D394C2)},
    {0, PRIME64, UINT64_C(0xA8A6B918B2F0364A)},
    {1, 0, UINT64_C(0xC44BDFF4074EECDB)},
    {1, PRIME64, UINT64_C(0x032BE332DD766EF8)},
    {6, 0, UINT64_C(0x27B56A84CD2D7325)},
    {6, PRIME64, UINT64_C(0x84589C116AB59AB9)},
    {12, 0, UINT64_C(0xA713DAF0DFBB77E7)},
    {12, PRIME64, UINT64_C(0xE7303E1B2336DE0E)},
    {24, 0, UINT64_C(0xA3FE70BF9D3510EB)},
    {24, PRIME64, UINT64_C(0x850E80FC35BDD690)},
    {48, 0, UINT64_C(0x397DA259ECBA1F11)},
    {48, PRIME64, UINT64_C(0xADC2CBAA44ACC616)},
    {80, 0, UINT64_C(0xBCDEFBBB2C47C90A)},
    {80, PRIME64, UINT64_C(0xC6DD0CB699532E73)},
    {195, 0, UINT64_C(0xCD94217EE362EC3A)},
    {195, PRIME64, UINT64_C(0xBA68003D370CB3D9)},
    {403, 0, UINT64_C(0xCDEB804D65C6DEA4)},
    {403, PRIME64, UINT64_C(0x6259F6ECFD6443FD)},
    {512, 0, UINT64_C(0x617E49599013CB6B)},
    {512, PRIME64, UINT64_C(0x3CE457DE14C27708)},
    {2048, 0, UINT64_C(0xDD59E2C3A5F038E0)},
    {2048, PRIME64, UINT64_C(0x66F81670669ABABC)},
    {2240, 0, UINT64_C(0x6E73A90539CF2948)},
    {2240, PRIME64, UINT64_C(0x757BA8487D1B5247)},
    {2367, 0, UINT64_C(0xCB37AEB9E5D361ED)},
    {2367, PRIME64, UINT64_C(0xD2DB3415B942B42A)},
};

static void published_vectors(void **state)
{
    unsigned char input[2367];
    uint64_t generator = PRIME32;
    (void)state;

    for (size_t i = 0; i < sizeof input; i++) {
        input[i] = (unsigned char)(generator >> 56);
        generator *= PRIME64;
    }
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        assert_true(lbr_hash_seeded(input, vectors[i].length,
                                    vectors[i].seed) == vectors[i].hash);
        if (!vectors[i].seed)
            assert_true(lbr_hash(input, vectors[i].length) == vectors[i].hash);
    }
}

/* Published results for short texts. */
static void published_words(void **state)
{
    (void)state;
    assert_true(lbr_hash(NULL, 0) == UINT64_C(0x2D06800538D394C2));
    assert_true(lbr_hash("a", 1) == UINT64_C(0xE6C632B61E964E1F));
    assert_true(lbr_hash("ab", 2) == UINT64_C(0xA873719C24D5735C));
    assert_true(lbr_hash("abc", 3) == UINT64_C(0x78AF5F94892F3950));
}

/* Bytes that come in pieces of any size. */
static void streams(void **state)
{
    static unsigned char input[5000];
    struct test_rng rng = {11};
    (void)state;

    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (unsigned char)test_rng_next(&rng);
    for (size_t length = 0; length <= sizeof input; length += 1 + length / 9) {
        struct lbr_hash_stream stream;
        lbr_hash_begin(&stream);
        for (size_t at = 0, part; at < length; at += part) {
            part = 1 + test_rng_below(&rng, 700);
            if (part > length - at)
                part = length - at;
            lbr_hash_add(&stream, input + at, part);
        }
        assert_true(lbr_hash_end(&stream) == lbr_hash(input, length));
    }
}

/* With nothing to combine, mixing is one step of splitmix64. */
static void pair_ends_in_splitmix64(void **state)
{
    (void)state;
    assert_true(lbr_hash_pair(0, 0) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(lbr_hash_pair(0, 1234567) == UINT64_C(6457827717110365317));
    for (uint64_t seed = 1; seed != 0; seed *= 10) {
        struct test_rng rng = {seed};

        assert_true(lbr_hash_pair(0, seed) == test_rng_next(&rng));
        if (seed > UINT64_MAX / 10)
            break;
    }
}

static unsigned count_ones(uint64_t word)
{
    unsigned ones = 0;

    for (; word; word &= word - 1)
        ones++;
    return ones;
}

/* Each bit of either word moves half of the result's bits: over 1,000 pairs
 * the mean of 64,000 fair coins is 32 bits, give or take 0.13. */
static void pair_mixes_both_words(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned from_a = 0;
        unsigned from_b = 0;

        for (int i = 0; i < 1000; i++) {
            uint64_t a = test_rng_next(&rng);
            uint64_t b = test_rng_next(&rng);
            uint64_t mixed = lbr_hash_pair(a, b);

            from_a +=
                count_ones(mixed ^ lbr_hash_pair(a ^ UINT64_C(1) << bit, b));
            from_b +=
                count_ones(mixed ^ lbr_hash_pair(a, b ^ UINT64_C(1) << bit));
        }
        assert_in_range(from_a, 31300, 32700);
        assert_in_range(from_b, 31300, 32700);
    }
}

static void pair_tells_its_words_apart(void **state)
{
    (void)state;
    for (uint64_t a = 0; a < 64; a++)
        for (uint64_t b = 0; b < a; b++)
            assert_true(lbr_hash_pair(a, b) != lbr_hash_pair(b, a));
}

/* Undoes x ^ x >> shift. */
static uint64_t unshift(uint64_t x, unsigned shift)
{
    uint64_t whole = x;

    for (x >>= shift; x; x >>= shift)
        whole ^= x;
    return whole;
}

/* Undoes a multiplication by an odd number: each round of Newton's method
 * doubles the bits of its inverse that are right. */
static uint64_t divide(uint64_t product, uint64_t odd)
{
    uint64_t inverse = odd;

    for (int i = 0; i < 5; i++)
        inverse *= 2 - odd * inverse;
    return product * inverse;
}

/* With one word known, the other follows from the result: no two others give
 * the same. */
static void pair_is_one_to_one(void **state)
{
    struct test_rng rng = {1};
    (void)state;

    for (int i = 0; i < 1000; i++) {
        uint64_t a = test_rng_next(&rng);
        uint64_t b = test_rng_next(&rng);
        uint64_t mixed = unshift(lbr_hash_pair(a, b), 31);

        mixed = unshift(divide(mixed, 0x94d049bb133111ebU), 27);
        mixed = unshift(divide(mixed, 0xbf58476d1ce4e5b9U), 30);
        assert_true((mixed ^ a) - 0x9e3779b97f4a7c15U - (a << 6) - (a >> 2) ==
                    b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(published_words),
        cmocka_unit_test(streams),
        cmocka_unit_test(pair_ends_in_splitmix64),
        cmocka_unit_test(pair_mixes_both_words),
        cmocka_unit_test(pair_tells_its_words_apart),
        cmocka_unit_test(pair_is_one_to_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
