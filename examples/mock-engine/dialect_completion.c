/* SPDX-License-Identifier: MIT */
/* POST /v1/completions. */
#include "dialect.h"
#include "tokens.h"

#include <inttypes.h>

static bool add_tokens(const json_t *list, struct prompt *prompt,
                       struct refusal *refusal)
{
    size_t index;
    json_t *token;

    json_array_foreach(list, index, token)
    {
        json_int_t value = json_integer_value(token);

        if (!json_is_integer(token) || value < 0 || value >= TOKEN_VOCABULARY)
            return refuse_field(refusal, "prompt",
                                "prompt has a token that is out of range");
        prompt_token(prompt, (uint32_t)value);
    }
    return true;
}

/* A text, token ids, or a list with one of these. */
static bool render(const json_t *body, struct prompt *prompt,
                   struct refusal *refusal)
{
    const json_t *asked = json_object_get(body, "prompt");
    const json_t *first = json_array_get(asked, 0);

    if (json_is_string(first) || json_is_array(first)) {
        if (json_array_size(asked) > 1)
            return refuse_field(refusal, "prompt", "only one prompt is served");
        asked = first;
    }
    if (json_is_array(asked) && json_array_size(asked) > 0)
        return add_tokens(asked, prompt, refusal);
    if (!json_is_string(asked) || json_string_length(asked) == 0)
        return refuse_field(refusal, "prompt", "prompt must not be empty");
    prompt_text(prompt, json_string_value(asked), json_string_length(asked));
    prompt_flush(prompt);
    return true;
}

static void add_head(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(out,
                        "{\"id\":\"cmpl-%016" PRIx64
                        "\",\"object\":\"text_completion\",\"created\":%" PRId64
                        ",\"model\":\"%s\",\"choices\":[",
                        told->id, told->created, told->model);
}

static void add_choice(struct evbuffer *out, const char *text, int length,
                       const char *reason)
{
    const char *quote = reason != NULL ? "\"" : "";

    evbuffer_add_printf(out,
                        "{\"index\":0,\"text\":\"%.*s\",\"logprobs\":null,"
                        "\"finish_reason\":%s%s%s,\"stop_reason\":null}]",
                        length, text, quote, reason != NULL ? reason : "null",
                        quote);
}

static void add_chunk(struct evbuffer *out, const struct told *told,
                      const char *text, int length, const char *reason)
{
    evbuffer_add(out, "data: ", 6);
    add_head(out, told);
    add_choice(out, text, length, reason);
    evbuffer_add(out, "}\n\n", 3);
}

static void begin(struct evbuffer *out, struct told *told)
{
    (void)out;
    (void)told;
}

static void piece(struct evbuffer *out, struct told *told, const char *text,
                  int length)
{
    add_chunk(out, told, text, length, NULL);
}

static void end(struct evbuffer *out, struct told *told)
{
    add_chunk(out, told, "", 0, told_reason(told));
    if (told->usage) {
        evbuffer_add(out, "data: ", 6);
        add_head(out, told);
        evbuffer_add(out, "],", 2);
        told_usage(out, told);
        evbuffer_add(out, "}\n\n", 3);
    }
    evbuffer_add_printf(out, "data: [DONE]\n\n");
}

static void whole(struct evbuffer *out, struct told *told)
{
    add_head(out, told);
    add_choice(out, told->text, told->text_length, told_reason(told));
    evbuffer_add(out, ",", 1);
    told_usage(out, told);
    evbuffer_add(out, "}", 1);
}

const struct dialect dialect_completion = {
    .path = "/v1/completions",
    .limits = {"max_tokens"},
    .render = render,
    .begin = begin,
    .piece = piece,
    .end = end,
    .whole = whole,
};
