/* SPDX-License-Identifier: MIT */
/*
 * The prompt of each kind of request: what is in it, in which order, what tells
 * two apart and what does not.
 */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define CHAT "/v1/chat/completions"
#define MESSAGES "/v1/messages"
#define COMPLETIONS "/v1/completions"
#define RESPONSES "/v1/responses"

/* Texts that must stand in the prompt in that order, up to a NULL. */
static void assert_order(const char *path, const char *body,
                         const char *const *texts)
{
    struct asked asked = read_good(path, body);
    size_t at = 0;

    for (; *texts; texts++)
        at = find_in_prompt(&asked, at, *texts) + strlen(*texts);
    asked_release(&asked);
}

static void openai_order(void **state)
{
    static const char body[] =
        "{\"messages\":["
        "{\"role\":\"system\",\"content\":\"aa1\"},"
        "{\"role\":\"developer\",\"content\":[{\"type\":\"text\","
        "\"text\":\"bb2\"}]},"
        "{\"role\":\"user\",\"name\":\"cc3\",\"content\":\"dd4\"},"
        "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":"
        "\"ee5\",\"tool_calls\":[{\"id\":\"i\",\"type\":\"function\","
        "\"function\":{\"name\":\"ff6\",\"arguments\":\"gg7\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"i\",\"content\":\"hh8\"},"
        "{\"role\":\"assistant\",\"content\":\"ii9\",\"refusal\":\"jj10\"}],"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"t1\","
        "\"parameters\":{\"type\":\"object\"}}}],"
        "\"functions\":[{\"name\":\"f1\"}]}";
    (void)state;

    assert_order(CHAT, body,
                 (const char *const[]){"\"t1\"", "\"f1\"", "system", "aa1",
                                       "developer", "bb2", "user", "cc3", "dd4",
                                       "assistant", "ee5", "ff6", "gg7", "tool",
                                       "hh8", "ii9", "jj10", NULL});
}

static void anthropic_order(void **state)
{
    static const char body[] =
        "{\"system\":[{\"type\":\"text\",\"text\":\"aa1\","
        "\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":"
        "{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"bb2\"},"
        "\"title\":\"bb1\"},{\"type\":\"text\",\"text\":\"cc3\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
        "\"thinking\":\"dd4\",\"signature\":\"zz\"},{\"type\":\"tool_use\","
        "\"id\":\"i\",\"name\":\"ee5\",\"input\":{\"ff6\":[1,2.5,true]}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
        "\"tool_use_id\":\"i\",\"content\":[{\"type\":\"text\","
        "\"text\":\"gg7\"},{\"type\":\"image\",\"source\":{\"type\":\"url\","
        "\"url\":\"http://x\"}}]},{\"type\":\"text\",\"text\":\"hh8\"}]}],"
        "\"tools\":[{\"name\":\"t1\",\"input_schema\":{}}]}";
    (void)state;

    assert_order(MESSAGES, body,
                 (const char *const[]){"\"t1\"", "system", "aa1", "user", "bb1",
                                       "bb2", "cc3", "assistant", "dd4", "ee5",
                                       "{\"ff6\":[1,2.5,true]}", "gg7", "hh8",
                                       NULL});
}

static void response_order(void **state)
{
    static const char body[] =
        "{\"previous_response_id\":\"resp_1\",\"instructions\":\"aa1\","
        "\"input\":["
        "{\"role\":\"user\",\"content\":\"bb2\"},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
        "[{\"type\":\"output_text\",\"text\":\"cc3\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"i\",\"name\":\"dd4\","
        "\"arguments\":\"ee5\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"i\","
        "\"output\":\"ff6\"},"
        "{\"type\":\"item_reference\",\"id\":\"x\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
        "\"text\":\"gg7\"}]}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"t1\"}]}";
    (void)state;

    assert_order(RESPONSES, body,
                 (const char *const[]){"resp_1", "\"t1\"", "aa1", "bb2", "cc3",
                                       "dd4", "ee5", "ff6", "gg7", NULL});
    assert_same_prompt(RESPONSES, "{\"input\":\"x\"}",
                       "{\"input\":[{\"role\":\"user\",\"content\":\"x\"}]}");
    assert_other_prompt(RESPONSES,
                        "{\"previous_response_id\":\"a\",\"input\":\"x\"}",
                        "{\"previous_response_id\":\"b\",\"input\":\"x\"}");
}

/* One conversation, message by message: `open` and `close` are what stands
 * before and after them. */
