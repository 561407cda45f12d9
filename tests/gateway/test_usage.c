/* SPDX-License-Identifier: MIT */
/*
 * Usage and the first token, from answers of both dialects, cut in any way.
 */
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define CHUNK(delta)                                                           \
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"

static const char chat[] = CHUNK("{\"role\":\"assistant\",\"content\":\"\"}")
    CHUNK("{\"content\":\"usage \\\"usage\\\"\"}") "data: "
                                                   "{\"choices\":[],\"usage\":{"
                                                   "\"prompt_tokens\":100,"
                                                   "\"completion_tokens\":7,"
                                                   "\"total_tokens\":107,"
                                                   "\"prompt_tokens_details\":{"
                                                   "\"cached_tokens\":64}}}\n\n"
                                                   "data: [DONE]\n\n";

static const char messages[] =
    "event: message_start\n"
    "data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\","
    "\"content\":[],\"usage\":{\"input_tokens\":20,"
    "\"cache_read_input_tokens\":300,\"cache_creation_input_tokens\":50,"
    "\"output_tokens\":1}}}\n\n"
    "event: ping\ndata: {\"type\": \"ping\"}\n\n"
    "event: content_block_start\n"
    "data: {\"type\":\"content_block_start\",\"index\":0}\n\n"
    "event: content_block_delta\n"
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
    "{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
    "event: message_delta\n"
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
    "\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\n"
    "event: message_stop\ndata: {\"type\": \"message_stop\"}\n\n";

static const char response[] =
    "event: response.created\n"
    "data: {\"type\":\"response.created\",\"response\":{\"error\":null,"
    "\"usage\":null}}\n\n"
    "event: response.output_text.delta\n"
    "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"
    "event: response.completed\n"
    "data: {\"type\":\"response.completed\",\"response\":{\"error\":null,"
    "\"usage\":{\"input_tokens\":9,\"input_tokens_details\":"
    "{\"cached_tokens\":4},\"output_tokens\":3}}}\n\n";

static void assert_usage(const struct usage *usage, int64_t input,
                         int64_t cached, int64_t output)
{
    assert_int_equal(usage->input_tokens, input);
    assert_int_equal(usage->cached_tokens, cached);
    assert_int_equal(usage->output_tokens, output);
}

/* What is known after a text in one piece. */
static struct usage after(enum dialect dialect, bool events, const char *text,
                          size_t len)
{
    struct usage_reader *reader = usage_reader_new(dialect, events);
    struct usage usage;

    assert_non_null(reader);
    usage_reader_feed(reader, text, len);
    usage_reader_finish(reader);
    usage = *usage_reader_state(reader);
    usage_reader_free(reader);
    return usage;
}

static struct usage after_events(enum dialect dialect, const char *text)
{
    return after(dialect, true, text, strlen(text));
}

static struct usage after_body(enum dialect dialect, const char *text)
{
    return after(dialect, false, text, strlen(text));
}

static void assert_whole(const struct usage *usage)
{
    assert_true(usage->token_seen);
    assert_true(usage->ended);
    assert_false(usage->failed);
}

static void streams(void **state)
{
    struct usage usage = after_events(DIALECT_OPENAI, chat);
    (void)state;

    assert_whole(&usage);
    assert_usage(&usage, 100, 64, 7);
    usage = after_events(DIALECT_ANTHROPIC, messages);
    assert_whole(&usage);
    assert_usage(&usage, 370, 300, 15);
    usage = after_events(DIALECT_OPENAI, response);
    assert_whole(&usage);
    assert_usage(&usage, 9, 4, 3);
}

/* Exactly at the end of the event that brings it, not a byte before. */
static void assert_first_token(enum dialect dialect, const char *text,
                               const char *event)
{
    struct usage_reader *reader = usage_reader_new(dialect, true);
    size_t end = (size_t)(strstr(strstr(text, event), "\n\n") - text) + 2;

    for (size_t i = 0; i < end; i++) {
        assert_false(usage_reader_state(reader)->token_seen);
        usage_reader_feed(reader, text + i, 1);
    }
    assert_true(usage_reader_state(reader)->token_seen);
    usage_reader_free(reader);
}

static void first_token(void **state)
{
    (void)state;

    assert_first_token(DIALECT_OPENAI, chat, "\"role\"");
    assert_first_token(DIALECT_ANTHROPIC, messages,
                       "data: {\"type\":\"content_block_delta\"");
    assert_first_token(DIALECT_OPENAI, response,
                       "data: {\"type\":\"response.output_text.delta\"");
}

static void assert_same(const struct usage *a, const struct usage *b)
{
    assert_usage(a, b->input_tokens, b->cached_tokens, b->output_tokens);
    assert_int_equal(a->token_seen, b->token_seen);
    assert_int_equal(a->ended, b->ended);
    assert_int_equal(a->failed, b->failed);
}

