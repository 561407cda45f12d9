/* SPDX-License-Identifier: MIT */
/*
 * JSON values of what the router says. Unknown is null, and no text can make
 * an answer fail.
 */
#ifndef LBROUTE_PROXY_JSON_PARTS_H
#define LBROUTE_PROXY_JSON_PARTS_H

#include <jansson.h>

#include <stdint.h>

struct histogram;

/** Puts a value, which it takes over, under a literal key. Without memory the
 * object lacks it. */
void json_put(json_t *object, const char *key, json_t *value);

/** Of any bytes. */
json_t *json_words(const char *text);
/** NaN, infinity: null. */
json_t *json_figure(double value);
json_t *json_count(uint64_t value);
/** -1: null. */
json_t *json_known(int64_t value);
/** Of ns, in milliseconds; below 0: null. */
json_t *json_ms(int64_t ns);
/** As 16 hexadecimal digits, as in headers; 0: null. */
json_t *json_digest(uint64_t digest);
/** {"bounds": […], "counts": […], "sum": s, "count": n}; `divisor` as for
 * metrics_histogram(). */
json_t *json_histogram(const struct histogram *histogram, double divisor);

#endif
