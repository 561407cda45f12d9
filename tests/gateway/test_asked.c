/* SPDX-License-Identifier: MIT */
/*
 * What is read of every request: paths, fields, limits, and what is refused.
 */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define CHAT "/v1/chat/completions"
#define HELLO "\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]"

static void paths(void **state)
{
    static const struct {
        const char *path;
        enum dialect dialect;
        enum asked_kind kind;
    } served[] = {
        {"/v1/chat/completions", DIALECT_OPENAI, ASKED_CHAT},
        {"/v1/chat/completions?a=/v1/messages", DIALECT_OPENAI, ASKED_CHAT},
        {"/v1/completions", DIALECT_OPENAI, ASKED_COMPLETION},
        {"/v1/responses", DIALECT_OPENAI, ASKED_RESPONSE},
        {"/v1/messages", DIALECT_ANTHROPIC, ASKED_CHAT},
        {"/v1/messages?beta=true", DIALECT_ANTHROPIC, ASKED_CHAT},
        {"/v1/messages/count_tokens", DIALECT_ANTHROPIC, ASKED_OTHER},
        {"/v1/embeddings", DIALECT_OPENAI, ASKED_OTHER},
        {"/v1/rerank", DIALECT_OPENAI, ASKED_OTHER},
    };
    (void)state;

    for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
        enum dialect dialect;
        enum asked_kind kind;
        assert_true(asked_path(served[i].path, &dialect, &kind));
        assert_int_equal(dialect, served[i].dialect);
        assert_int_equal(kind, served[i].kind);
    }
}

/* Among them what engines serve to their operators only. */
static void other_paths(void **state)
{
    static const char *const others[] = {
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/models",
        "/v1/chat/completions/",
        "/v1//chat/completions",
        "/v1/chat/../load_lora_adapter",
        "/v1/load_lora_adapter",
        "/v1/unload_lora_adapter",
        "/v1/chat/completion",
        "/v1/chat/completionsx",
        "/V1/chat/completions",
        "/v1/chat%2fcompletions",
        "/v1/chat/completions#",
        "//v1/messages",
        "/reset_prefix_cache",
        "/sleep",
        "http://host/v1/messages",
    };
    enum dialect dialect;
    enum asked_kind kind;
    (void)state;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (asked_path(others[i], &dialect, &kind))
            fail_msg("%s is served", others[i]);
}

static void fields(void **state)
{
    struct asked asked = read_good(
        CHAT, "{\"model\":\"m\",\"stream\":true,\"cache_salt\":\"s\\u00e4\","
              "\"max_tokens\":7," HELLO "}");
    (void)state;

    assert_int_equal(asked.dialect, DIALECT_OPENAI);
    assert_int_equal(asked.kind, ASKED_CHAT);
    assert_string_equal(asked.model, "m");
    assert_string_equal(asked.salt, "s\xc3\xa4");
    assert_true(asked.stream);
    assert_int_equal(asked.output_tokens, 7);
    assert_int_equal(asked.input_tokens, -1);
    assert_null(asked.tokens);
    find_in_prompt(&asked, 0, "user");
    find_in_prompt(&asked, 0, "Hello");
    asked_release(&asked);
}

/* A null is as good as nothing. */
static void no_fields(void **state)
{
    static const char *const bodies[] = {
        "{" HELLO "}",
        "{\"model\":null,\"stream\":null,\"cache_salt\":null,"
        "\"max_tokens\":null,\"tools\":null," HELLO "}",
    };
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct asked asked = read_good(CHAT, bodies[i]);
        assert_string_equal(asked.model, "");
        assert_string_equal(asked.salt, "");
        assert_false(asked.stream);
        assert_int_equal(asked.output_tokens, -1);
        asked_release(&asked);
    }
}

static void limits(void **state)
{
    static const struct {
        const char *fields;
        int64_t tokens;
    } cases[] = {
        {"\"max_tokens\":0", 0},
        {"\"max_tokens\":100.0", 100},
        {"\"max_tokens\":-1", -1}, /* llama.cpp: no limit */
        {"\"max_tokens\":-1e300", -1},
        {"\"max_completion_tokens\":5", 5},
        {"\"max_output_tokens\":6", 6},
        {"\"max_completion_tokens\":5,\"max_tokens\":9", 5},
        {"\"max_tokens\":9,\"max_completion_tokens\":5", 5},
        {"\"max_tokens\":9223372036854775807", INT64_C(1) << 53},
        {"\"max_tokens\":99999999999999999999999", INT64_C(1) << 53},
        {"\"max_tokens\":1e308", INT64_C(1) << 53},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[256];
        struct asked asked;
        snprintf(body, sizeof body, "{%s," HELLO "}", cases[i].fields);
        asked = read_good(CHAT, body);
        assert_int_equal(asked.output_tokens, cases[i].tokens);
        asked_release(&asked);
    }
}

static void bad(const char *path, const char *body, const char *param)
{
    read_bad(path, body, strlen(body), param);
}