static void assert_conversation_grows(const char *path, const char *open,
                                      const char *const *messages,
                                      const char *close)
{
    char shorter[4096], longer[4096], list[2048] = "";

    for (size_t i = 0; messages[i]; i++) {
        snprintf(shorter, sizeof shorter, "%s%s%s", open, list, close);
        if (i)
            strcat(list, ", ");
        strcat(list, messages[i]);
        snprintf(longer, sizeof longer, "%s%s%s", open, list, close);
        if (i)
            assert_grows(path, shorter, longer);
    }
}

static void openai_grows(void **state)
{
    static const char *const messages[] = {
        "{\"role\":\"system\",\"content\":\"Be brief.\"}",
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"},"
        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:,x\"}}]}",
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
        "\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"arguments\":\"{}\"}}]}",
        "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"42\"}",
        "{\"role\":\"assistant\",\"content\":\"It is 42.\"}",
        "{\"role\":\"user\",\"content\":\"Thanks\"}",
        NULL,
    };
    (void)state;

    assert_conversation_grows(CHAT, "{\"model\":\"m\",\"messages\":[", messages,
                              "],\"tools\":[{\"type\":\"function\"}]}");
}

static void anthropic_grows(void **state)
{
    static const char *const messages[] = {
        "{\"role\":\"user\",\"content\":\"Look\"}",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
        "\"thinking\":\"Hm\",\"signature\":\"s\"},{\"type\":\"tool_use\","
        "\"id\":\"1\",\"name\":\"f\",\"input\":{}}]}",
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
        "\"tool_use_id\":\"1\",\"content\":\"42\"}]}",
        "{\"role\":\"assistant\",\"content\":\"It is 42.\"}",
        "{\"role\":\"user\",\"content\":\"Thanks\"}",
        NULL,
    };
    (void)state;

    assert_conversation_grows(
        MESSAGES, "{\"system\":\"Be brief.\",\"messages\":[", messages,
        "],\"max_tokens\":9,\"tools\":[{\"name\":\"f\"}]}");
}

static void response_grows(void **state)
{
    static const char *const items[] = {
        "{\"role\":\"user\",\"content\":\"Look\"}",
        "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]}",
        "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\","
        "\"arguments\":\"{}\"}",
        "{\"type\":\"function_call_output\",\"call_id\":\"1\","
        "\"output\":\"42\"}",
        "{\"role\":\"user\",\"content\":\"Thanks\"}",
        NULL,
    };
    (void)state;

    assert_conversation_grows(
        RESPONSES, "{\"instructions\":\"Be brief.\",\"input\":[", items, "]}");
}

/* Spacing, escapes, the order of keys and settings change nothing; nor do
 * ids of calls, or where the client wants its prompt cached. */
static void same_conversations(void **state)
{
    static const char plain[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"H\xc3\xa9llo\"}]}";
    (void)state;

    assert_same_prompt(CHAT, plain,
                       " {\n \"messages\" : [ {\"content\": \"H\\u00e9llo\" ,"
                       "\t\"role\" : \"user\" } ] }\r\n");
    assert_same_prompt(CHAT, plain,
                       "{\"temperature\":0.5,\"messages\":[{\"role\":\"user\","
                       "\"content\":[{\"text\":\"H\xc3\xa9llo\",\"type\":"
                       "\"text\"}]}],\"stream\":true,\"tools\":[]}");
    assert_same_prompt(
        CHAT,
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]}",
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"2\","
        "\"function\":{\"arguments\":\"{}\",\"name\":\"f\"}}]}]}");
    assert_same_prompt(
        MESSAGES,
        "{\"tools\":[{\"name\":\"f\",\"cache_control\":{\"type\":\"x\"}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\","
        "\"source\":{\"type\":\"base64\",\"data\":\"QQ==\"},"
        "\"cache_control\":{\"type\":\"ephemeral\"}}]}]}",
        "{\"tools\":[{\"name\":\"f\"}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"source\":{\"data\":"
        "\"QQ==\",\"type\":\"base64\"},\"type\":\"image\"}]}]}");
}

/* Each of these differs from each other one. */
static void assert_all_differ(const char *path, const char *const *bodies)
{
    for (size_t i = 0; bodies[i]; i++)
        for (size_t j = 0; j < i; j++)
            assert_other_prompt(path, bodies[i], bodies[j]);
}

#define USER(content)                                                          \
    "{\"messages\":[{\"role\":\"user\",\"content\":" content "}]}"
#define IMAGE(url)                                                             \
    USER("[{\"type\":\"text\",\"text\":\"What is it?\"},"                      \
         "{\"type\":\"image_url\",\"image_url\":" url "}]")
