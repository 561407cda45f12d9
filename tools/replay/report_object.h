/* SPDX-License-Identifier: MIT */
/* JSON objects that are built key by key. */
#ifndef LBROUTE_REPLAY_REPORT_OBJECT_H
#define LBROUTE_REPLAY_REPORT_OBJECT_H

#include "report.h"

#include <jansson.h>

/* Steps of a unit that are kept: three digits behind the point, six, or, of
 * money, twelve. */
#define OBJECT_MILLI 1e3
#define OBJECT_MICRO 1e6
#define OBJECT_PICO 1e12

/* An object that remembers whether anything was missing. */
struct report_object {
    json_t *json;
    bool failed;
};

struct report_object object_begin(void);
void object_put(struct report_object *object, const char *key, json_t *value);

/* Returns the object, or NULL when it lacks something. */
json_t *object_end(struct report_object *object);

json_t *object_number(double value, double steps);
json_t *object_count(uint64_t value);
json_t *object_quantiles(const struct replay_quantiles *measure);

/* A string as it is, or, when it is not UTF-8, with '?' for each odd byte. */
json_t *object_text(const char *value);

#endif
