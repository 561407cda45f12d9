/* SPDX-License-Identifier: MIT */
/* ingest/msgpack: any bytes, from exactly their memory. */
#include "ingest/msgpack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/rng.h"
#include "support/test.h"

/* ---- inputs ---- */

/* Bytes in memory of exactly that size, so that a sanitizer sees reads beyond
 * it. One input at a time. */
static unsigned char *held;

static struct lbr_msgpack input(const void *bytes, size_t length)
{
    free(held);
    held = malloc(length > 0 ? length : 1);
    assert_non_null(held);
    memcpy(held, bytes, length);
    return lbr_msgpack(held, length);
}

static size_t unhex(const char *hex, unsigned char *bytes)
{
    size_t length = strlen(hex) / 2;

    for (size_t i = 0; i < length; i++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (unsigned char)value;
    }
    return length;
}

static struct lbr_msgpack from_hex(const char *hex)
{
    unsigned char bytes[512];
    return input(bytes, unhex(hex, bytes));
}

static int free_input(void **state)
{
    (void)state;
    free(held);
    held = NULL;
    return 0;
}

/* ---- the specification, once more and slowly ---- */

/* The length of a scalar, or of the head of an array or map, by the table of
 * formats in the specification; `count` receives the values that follow. */
static uint64_t spec_length(const unsigned char *at, size_t there,
                            uint64_t *count)
{
    unsigned b = at[0];
    size_t field = 0;
    uint64_t n = 0;

    *count = 0;
    if (b <= 0x7f || b >= 0xe0 || b == 0xc0 || b == 0xc2 || b == 0xc3)
        return 1;
    if (b <= 0x8f)
        return *count = 2 * (b & 15), 1;
    if (b <= 0x9f)
        return *count = b & 15, 1;
    if (b <= 0xbf)
        return 1 + (b & 31);
    if (b == 0xc4 || b == 0xc7 || b == 0xd9)
        field = 1;
    if (b == 0xc5 || b == 0xc8 || b == 0xda || b == 0xdc || b == 0xde)
        field = 2;
    if (b == 0xc6 || b == 0xc9 || b == 0xdb || b == 0xdd || b == 0xdf)
        field = 4;
    if (there < 1 + field)
        return UINT64_MAX;
    for (size_t i = 0; i < field; i++)
        n = n * 256 + at[1 + i];
    if (b >= 0xdc) {
        *count = b >= 0xde ? 2 * n : n;
        return 1 + field;
    }
    if (field)
        return 1 + field + n + (b >= 0xc7 && b <= 0xc9);
    switch (b) {
    case 0xcc:
    case 0xd0:
        return 2;
    case 0xcd:
    case 0xd1:
    case 0xd4:
        return 3;
    case 0xd5:
        return 4;
    case 0xca:
    case 0xce:
    case 0xd2:
        return 5;
    case 0xd6:
        return 6;
    case 0xcb:
    case 0xcf:
    case 0xd3:
        return 9;
    case 0xd7:
        return 10;
    case 0xd8:
        return 18;
    default:
        return UINT64_MAX; /* 0xc1 */
    }
}

/* Where the value ends that begins at |from|; SIZE_MAX: nowhere. */
static size_t spec_end(const unsigned char *bytes, size_t length, size_t from,
                       unsigned depth)
{
    uint64_t count;

    if (from >= length)
        return SIZE_MAX;
    uint64_t taken = spec_length(bytes + from, length - from, &count);
    int container = (bytes[from] >= 0x80 && bytes[from] <= 0x9f) ||
                    (bytes[from] >= 0xdc && bytes[from] <= 0xdf);
    if (taken > length - from || (container && depth == LBR_MSGPACK_DEPTH))
        return SIZE_MAX;
    from += (size_t)taken;
    for (uint64_t i = 0; i < count && from != SIZE_MAX; i++)
        from = spec_end(bytes, length, from, depth + 1);
    return from;
}