/* Fed in two pieces at every place, and in pieces of every small size. */
static void assert_cuts(enum dialect dialect, const char *text, size_t len)
{
    struct usage whole = after(dialect, true, text, len);

    for (size_t cut = 0; cut <= len; cut++) {
        struct usage_reader *reader = usage_reader_new(dialect, true);
        usage_reader_feed(reader, text, cut);
        usage_reader_feed(reader, text + cut, len - cut);
        usage_reader_finish(reader);
        assert_same(usage_reader_state(reader), &whole);
        usage_reader_free(reader);
    }
    for (size_t size = 1; size < 40; size++) {
        struct usage_reader *reader = usage_reader_new(dialect, true);
        for (size_t at = 0; at < len; at += size)
            usage_reader_feed(reader, text + at,
                              size < len - at ? size : len - at);
        usage_reader_finish(reader);
        assert_same(usage_reader_state(reader), &whole);
        usage_reader_free(reader);
    }
}

/* Other ends of lines: each \n becomes `end`. */
static char *with_ends(const char *text, const char *end)
{
    char *copy = malloc(2 * strlen(text) + 1), *to = copy;

    assert_non_null(copy);
    for (; *text; text++) {
        if (*text != '\n') {
            *to++ = *text;
            continue;
        }
        memcpy(to, end, strlen(end));
        to += strlen(end);
    }
    *to = 0;
    return copy;
}

static void any_cut_and_any_line_end(void **state)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    static const struct {
        enum dialect dialect;
        const char *text;
    } texts[] = {{DIALECT_OPENAI, chat},
                 {DIALECT_ANTHROPIC, messages},
                 {DIALECT_OPENAI, response}};
    (void)state;

    for (size_t t = 0; t < 3; t++)
        for (size_t e = 0; e < 3; e++) {
            struct usage usage = after_events(texts[t].dialect, texts[t].text);
            char *text = with_ends(texts[t].text, ends[e]);
            struct usage other = after_events(texts[t].dialect, text);
            assert_same(&other, &usage);
            assert_cuts(texts[t].dialect, text, strlen(text));
            free(text);
        }
}

/* As the specification of server-sent events has them. */
static void forms_of_lines(void **state)
{
    static const char text[] =
        ": a comment, data: {\"usage\":{\"prompt_tokens\":1}}\n"
        "id: 7\nretry: 10\ndatax: {}\n"
        "data:{\"choices\":[{}],\n"
        "data: \"usage\":\n"
        "event: x\n"
        "data: {\"prompt_tokens\":5,\"completion_tokens\":6}}\n"
        "\n\n\n";
    struct usage usage = after_events(DIALECT_OPENAI, text);
    (void)state;

    assert_usage(&usage, 5, -1, 6);
    assert_true(usage.token_seen);
    assert_false(usage.ended);
    assert_cuts(DIALECT_OPENAI, text, sizeof text - 1);
}

/* The last one counts; what it does not name stays. */
static void cumulative(void **state)
{
    struct usage usage =
        after_events(DIALECT_OPENAI,
                     "data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":5,"
                     "\"completion_tokens\":1}}\n\n"
                     "data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":5,"
                     "\"completion_tokens\":2}}\n\n"
                     "data: {\"choices\":[{}],\"usage\":null}\n\n");
    (void)state;

    assert_usage(&usage, 5, -1, 2);
    usage = after_events(
        DIALECT_ANTHROPIC,
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{"
        "\"input_tokens\":2,\"output_tokens\":1}}}\n\n"
        "data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":3,"
        "\"cache_read_input_tokens\":10,\"output_tokens\":9}}\n\n");
    assert_usage(&usage, 13, 10, 9);
}

static void errors(void **state)
{
    static const char *const failing[] = {
        "data: {\"error\":{\"message\":\"x\",\"code\":500}}\n\ndata: "
        "[DONE]\n\n",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
        "\"overloaded_error\",\"message\":\"x\"}}\n\n",
        "data: {\"type\":\"response.failed\",\"response\":{\"error\":{}}}\n\n",
        "data: {\"object\": \"error\", \"message\": \"x\"}\n\n",
    };
    (void)state;

    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        char text[512];
        struct usage usage = after_events(DIALECT_OPENAI, failing[i]);
        assert_true(usage.failed);
        assert_false(usage.token_seen);
        snprintf(text, sizeof text, CHUNK("{}") "%s", failing[i]);
        usage = after_events(DIALECT_OPENAI, text);
        assert_true(usage.failed);
        assert_true(usage.token_seen);
    }
}

