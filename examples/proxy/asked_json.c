/* SPDX-License-Identifier: MIT */
#include "asked_json.h"

#include "json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers up to here are exact as real numbers, too. */
#define MOST_EXACT 9007199254740992.0 /* 2^53 */

static bool refuse(struct asked_error *error, int status, const char *param,
                   const char *text)
{
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s", text);
    snprintf(error->param, sizeof error->param, "%s", param);
    return false;
}

bool asked_refuse(struct asked_error *error, const char *param,
                  const char *text)
{
    return refuse(error, 400, param, text);
}

bool asked_starved(struct asked_error *error)
{
    return refuse(error, 503, "", "The gateway is out of memory.");
}

static const char *complaint(enum json_error_code code)
{
    switch (code) {
    case json_error_invalid_utf8:
        return "The request body is not valid UTF-8";
    case json_error_stack_overflow:
        return "The request body is nested too deeply";
    case json_error_duplicate_key:
        return "The request body names a key twice in one object";
    case json_error_numeric_overflow:
        return "The request body has a number that is too large";
    case json_error_null_byte_in_key:
        return "The request body has a NUL in a key";
    default:
        return "The request body is not valid JSON";
    }
}

/* Nothing of the body is quoted. */
static void explain(const struct json_read_error *found,
                    struct asked_error *error)
{
    if (found->code == json_error_out_of_memory) {
        asked_starved(error);
        return;
    }
    asked_refuse(error, "", "");
    snprintf(error->text, sizeof error->text, "%s (line %d, column %d).",
             complaint(found->code), found->line, found->column);
}

json_t *asked_parse(const void *body, size_t len, struct asked_error *error)
{
    struct json_read_error found;
    json_t *root;

    if (len == 0) {
        asked_refuse(error, "", "The request has no body.");
        return NULL;
    }
    root = json_read(body, len, &found);
    if (!root)
        explain(&found, error);
    else if (!json_is_object(root))
        asked_refuse(error, "", "The request body must be a JSON object.");
    else
        return root;
    json_decref(root);
    return NULL;
}

json_t *asked_field(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return json_is_null(value) ? NULL : value;
}

static bool wrong_type(struct asked_error *error, const char *name,
                       const char *wanted)
{
    asked_refuse(error, name, "");
    snprintf(error->text, sizeof error->text, "`%s` must be %s.", name, wanted);
    return false;
}

bool asked_name(const json_t *object, const char *name, char **copy,
                struct asked_error *error)
{
    const json_t *value = asked_field(object, name);
    const char *text = value ? json_string_value(value) : "";

    if (!text)
        return wrong_type(error, name, "a string");
    if (strlen(text) != (value ? json_string_length(value) : 0))
        return wrong_type(error, name, "a string without NUL");
    *copy = malloc(strlen(text) + 1);
    if (!*copy)
        return asked_starved(error);
    strcpy(*copy, text);
    return true;
}

bool asked_flag(const json_t *object, const char *name, bool *flag,
                struct asked_error *error)
{
    const json_t *value = asked_field(object, name);

    if (value && !json_is_boolean(value))
        return wrong_type(error, name, "true or false");
    *flag = json_is_true(value);
    return true;
}

bool asked_count(const json_t *object, const char *name, int64_t *count,
                 struct asked_error *error)
{
    const json_t *value = asked_field(object, name);
    double number = value ? json_number_value(value) : -1;

    if (value && !json_is_number(value))
        return wrong_type(error, name, "a whole number");
    if (number < 0)
        return true;
    if (number > MOST_EXACT)
        number = MOST_EXACT;
    if (number > (double)(int64_t)number)
        return wrong_type(error, name, "a whole number");
    *count = (int64_t)number;
    return true;
}

static bool add_token(const json_t *value, struct bytes *ids)
{
    json_int_t id = json_integer_value(value);
    uint32_t token = (uint32_t)id;

    if (!json_is_integer(value) || id < 0 || id > UINT32_MAX)
        return false;
    bytes_add(ids, &token, sizeof token);
    return true;
}

bool asked_tokens(const json_t *array, struct bytes *ids)
{
    size_t index;
    json_t *element;

    json_array_foreach(array, index,
                       element) if (!add_token(element, ids)) return false;
    return json_is_array(array);
}