/* Skips and compares with the specification, in all truncations. */
static void check_skip(const unsigned char *bytes, size_t length)
{
    for (size_t cut = 0; cut <= length; cut++) {
        struct lbr_msgpack in = input(bytes, cut);
        size_t end = spec_end(bytes, cut, 0, 0);
        int fits = lbr_msgpack_skip(&in, 0);

        assert_int_equal(fits, end != SIZE_MAX);
        assert_ptr_equal(in.at, held + (fits ? end : 0));
        assert_ptr_equal(in.end, held + cut);
    }
}

/* ---- skip ---- */

/* Every first byte, with zeros, ones and small numbers behind it. */
static void every_first_byte(void **state)
{
    static const unsigned char fillings[] = {0, 1, 2, 0x7f, 0xff};
    unsigned char bytes[600];
    (void)state;

    for (unsigned first = 0; first < 256; first++) {
        for (size_t i = 0; i < sizeof fillings; i++) {
            memset(bytes, fillings[i], sizeof bytes);
            bytes[0] = (unsigned char)first;
            check_skip(bytes, first == 0xc8 || first == 0xc5 ? 300 : 40);
        }
    }
}

/* Lengths around the bounds of their fields. */
static void lengths(void **state)
{
    static const char *const heads[] = {
        "a0",     "a1",     "bf",         "d900",       "d9ff",
        "da0000", "da0100", "db00000000", "db00000100", "c400",
        "c4ff",   "c50000", "c50100",     "c600000000", "c600000100",
        "c700",   "c7ff",   "c80100",     "c900000100", "d4",
        "d5",     "d6",     "d7",         "d8",         "90",
        "9f",     "dc0000", "dc0100",     "dd00000100", "80",
        "8f",     "de0080", "df00000080"};
    unsigned char bytes[600];
    (void)state;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t head = unhex(heads[i], bytes);
        memset(bytes + head, 7, sizeof bytes - head);
        size_t whole = spec_end(bytes, sizeof bytes, 0, 0);
        assert_int_not_equal(whole, SIZE_MAX);
        check_skip(bytes, whole);
        check_skip(bytes, whole + 1);
    }
}

static void only_c1_is_never_used(void **state)
{
    unsigned char bytes[600];
    (void)state;

    for (unsigned first = 0; first < 256; first++) {
        memset(bytes, 0, sizeof bytes);
        bytes[0] = (unsigned char)first;
        struct lbr_msgpack in = input(bytes, sizeof bytes);
        enum lbr_msgpack_kind kind = lbr_msgpack_peek(&in);
        assert_int_equal(kind == LBR_MSGPACK_NONE, first == 0xc1);
        assert_int_equal(lbr_msgpack_skip(&in, 0), first != 0xc1);
    }
    struct lbr_msgpack none = input("", 0);
    assert_int_equal(lbr_msgpack_peek(&none), LBR_MSGPACK_NONE);
}

static void nested(void **state)
{
    unsigned char bytes[64];
    (void)state;

    for (unsigned depth = 1; depth < 20; depth++) {
        for (unsigned map = 0; map < 2; map++) {
            size_t length = 0;
            for (unsigned i = 0; i < depth; i++) {
                bytes[length++] = map ? 0x81 : 0x91;
                if (map)
                    bytes[length++] = 1;
            }
            bytes[length++] = 0xc0;
            struct lbr_msgpack in = input(bytes, length);
            assert_int_equal(lbr_msgpack_skip(&in, 0), depth <= 16);
            check_skip(bytes, length);
        }
    }
    /* What is around the value counts. */
    for (unsigned around = 0; around <= 17; around++) {
        struct lbr_msgpack in = from_hex("9190");
        assert_int_equal(lbr_msgpack_skip(&in, around), around <= 14);
        in = from_hex("07");
        assert_int_equal(lbr_msgpack_skip(&in, around), 1);
    }
    /* Back up, and down again. */
    check_skip(bytes,
               unhex("93929101c0829100a1619105c3cb3ff0000000000000", bytes));
}

