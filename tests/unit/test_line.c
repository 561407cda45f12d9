/* SPDX-License-Identifier: MIT */
/* ingest/line: the lines of a page that hold samples. */
#include "ingest/line.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct wanted {
    const char *text;
    int64_t number;
    size_t offset;
};

/* Walks over a copy of exactly that length. */
static void expect(const char *page, const struct wanted *wanted, size_t count)
{
    size_t length = strlen(page);
    char *copy = malloc(length > 0 ? length : 1);
    struct lbr_lines lines;
    struct lbr_line line;
    size_t found = 0;

    assert_non_null(copy);
    memcpy(copy, page, length);
    lbr_lines_init(&lines, copy, length);
    while (lbr_line_next(&lines, &line)) {
        assert_true(found < count);
        assert_int_equal(line.end - line.at, strlen(wanted[found].text));
        assert_memory_equal(line.at, wanted[found].text,
                            strlen(wanted[found].text));
        assert_int_equal(lines.number, wanted[found].number);
        assert_int_equal(line.offset, wanted[found].offset);
        found++;
    }
    assert_int_equal(found, count);
    free(copy);
}

static void samples_only(void **state)
{
    static const struct wanted lines[] = {
        {"a 1", 1, 0}, {"b 2\r", 5, 13}, {"c 3", 7, 22}};
    (void)state;

    expect("a 1\n\n  \t\n# x\n \tb 2\r\n\r\nc 3", lines, 3);
    expect("", NULL, 0);
    expect("\n\r\n \n#\n#x", NULL, 0);
}

static void the_mark_ends_the_page(void **state)
{
    static const struct wanted one = {"a 1", 1, 0};
    static const struct wanted two[] = {{"a 1", 1, 0}, {"b 2", 3, 11}};
    (void)state;

    expect("a 1\n# EOF\nb 2\n", &one, 1);
    expect("a 1\n  # EOF \t\r\nb 2\n", &one, 1);
    expect("a 1\n# EOF", &one, 1);
    expect("a 1\n# EOFx\nb 2", two, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_only),
        cmocka_unit_test(the_mark_ends_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
