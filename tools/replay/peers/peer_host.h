/* SPDX-License-Identifier: MIT */
/*
 * A host whose router is a peer's rule: keeps what the rule may see.
 */
#ifndef LBROUTE_REPLAY_PEER_HOST_H
#define LBROUTE_REPLAY_PEER_HOST_H

#include "../fleet_spec.h"
#include "../workload.h"
#include "peer.h"

struct peer_host;

struct host_parameter;

struct peer_host_options {
    const struct peer_rule *rule;
    const struct fleet_spec *fleet;
    /** Those of others are passed over. */
    const struct host_parameter *parameters;
    size_t parameter_count;
    uint64_t seed;
};

/** Value of the index-th parameter of a rule; the last that is set counts. */
double peer_host_value(const struct peer_rule *rule, size_t index,
                       const struct host_parameter *parameters,
                       size_t parameter_count);

struct peer_host *peer_host_create(const struct peer_host_options *options,
                                   const struct workload *workload);

void peer_host_destroy(struct peer_host *host);

/** KV events arrive, and this is what they say. */
void peer_host_watch(struct peer_host *host, peer_events_run run,
                     void *context);

/** Chooses a target for a request. Returns false if all are full. */
bool peer_host_pick(struct peer_host *host, uint32_t request, uint64_t now,
                    uint32_t *target);

/** Whether there is none that may ever be chosen. */
bool peer_host_is_drained(const struct peer_host *host);

void peer_host_first_token(struct peer_host *host, uint32_t request,
                           uint64_t now);

/** The answer is complete, or will never come: then it has no tokens. */
void peer_host_done(struct peer_host *host, uint32_t request,
                    uint32_t output_tokens, uint64_t now);

void peer_host_scrape(struct peer_host *host, uint32_t target,
                      const struct peer_gauges *gauges, uint64_t now);

#endif
