/* SPDX-License-Identifier: MIT */
#include "report_object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct report_object object_begin(void)
{
    struct report_object object = {json_object(), false};

    return object;
}

void object_put(struct report_object *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) != 0)
        object->failed = true;
}

/* Returns the object, or NULL when it lacks something. */
json_t *object_end(struct report_object *object)
{
    if (!object->failed)
        return object->json;
    json_decref(object->json);
    return NULL;
}

json_t *object_number(double value, double steps)
{
    if (!isfinite(value))
        return json_null();
    return json_real(round(value * steps) / steps);
}

json_t *object_count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* A string as it is, or, when it is not UTF-8, with '?' for each odd byte. */
json_t *object_text(const char *value)
{
    json_t *string = json_string(value);
    char *copy;

    if (string != NULL)
        return string;
    copy = malloc(strlen(value) + 1);
    if (copy == NULL)
        return NULL;
    strcpy(copy, value);
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

json_t *object_quantiles(const struct replay_quantiles *measure)
{
    struct report_object object = object_begin();

    object_put(&object, "mean", object_number(measure->mean, OBJECT_MILLI));
    object_put(&object, "p50", object_number(measure->p50, OBJECT_MILLI));
    object_put(&object, "p90", object_number(measure->p90, OBJECT_MILLI));
    object_put(&object, "p99", object_number(measure->p99, OBJECT_MILLI));
    return object_end(&object);
}