static void promises_without_bytes(void **state)
{
    static const char *const texts[] = {
        "ddffffffff",   "dfffffffff",     "c6ffffffff", "db7fffffff",
        "c9ffffffff",   "dcffff",         "deffff",     "df80000000",
        "dd0000000201", "91ddffffffff01", "9fc0",       "81c0"};
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lbr_msgpack in = from_hex(texts[i]);
        const unsigned char *at = in.at;
        size_t count;
        struct lbr_text bytes;

        assert_int_equal(lbr_msgpack_skip(&in, 0), 0);
        assert_ptr_equal(in.at, at);
        if (i < 9) {
            assert_int_equal(lbr_msgpack_array(&in, &count), 0);
            assert_int_equal(lbr_msgpack_map(&in, &count), 0);
            assert_int_equal(lbr_msgpack_bytes(&in, &bytes), 0);
            assert_ptr_equal(in.at, at);
        }
    }
}

/* Random bytes, and random well-formed values with a byte changed. */
static void random_bytes(void **state)
{
    struct test_rng rng = {7};
    unsigned char bytes[48];
    (void)state;

    for (int i = 0; i < 20000; i++) {
        size_t length = test_rng_below(&rng, sizeof bytes + 1);
        for (size_t j = 0; j < length; j++) {
            uint64_t drawn = test_rng_next(&rng);
            bytes[j] = (unsigned char)(drawn % 3   ? drawn >> 32
                                       : drawn & 4 ? 0x90 + (drawn >> 32) % 5
                                                   : 0xcc + (drawn >> 32) % 4);
        }
        struct lbr_msgpack in = input(bytes, length);
        size_t end = spec_end(bytes, length, 0, 0);
        int fits = lbr_msgpack_skip(&in, 0);
        assert_int_equal(fits, end != SIZE_MAX);
        if (fits)
            assert_ptr_equal(in.at, held + end);
    }
}

/* A chain of heads that each promise less than there are bytes. */
static void a_chain_of_heads(void **state)
{
    size_t length = 3 * 24000;
    unsigned char *bytes = malloc(length);
    clock_t begin;
    (void)state;

    assert_non_null(bytes);
    for (size_t i = 0; i < length; i += 3)
        memcpy(bytes + i, "\xdc\xff\xff", 3);
    struct lbr_msgpack in = input(bytes, length);
    begin = clock();
    assert_int_equal(lbr_msgpack_skip(&in, 0), 0);
    assert_true(clock() - begin < CLOCKS_PER_SEC / 20);
    free(bytes);
}

/* ---- values ---- */

static void integers(void **state)
{
    static const struct {
        const char *hex;
        uint64_t bits;
        int negative;
    } values[] = {
        {"00", 0, 0},
        {"7f", 127, 0},
        {"ff", UINT64_MAX, 1},
        {"e0", UINT64_MAX - 31, 1},
        {"cc00", 0, 0},
        {"ccff", 255, 0},
        {"cdffff", 65535, 0},
        {"ceffffffff", UINT32_MAX, 0},
        {"cf0000000000000001", 1, 0},
        {"cfffffffffffffffff", UINT64_MAX, 0},
        {"d07f", 127, 0},
        {"d080", (uint64_t)INT64_MIN >> 56 | ~UINT64_C(0xff), 1},
        {"d1ffff", UINT64_MAX, 1},
        {"d17fff", 32767, 0},
        {"d18000", UINT64_MAX - 32767, 1},
        {"d2ffffffff", UINT64_MAX, 1},
        {"d280000000", UINT64_MAX - 0x7fffffff, 1},
        {"d27fffffff", INT32_MAX, 0},
        {"d3ffffffffffffffff", UINT64_MAX, 1},
        {"d38000000000000000", UINT64_C(1) << 63, 1},
        {"d37fffffffffffffff", INT64_MAX, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct lbr_msgpack in = from_hex(values[i].hex);
        uint64_t bits;
        uint32_t narrow = 9;
        int negative;
        int fits = !values[i].negative && values[i].bits <= UINT32_MAX;

        assert_int_equal(lbr_msgpack_int(&in, &bits, &negative), 1);
        assert_int_equal(bits, values[i].bits);
        assert_int_equal(negative, values[i].negative);
        assert_ptr_equal(in.at, in.end);
        in = from_hex(values[i].hex);
        assert_int_equal(lbr_msgpack_u32(&in, &narrow), fits);
        assert_int_equal(narrow, fits ? values[i].bits : 9);
        assert_int_equal(in.at == in.end, fits);
        in = from_hex(values[i].hex);
        assert_int_equal(lbr_msgpack_u32s(&in, &narrow, 1), fits);
    }
}

static void numbers(void **state)
{
    static const struct {
        const char *hex;
        double value;
    } values[] = {
        {"cb3ff0000000000000", 1},
        {"cbc000000000000000", -2},
        {"ca3f800000", 1},
        {"cac0490fdb", -3.1415927410125732},
        {"07", 7},
        {"ff", -1},
        {"cfffffffffffffffff", 0x1p64},
        {"d38000000000000000", -0x1p63},
    };
    struct lbr_msgpack in;
    double value;
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        in = from_hex(values[i].hex);
        assert_int_equal(lbr_msgpack_number(&in, &value), 1);
        assert_near(value, values[i].value, 0);
        assert_ptr_equal(in.at, in.end);
    }
    in = from_hex("cb7ff8000000000000");
    assert_int_equal(lbr_msgpack_number(&in, &value), 1);
    assert_true(isnan(value));
}

