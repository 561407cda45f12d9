/* SPDX-License-Identifier: MIT */
/*
 * Prompts that are no conversation. Several of them in one request count as
 * one: they go to the same engine.
 */
#include "prompt.h"

static bool mixed(struct prompt *prompt, const char *name)
{
    return asked_refuse(prompt->error, name,
                        "A prompt must be a string, an array of strings, an "
                        "array of token ids, or an array of such arrays.");
}

static bool add_text(struct prompt *prompt, const json_t *text, bool first)
{
    if (!json_is_string(text))
        return false;
    if (!first)
        prompt_part(prompt, "");
    prompt_value(prompt, text);
    return true;
}

/* An array is of one kind, which its first element tells. */
static bool add_array(struct prompt *prompt, const json_t *array)
{
    const json_t *sample = json_array_get(array, 0);
    size_t index;
    json_t *element;

    if (json_is_integer(sample))
        return asked_tokens(array, &prompt->tokens);
    json_array_foreach(
        array, index,
        element) if (json_is_array(sample)
                         ? !asked_tokens(element, &prompt->tokens)
                         : !add_text(prompt, element, index == 0)) return false;
    return true;
}

bool prompt_raw(struct prompt *prompt, const json_t *body, const char *name)
{
    const json_t *value = asked_field(body, name);

    if (json_is_object(json_array_get(value, 0)))
        return prompt_content(prompt, value, name);
    if (json_is_array(value))
        return add_array(prompt, value) || mixed(prompt, name);
    return !value || add_text(prompt, value, true) || mixed(prompt, name);
}
