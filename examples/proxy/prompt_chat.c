/* SPDX-License-Identifier: MIT */
/*
 * Conversations as messages: OpenAI's chat completions and Anthropic's
 * messages, which differ in where the system prompt and tool calls stand.
 */
#include "prompt.h"

#include <string.h>

/* As prompt_json(), without the mark where a prompt is to be cached, which
 * wanders as a conversation goes on. */
static void one_tool(struct prompt *prompt, const json_t *tool)
{
    json_t *bare = NULL;

    if (json_object_get(tool, "cache_control")) {
        bare = json_copy((json_t *)tool);
        json_object_del(bare, "cache_control");
        prompt->text.failed |= !bare;
    }
    prompt_part(prompt, "");
    prompt_json(prompt, bare ? bare : tool);
    json_decref(bare);
}

void prompt_tools(struct prompt *prompt, const json_t *tools)
{
    size_t index;
    json_t *tool;

    if (json_array_size(tools) == 0)
        return;
    prompt_message(prompt, "tools");
    json_array_foreach(tools, index, tool) one_tool(prompt, tool);
}

/* Arguments are a text of JSON to OpenAI, JSON to Anthropic. */
void prompt_call(struct prompt *prompt, const json_t *name,
                 const json_t *arguments)
{
    prompt_part(prompt, "call");
    prompt_value(prompt, name);
    prompt_next_value(prompt);
    if (json_is_string(arguments))
        prompt_value(prompt, arguments);
    else if (arguments)
        prompt_json(prompt, arguments);
}

/* Ids of calls are left out: few templates show them, and engines make them
 * anew for the same answer. */
static void one_call(struct prompt *prompt, const json_t *call)
{
    const json_t *function = asked_field(call, "function");
    const json_t *custom = asked_field(call, "custom");

    if (function)
        prompt_call(prompt, asked_field(function, "name"),
                    asked_field(function, "arguments"));
    else if (custom)
        prompt_call(prompt, asked_field(custom, "name"),
                    asked_field(custom, "input"));
    else
        prompt_labelled(prompt, "call", call);
}

static void calls(struct prompt *prompt, const json_t *message)
{
    const json_t *single = asked_field(message, "function_call");
    size_t index;
    json_t *call;

    json_array_foreach(asked_field(message, "tool_calls"), index, call)
        one_call(prompt, call);
    if (single)
        prompt_call(prompt, asked_field(single, "name"),
                    asked_field(single, "arguments"));
}

static bool message(struct prompt *prompt, const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    const json_t *reasoning = asked_field(message, "reasoning_content");

    if (!json_is_object(message))
        return asked_refuse(prompt->error, "messages",
                            "A message must be an object.");
    if (!role)
        return asked_refuse(prompt->error, "messages",
                            "A message must have a role, a string.");
    prompt_message(prompt, role);
    prompt_labelled(prompt, "name", asked_field(message, "name"));
    prompt_labelled(prompt, "thinking",
                    reasoning ? reasoning : asked_field(message, "reasoning"));
    if (!prompt_content(prompt, asked_field(message, "content"), "messages"))
        return false;
    prompt_labelled(prompt, "refusal", asked_field(message, "refusal"));
    prompt_labelled(prompt, "audio", asked_field(message, "audio"));
    calls(prompt, message);
    return true;
}

bool prompt_chat(struct prompt *prompt, const json_t *body)
{
    const json_t *system = asked_field(body, "system");
    const json_t *messages = asked_field(body, "messages");
    size_t index;
    json_t *element;

    if (!json_is_array(messages))
        return asked_refuse(prompt->error, "messages",
                            "`messages` must be an array.");
    prompt_tools(prompt, asked_field(body, "tools"));
    prompt_tools(prompt, asked_field(body, "functions"));
    if (system) {
        prompt_message(prompt, "system");
        if (!prompt_content(prompt, system, "system"))
            return false;
    }
    json_array_foreach(messages, index,
                       element) if (!message(prompt, element)) return false;
    return true;
}
