/* SPDX-License-Identifier: MIT */
#include "reading.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static bool read_path(struct asked *asked, const char *path, const void *body,
                      size_t len, struct asked_error *error)
{
    enum dialect dialect;
    enum asked_kind kind;
    char *exact = malloc(len ? len : 1);
    bool read;

    assert_true(asked_path(path, &dialect, &kind));
    assert_non_null(exact);
    memcpy(exact, body, len);
    read = asked_read(asked, dialect, kind, exact, len, error);
    free(exact);
    return read;
}

struct asked read_good(const char *path, const char *body)
{
    struct asked asked;
    struct asked_error error = {0};

    if (!read_path(&asked, path, body, strlen(body), &error))
        fail_msg("%s: %s\n%s", path, error.text, body);
    assert_non_null(asked.model);
    assert_non_null(asked.salt);
    return asked;
}

struct asked_error read_bad(const char *path, const void *body, size_t len,
                            const char *param)
{
    struct asked asked;
    struct asked_error error = {0};

    assert_false(read_path(&asked, path, body, len, &error));
    assert_int_equal(error.status, 400);
    assert_string_equal(error.param, param);
    assert_true(strlen(error.text) > 10);
    assert_int_equal(error.text[strlen(error.text) - 1], '.');
    assert_null(strstr(error.text, "SECRET"));
    asked_release(&asked);
    return error;
}

static int is_same(const struct asked *a, const struct asked *b)
{
    return a->prompt_len == b->prompt_len &&
           memcmp(a->prompt, b->prompt, a->prompt_len) == 0;
}

static void compare(const char *path, const char *a, const char *b, int same)
{
    struct asked one = read_good(path, a), other = read_good(path, b);

    assert_true(one.prompt_len > 0);
    if (is_same(&one, &other) != same)
        fail_msg("%s prompts of\n%s\n%s", same ? "different" : "same", a, b);
    asked_release(&one);
    asked_release(&other);
}

void assert_same_prompt(const char *path, const char *a, const char *b)
{
    compare(path, a, b, 1);
}

void assert_other_prompt(const char *path, const char *a, const char *b)
{
    compare(path, a, b, 0);
}

void assert_grows(const char *path, const char *shorter, const char *longer)
{
    struct asked a = read_good(path, shorter), b = read_good(path, longer);

    assert_true(a.prompt_len > 0);
    assert_true(a.prompt_len < b.prompt_len);
    assert_memory_equal(a.prompt, b.prompt, a.prompt_len);
    asked_release(&a);
    asked_release(&b);
}

size_t find_in_prompt(const struct asked *asked, size_t from, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = from; i + len <= asked->prompt_len; i++)
        if (memcmp(asked->prompt + i, text, len) == 0)
            return i;
    fail_msg("no \"%s\" there in the prompt", text);
    return 0;
}
