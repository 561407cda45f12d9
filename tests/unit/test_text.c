/* SPDX-License-Identifier: MIT */
/* base/text: order of byte strings, and what may be a name or a token. */
#include "base/text.h"

#include <stdbool.h>

#include "heap.h"
#include "support/test.h"

static struct lbr_text text_of(const char *literal)
{
    return lbr_text(literal, strlen(literal));
}

/* In the order that lbr_text_compare() must give. */
static const char *const ordered[] = {
    "",   "\x01", "A", "AA",   "AB",   "B",    "a",
    "ab", "abc",  "b", "\x7f", "\x80", "\xff", "\xff\x01",
};

#define ORDERED (sizeof ordered / sizeof ordered[0])

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void order_is_that_of_unsigned_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < (int)ORDERED; i++)
        for (int j = 0; j < (int)ORDERED; j++) {
            struct lbr_text a = text_of(ordered[i]);
            struct lbr_text b = text_of(ordered[j]);

            assert_int_equal(sign(lbr_text_compare(a, b)), sign(i - j));
            assert_int_equal(lbr_text_equal(a, b) != 0, i == j);
        }
}

static void a_zero_byte_is_a_byte(void **state)
{
    struct lbr_text a = lbr_text("x\0a", 3);
    struct lbr_text b = lbr_text("x\0b", 3);
    (void)state;

    assert_true(lbr_text_compare(a, b) < 0);
    assert_false(lbr_text_equal(a, b));
    assert_true(lbr_text_equal(lbr_text(NULL, 0), text_of("")));
    assert_int_equal(lbr_text_compare(lbr_text(NULL, 0), text_of("")), 0);
}

static void a_length_without_bytes_is_broken(void **state)
{
    (void)state;
    assert_true(lbr_text_broken(NULL, 1));
    assert_false(lbr_text_broken(NULL, 0));
    assert_false(lbr_text_broken("a", 0));
    assert_false(lbr_text_broken("a", 1));
}

static void names_hold_no_control_character(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char name[3] = {'n', 'n', 'n'};
        bool control = byte < 32 || byte == 127;

        for (size_t i = 0; i < sizeof name; i++) {
            name[i] = (char)byte;
            assert_int_equal(lbr_text_is_name(lbr_text(name, 3), 0) != 0,
                             !control);
            name[i] = 'n';
        }
    }
}

/* RFC 9110, 5.6.2: tchar. */
static bool is_tchar(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') ||
           (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static void tokens_hold_token_characters(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char token[3] = {'t', (char)byte, 't'};

        assert_int_equal(lbr_text_is_token(lbr_text(token, 3)) != 0,
                         is_tchar(byte));
    }
}

static void lengths_are_limited(void **state)
{
    char longest[LBROUTE_NAME_MAX + 1];
    (void)state;

    memset(longest, 'x', sizeof longest);
    assert_true(lbr_text_is_name(lbr_text(longest, LBROUTE_NAME_MAX), 0));
    assert_false(lbr_text_is_name(lbr_text(longest, LBROUTE_NAME_MAX + 1), 0));
    assert_false(lbr_text_is_name(lbr_text(longest, LBROUTE_NAME_MAX + 1), 1));
    assert_true(lbr_text_is_token(lbr_text(longest, LBROUTE_NAME_MAX)));
    assert_false(lbr_text_is_token(lbr_text(longest, LBROUTE_NAME_MAX + 1)));
    assert_false(lbr_text_is_name(lbr_text(NULL, 0), 0));
    assert_true(lbr_text_is_name(lbr_text(NULL, 0), 1));
    assert_true(lbr_text_is_token(lbr_text(NULL, 0)));
}

/* Copies a text, exports the copy and frees it. */
static void check_export(struct lbr_text text)
{
    char buffer[LBROUTE_NAME_MAX + 1];
    struct unit_heap heap;
    struct lbr_text copy;

    unit_heap_open(&heap);
    assert_true(lbr_text_copy(&heap.memory, text, &copy));
    memset(buffer, 'z', sizeof buffer);
    lbr_text_export(buffer, copy);
    if (text.length)
        assert_memory_equal(buffer, text.bytes, text.length);
    assert_int_equal(buffer[text.length], '\0');
    assert_in_range(heap.alloc.live_bytes, text.length, LBR_TEXT_LONGEST);
    lbr_text_free(&heap.memory, copy);
    unit_heap_close(&heap);
}

static void exports_are_terminated(void **state)
{
    char longest[LBROUTE_NAME_MAX];
    (void)state;

    memset(longest, 'x', sizeof longest);
    check_export(lbr_text(NULL, 0));
    for (size_t length = 0; length <= sizeof longest; length++)
        check_export(lbr_text(longest, length));
}

static void copies_are_their_own(void **state)
{
    struct unit_heap heap;
    struct lbr_text copy;
    char bytes[] = "gpu-0";
    (void)state;

    unit_heap_open(&heap);
    assert_true(lbr_text_copy(&heap.memory, text_of(bytes), &copy));
    bytes[0] = 'x';
    assert_true(lbr_text_equal(copy, text_of("gpu-0")));
    lbr_text_free(&heap.memory, copy);

    test_alloc_fail(&heap.alloc, 0, 1);
    assert_false(lbr_text_copy(&heap.memory, text_of(bytes), &copy));
    unit_heap_close(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_unsigned_bytes),
        cmocka_unit_test(a_zero_byte_is_a_byte),
        cmocka_unit_test(a_length_without_bytes_is_broken),
        cmocka_unit_test(names_hold_no_control_character),
        cmocka_unit_test(tokens_hold_token_characters),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(exports_are_terminated),
        cmocka_unit_test(copies_are_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
