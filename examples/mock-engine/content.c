/* SPDX-License-Identifier: MIT */
#include "content.h"

#include <stdlib.h>
#include <string.h>

static void add_string(struct prompt *prompt, const json_t *text)
{
    prompt_text(prompt, json_string_value(text), json_string_length(text));
}

static void add_json(struct prompt *prompt, const json_t *value)
{
    char *text =
        json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    if (text != NULL)
        prompt_text(prompt, text, strlen(text));
    free(text);
}

/* OpenAI's image_url is an object or a text, Anthropic's source an object. */
static const json_t *image_of(const json_t *part)
{
    const json_t *image = json_object_get(part, "image_url");
    const json_t *source = json_object_get(part, "source");

    if (json_is_object(image))
        image = json_object_get(image, "url");
    if (json_is_object(source)) {
        image = json_object_get(source, "data");
        if (image == NULL)
            image = json_object_get(source, "url");
    }
    return image;
}

static bool add_content(struct prompt *prompt, const json_t *content,
                        struct refusal *refusal);

/* Text is what stands under one of these names, whatever the type says; the
 * results of tools have contents of their own. What else there is, such as a
 * call of a tool, is part of the prompt as JSON. */
static bool add_part(struct prompt *prompt, const json_t *part,
                     struct refusal *refusal)
{
    const json_t *image = image_of(part);
    const json_t *text = json_object_get(part, "text");
    const json_t *content = json_object_get(part, "content");

    if (!json_is_object(part))
        return refuse_field(refusal, "content", "a part is not an object");
    if (json_is_string(text))
        add_string(prompt, text);
    else if (json_is_string(image))
        prompt_image(prompt, json_string_value(image),
                     json_string_length(image));
    else if (content != NULL)
        return add_content(prompt, content, refusal);
    else
        add_json(prompt, part);
    return true;
}

static bool add_content(struct prompt *prompt, const json_t *content,
                        struct refusal *refusal)
{
    size_t index;
    json_t *part;

    if (json_is_string(content)) {
        add_string(prompt, content);
        return true;
    }
    if (content == NULL || json_is_null(content))
        return true;
    if (!json_is_array(content))
        return refuse_field(refusal, "content",
                            "content is neither text nor a list");
    json_array_foreach(content, index,
                       part) if (!add_part(prompt, part, refusal)) return false;
    return true;
}

bool content_message(struct prompt *prompt, const char *role,
                     const json_t *content, struct refusal *refusal)
{
    prompt_open(prompt, role);
    if (!add_content(prompt, content, refusal))
        return false;
    prompt_close(prompt);
    return true;
}

void content_tools(struct prompt *prompt, const json_t *tools)
{
    if (json_array_size(tools) == 0)
        return;
    prompt_open(prompt, "tools");
    add_json(prompt, tools);
    prompt_close(prompt);
}

static bool add_message(struct prompt *prompt, const json_t *message,
                        const char *param, struct refusal *refusal)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    const json_t *calls = json_object_get(message, "tool_calls");

    if (role == NULL)
        return refuse_field(refusal, param, "a message has no role");
    prompt_open(prompt, role);
    if (!add_content(prompt, json_object_get(message, "content"), refusal))
        return false;
    if (json_array_size(calls) > 0)
        add_json(prompt, calls);
    prompt_close(prompt);
    return true;
}

bool content_messages(struct prompt *prompt, const json_t *messages,
                      const char *param, struct refusal *refusal)
{
    size_t index;
    json_t *message;

    if (json_array_size(messages) == 0)
        return refuse_field(refusal, param, "%s must be a list of messages",
                            param);
    json_array_foreach(messages, index,
                       message) if (!add_message(prompt, message, param,
                                                 refusal)) return false;
    return true;
}