#define PART(part) USER("[{\"type\":\"text\",\"text\":\"a\"}," part "]")

/* CH-08: the text is the same, the conversation is not. */
static void ch_08_other_images(void **state)
{
    static const char *const bodies[] = {
        IMAGE("{\"url\":\"data:image/png;base64,QUJD\"}"),
        IMAGE("{\"url\":\"data:image/png;base64,QUJE\"}"),
        IMAGE("{\"url\":\"https://x/1.png\"}"),
        IMAGE("{\"url\":\"https://x/1.png\",\"detail\":\"low\"}"),
        IMAGE("\"https://x/1.png\""),
        PART("{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"QQ==\"}}"),
        PART("{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"Qg==\"}}"),
        PART("{\"type\":\"file\",\"file\":{\"file_id\":\"1\"}}"),
        PART("{\"type\":\"file\",\"file\":{\"file_id\":\"2\"}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[1,{\"b\":null}]}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[1,{\"b\":false}]}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[1],\"b\":null}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[[1],[]]}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[[1,[]]]}}"),
        PART("{\"type\":\"new_thing\",\"value\":{\"a\":[2]}}"),
        NULL,
    };
    (void)state;

    assert_all_differ(CHAT, bodies);
}

#define RESULT(fields)                                                         \
    USER("[{\"type\":\"tool_result\",\"tool_use_id\":\"1\"," fields "}]")

static void ch_08_other_results(void **state)
{
    static const char *const bodies[] = {
        RESULT("\"content\":\"4\""),
        RESULT("\"content\":\"5\""),
        RESULT("\"content\":\"4\",\"is_error\":true"),
        RESULT("\"content\":[{\"type\":\"text\",\"text\":\"4\"},"
               "{\"type\":\"text\",\"text\":\"5\"}]"),
        RESULT("\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
               "\"base64\",\"data\":\"QQ==\"}}]"),
        RESULT("\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
               "\"base64\",\"data\":\"Qg==\"}}]"),
        NULL,
    };
    static const char *const openai[] = {
        "{\"messages\":[{\"role\":\"tool\",\"content\":\"4\"}]}",
        "{\"messages\":[{\"role\":\"tool\",\"content\":\"5\"}]}",
        NULL,
    };
    (void)state;

    assert_all_differ(MESSAGES, bodies);
    assert_all_differ(CHAT, openai);
}

/* No text passes for another message, part or field. */
static void no_forgery(void **state)
{
    static const char *const bodies[] = {
        "{\"messages\":[{\"role\":\"user\",\"content\":\"ab\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
        "{\"role\":\"user\",\"content\":\"b\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]}",
        "{\"messages\":[{\"role\":\"user\",\"name\":\"a\",\"content\":\"b\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"name\":\"ab\",\"content\":\"\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u00ffuser"
        "\\u00fdb\"}]}",
        "{\"messages\":[{\"role\":\"usera\",\"content\":\"b\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\","
        "\"refusal\":\"b\"}]}",
        NULL,
    };
    (void)state;

    assert_all_differ(CHAT, bodies);
}

/* Pictures are not told by their length in base64. */
static void estimates(void **state)
{
    struct asked one = read_good(CHAT, IMAGE("\"https://x/1.png\""));
    struct asked two =
        read_good(CHAT, USER("[{\"type\":\"image_url\",\"image_url\":\"a\"},"
                             "{\"type\":\"image_url\",\"image_url\":\"b\"}]"));
    struct asked none = read_good(CHAT, USER("\"text\""));
    (void)state;

    assert_in_range(one.input_tokens, 700, 1400);
    assert_in_range(two.input_tokens, 1400, 2800);
    assert_int_equal(none.input_tokens, -1);
    assert_true(one.prompt_len < 100);
    asked_release(&one);
    asked_release(&two);
    asked_release(&none);
}

static void assert_prompt(const char *path, const char *body, const char *text)
{
    struct asked asked = read_good(path, body);

    assert_int_equal(asked.prompt_len, strlen(text));
    assert_memory_equal(asked.prompt, text, asked.prompt_len);
    assert_null(asked.tokens);
    asked_release(&asked);
}

/* A prompt without messages is the text itself. */
static void completions(void **state)
{
    (void)state;

    assert_prompt(COMPLETIONS, "{\"prompt\":\"Once\"}", "Once");
    assert_prompt(COMPLETIONS, "{\"prompt\":[\"Once\"]}", "Once");
    assert_grows(COMPLETIONS, "{\"prompt\":\"Once\"}",
                 "{\"prompt\":\"Once upon\"}");
    assert_grows(COMPLETIONS, "{\"prompt\":[\"a\"]}",
                 "{\"prompt\":[\"a\",\"b\"]}");
    assert_other_prompt(COMPLETIONS, "{\"prompt\":[\"a\",\"b\"]}",
                        "{\"prompt\":\"ab\"}");
    assert_other_prompt(COMPLETIONS, "{\"prompt\":\"a\",\"suffix\":\"b\"}",
                        "{\"prompt\":\"a\"}");
}

