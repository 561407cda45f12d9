/* SPDX-License-Identifier: MIT */
#include "usage_json.h"

#include "json_read.h"

#include <jansson.h>
#include <string.h>

void usage_counts_init(struct usage_counts *counts)
{
    *counts = (struct usage_counts){-1, -1, -1, -1};
}

static int64_t at_least_0(int64_t count)
{
    return count > 0 ? count : 0;
}

void usage_counts_sum(const struct usage_counts *counts, enum dialect dialect,
                      struct usage *usage)
{
    usage->input_tokens = counts->input;
    usage->cached_tokens = counts->cached;
    usage->output_tokens = counts->output;
    if (counts->input < 0)
        return;
    if (dialect == DIALECT_ANTHROPIC)
        usage->input_tokens +=
            at_least_0(counts->cached) + at_least_0(counts->created);
    if (usage->cached_tokens > usage->input_tokens)
        usage->cached_tokens = usage->input_tokens;
}

/* A count of tokens, if it is one: more than 2^40 is none, and sums of what is
 * left do not overflow. */
static void take(int64_t *count, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    json_int_t number = json_integer_value(value);

    if (json_is_integer(value) && number >= 0 && number <= INT64_C(1) << 40)
        *count = number;
}

static void take_usage(struct usage_counts *counts, const json_t *usage)
{
    const json_t *chat = json_object_get(usage, "prompt_tokens_details");
    const json_t *response = json_object_get(usage, "input_tokens_details");

    take(&counts->input, usage, "prompt_tokens");
    take(&counts->input, usage, "input_tokens");
    take(&counts->output, usage, "completion_tokens");
    take(&counts->output, usage, "output_tokens");
    take(&counts->cached, chat, "cached_tokens");
    take(&counts->cached, response, "cached_tokens");
    take(&counts->cached, usage, "cache_read_input_tokens");
    take(&counts->created, usage, "cache_creation_input_tokens");
}

/* Usage stands in the answer itself, or in the message (Anthropic) or response
 * that an event is about. */
static void take_counts(struct usage_counts *counts, const json_t *root)
{
    take_usage(counts,
               json_object_get(json_object_get(root, "message"), "usage"));
    take_usage(counts,
               json_object_get(json_object_get(root, "response"), "usage"));
    take_usage(counts, json_object_get(root, "usage"));
}

void usage_body(struct usage_counts *counts, const char *body, size_t len)
{
    json_t *root = len ? json_read(body, len, NULL) : NULL;

    take_counts(counts, root);
    json_decref(root);
}

static bool is_text(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

/* Whether an event brings something of the answer: a piece of content, of a
 * call or of reasoning. A chunk of OpenAI's with a choice counts even if it
 * names but the role: engines send it with the first token, not before. */
static bool has_token(const json_t *root, const char *type)
{
    static const char delta[] = ".delta";
    size_t len = type ? strlen(type) : 0;

    if (json_array_size(json_object_get(root, "choices")) > 0)
        return true;
    if (is_text(type, "content_block_delta"))
        return true;
    return len > sizeof delta && strncmp(type, "response.", 9) == 0 &&
           strcmp(type + len - (sizeof delta - 1), delta) == 0;
}

static bool has_error(const json_t *root, const char *type)
{
    const json_t *error = json_object_get(root, "error");

    return (error && !json_is_null(error)) || is_text(type, "error") ||
           is_text(type, "response.failed") ||
           is_text(json_string_value(json_object_get(root, "object")), "error");
}

static bool is_last(const char *type)
{
    return is_text(type, "message_stop") ||
           is_text(type, "response.completed") ||
           is_text(type, "response.incomplete") ||
           is_text(type, "response.failed");
}

/* JSON strings that make an event worth reading, with their quotes: inside of
 * a text each of these would stand behind a backslash. */
static const char *const needles[] = {
    "\"usage\"",           "\"error\"",
    "\"message_stop\"",    "\"response.completed\"",
    "\"response.failed\"", "\"response.incomplete\"",
};

static bool starts_with_needle(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof needles / sizeof *needles; i++) {
        size_t needle = strlen(needles[i]);
        if (len >= needle && memcmp(text, needles[i], needle) == 0)
            return true;
    }
    return false;
}

/* Every token of every answer passes here: a plain loop is faster than
 * searches that stop at each of so many quotes. */
static bool has_needle(const char *data, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        char c = data[i + 1];
        if (data[i] == '"' && (c == 'u' || c == 'e' || c == 'm' || c == 'r') &&
            starts_with_needle(data + i, len - i))
            return true;
    }
    return false;
}

static void take_event(struct usage_counts *counts, struct usage *usage,
                       const json_t *root)
{
    const char *type = json_string_value(json_object_get(root, "type"));

    usage->token_seen |= has_token(root, type);
    usage->failed |= has_error(root, type);
    usage->ended |= is_last(type);
    take_counts(counts, root);
}

bool usage_event(struct usage_counts *counts, struct usage *usage,
                 const char *data, size_t len)
{
    json_t *root;

    if (len == 6 && memcmp(data, "[DONE]", len) == 0)
        usage->ended = true;
    if (usage->token_seen && !has_needle(data, len))
        return false;
    root = json_read(data, len, NULL);
    if (!root)
        return false;
    take_event(counts, usage, root);
    json_decref(root);
    return true;
}
