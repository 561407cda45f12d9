/* SPDX-License-Identifier: MIT */
/* base/bytes: numbers as bytes, and back from bytes that may be anything. */
#include <math.h>
#include <string.h>

#include "support/test.h"

#include "base/bytes.h"
#include "base/clock.h"

static struct lbr_reader reader_of(const void *bytes, size_t length)
{
    struct lbr_reader reader = {bytes, length, 0, 0, 0};

    return reader;
}

static void everything_comes_back(void **state)
{
    unsigned char bytes[128];
    struct lbr_writer writer = {bytes, sizeof bytes, 0, 1000};
    struct lbr_reader reader;
    size_t length;
    (void)state;

    lbr_put_u8(&writer, 200);
    lbr_put_u32(&writer, 0x01020304);
    lbr_put_u64(&writer, 0x0102030405060708);
    lbr_put_count(&writer, 127);
    lbr_put_count(&writer, 128);
    lbr_put_count(&writer, UINT64_MAX);
    lbr_put_real(&writer, -0.1);
    lbr_put_text(&writer, "name", 4);
    lbr_put_age(&writer, 990);
    lbr_put_rest(&writer, 1007);
    lbr_put_rest(&writer, LBR_NEVER);
    lbr_put_times(&writer, UINT64_MAX);
    assert_int_equal(bytes[1], 4); /* least significant first */
    assert_int_equal(bytes[4], 1);

    reader = reader_of(bytes, writer.length);
    reader.now = 500;
    reader.elapsed = 3;
    assert_int_equal(lbr_get_u8(&reader), 200);
    assert_int_equal(lbr_get_u32(&reader), 0x01020304);
    assert_true(lbr_get_u64(&reader) == 0x0102030405060708);
    assert_int_equal(lbr_get_count(&reader, 127), 127);
    assert_int_equal(lbr_get_count(&reader, 128), 128);
    assert_true(lbr_get_count(&reader, UINT64_MAX) == UINT64_MAX);
    assert_near(lbr_get_real(&reader), -0.1, 0);
    assert_memory_equal(lbr_get_text(&reader, &length), "name", 4);
    assert_int_equal(length, 4);
    assert_int_equal(lbr_get_age(&reader), 500 - 10 - 3);
    assert_int_equal(lbr_get_rest(&reader), 500 + 7 - 3);
    assert_true(lbr_get_rest(&reader) == LBR_NEVER);
    assert_true(lbr_get_times(&reader) == LBR_MOST_TIMES);
    assert_int_equal(reader.left, 0);
    assert_false(reader.broken);
}

/* Beyond the room nothing is written, and all is counted. */
static void the_length_is_told(void **state)
{
    unsigned char bytes[8];
    struct lbr_writer writer = {bytes, 6, 0, 0};
    (void)state;

    memset(bytes, 7, sizeof bytes);
    lbr_put_u32(&writer, 1);
    lbr_put_u32(&writer, 2); /* does not fit */
    lbr_put_u8(&writer, 3);  /* nor what comes after */
    lbr_put_u64_at(&writer, 3, 9);
    assert_int_equal(writer.length, 9);
    assert_int_equal(bytes[0], 1);
    for (size_t i = 4; i < 8; i++)
        assert_int_equal(bytes[i], 7);
    writer = (struct lbr_writer){NULL, 0, 0, 0};
    lbr_put_text(&writer, "a", 1);
    assert_int_equal(writer.length, 2);
}

/* Cut anywhere, a reader is broken from there on, and reads 0. */
static void a_cut_breaks(void **state)
{
    static const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;

    for (size_t i = 0; i < 8; i++) {
        struct lbr_reader reader = reader_of(bytes, i);
        assert_true(lbr_get_u64(&reader) == 0);
        assert_true(reader.broken);
        assert_int_equal(lbr_get_u8(&reader), 0);
        assert_null(lbr_get_bytes(&reader, 0));
    }
}

static void check_count(const void *bytes, size_t length, uint64_t most,
                        int broken)
{
    struct lbr_reader reader = reader_of(bytes, length);

    (void)lbr_get_count(&reader, most);
    assert_int_equal(reader.broken, broken);
}

static void counts_that_are_none(void **state)
{
    (void)state;

    check_count("\x80", 1, UINT64_MAX, 1);
    check_count("\x80\x01", 2, 127, 1);
    check_count("\x80\x01", 2, 128, 0);
    check_count("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, 0);
    check_count("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, UINT64_MAX, 1);
    check_count("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\0", 11, UINT64_MAX,
                1);
}

/* A number is believed as far as there are bytes for it. */
static void numbers_need_bytes(void **state)
{
    static const unsigned char bytes[] = {3, 0, 0, 0, 0, 0, 0, 0, 0};
    struct lbr_reader reader = reader_of(bytes, 9);
    (void)state;

    assert_int_equal(lbr_get_number(&reader, 3), 3);
    reader = reader_of(bytes, 9);
    assert_int_equal(lbr_get_number(&reader, 4), 0);
    assert_true(reader.broken);
}

static void check_real(double value, int broken)
{
    unsigned char bytes[8] = {0};
    struct lbr_writer writer = {bytes, sizeof bytes, 0, 0};
    struct lbr_reader reader = reader_of(bytes, sizeof bytes);

    lbr_put_real(&writer, value);
    /* Who reads on does not meet what it did not ask for. */
    assert_in_real_range(lbr_get_real_in(&reader, -1, 1), -1, 1);
    assert_int_equal(reader.broken, broken);
}

static void reals_are_finite(void **state)
{
    (void)state;

    check_real(1, 0);
    check_real(-1, 0);
    check_real(1.1, 1);
    check_real((double)NAN, 1);
    check_real((double)INFINITY, 1);
}

/* What was before the clock began is its beginning; what is over is 0. */
static void times_of_another_clock(void **state)
{
    unsigned char bytes[32];
    struct lbr_writer writer = {bytes, sizeof bytes, 0, 1000};
    struct lbr_reader reader;
    (void)state;

    lbr_put_age(&writer, 1);
    lbr_put_age(&writer, 2000); /* lies ahead */
    lbr_put_rest(&writer, 1005);
    lbr_put_rest(&writer, 999);
    reader = reader_of(bytes, writer.length);
    reader.now = 50;
    reader.elapsed = 5;
    assert_int_equal(lbr_get_age(&reader), 0);
    assert_int_equal(lbr_get_age(&reader), 45);
    assert_int_equal(lbr_get_rest(&reader), 0);
    assert_int_equal(lbr_get_rest(&reader), 0);
    assert_false(reader.broken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(the_length_is_told),
        cmocka_unit_test(a_cut_breaks),
        cmocka_unit_test(counts_that_are_none),
        cmocka_unit_test(numbers_need_bytes),
        cmocka_unit_test(reals_are_finite),
        cmocka_unit_test(times_of_another_clock),
    };

    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