static void strings(void **state)
{
    static const char *const heads[] = {
        "a3", "d903", "da0003", "db00000003", "c403", "c50003", "c600000003"};
    (void)state;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char hex[32];
        struct lbr_text text;
        snprintf(hex, sizeof hex, "%s61006207", heads[i]);
        struct lbr_msgpack in = from_hex(hex);
        assert_int_equal(lbr_msgpack_bytes(&in, &text), 1);
        assert_int_equal(text.length, 3);
        assert_memory_equal(text.bytes, "a\0b", 3);
        assert_int_equal(*in.at, 7);
    }
}

/* Every reader leaves what it does not take. */
static void only_their_kind(void **state)
{
    static const struct {
        const char *hex;
        enum lbr_msgpack_kind kind;
    } values[] = {
        {"c0", LBR_MSGPACK_NIL},     {"c2", LBR_MSGPACK_BOOL},
        {"c3", LBR_MSGPACK_BOOL},    {"05", LBR_MSGPACK_INT},
        {"d1ffff", LBR_MSGPACK_INT}, {"ca00000000", LBR_MSGPACK_FLOAT},
        {"a161", LBR_MSGPACK_BYTES}, {"c40161", LBR_MSGPACK_BYTES},
        {"9105", LBR_MSGPACK_ARRAY}, {"dc000105", LBR_MSGPACK_ARRAY},
        {"810505", LBR_MSGPACK_MAP}, {"de00010505", LBR_MSGPACK_MAP},
        {"d40500", LBR_MSGPACK_EXT}, {"c7000500", LBR_MSGPACK_EXT},
    };
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct lbr_msgpack in = from_hex(values[i].hex), copy = in;
        enum lbr_msgpack_kind kind = values[i].kind;
        struct lbr_text text;
        uint64_t bits;
        int negative;
        size_t count = 0;
        double value;

        assert_int_equal(lbr_msgpack_peek(&in), kind);
        assert_int_equal(lbr_msgpack_nil(&copy), kind == LBR_MSGPACK_NIL);
        copy = in;
        assert_int_equal(lbr_msgpack_int(&copy, &bits, &negative),
                         kind == LBR_MSGPACK_INT);
        copy = in;
        assert_int_equal(lbr_msgpack_number(&copy, &value),
                         kind == LBR_MSGPACK_INT || kind == LBR_MSGPACK_FLOAT);
        copy = in;
        assert_int_equal(lbr_msgpack_bytes(&copy, &text),
                         kind == LBR_MSGPACK_BYTES);
        copy = in;
        assert_int_equal(lbr_msgpack_array(&copy, &count),
                         kind == LBR_MSGPACK_ARRAY);
        copy = in;
        assert_int_equal(lbr_msgpack_map(&copy, &count),
                         kind == LBR_MSGPACK_MAP);
        assert_int_equal(count,
                         kind == LBR_MSGPACK_ARRAY || kind == LBR_MSGPACK_MAP);
        if (kind != LBR_MSGPACK_MAP)
            assert_ptr_equal(copy.at, in.at);
    }
}

