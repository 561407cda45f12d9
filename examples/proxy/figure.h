/* SPDX-License-Identifier: MIT */
/*
 * A number in a struct that becomes a family of metrics: tables of these say
 * what the metrics page shows.
 */
#ifndef LBROUTE_PROXY_FIGURE_H
#define LBROUTE_PROXY_FIGURE_H

#include <stddef.h>

enum figure_kind {
    FIGURE_REAL,
    FIGURE_U64,
    FIGURE_U32,
    FIGURE_I32, /**< -1: unknown. */
    FIGURE_NS,  /**< int64_t ns, shown in seconds; -1: unknown. */
    FIGURE_REAL_NS
};

struct figure {
    const char *name; /**< Of the family. */
    const char *type; /**< "counter" or "gauge". */
    const char *help;
    enum figure_kind kind;
    size_t offset;
};

/** Its value in a struct, NaN: unknown. */
double figure_value(const struct figure *figure, const void *from);

#endif
