/* SPDX-License-Identifier: MIT */
#include "figure.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double known(double value, double unit)
{
    return value < 0.0 ? (double)NAN : value / unit;
}

static double real_at(const char *at)
{
    double value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static double u64_at(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return (double)value;
}

static double u32_at(const char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static double i32_at(const char *at)
{
    int32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static double i64_at(const char *at)
{
    int64_t value;

    memcpy(&value, at, sizeof(value));
    return (double)value;
}

double figure_value(const struct figure *figure, const void *from)
{
    const char *at = (const char *)from + figure->offset;

    switch (figure->kind) {
    case FIGURE_REAL:
        return real_at(at);
    case FIGURE_U64:
        return u64_at(at);
    case FIGURE_U32:
        return u32_at(at);
    case FIGURE_I32:
        return known(i32_at(at), 1.0);
    case FIGURE_NS:
        return known(i64_at(at), 1e9);
    case FIGURE_REAL_NS:
        return real_at(at) / 1e9;
    }
    return (double)NAN;
}
