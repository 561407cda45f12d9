/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text, version 0.0.4: a family (HELP and TYPE, once), then its
 * samples.
 *
 *     # HELP lbroute_target_load Requests in flight.
 *     # TYPE lbroute_target_load gauge
 *     lbroute_target_load{target="a",pool="chat"} 3
 */
#ifndef LBROUTE_PROXY_METRICS_TEXT_H
#define LBROUTE_PROXY_METRICS_TEXT_H

#include "counters.h"

#include <stddef.h>
#include <stdint.h>

struct evbuffer;

struct metrics_label {
    const char *name;
    const char *value; /**< Any bytes: it is escaped. */
};

/** Begins a family; `type` is "counter", "gauge" or "histogram". */
void metrics_family(struct evbuffer *out, const char *name, const char *type,
                    const char *help);

/** A sample with labels; NaN, which says that nothing is known, is left out. */
void metrics_sample(struct evbuffer *out, const char *name,
                    const struct metrics_label *labels, size_t label_count,
                    double value);

/** Likewise, for counts beyond 2^53. */
void metrics_count(struct evbuffer *out, const char *name,
                   const struct metrics_label *labels, size_t label_count,
                   uint64_t value);

/** Family and samples of a histogram; bounds and sum are divided by `divisor`
 * (of the decision's time 1,000). */
void metrics_histogram(struct evbuffer *out, const char *name, const char *help,
                       const struct histogram *histogram, double divisor);

#endif