/* The role in the chunk is not the only thing that may be missing. */
static void no_tokens(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        ": keep-alive\n\n",
        "data:\n\n",
        "data: \n\n",
        "data\n\n",
        "data: no json\n\n",
        "data: 7\n\n",
        "data: []\n\n",
        "data: {\"choices\":[]}\n\n",
        "data: {\"choices\":7,\"usage\":8}\n\n",
        "data: {\"type\":7}\n\n",
        "data: {\"type\":\".delta\"}\n\n",
        "data: {\"choices\":[{}]\n\n",
        "data: [DONE\n\n",
        "\xef\xbb\xbf",
    };
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct usage usage = after_events(DIALECT_OPENAI, texts[i]);
        assert_usage(&usage, -1, -1, -1);
        assert_false(usage.token_seen);
        assert_false(usage.ended);
        assert_false(usage.failed);
    }
}

/* Counts that cannot be true are as good as none. */
static void nonsense(void **state)
{
    static const char *const counts[] = {
        "-1",   "1.5",   "\"7\"",
        "null", "[1]",   "{}",
        "true", "1e300", "9223372036854775807"};
    struct usage usage;
    (void)state;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"usage\":{\"prompt_tokens\":%s,\"completion_tokens\":%s}}",
                 counts[i], counts[i]);
        usage = after_body(DIALECT_OPENAI, text);
        assert_usage(&usage, -1, -1, -1);
    }
    usage = after_body(DIALECT_OPENAI,
                       "{\"usage\":{\"prompt_tokens\":5,"
                       "\"prompt_tokens_details\":{\"cached_tokens\":6}}}");
    assert_usage(&usage, 5, 5, -1);
}

static void bodies(void **state)
{
    struct usage usage = after_body(
        DIALECT_OPENAI, "{\"choices\":[],\"usage\":{\"prompt_tokens\":10,"
                        "\"completion_tokens\":2,\"prompt_tokens_details\":"
                        "{\"cached_tokens\":8}}}");
    (void)state;

    assert_usage(&usage, 10, 8, 2);
    usage = after_body(DIALECT_ANTHROPIC,
                       "{\"type\":\"message\",\"usage\":{\"input_tokens\":1,"
                       "\"cache_creation_input_tokens\":2,"
                       "\"cache_read_input_tokens\":4,\"output_tokens\":8}}");
    assert_usage(&usage, 7, 4, 8);
    usage = after_body(DIALECT_OPENAI, "{\"usage\":{\"prompt_tokens\":10");
    assert_usage(&usage, -1, -1, -1);
    usage = after_body(DIALECT_OPENAI, "");
    assert_usage(&usage, -1, -1, -1);
}

/* A line, an event and a body that are too large to keep; what comes after
 * such an event is read again. */
static void too_large(void **state)
{
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE + sizeof chat);
    struct usage usage;
    (void)state;

    assert_non_null(text);
    memset(text, 'x', SIZE);
    memcpy(text, "data: ", 6);
    memcpy(text + SIZE - 2, "\n\n", 2);
    memcpy(text + SIZE, chat, sizeof chat);
    usage = after(DIALECT_OPENAI, true, text, SIZE + sizeof chat - 1);
    assert_whole(&usage);
    assert_usage(&usage, 100, 64, 7);
    for (size_t i = 64; i < SIZE - 8; i += 64)
        memcpy(text + i, "\ndata: ", 7);
    usage = after(DIALECT_OPENAI, true, text, SIZE + sizeof chat - 1);
    assert_whole(&usage);
    assert_usage(&usage, 100, 64, 7);
    memset(text, ' ', SIZE);
    strcpy(text + SIZE, "{\"usage\":{\"prompt_tokens\":10}}");
    usage = after(DIALECT_OPENAI, false, text, strlen(text));
    assert_usage(&usage, -1, -1, -1);
    free(text);
}

/* Some engines leave out the last empty line, or its end. */
static void cut_ends(void **state)
{
    struct usage usage;
    (void)state;

    usage = after(DIALECT_OPENAI, true, chat, sizeof chat - 2);
    assert_whole(&usage);
    usage = after(DIALECT_OPENAI, true, chat, sizeof chat - 3);
    assert_whole(&usage);
    usage = after(DIALECT_OPENAI, true, chat, sizeof chat - 4);
    assert_false(usage.ended);
    assert_usage(&usage, 100, 64, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(first_token),
        cmocka_unit_test(any_cut_and_any_line_end),
        cmocka_unit_test(forms_of_lines),
        cmocka_unit_test(cumulative),
        cmocka_unit_test(errors),
        cmocka_unit_test(no_tokens),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(bodies),
        cmocka_unit_test(too_large),
        cmocka_unit_test(cut_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
