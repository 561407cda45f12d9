/* SPDX-License-Identifier: MIT */
/*
 * Random KV events, and picks by what is resident: stores, some of blocks whose
 * parents were never told or are gone, removals, clears, gaps, restarts, and
 * targets that go and come back, in a router with room for few of the blocks.
 */
#ifndef TESTS_SOAK_EVENTS_H
#define TESTS_SOAK_EVENTS_H

#include <stdint.h>

/* Fails if memory grew in the second half. */
void soak_events(uint64_t operations, uint64_t seed);

#endif
