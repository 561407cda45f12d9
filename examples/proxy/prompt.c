/* SPDX-License-Identifier: MIT */
#include "prompt.h"

#include <inttypes.h>
#include <lbroute/lbroute.h>
#include <stdio.h>
#include <string.h>

static const char message_byte = '\xff', part_byte = '\xfe',
                  value_byte = '\xfd';

void prompt_message(struct prompt *prompt, const char *role)
{
    bytes_add(&prompt->text, &message_byte, 1);
    bytes_add_text(&prompt->text, role);
    bytes_add(&prompt->text, &value_byte, 1);
}

void prompt_part(struct prompt *prompt, const char *label)
{
    bytes_add(&prompt->text, &part_byte, 1);
    bytes_add_text(&prompt->text, label);
    bytes_add(&prompt->text, &value_byte, 1);
}

void prompt_next_value(struct prompt *prompt)
{
    bytes_add(&prompt->text, &value_byte, 1);
}

static uint64_t fold_text(uint64_t digest, const char *text, size_t len)
{
    return lbroute_kv_fold_key(digest, text, len);
}

static uint64_t fold(uint64_t digest, const json_t *value);

/* Members in any order are the same object. Where a client wants its prompt
 * cached changes from turn to turn and says nothing of the content. */
static uint64_t fold_object(uint64_t digest, const json_t *object)
{
    uint64_t sum = 0;
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)object, key,
                        member) if (strcmp(key, "cache_control") != 0) sum +=
        fold(fold_text(0, key, strlen(key)), member);
    return lbroute_kv_fold_key(digest, &sum, sizeof sum);
}

static uint64_t fold_array(uint64_t digest, const json_t *array)
{
    size_t index;
    json_t *element;

    json_array_foreach(array, index, element) digest = fold(digest, element);
    return lbroute_kv_fold_key(digest, &index, sizeof index);
}

/* Hashes a value without writing it out: it may be an image of megabytes. */
static uint64_t fold(uint64_t digest, const json_t *value)
{
    const unsigned char type = (unsigned char)json_typeof(value);
    double number = json_number_value(value);

    digest = lbroute_kv_fold_key(digest, &type, 1);
    if (json_is_object(value))
        return fold_object(digest, value);
    if (json_is_array(value))
        return fold_array(digest, value);
    if (json_is_string(value))
        return fold_text(digest, json_string_value(value),
                         json_string_length(value));
    return lbroute_kv_fold_key(digest, &number, sizeof number);
}

void prompt_value(struct prompt *prompt, const json_t *value)
{
    char mark[20];

    if (!value)
        return;
    if (json_is_string(value)) {
        bytes_add(&prompt->text, json_string_value(value),
                  json_string_length(value));
        return;
    }
    snprintf(mark, sizeof mark, "%016" PRIx64, fold(0, value));
    bytes_add_text(&prompt->text, mark);
}

void prompt_labelled(struct prompt *prompt, const char *label,
                     const json_t *value)
{
    if (!value)
        return;
    prompt_part(prompt, label);
    prompt_value(prompt, value);
    prompt_next_value(prompt);
}

static int take_json(const char *text, size_t len, void *context)
{
    bytes_add(context, text, len);
    return 0;
}

void prompt_json(struct prompt *prompt, const json_t *value)
{
    if (json_dump_callback(value, take_json, &prompt->text,
                           JSON_COMPACT | JSON_ENCODE_ANY))
        prompt->text.failed = true;
}
