/* SPDX-License-Identifier: MIT */
/* base/digest: SipHash-2-4 to the bit. */
#include "base/digest.h"

#include <string.h>

#include "support/test.h"

/* The vectors of the paper's authors: key 00 01 … 0f, inputs of 0 to 63 bytes
 * 00 01 02 …, read least significant byte first. */
static const uint64_t vectors[64] = {
    UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd),
    UINT64_C(0x0d6c8009d9a94f5a), UINT64_C(0x85676696d7fb7e2d),
    UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
    UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137),
    UINT64_C(0x93f5f5799a932462), UINT64_C(0x9e0082df0ba9e4b0),
    UINT64_C(0x7a5dbbc594ddb9f3), UINT64_C(0xf4b32f46226bada7),
    UINT64_C(0x751e8fbc860ee5fb), UINT64_C(0x14ea5627c0843d90),
    UINT64_C(0xf723ca908e7af2ee), UINT64_C(0xa129ca6149be45e5),
    UINT64_C(0x3f2acc7f57c29bdb), UINT64_C(0x699ae9f52cbe4794),
    UINT64_C(0x4bc1b3f0968dd39c), UINT64_C(0xbb6dc91da77961bd),
    UINT64_C(0xbed65cf21aa2ee98), UINT64_C(0xd0f2cbb02e3b67c7),
    UINT64_C(0x93536795e3a33e88), UINT64_C(0xa80c038ccd5ccec8),
    UINT64_C(0xb8ad50c6f649af94), UINT64_C(0xbce192de8a85b8ea),
    UINT64_C(0x17d835b85bbb15f3), UINT64_C(0x2f2e6163076bcfad),
    UINT64_C(0xde4daaaca71dc9a5), UINT64_C(0xa6a2506687956571),
    UINT64_C(0xad87a3535c49ef28), UINT64_C(0x32d892fad841c342),
    UINT64_C(0x7127512f72f27cce), UINT64_C(0xa7f32346f95978e3),
    UINT64_C(0x12e0b01abb051238), UINT64_C(0x15e034d40fa197ae),
    UINT64_C(0x314dffbe0815a3b4), UINT64_C(0x027990f029623981),
    UINT64_C(0xcadcd4e59ef40c4d), UINT64_C(0x9abfd8766a33735c),
    UINT64_C(0x0e3ea96b5304a7d0), UINT64_C(0xad0c42d6fc585992),
    UINT64_C(0x187306c89bc215a9), UINT64_C(0xd4a60abcf3792b95),
    UINT64_C(0xf935451de4f21df2), UINT64_C(0xa9538f0419755787),
    UINT64_C(0xdb9acddff56ca510), UINT64_C(0xd06c98cd5c0975eb),
    UINT64_C(0xe612a3cb9ecba951), UINT64_C(0xc766e62cfcadaf96),
    UINT64_C(0xee64435a9752fe72), UINT64_C(0xa192d576b245165a),
    UINT64_C(0x0a8787bf8ecb74b2), UINT64_C(0x81b3e73d20b49b6f),
    UINT64_C(0x7fa8220ba3b2ecea), UINT64_C(0x245731c13ca42499),
    UINT64_C(0xb78dbfaf3a8d83bd), UINT64_C(0xea1ad565322a1a0b),
    UINT64_C(0x60e61c23a3795013), UINT64_C(0x6606d7e446282b93),
    UINT64_C(0x6ca4ecb15c5f91e1), UINT64_C(0x9f626da15c9625f3),
    UINT64_C(0xe51b38608ef25f57), UINT64_C(0x958a324ceb064572),
};

static struct lbr_digest_key official_key(void)
{
    uint8_t bytes[16];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    return lbr_digest_key(bytes);
}

static void the_key_is_read_least_significant_first(void **state)
{
    struct lbr_digest_key key = official_key();
    (void)state;

    assert_true(key.k0 == UINT64_C(0x0706050403020100));
    assert_true(key.k1 == UINT64_C(0x0f0e0d0c0b0a0908));
}

/* Wherever the input lies in memory. */
static void official_vectors(void **state)
{
    (void)state;
    for (size_t offset = 0; offset < 8; offset++) {
        uint8_t buffer[8 + 64];

        for (size_t i = 0; i < 64; i++)
            buffer[offset + i] = (uint8_t)i;
        for (size_t length = 0; length < 64; length++)
            assert_true(lbr_digest(official_key(), buffer + offset, length) ==
                        vectors[length]);
    }
    assert_true(lbr_digest(official_key(), NULL, 0) == vectors[0]);
}

/* Longer inputs 00 01 … ff 00 …, by OpenSSL's SipHash. */
static void long_inputs(void **state)
{
    static const struct {
        size_t length;
        uint64_t digest;
    } cases[] = {
        {64, UINT64_C(0xacd2c40b8502cad8)},
        {127, UINT64_C(0x9e7db1ba81dc7e3a)},
        {128, UINT64_C(0xdeb79e256c8736ae)},
        {200, UINT64_C(0x10849fe512591651)},
        {255, UINT64_C(0xa9c169fec74db21a)},
        {256, UINT64_C(0x999d0526d2a7bfd7)},
        {257, UINT64_C(0x8a817b8d55b29748)},
        {1000, UINT64_C(0xdb9b3ed69e31c9a6)},
    };
    uint8_t input[1000];
    (void)state;

    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)(i & 0xff);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(lbr_digest(official_key(), input, cases[i].length) ==
                    cases[i].digest);
}

/* Only the length modulo 256 enters the last word, yet inputs that differ by
 * 256 zero bytes differ. */
static void lengths_differ(void **state)
{
    static const uint8_t zeroes[600] = {0};
    struct lbr_digest_key key = official_key();
    (void)state;

    for (size_t length = 0; length + 256 <= sizeof zeroes; length++)
        assert_true(lbr_digest(key, zeroes, length) !=
                    lbr_digest(key, zeroes, length + 256));
}

static void every_key_bit_counts(void **state)
{
    uint64_t digest = lbr_digest(official_key(), "session", 7);
    (void)state;

    for (int bit = 0; bit < 64; bit++) {
        struct lbr_digest_key key = official_key();

        key.k0 ^= UINT64_C(1) << bit;
        assert_true(lbr_digest(key, "session", 7) != digest);
        key = official_key();
        key.k1 ^= UINT64_C(1) << bit;
        assert_true(lbr_digest(key, "session", 7) != digest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_read_least_significant_first),
        cmocka_unit_test(official_vectors),
        cmocka_unit_test(long_inputs),
        cmocka_unit_test(lengths_differ),
        cmocka_unit_test(every_key_bit_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
