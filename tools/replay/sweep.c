/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include "parse_number.h"

#include <math.h>
#include <string.h>

/* Loads of a workload, as --load takes them. */
#define LEAST_LOAD 1e-3
#define MOST_LOAD 1e6

static const char prefix[] = "load=";

/* Reads a number up to `end`, and what stands behind that. */
static bool read_part(const char **text, char end, double *number)
{
    size_t length = strcspn(*text, ":");
    char part[64] = {0};

    if (length >= sizeof part || (*text)[length] != end)
        return false;
    memcpy(part, *text, length);
    *text += length + (end != '\0');
    return parse_real(part, LEAST_LOAD, MOST_LOAD, number);
}

bool sweep_parse(const char *text, struct sweep *sweep)
{
    struct sweep read = {0};
    double points;

    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    text += strlen(prefix);
    if (!read_part(&text, ':', &read.from) ||
        !read_part(&text, ':', &read.to) || !read_part(&text, '\0', &read.step))
        return false;
    points = floor((read.to - read.from) / read.step + 1e-6) + 1.0;
    if (points < 1.0 || points > SWEEP_MAX_POINTS)
        return false;
    read.count = (size_t)points;
    *sweep = read;
    return true;
}

/* Rounded, so that 0.5 + 2 · 0.1 is 0.7. */
double sweep_point(const struct sweep *sweep, size_t index)
{
    if (sweep->count == 0)
        return 1.0;
    return round((sweep->from + (double)index * sweep->step) * 1e9) / 1e9;
}

size_t sweep_runs(const struct sweep *sweep)
{
    return sweep->count > 0 ? sweep->count : 1;
}
