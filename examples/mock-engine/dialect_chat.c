/* SPDX-License-Identifier: MIT */
/* POST /v1/chat/completions. */
#include "content.h"

#include <inttypes.h>

static bool render(const json_t *body, struct prompt *prompt,
                   struct refusal *refusal)
{
    content_tools(prompt, json_object_get(body, "tools"));
    if (!content_messages(prompt, json_object_get(body, "messages"), "messages",
                          refusal))
        return false;
    prompt_open(prompt, "assistant");
    return true;
}

static void add_head(struct evbuffer *out, const struct told *told,
                     const char *object)
{
    evbuffer_add_printf(out,
                        "{\"id\":\"chatcmpl-%016" PRIx64
                        "\",\"object\":\"%s\",\"created\":%" PRId64
                        ",\"model\":\"%s\",\"choices\":[",
                        told->id, object, told->created, told->model);
}

static void add_chunk(struct evbuffer *out, const struct told *told,
                      const char *role, const char *text, int length,
                      const char *reason)
{
    const char *quote = reason != NULL ? "\"" : "";

    evbuffer_add(out, "data: ", 6);
    add_head(out, told, "chat.completion.chunk");
    evbuffer_add_printf(out,
                        "{\"index\":0,\"delta\":{%s\"content\":\"%.*s\"},"
                        "\"logprobs\":null,\"finish_reason\":%s%s%s}]}\n\n",
                        role, length, text, quote,
                        reason != NULL ? reason : "null", quote);
}

static void begin(struct evbuffer *out, struct told *told)
{
    add_chunk(out, told, "\"role\":\"assistant\",", "", 0, NULL);
}

static void piece(struct evbuffer *out, struct told *told, const char *text,
                  int length)
{
    add_chunk(out, told, "", text, length, NULL);
}

static void end(struct evbuffer *out, struct told *told)
{
    add_chunk(out, told, "", "", 0, told_reason(told));
    if (told->usage) {
        evbuffer_add(out, "data: ", 6);
        add_head(out, told, "chat.completion.chunk");
        evbuffer_add(out, "],", 2);
        told_usage(out, told);
        evbuffer_add(out, "}\n\n", 3);
    }
    evbuffer_add_printf(out, "data: [DONE]\n\n");
}

static void whole(struct evbuffer *out, struct told *told)
{
    add_head(out, told, "chat.completion");
    evbuffer_add_printf(out,
                        "{\"index\":0,\"message\":{\"role\":\"assistant\","
                        "\"content\":\"%.*s\",\"tool_calls\":[]},"
                        "\"logprobs\":null,\"finish_reason\":\"%s\","
                        "\"stop_reason\":null}],",
                        told->text_length, told->text, told_reason(told));
    told_usage(out, told);
    evbuffer_add(out, "}", 1);
}

const struct dialect dialect_chat = {
    .path = "/v1/chat/completions",
    .limits = {"max_completion_tokens", "max_tokens"},
    .render = render,
    .begin = begin,
    .piece = piece,
    .end = end,
    .whole = whole,
};
