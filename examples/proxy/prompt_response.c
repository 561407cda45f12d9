/* SPDX-License-Identifier: MIT */
/*
 * Conversations as items: OpenAI's Responses API. What an earlier response or
 * a stored prompt stands for is known to the engine only; its id comes first.
 */
#include "prompt.h"

#include <string.h>

static bool is_type(const json_t *item, const char *type)
{
    const char *found = json_string_value(json_object_get(item, "type"));

    return found && strcmp(found, type) == 0;
}

static bool message(struct prompt *prompt, const json_t *item)
{
    const char *role = json_string_value(json_object_get(item, "role"));

    if (!role)
        return asked_refuse(prompt->error, "input",
                            "A message must have a role, a string.");
    prompt_message(prompt, role);
    return prompt_content(prompt, asked_field(item, "content"), "input");
}

static bool output(struct prompt *prompt, const json_t *item)
{
    prompt_message(prompt, "tool");
    return prompt_content(prompt, asked_field(item, "output"), "input");
}

static bool one_item(struct prompt *prompt, const json_t *item)
{
    if (!json_is_object(item))
        return asked_refuse(prompt->error, "input",
                            "An item of `input` must be an object.");
    if (is_type(item, "message") || !asked_field(item, "type"))
        return message(prompt, item);
    if (is_type(item, "function_call_output") &&
        !json_is_object(json_object_get(item, "output")))
        return output(prompt, item);
    prompt_message(prompt, "assistant");
    if (is_type(item, "function_call"))
        prompt_call(prompt, asked_field(item, "name"),
                    asked_field(item, "arguments"));
    else
        prompt_labelled(prompt, "item", item);
    return true;
}

static void stored(struct prompt *prompt, const json_t *body)
{
    static const char *const names[] = {"previous_response_id", "conversation",
                                        "prompt"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = asked_field(body, names[i]);
        if (!value)
            continue;
        prompt_message(prompt, names[i]);
        prompt_value(prompt, value);
    }
}

static bool items(struct prompt *prompt, const json_t *input)
{
    size_t index;
    json_t *item;

    if (json_is_string(input)) {
        prompt_message(prompt, "user");
        prompt_value(prompt, input);
        return true;
    }
    if (input && !json_is_array(input))
        return asked_refuse(prompt->error, "input",
                            "`input` must be a string or an array of items.");
    json_array_foreach(input, index,
                       item) if (!one_item(prompt, item)) return false;
    return true;
}

bool prompt_response(struct prompt *prompt, const json_t *body)
{
    const json_t *instructions = asked_field(body, "instructions");

    stored(prompt, body);
    prompt_tools(prompt, asked_field(body, "tools"));
    if (instructions) {
        prompt_message(prompt, "system");
        prompt_value(prompt, instructions);
    }
    return items(prompt, asked_field(body, "input"));
}
