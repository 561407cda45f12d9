/* SPDX-License-Identifier: MIT */
/*
 * The LoRA adapters in the memory of one engine, as vLLM keeps them: as many as
 * there are slots, the one used longest ago goes first, and never one that a
 * running request uses.
 *
 *     [ in use by requests ] [ idle: oldest … newest ] [ never filled ]
 */
#ifndef LBROUTE_REPLAY_ADAPTER_SLOTS_H
#define LBROUTE_REPLAY_ADAPTER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/** No adapter: the model as it is, which needs no slot. Adapters count from 1.
 */
enum { ADAPTER_NONE = 0 };

struct adapter_slot {
    uint32_t adapter; /**< ADAPTER_NONE: never filled. */
    uint32_t running; /**< Requests that use it. */
    uint64_t idle_at; /**< Number of the release that made it idle. */
};

struct adapter_slots {
    struct adapter_slot *slots;
    uint32_t count;
    uint64_t releases;
};

/** Starts with empty slots. */
void adapter_slots_init(struct adapter_slots *slots, uint32_t count);

void adapter_slots_release(struct adapter_slots *slots);

/** Whether a request for the adapter can run beside those that do: it is there,
 * or another one is not in use. */
bool adapter_slots_admit(const struct adapter_slots *slots, uint32_t adapter);

/** A request that is admitted begins to run. Returns whether its adapter had to
 * be loaded. */
bool adapter_slots_begin(struct adapter_slots *slots, uint32_t adapter);

/** A request runs no more. */
void adapter_slots_end(struct adapter_slots *slots, uint32_t adapter);

#endif
