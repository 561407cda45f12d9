/* SPDX-License-Identifier: MIT */
/*
 * Parts of a message, of all dialects: their names do not collide.
 */
#include "prompt.h"

#include <string.h>

/* Tokens that a picture, a sound or a file comes to, about: their true number
 * depends on model and content, and no estimate at all would be further off.
 * Pictures: of 1,024 by 1,024 dots, most models make 700 to 1,400. */
enum { IMAGE_TOKENS = 1000, SOUND_TOKENS = 500, FILE_TOKENS = 2000 };

enum treatment { TEXT, LABELLED, MARK, DOCUMENT, CALL, RESULT };

struct part_kind {
    const char *type;
    enum treatment treatment;
    const char *field;
    int64_t tokens;
};

static const struct part_kind part_kinds[] = {
    {"text", TEXT, "text", 0},
    {"input_text", TEXT, "text", 0},
    {"output_text", TEXT, "text", 0},
    {"refusal", LABELLED, "refusal", 0},
    {"thinking", LABELLED, "thinking", 0},
    {"image", MARK, NULL, IMAGE_TOKENS},
    {"image_url", MARK, NULL, IMAGE_TOKENS},
    {"input_image", MARK, NULL, IMAGE_TOKENS},
    {"video_url", MARK, NULL, FILE_TOKENS},
    {"input_audio", MARK, NULL, SOUND_TOKENS},
    {"audio_url", MARK, NULL, SOUND_TOKENS},
    {"file", MARK, NULL, FILE_TOKENS},
    {"input_file", MARK, NULL, FILE_TOKENS},
    {"document", DOCUMENT, "source", FILE_TOKENS},
    {"tool_use", CALL, "input", 0},
    {"tool_result", RESULT, "content", 0},
};

/* What is new to us is told apart by its content. */
static const struct part_kind unknown_kind = {"", MARK, NULL, 0};

static const struct part_kind *kind_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));

    for (size_t i = 0; type && i < sizeof part_kinds / sizeof *part_kinds; i++)
        if (strcmp(type, part_kinds[i].type) == 0)
            return &part_kinds[i];
    return &unknown_kind;
}

static void mark(struct prompt *prompt, const json_t *part, int64_t tokens)
{
    prompt_labelled(prompt, "mark", part);
    prompt->marked += tokens;
}

/* A document may be text, or blocks of it. */
static bool document(struct prompt *prompt, const json_t *part,
                     const struct part_kind *kind, const char *param)
{
    const json_t *source = asked_field(part, kind->field);
    const json_t *data = asked_field(source, "data");
    const json_t *content = asked_field(source, "content");
    const char *type = json_string_value(json_object_get(source, "type"));

    if (!content && (!type || strcmp(type, "text") != 0)) {
        mark(prompt, part, kind->tokens);
        return true;
    }
    prompt_labelled(prompt, "title", asked_field(part, "title"));
    prompt_labelled(prompt, "context", asked_field(part, "context"));
    prompt_labelled(prompt, "document", data);
    return prompt_content(prompt, content, param);
}

static bool result(struct prompt *prompt, const json_t *part,
                   const struct part_kind *kind, const char *param)
{
    bool failed = json_is_true(json_object_get(part, "is_error"));

    prompt_part(prompt, failed ? "error" : "result");
    if (!prompt_content(prompt, asked_field(part, kind->field), param))
        return false;
    prompt_next_value(prompt);
    return true;
}

static bool known_part(struct prompt *prompt, const json_t *part,
                       const struct part_kind *kind, bool first,
                       const char *param)
{
    const json_t *field = kind->field ? asked_field(part, kind->field) : NULL;

    switch (kind->treatment) {
    case TEXT:
        if (!first)
            prompt_part(prompt, "");
        prompt_value(prompt, field);
        return true;
    case LABELLED:
        prompt_labelled(prompt, kind->type, field);
        return true;
    case DOCUMENT:
        return document(prompt, part, kind, param);
    case CALL:
        prompt_call(prompt, asked_field(part, "name"), field);
        return true;
    case RESULT:
        return result(prompt, part, kind, param);
    default:
        mark(prompt, part, kind->tokens);
        return true;
    }
}

static bool one_part(struct prompt *prompt, const json_t *part, bool first,
                     const char *param)
{
    static const struct part_kind text = {"text", TEXT, NULL, 0};

    if (json_is_object(part))
        return known_part(prompt, part, kind_of(part), first, param);
    if (!json_is_string(part))
        return asked_refuse(prompt->error, param,
                            "A part of a content must be an object.");
    known_part(prompt, NULL, &text, first, param);
    prompt_value(prompt, part);
    return true;
}

bool prompt_content(struct prompt *prompt, const json_t *content,
                    const char *param)
{
    size_t index;
    json_t *part;

    if (content && !json_is_string(content) && !json_is_array(content))
        return asked_refuse(prompt->error, param,
                            "A content must be a string or an array of parts.");
    if (!json_is_array(content))
        prompt_value(prompt, content);
    json_array_foreach(
        content, index,
        part) if (!one_part(prompt, part, index == 0, param)) return false;
    return true;
}