static void no_json(void **state)
{
    static const char *const bodies[] = {
        "",
        " ",
        "SECRET",
        "{",
        "{\"model\":\"SECRET\",",
        "{\"model\":\"SECRET\"} SECRET",
        "{\"model\":\"SECRET\"}{\"model\":\"SECRET\"}",
        "{" HELLO "}\"SECRET",
        "{" HELLO "} tru",
        "{" HELLO "}\f",
        "\v{" HELLO "}",
        "{'model':'SECRET'}",
        "{\"model\":\"SECRET\",}",
        "{\"model\":\"SECRET}",
        "{\"SECRET\":NaN}",
        "{\"SECRET\":01}",
        "{\"SECRET\":1e400}",
        "{\"SECRET\":\"\\x\"}",
        "{\"SECRET\":\"\n\"}",
        "{\"SECRET\":\"\\ud800\"}", /* half a character */
        "\xef\xbb\xbf{}",
        "[]",
        "[{\"model\":\"SECRET\"}]",
        "\"SECRET\"",
        "17",
        "null",
        "SECRET=1&model=x",
    };
    (void)state;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        bad(CHAT, bodies[i], "");
}

static void no_utf8(void **state)
{
    static const char *const texts[] = {
        "\xff",             /* never in UTF-8 */
        "\xc3",             /* cut short */
        "\xc0\xaf",         /* longer than needed */
        "\xed\xa0\x80",     /* half a character */
        "\xf4\x90\x80\x80", /* beyond the last character */
    };
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char body[128];
        snprintf(
            body, sizeof body,
            "{\"messages\":[{\"role\":\"user\",\"content\":\"SECRET%s\"}]}",
            texts[i]);
        bad(CHAT, body, "");
    }
}

/* Gateway and engine must not choose one each. */
static void keys_that_come_twice(void **state)
{
    (void)state;

    bad(CHAT, "{\"model\":\"SECRET\",\"model\":\"b\"," HELLO "}", "");
    bad(CHAT, "{\"model\":\"SECRET\",\"mod\\u0065l\":\"b\"," HELLO "}", "");
    bad(CHAT, "{" HELLO "," HELLO "}", "");
    bad(CHAT,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"SECRET\","
        "\"content\":\"b\"}]}",
        "");
}

/* NUL may be in a text, never where names are compared. */
static void nul(void **state)
{
    static const char raw[] = "{\"model\":\"SECRET\0\"}";
    struct asked asked =
        read_good(CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":"
                        "\"a\\u0000b\"}]}");
    (void)state;

    assert_memory_equal(asked.prompt + asked.prompt_len - 3, "a\0b", 3);
    asked_release(&asked);
    bad(CHAT, "{\"model\":\"SECRET\\u0000\"," HELLO "}", "model");
    bad(CHAT, "{\"cache_salt\":\"\\u0000\"," HELLO "}", "cache_salt");
    bad(CHAT, "{\"SECRET\\u0000\":1," HELLO "}", "");
    read_bad(CHAT, raw, sizeof raw - 1, "");
}

static void wrong_types(void **state)
{
    static const char *const cases[][2] = {
        {"\"model\":7", "model"},
        {"\"model\":[\"SECRET\"]", "model"},
        {"\"cache_salt\":{}", "cache_salt"},
        {"\"stream\":\"SECRET\"", "stream"},
        {"\"stream\":1", "stream"},
        {"\"max_tokens\":\"SECRET\"", "max_tokens"},
        {"\"max_tokens\":1.5", "max_tokens"},
        {"\"max_completion_tokens\":[]", "max_completion_tokens"},
        {"\"max_output_tokens\":true", "max_output_tokens"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[256];
        snprintf(body, sizeof body, "{%s," HELLO "}", cases[i][0]);
        bad(CHAT, body, cases[i][1]);
    }
}

/* A body with arrays in each other, `levels` in all with the object. */
static char *nested(size_t levels)
{
    static const char begin[] = "{" HELLO ",\"x\":";
    size_t arrays = levels - 1, head = sizeof begin - 1;
    char *body = malloc(head + 2 * arrays + 2);

    assert_non_null(body);
    memcpy(body, begin, head);
    memset(body + head, '[', arrays);
    memset(body + head + arrays, ']', arrays);
    memcpy(body + head + 2 * arrays, "}", 2);
    return body;
}

static void depth(void **state)
{
    static const size_t too_deep[] = {129, 2000, 3000, 1000000};
    char *body = nested(128);
    struct asked asked = read_good(CHAT, body);
    (void)state;

    asked_release(&asked);
    free(body);
    for (size_t i = 0; i < sizeof too_deep / sizeof *too_deep; i++) {
        body = nested(too_deep[i]);
        bad(CHAT, body, "");
        free(body);
    }
}

static void large_numbers_elsewhere(void **state)
{
    (void)state;

    assert_same_prompt(CHAT, "{\"seed\":18446744073709551615," HELLO "}",
                       "{" HELLO "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),   cmocka_unit_test(other_paths),
        cmocka_unit_test(fields),  cmocka_unit_test(no_fields),
        cmocka_unit_test(limits),  cmocka_unit_test(no_json),
        cmocka_unit_test(no_utf8), cmocka_unit_test(keys_that_come_twice),
        cmocka_unit_test(nul),     cmocka_unit_test(wrong_types),
        cmocka_unit_test(depth),   cmocka_unit_test(large_numbers_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
