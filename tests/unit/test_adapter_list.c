/* SPDX-License-Identifier: MIT */
/* ingest/adapter_list: names out of a label. */
#include "ingest/adapter_list.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static struct lbr_adapter_list list;

static void read_list(const char *value)
{
    lbr_adapter_list_init(&list);
    lbr_adapter_list_add(&list, lbr_text(value, strlen(value)));
}

/* Names as one string, each followed by a bar. */
static void expect(const char *value, const char *joined)
{
    char got[1024] = "";

    read_list(value);
    for (size_t i = 0; i < list.count; i++) {
        strncat(got, list.names[i], list.lengths[i]);
        strcat(got, "|");
    }
    assert_string_equal(got, joined);
}

static void splitting(void **state)
{
    (void)state;
    expect("", "");
    expect(",", "");
    expect(" , ,, ", "");
    expect("a", "a|");
    expect("sql-lora,b", "sql-lora|b|");
    expect(" a , b ,", "a|b|");
    expect("a,a", "a|a|");
    expect("a:1,b:22,c:", "a|b|c:|");
    expect("a:b,:3,4,x:1:2", "a:b|:3|4|x:1|");
    expect("q\\\"r,b\\\\s,\\\\", "q\"r|b\\s|\\|");
    assert_int_equal(list.dropped, 0);
}

static void what_is_no_name(void **state)
{
    char *longest = calloc(1, 300);
    (void)state;

    assert_non_null(longest);
    memset(longest, 'x', 256);
    expect(longest, "");
    assert_int_equal(list.dropped, 1);
    expect("a,line\\nbreak,b", "a|b|");
    assert_int_equal(list.dropped, 1);
    longest[255] = '\0';
    read_list(longest);
    assert_int_equal(list.count, 1);
    free(longest);
}

/* Neither names nor escapes run over. */
static void bounds(void **state)
{
    enum { ROOM = 100000 };
    char *value = calloc(1, ROOM + 1);
    (void)state;

    assert_non_null(value);
    for (size_t i = 0; i + 2 <= ROOM; i += 2)
        memcpy(value + i, "a,", 2);
    read_list(value);
    assert_int_equal(list.count, LBROUTE_ADAPTERS_MAX);
    assert_int_equal(list.dropped, ROOM / 2 - LBROUTE_ADAPTERS_MAX);
    lbr_adapter_list_add(&list, lbr_text(value, ROOM));
    lbr_adapter_list_add(&list, lbr_text(value, ROOM));
    assert_int_equal(list.count, LBR_LISTED_MOST);
    memset(value, '\\', ROOM);
    read_list(value);
    assert_int_equal(list.count, 0);
    for (size_t i = 0; i < ROOM; i++)
        value[i] = i % 200 == 199 ? ',' : i % 2 ? '"' : '\\';
    read_list(value);
    assert_true(list.used <= LBR_LISTED_BYTES);
    assert_true(list.count >= 15 && list.count <= LBROUTE_ADAPTERS_MAX);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splitting),
        cmocka_unit_test(what_is_no_name),
        cmocka_unit_test(bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
