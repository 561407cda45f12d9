/* SPDX-License-Identifier: MIT */
/*
 * What is said of an offloaded KV cache:
 *
 *     {"occupancy": 0.42, "cache_available": true}     a part, and whether
 *     {"key_count": 1200}                              keys of 256 tokens
 *     {"workers": [{"key_count": 1200}, …]}            LMCache's controller,
 *                          GET /controller/workers?instance_id=…
 *
 * Each worker of an instance keeps its share of each chunk under a key of its
 * own, so that the fullest counts. An instance without workers is gone.
 */
#ifndef LBROUTE_PROXY_OCCUPANCY_H
#define LBROUTE_PROXY_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>

struct occupancy {
    double part; /**< 0 to 1; NaN: unknown. */
    int available;
};

/** Reads an answer; false: it says nothing of it. `capacity` is in tokens. */
bool occupancy_read(const void *body, size_t len, double capacity,
                    struct occupancy *occupancy);

#endif
