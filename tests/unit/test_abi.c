/* SPDX-License-Identifier: MIT */
/* base/abi: structs of callers older and newer than the library. */
#include "base/abi.h"

#include <string.h>

#include "support/test.h"

#include <lbroute/lbroute.h>

/* The struct as the library knows it; a caller may have less or more. */
struct known {
    size_t size;
    uint64_t first, second;
};

#define UNTOUCHED 0xee

/* Room for a caller's struct with four words more. */
union caller {
    struct known known;
    unsigned char bytes[sizeof(struct known) + 4 * sizeof(size_t)];
};

static const struct known defaults = {sizeof(struct known), 11, 22};

static void state_size(union caller *caller, size_t size)
{
    memcpy(caller->bytes, &size, sizeof size);
}

static void assert_bytes(const unsigned char *bytes, size_t count, int value)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes[i], value);
}

static void init_fills_what_the_caller_has(void **state)
{
    (void)state;
    for (size_t size = sizeof(size_t); size <= sizeof(union caller);
         size += sizeof(size_t)) {
        size_t common = size < sizeof defaults ? size : sizeof defaults;
        union caller caller;

        memset(&caller, UNTOUCHED, sizeof caller);
        lbr_abi_init(&caller, size, &defaults, sizeof defaults);
        assert_int_equal(lbr_abi_size(&caller), size);
        assert_memory_equal(caller.bytes + sizeof size,
                            (const unsigned char *)&defaults + sizeof size,
                            common - sizeof size);
        assert_bytes(caller.bytes + common, size - common, 0);
        assert_bytes(caller.bytes + size, sizeof caller - size, UNTOUCHED);
    }
}

static void init_refuses_what_holds_no_size(void **state)
{
    union caller caller;
    (void)state;

    lbr_abi_init(NULL, sizeof defaults, &defaults, sizeof defaults);
    memset(&caller, UNTOUCHED, sizeof caller);
    for (size_t size = 0; size < sizeof size; size++)
        lbr_abi_init(&caller, size, &defaults, sizeof defaults);
    assert_bytes(caller.bytes, sizeof caller, UNTOUCHED);
}

static void read_completes_a_shorter_struct(void **state)
{
    union caller caller;
    struct known copy;
    (void)state;

    memset(&caller, 0x5a, sizeof caller);
    caller.known.first = 33;
    state_size(&caller, offsetof(struct known, second));
    copy = defaults;
    assert_int_equal(lbr_abi_read(&copy, sizeof copy, &caller), 0);
    assert_int_equal(copy.first, 33);
    assert_int_equal(copy.second, 22);

    state_size(&caller, sizeof(size_t));
    copy = defaults;
    assert_int_equal(lbr_abi_read(&copy, sizeof copy, &caller), 0);
    assert_int_equal(copy.first, 11);
    assert_int_equal(copy.second, 22);
}

static void read_takes_the_same_struct(void **state)
{
    struct known in = {sizeof in, 33, 44};
    struct known copy = defaults;
    (void)state;

    assert_int_equal(lbr_abi_read(&copy, sizeof copy, &in), 0);
    assert_memory_equal(&copy, &in, sizeof in);
}

static void read_takes_a_longer_struct_with_an_empty_tail(void **state)
{
    union caller caller;
    struct known copy = defaults;
    (void)state;

    memset(&caller, 0, sizeof caller);
    caller.known.second = 44;
    state_size(&caller, sizeof caller);
    assert_int_equal(lbr_abi_read(&copy, sizeof copy, &caller), 0);
    assert_int_equal(copy.first, 0);
    assert_int_equal(copy.second, 44);
    for (size_t i = sizeof copy; i < sizeof caller; i++) {
        caller.bytes[i] = 1;
        assert_int_equal(lbr_abi_read(&copy, sizeof copy, &caller),
                         LBROUTE_ERR_UNSUPPORTED);
        caller.bytes[i] = 0;
    }
}

static void write_keeps_within_the_stated_size(void **state)
{
    struct known result = {0, 33, 44};
    (void)state;

    for (size_t size = sizeof(size_t); size <= sizeof(union caller);
         size += sizeof(size_t)) {
        size_t common = size < sizeof result ? size : sizeof result;
        union caller caller;

        memset(&caller, UNTOUCHED, sizeof caller);
        state_size(&caller, size);
        assert_int_equal(lbr_abi_write(&caller, &result, sizeof result), 0);
        assert_int_equal(lbr_abi_size(&caller), size);
        assert_memory_equal(caller.bytes + sizeof size,
                            (const unsigned char *)&result + sizeof size,
                            common - sizeof size);
        assert_bytes(caller.bytes + common, sizeof caller - common, UNTOUCHED);
    }
}

/* No compiler gives such a size to a struct that begins with size_t. */
static void odd_sizes_are_refused(void **state)
{
    union caller caller;
    struct known copy = defaults;
    (void)state;

    memset(&caller, 0, sizeof caller);
    assert_false(lbr_abi_valid(NULL));
    assert_int_equal(lbr_abi_read(&copy, sizeof copy, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbr_abi_write(NULL, &copy, sizeof copy),
                     LBROUTE_ERR_INVALID);
    for (size_t size = 0; size <= sizeof caller; size++) {
        int usable = size > 0 && size % sizeof(size_t) == 0;
        int wanted = usable ? LBROUTE_OK : LBROUTE_ERR_INVALID;

        state_size(&caller, size);
        assert_int_equal(lbr_abi_valid(&caller) != 0, usable);
        assert_int_equal(lbr_abi_read(&copy, sizeof copy, &caller), wanted);
        assert_int_equal(lbr_abi_write(&caller, &copy, sizeof copy), wanted);
        memset(&caller, 0, sizeof caller);
    }
}

/* Callers pass arrays of structs of one size. */
static void rows_state_one_size(void **state)
{
    struct known rows[3] = {defaults, defaults, defaults};
    (void)state;

    assert_true(lbr_abi_rows_valid(NULL, 0));
    assert_false(lbr_abi_rows_valid(NULL, 1));
    assert_true(lbr_abi_rows_valid(rows, 3));
    rows[2].size -= sizeof(size_t);
    assert_true(lbr_abi_rows_valid(rows, 2));
    assert_false(lbr_abi_rows_valid(rows, 3));
    rows[0].size = 0;
    assert_false(lbr_abi_rows_valid(rows, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_fills_what_the_caller_has),
        cmocka_unit_test(init_refuses_what_holds_no_size),
        cmocka_unit_test(read_completes_a_shorter_struct),
        cmocka_unit_test(read_takes_the_same_struct),
        cmocka_unit_test(read_takes_a_longer_struct_with_an_empty_tail),
        cmocka_unit_test(write_keeps_within_the_stated_size),
        cmocka_unit_test(odd_sizes_are_refused),
        cmocka_unit_test(rows_state_one_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
