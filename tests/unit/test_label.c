/* SPDX-License-Identifier: MIT */
/* ingest/label: sets of labels, whole and broken. */
#include "ingest/label.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* Reads a set, without its opening brace, from a copy of exactly its length.
 * Gives the number of labels, -1 for a broken set; |*rest| what follows it. */
static int count_labels(const char *set, size_t length, size_t *rest)
{
    char *copy = malloc(length > 0 ? length : 1);
    const char *at = copy;
    struct lbr_label label;
    enum lbr_label_result result;
    int count = 0;

    assert_non_null(copy);
    memcpy(copy, set, length);
    while ((result = lbr_label_next(&at, copy + length, &label)) ==
           LBR_LABEL_READ)
        count++;
    if (rest)
        *rest = (size_t)(copy + length - at);
    free(copy);
    return result == LBR_LABEL_END ? count : -1;
}

static int count_text(const char *set)
{
    return count_labels(set, strlen(set), NULL);
}

static void whole_sets(void **state)
{
    size_t rest = 0;
    (void)state;

    assert_int_equal(count_text("}"), 0);
    assert_int_equal(count_text("  }"), 0);
    assert_int_equal(count_text("a=\"b\"}"), 1);
    assert_int_equal(count_text(" a = \"b\" , }"), 1);
    assert_int_equal(count_text("a=\"\",b=\"}\",c=\",\"}"), 3);
    assert_int_equal(count_text("a=\"\\\\\",b=\"\\\"\",c=\"\\n\"}"), 3);
    assert_int_equal(count_text("\"a.b\"=\"c\",\"name\"}"), 2);
    assert_int_equal(count_labels("a=\"b\"} 5", 8, &rest), 1);
    assert_int_equal(rest, 2);
}

static void broken_sets(void **state)
{
    static const char *const sets[] = {"",
                                       "a",
                                       "a}",
                                       "a=",
                                       "a=b}",
                                       "a=\"",
                                       "a=\"b",
                                       "a=\"b\"",
                                       "a=\"b\" c",
                                       "a=\"b\"c=\"d\"}",
                                       "a=\"\\",
                                       "a=\"\\\"",
                                       "a=\"\\\"}",
                                       "=\"b\"}",
                                       ",}",
                                       "a=\"b\",,}",
                                       "1a=\"b\"}",
                                       "a=\"q\"r\"}",
                                       "\"",
                                       "\"name",
                                       "\"name\"=}",
                                       "a-b=\"c\"}",
                                       "\x80=\"c\"}",
                                       "a==\"b\"}",
                                       "{a=\"b\"}"};
    (void)state;

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_int_equal(count_text(sets[i]), -1);
}

/* Cut anywhere it is broken, and nothing behind the cut is looked at. */
static void truncations(void **state)
{
    static const char set[] =
        "path=\"F:\\\\\",vm = \"a\\\"b\", \"q.r\"=\"{}\",e=\"\\n\" , }";
    (void)state;

    assert_int_equal(count_text(set), 4);
    for (size_t length = 0; length < sizeof set - 1; length++)
        assert_int_equal(count_labels(set, length, NULL), -1);
}

static void finding(void **state)
{
    static const char set[] = "a=\"1\",ab=\"2\",b=\"x\\\"y\",\"name\",c=\"\"}";
    const char *end = set + sizeof set - 1;
    struct lbr_text value;
    (void)state;

    assert_true(lbr_label_find(set, end, "ab", &value));
    assert_true(lbr_text_equal(value, lbr_text("2", 1)));
    assert_true(lbr_label_find(set, end, "b", &value));
    assert_true(lbr_text_equal(value, lbr_text("x\\\"y", 4)));
    assert_true(lbr_label_find(set, end, "c", &value));
    assert_int_equal(value.length, 0);
    assert_false(lbr_label_find(set, end, "d", &value));
    assert_false(lbr_label_find(set, end, "name", &value));
    assert_false(lbr_label_find(NULL, NULL, "a", &value));
}

static uint64_t hash(const char *set)
{
    return lbr_label_set_hash(set, set + strlen(set));
}

/* The same set whatever the order, another one if anything differs. */
static void hashes(void **state)
{
    static const char *const sets[] = {
        "}",
        "a=\"\"}",
        "a=\"b\"}",
        "b=\"a\"}",
        "a=\"b\",c=\"d\"}",
        "a=\"d\",c=\"b\"}",
        "a=\"b\",c=\"d\",e=\"f\"}",
        "a=\"b,c=d\"}",
        "ab=\"\"}",
    };
    size_t count = sizeof sets / sizeof *sets;
    (void)state;

    assert_true(hash("a=\"b\",c=\"d\"}") == hash(" c = \"d\" ,a=\"b\", }"));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(hash(sets[i]) != hash(sets[j]));
    assert_true(lbr_label_set_hash(NULL, NULL) == hash("}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_sets),  cmocka_unit_test(broken_sets),
        cmocka_unit_test(truncations), cmocka_unit_test(finding),
        cmocka_unit_test(hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