/* All readers, on all truncations of all forms. */
static void truncations(void **state)
{
    static const char *const texts[] = {"cc01",         "cd0001",
                                        "ce00000001",   "cf0000000000000001",
                                        "d001",         "d10001",
                                        "d200000001",   "d30000000000000001",
                                        "ca3f800000",   "cb3ff0000000000000",
                                        "a3616263",     "d903616263",
                                        "da0003616263", "db00000003616263",
                                        "c403616263"};
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unsigned char bytes[32];
        size_t length = unhex(texts[i], bytes);
        for (size_t cut = 0; cut < length; cut++) {
            struct lbr_msgpack in = input(bytes, cut);
            struct lbr_text text;
            uint64_t bits;
            uint32_t narrow;
            int negative;
            double value;
            assert_int_equal(lbr_msgpack_int(&in, &bits, &negative), 0);
            assert_int_equal(lbr_msgpack_u32(&in, &narrow), 0);
            assert_int_equal(lbr_msgpack_u32s(&in, &narrow, 1), 0);
            assert_int_equal(lbr_msgpack_number(&in, &value), 0);
            assert_int_equal(lbr_msgpack_bytes(&in, &text), 0);
            assert_ptr_equal(in.at, held);
        }
    }
}

/* ---- token ids ---- */

static size_t put(unsigned char *at, uint32_t value, unsigned width)
{
    static const unsigned char firsts[] = {0, 0xcc, 0xcd, 0,   0xce,
                                           0, 0,    0,    0xcf};

    if (width == 0)
        return *at = (unsigned char)value, 1;
    at[0] = firsts[width];
    for (unsigned i = 0; i < width; i++)
        at[1 + i] = width - 1 - i < 4
                        ? (unsigned char)(value >> 8 * (width - 1 - i))
                        : 0;
    return 1 + width;
}

/* Ids in all forms, mixed, in memory that ends with the last one; read in one
 * go and in two; and how far it comes when there is something else. */
static void token_ids(void **state)
{
    static const unsigned widths[] = {0, 1, 2, 4, 8};
    struct test_rng rng = {3};
    uint32_t wanted[64], got[64];
    unsigned char bytes[64 * 9 + 8];
    (void)state;

    for (int round = 0; round < 3000; round++) {
        size_t count = test_rng_below(&rng, 65), length = 0;
        size_t half = test_rng_below(&rng, count + 1);
        for (size_t i = 0; i < count; i++) {
            unsigned width = widths[test_rng_below(&rng, 5)];
            wanted[i] = (uint32_t)test_rng_next(&rng);
            if (width < 4)
                wanted[i] &= width ? (1U << 8 * width) - 1 : 0x7f;
            length += put(bytes + length, wanted[i], width);
        }
        struct lbr_msgpack in = input(bytes, length);
        assert_int_equal(lbr_msgpack_u32s(&in, got, count), count);
        assert_memory_equal(got, wanted, count * sizeof *got);
        assert_ptr_equal(in.at, in.end);

        in = input(bytes, length);
        assert_int_equal(lbr_msgpack_u32s(&in, got, half), half);
        assert_int_equal(lbr_msgpack_u32s(&in, got + half, count - half),
                         count - half);
        assert_memory_equal(got, wanted, count * sizeof *got);

        memcpy(bytes + length, "\xc0\1\2\3\4\5\6\7", 8);
        in = input(bytes, length + 8);
        assert_int_equal(lbr_msgpack_u32s(&in, got, 64),
                         count < 64 ? count : 64);
        assert_ptr_equal(in.at, held + length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_first_byte),
        cmocka_unit_test(lengths),
        cmocka_unit_test(only_c1_is_never_used),
        cmocka_unit_test(nested),
        cmocka_unit_test(promises_without_bytes),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(a_chain_of_heads),
        cmocka_unit_test(integers),
        cmocka_unit_test(numbers),
        cmocka_unit_test(strings),
        cmocka_unit_test(only_their_kind),
        cmocka_unit_test(truncations),
        cmocka_unit_test(token_ids),
    };
    return cmocka_run_group_tests_name("msgpack", tests, NULL, free_input);
}
