/* SPDX-License-Identifier: MIT */
#include "json_parts.h"

#include "counters.h"
#include "labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void json_put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new_nocheck(object, key, value);
}

json_t *json_words(const char *text)
{
    char clean[512];

    clean_text(clean, sizeof(clean), text);
    return json_string_nocheck(clean);
}

json_t *json_figure(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

json_t *json_ms(int64_t ns)
{
    return ns < 0 ? json_null() : json_real((double)ns / 1e6);
}

json_t *json_digest(uint64_t digest)
{
    char text[17];

    if (digest == 0)
        return json_null();
    snprintf(text, sizeof(text), "%016" PRIx64, digest);
    return json_string_nocheck(text);
}

json_t *json_histogram(const struct histogram *histogram, double divisor)
{
    json_t *object = json_object(), *bounds = json_array(),
           *counts = json_array();

    for (unsigned i = 0; i < COUNTER_BUCKETS; i++) {
        json_array_append_new(bounds,
                              json_figure(histogram_bound(i) / divisor));
        json_array_append_new(counts, json_count(histogram->buckets[i]));
    }
    json_put(object, "bounds", bounds);
    json_put(object, "counts", counts);
    json_put(object, "sum", json_figure(histogram->sum / divisor));
    json_put(object, "count", json_count(histogram->count));
    return object;
}
