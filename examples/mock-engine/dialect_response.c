/* SPDX-License-Identifier: MIT */
/* POST /v1/responses: text in, text out, nothing is stored. */
#include "content.h"

#include <inttypes.h>

/* Items are messages, or calls of functions and what these gave. */
static bool add_item(const json_t *item, struct prompt *prompt,
                     struct refusal *refusal)
{
    const char *role = json_string_value(json_object_get(item, "role"));
    const json_t *output = json_object_get(item, "output");
    const json_t *call = json_object_get(item, "arguments");

    if (!json_is_object(item))
        return refuse_field(refusal, "input", "an item is not an object");
    if (role != NULL)
        return content_message(prompt, role, json_object_get(item, "content"),
                               refusal);
    if (output != NULL)
        return content_message(prompt, "tool", output, refusal);
    return content_message(prompt, "assistant", call, refusal);
}

static bool render(const json_t *body, struct prompt *prompt,
                   struct refusal *refusal)
{
    const json_t *system = json_object_get(body, "instructions");
    const json_t *input = json_object_get(body, "input");
    size_t index;
    json_t *item;

    content_tools(prompt, json_object_get(body, "tools"));
    if (json_is_string(system) &&
        !content_message(prompt, "system", system, refusal))
        return false;
    if (json_is_string(input) &&
        !content_message(prompt, "user", input, refusal))
        return false;
    if (!json_is_string(input) && json_array_size(input) == 0)
        return refuse_field(refusal, "input", "input must not be empty");
    json_array_foreach(input, index,
                       item) if (!add_item(item, prompt, refusal)) return false;
    prompt_open(prompt, "assistant");
    return true;
}

static void add_event(struct evbuffer *out, struct told *told, const char *type)
{
    evbuffer_add_printf(out,
                        "event: response.%s\ndata: {\"type\":\"response.%s\","
                        "\"sequence_number\":%" PRIu32,
                        type, type, told->sequence++);
}

static void add_place(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(out,
                        ",\"item_id\":\"msg_%016" PRIx64
                        "\",\"output_index\":0,\"content_index\":0",
                        told->id);
}

static void add_text(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(out,
                        "{\"type\":\"output_text\",\"annotations\":[],"
                        "\"text\":\"%.*s\"}",
                        told->text_length, told->text);
}

static void add_message(struct evbuffer *out, const struct told *told,
                        bool done)
{
    evbuffer_add_printf(out,
                        "{\"id\":\"msg_%016" PRIx64
                        "\",\"type\":\"message\",\"role\":\"assistant\","
                        "\"status\":\"%s\",\"content\":[",
                        told->id, done ? "completed" : "in_progress");
    if (done)
        add_text(out, told);
    evbuffer_add(out, "]}", 2);
}

static void add_usage(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(out,
                        "\"usage\":{\"input_tokens\":%" PRIu32
                        ",\"input_tokens_details\":{\"cached_tokens\":%" PRIu32
                        "},\"output_tokens\":%" PRIu32
                        ",\"output_tokens_details\":{\"reasoning_tokens\":0}"
                        ",\"total_tokens\":%" PRIu32 "}",
                        told->prompt_tokens, told->cached_tokens,
                        told->output_tokens,
                        told->prompt_tokens + told->output_tokens);
}

/* The response itself; what is not known yet is null. */
static void add_response(struct evbuffer *out, const struct told *told,
                         bool done)
{
    bool cut = done && told->limited;
    const char *status = cut ? "incomplete" : "completed";

    evbuffer_add_printf(out,
                        "{\"id\":\"resp_%016" PRIx64
                        "\",\"object\":\"response\",\"created_at\":%" PRId64
                        ",\"model\":\"%s\",\"status\":\"%s\","
                        "\"incomplete_details\":%s,\"error\":null,"
                        "\"instructions\":null,\"metadata\":{},"
                        "\"parallel_tool_calls\":true,\"temperature\":null,"
                        "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null,"
                        "\"output\":[",
                        told->id, told->created, told->model,
                        done ? status : "in_progress",
                        cut ? "{\"reason\":\"max_output_tokens\"}" : "null");
    if (done)
        add_message(out, told, true);
    evbuffer_add(out, "],", 2);
    if (done)
        add_usage(out, told);
    else
        evbuffer_add_printf(out, "\"usage\":null");
    evbuffer_add(out, "}", 1);
}

static void add_response_event(struct evbuffer *out, struct told *told,
                               const char *type, bool done)
{
    add_event(out, told, type);
    evbuffer_add_printf(out, ",\"response\":");
    add_response(out, told, done);
    evbuffer_add(out, "}\n\n", 3);
}

static void add_item_event(struct evbuffer *out, struct told *told,
                           const char *type, bool done)
{
    add_event(out, told, type);
    evbuffer_add_printf(out, ",\"output_index\":0,\"item\":");
    add_message(out, told, done);
    evbuffer_add(out, "}\n\n", 3);
}

static void begin(struct evbuffer *out, struct told *told)
{
    add_response_event(out, told, "created", false);
    add_response_event(out, told, "in_progress", false);
    add_item_event(out, told, "output_item.added", false);
    add_event(out, told, "content_part.added");
    add_place(out, told);
    evbuffer_add_printf(out, ",\"part\":{\"type\":\"output_text\","
                             "\"annotations\":[],\"text\":\"\"}}\n\n");
}

static void piece(struct evbuffer *out, struct told *told, const char *text,
                  int length)
{
    add_event(out, told, "output_text.delta");
    add_place(out, told);
    evbuffer_add_printf(out, ",\"delta\":\"%.*s\",\"logprobs\":[]}\n\n", length,
                        text);
}

static void end(struct evbuffer *out, struct told *told)
{
    add_event(out, told, "output_text.done");
    add_place(out, told);
    evbuffer_add_printf(out, ",\"text\":\"%.*s\",\"logprobs\":[]}\n\n",
                        told->text_length, told->text);
    add_event(out, told, "content_part.done");
    add_place(out, told);
    evbuffer_add_printf(out, ",\"part\":");
    add_text(out, told);
    evbuffer_add(out, "}\n\n", 3);
    add_item_event(out, told, "output_item.done", true);
    add_response_event(out, told, told->limited ? "incomplete" : "completed",
                       true);
}

static void whole(struct evbuffer *out, struct told *told)
{
    add_response(out, told, true);
}

const struct dialect dialect_response = {
    .path = "/v1/responses",
    .limits = {"max_output_tokens"},
    .render = render,
    .begin = begin,
    .piece = piece,
    .end = end,
    .whole = whole,
};
