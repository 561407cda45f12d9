/* SPDX-License-Identifier: MIT */
/* POST /v1/messages, of Anthropic's API: tokens that were in the cache are no
 * part of input_tokens. */
#include "content.h"

#include <inttypes.h>

static bool render(const json_t *body, struct prompt *prompt,
                   struct refusal *refusal)
{
    const json_t *system = json_object_get(body, "system");

    content_tools(prompt, json_object_get(body, "tools"));
    if (system != NULL && !content_message(prompt, "system", system, refusal))
        return false;
    if (!content_messages(prompt, json_object_get(body, "messages"), "messages",
                          refusal))
        return false;
    prompt_open(prompt, "assistant");
    return true;
}

static const char *stop_reason(const struct told *told)
{
    return told->limited ? "max_tokens" : "end_turn";
}

static void add_usage(struct evbuffer *out, const struct told *told,
                      uint32_t output_tokens)
{
    evbuffer_add_printf(out,
                        "\"usage\":{\"input_tokens\":%" PRIu32
                        ",\"cache_creation_input_tokens\":0"
                        ",\"cache_read_input_tokens\":%" PRIu32
                        ",\"output_tokens\":%" PRIu32 "}",
                        told->prompt_tokens - told->cached_tokens,
                        told->cached_tokens, output_tokens);
}

static void add_head(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(out,
                        "{\"id\":\"msg_%016" PRIx64
                        "\",\"type\":\"message\",\"role\":\"assistant\","
                        "\"model\":\"%s\",",
                        told->id, told->model);
}

static void begin(struct evbuffer *out, struct told *told)
{
    evbuffer_add_printf(out, "event: message_start\n"
                             "data: {\"type\":\"message_start\",\"message\":");
    add_head(out, told);
    evbuffer_add_printf(out, "\"content\":[],\"stop_reason\":null,"
                             "\"stop_sequence\":null,");
    add_usage(out, told, 0);
    evbuffer_add_printf(out,
                        "}}\n\nevent: content_block_start\n"
                        "data: {\"type\":\"content_block_start\",\"index\":0,"
                        "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}"
                        "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n");
}

static void piece(struct evbuffer *out, struct told *told, const char *text,
                  int length)
{
    (void)told;
    evbuffer_add_printf(out,
                        "event: content_block_delta\n"
                        "data: {\"type\":\"content_block_delta\",\"index\":0,"
                        "\"delta\":{\"type\":\"text_delta\",\"text\":\"%.*s\"}}"
                        "\n\n",
                        length, text);
}

static void end(struct evbuffer *out, struct told *told)
{
    evbuffer_add_printf(out,
                        "event: content_block_stop\n"
                        "data: {\"type\":\"content_block_stop\",\"index\":0}"
                        "\n\nevent: message_delta\n"
                        "data: {\"type\":\"message_delta\",\"delta\":"
                        "{\"stop_reason\":\"%s\",\"stop_sequence\":null},",
                        stop_reason(told));
    add_usage(out, told, told->output_tokens);
    evbuffer_add_printf(out, "}\n\nevent: message_stop\n"
                             "data: {\"type\":\"message_stop\"}\n\n");
}

static void whole(struct evbuffer *out, struct told *told)
{
    add_head(out, told);
    evbuffer_add_printf(out,
                        "\"content\":[{\"type\":\"text\",\"text\":\"%.*s\"}],"
                        "\"stop_reason\":\"%s\",\"stop_sequence\":null,",
                        told->text_length, told->text, stop_reason(told));
    add_usage(out, told, told->output_tokens);
    evbuffer_add(out, "}", 1);
}

const struct dialect dialect_message = {
    .path = "/v1/messages",
    .anthropic = true,
    .limits = {"max_tokens"},
    .render = render,
    .begin = begin,
    .piece = piece,
    .end = end,
    .whole = whole,
};
