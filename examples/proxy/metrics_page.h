/* SPDX-License-Identifier: MIT */
/*
 * The gateway's own metrics in Prometheus text:
 *
 *     lbroute_…          the gateway: requests, answers, durations
 *     lbroute_cluster_…  what is shared with other gateways, if anything
 *     lbroute_router_…   the router as a whole
 *     lbroute_pool_…     {pool}
 *     lbroute_target_…   {target, pool}, for TARGET_VIEWS_MAX targets at most
 *
 * Neither clients nor sessions are labels: their number has no bound.
 */
#ifndef LBROUTE_PROXY_METRICS_PAGE_H
#define LBROUTE_PROXY_METRICS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct evbuffer;
struct gateway;

/** Appends the page; false: out of memory. */
bool metrics_page_write(struct gateway *gateway, uint64_t now,
                        struct evbuffer *out);

/** Its parts. */
void metrics_gateway_write(const struct gateway *gateway, uint64_t now,
                           struct evbuffer *out);
void metrics_cluster_write(const struct gateway *gateway, uint64_t now,
                           struct evbuffer *out);
void metrics_router_write(struct gateway *gateway, struct evbuffer *out);
bool metrics_pools_write(struct gateway *gateway, struct evbuffer *out);
bool metrics_targets_write(struct gateway *gateway, uint64_t now,
                           struct evbuffer *out);

#endif
