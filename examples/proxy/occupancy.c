/* SPDX-License-Identifier: MIT */
#include "occupancy.h"

#include <jansson.h>
#include <math.h>

/* LMCache's usual chunk. */
static const double tokens_of_key = 256;

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool set_keys(double keys, double capacity, struct occupancy *occupancy)
{
    if (!(keys >= 0) || !(capacity > 0))
        return false;
    occupancy->part = fmin(keys * tokens_of_key / capacity, 1);
    return true;
}

static bool read_workers(const json_t *workers, double capacity,
                         struct occupancy *occupancy)
{
    double most = 0;

    if (json_array_size(workers) == 0) {
        occupancy->available = 0;
        return true;
    }
    for (size_t i = 0; i < json_array_size(workers); i++) {
        double keys = number(json_array_get(workers, i), "key_count");

        if (!(keys >= 0))
            return false;
        most = fmax(most, keys);
    }
    return set_keys(most, capacity, occupancy);
}

static bool read_object(const json_t *object, double capacity,
                        struct occupancy *occupancy)
{
    const json_t *available = json_object_get(object, "cache_available");
    const json_t *workers = json_object_get(object, "workers");
    double part = number(object, "occupancy");

    if (json_is_boolean(available))
        occupancy->available = json_is_true(available);
    if (json_is_array(workers))
        return read_workers(workers, capacity, occupancy);
    if (part >= 0 && part <= 1) {
        occupancy->part = part;
        return true;
    }
    return set_keys(number(object, "key_count"), capacity, occupancy) ||
           json_is_boolean(available);
}

bool occupancy_read(const void *body, size_t len, double capacity,
                    struct occupancy *occupancy)
{
    json_t *object = json_loadb(body, len, 0, NULL);
    bool good;

    *occupancy = (struct occupancy){(double)NAN, 1};
    good = json_is_object(object) && read_object(object, capacity, occupancy);
    json_decref(object);
    return good;
}
