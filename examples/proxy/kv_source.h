/* SPDX-License-Identifier: MIT */
/*
 * KV events of one publisher, on their way into the router.
 *
 *     joining ──(replayed, or nobody answers)──▶ live ◀──────────┐
 *        what was said before                     │ something     │ it came, or
 *                                                 ▼ is missing    │ forget all
 *                         waiting ──(1 s)──▶ replaying ───────────┘
 */
#ifndef LBROUTE_PROXY_KV_SOURCE_H
#define LBROUTE_PROXY_KV_SOURCE_H

#include "config.h"

#include <stdbool.h>
#include <stdint.h>

struct backend;
struct kv_source;

/** Subscribes; NULL: bad endpoint, or out of memory or descriptors. `zmq` is a
 * context of ZeroMQ. */
struct kv_source *kv_source_new(struct backend *backend, uint32_t number,
                                const struct config_kv_source *settings,
                                void *zmq);

/** Whether it is what these settings ask for. */
bool kv_source_is(const struct kv_source *source,
                  const struct config_kv_source *settings);

/** Ends it; what it said is forgotten. NULL does nothing. */
void kv_source_free(struct kv_source *source);

#endif
