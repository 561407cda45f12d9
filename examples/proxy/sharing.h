/* SPDX-License-Identifier: MIT */
/*
 * What the gateway shares with others before the same targets: settings of its
 * router, and the cluster that carries deltas.
 */
#ifndef LBROUTE_PROXY_SHARING_H
#define LBROUTE_PROXY_SHARING_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_cluster;
struct gateway;

/** Sets the options of a router that shares; none, and true, where no Redis is
 * configured. false: the system gives no random numbers. */
bool sharing_prepare(const struct config *config,
                     lbroute_router_options *options);

/** Begins to share, if so configured; false with a message. */
bool sharing_open(struct gateway *gateway, const struct config *config,
                  char *error, size_t error_size);

/** Tells the others once more: what is under way is over. */
void sharing_finish(struct gateway *gateway);

/** Does nothing to a gateway that shares nothing. */
void sharing_close(struct gateway *gateway);

/** Whether two configurations differ in what is shared, and with whom. */
bool sharing_differs(const struct config *a, const struct config *b);

#endif
