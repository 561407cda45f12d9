/* SPDX-License-Identifier: MIT */
/* Smooth weighted round-robin as nginx does it: a scan over all peers, with
 * sums that are plain integers. */
#ifndef TESTS_UNIT_NGINX_H
#define TESTS_UNIT_NGINX_H

#include <stddef.h>
#include <stdint.h>

#define NGINX_PEERS 12
#define NGINX_NONE SIZE_MAX

struct nginx_peer {
    int present;
    int usable;
    uint64_t order; /* place in the list */
    int64_t weight;
    int64_t sum;
};

struct nginx {
    struct nginx_peer peers[NGINX_PEERS];
};

/* A set of peers by number; what is not present does not count. */
typedef unsigned nginx_set;

nginx_set nginx_usable(const struct nginx *nginx);

/* The peer of |set| that would be served, or NGINX_NONE; |bid| receives its
 * sum with the weight that it gains. */
size_t nginx_peek(const struct nginx *nginx, nginx_set set, int64_t *bid);

/* Serves it: every peer of |set| gains its weight, it pays their total. */
size_t nginx_serve(struct nginx *nginx, nginx_set set);

#endif
