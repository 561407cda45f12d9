/* SPDX-License-Identifier: MIT */
/*
 * What waits at one of the routers of a run: in its host's queue, in order of
 * arrival, or in its own, of which only the number is known here.
 */
#ifndef LBROUTE_REPLAY_GATEWAY_H
#define LBROUTE_REPLAY_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gateway {
    uint32_t *queue; /**< Of the host: places [head, tail). */
    size_t head;
    size_t tail;
    size_t capacity;
    size_t waiting; /**< In the router's queue. */
    uint64_t alarm; /**< The next one that counts; UINT64_MAX: none. */
    bool settled;   /**< Somebody is done: a slot is free. */
};

/** Whether nobody waits at the host. */
bool gateway_is_empty(const struct gateway *gateway);

/** A request waits at the host, behind all others. */
void gateway_push(struct gateway *gateway, uint32_t request);

/** The request that waits at the host longest; there is one. */
uint32_t gateway_first(const struct gateway *gateway);

/** That one waits no longer. */
void gateway_pop(struct gateway *gateway);

void gateway_release(struct gateway *gateway);

#endif