static void assert_tokens(const char *body, const uint32_t *tokens,
                          size_t count)
{
    struct asked asked = read_good(COMPLETIONS, body);

    assert_int_equal(asked.tokens_len, count);
    assert_memory_equal(asked.tokens, tokens, count * sizeof *tokens);
    assert_int_equal(asked.prompt_len, 0);
    asked_release(&asked);
}

static void token_ids(void **state)
{
    static const uint32_t ids[] = {0, 7, 4294967295};
    (void)state;

    assert_tokens("{\"prompt\":[0,7,4294967295]}", ids, 3);
    assert_tokens("{\"prompt\":[[0,7],[4294967295]]}", ids, 3);
    assert_tokens("{\"prompt\":[[]]}", ids, 0);
    assert_tokens("{\"prompt\":[]}", ids, 0);
    assert_tokens("{}", ids, 0);
}

static void other_kinds(void **state)
{
    (void)state;

    assert_prompt("/v1/embeddings", "{\"input\":\"Hello\"}", "Hello");
    assert_other_prompt("/v1/embeddings", "{\"input\":[\"a\",\"b\"]}",
                        "{\"input\":[\"a\",\"c\"]}");
    assert_other_prompt("/v1/rerank", "{\"query\":\"q\",\"documents\":[\"a\"]}",
                        "{\"query\":\"q\",\"documents\":[\"b\"]}");
    assert_same_prompt("/v1/rerank",
                       "{\"query\":\"q\",\"documents\":[\"a\"],\"top_n\":1}",
                       "{\"documents\":[\"a\"],\"query\":\"q\"}");
    assert_grows("/v1/messages/count_tokens",
                 "{\"system\":\"s\",\"messages\":[]}",
                 "{\"system\":\"s\",\"messages\":[{\"role\":\"user\","
                 "\"content\":\"x\"}]}");
}

static void refused(void **state)
{
    static const char *const cases[][3] = {
        {CHAT, "{}", "messages"},
        {CHAT, "{\"messages\":null}", "messages"},
        {CHAT, "{\"messages\":\"SECRET\"}", "messages"},
        {CHAT, "{\"messages\":[\"SECRET\"]}", "messages"},
        {CHAT, "{\"messages\":[{\"content\":\"SECRET\"}]}", "messages"},
        {CHAT, "{\"messages\":[{\"role\":1}]}", "messages"},
        {CHAT, USER("7"), "messages"},
        {CHAT, USER("{\"text\":\"SECRET\"}"), "messages"},
        {CHAT, USER("[7]"), "messages"},
        {CHAT, USER("[null]"), "messages"},
        {MESSAGES, "{\"system\":7,\"messages\":[]}", "system"},
        {MESSAGES, RESULT("\"content\":{\"a\":\"SECRET\"}"), "messages"},
        {RESPONSES, "{\"input\":7}", "input"},
        {RESPONSES, "{\"input\":[7]}", "input"},
        {RESPONSES, "{\"input\":[{\"content\":\"SECRET\"}]}", "input"},
        {COMPLETIONS, "{\"prompt\":7}", "prompt"},
        {COMPLETIONS, "{\"prompt\":{\"SECRET\":1}}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[1,\"SECRET\"]}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[\"SECRET\",1]}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[[1],\"SECRET\"]}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[-1]}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[1.5]}", "prompt"},
        {COMPLETIONS, "{\"prompt\":[4294967296]}", "prompt"},
        {"/v1/embeddings", "{\"input\":{\"SECRET\":1}}", "input"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_bad(cases[i][0], cases[i][1], strlen(cases[i][1]), cases[i][2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openai_order),
        cmocka_unit_test(anthropic_order),
        cmocka_unit_test(response_order),
        cmocka_unit_test(openai_grows),
        cmocka_unit_test(anthropic_grows),
        cmocka_unit_test(response_grows),
        cmocka_unit_test(same_conversations),
        cmocka_unit_test(ch_08_other_images),
        cmocka_unit_test(ch_08_other_results),
        cmocka_unit_test(no_forgery),
        cmocka_unit_test(estimates),
        cmocka_unit_test(completions),
        cmocka_unit_test(token_ids),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
