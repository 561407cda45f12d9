/* SPDX-License-Identifier: MIT */
/*
 * Which LoRA adapter each request of a workload asks for. No trace says it, so
 * the seed draws it: adapter number r, from 1 on, is asked for in proportion to
 * r to the power of -skew.
 */
#ifndef LBROUTE_REPLAY_WORKLOAD_ADAPTERS_H
#define LBROUTE_REPLAY_WORKLOAD_ADAPTERS_H

#include "workload.h"

struct adapter_options {
    uint32_t adapters; /**< How many there are, at least 1. */
    double skew;       /**< 0: all alike. */
    uint64_t seed;
};

/** Draws an adapter for each session, and for each request that has none. The
 * content of a block is from then on also a matter of the adapter: what was
 * computed with one is of no use to another. Requests without a session are
 * drawn for by their place, so that a limit on their number changes nothing. */
void workload_draw_adapters(struct workload *workload,
                            const struct adapter_options *options);

/** Room for the name of an adapter. */
enum { ADAPTER_NAME_MAX = 24 };

/** The name of an adapter, from 1 on. */
void adapter_name(uint32_t adapter, char name[ADAPTER_NAME_MAX]);

#endif
