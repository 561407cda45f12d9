/* SPDX-License-Identifier: MIT */
/*
 * A naive model of which LoRA adapters a target is taken to hold: those of
 * requests in flight, and those seen within the time to live, as far as there
 * are slots. Adapters are numbers below RESIDENCY_ADAPTERS.
 */
#ifndef LBROUTE_TESTS_PROPERTY_RESIDENCY_H
#define LBROUTE_TESTS_PROPERTY_RESIDENCY_H

#include <stdint.h>

enum { RESIDENCY_ADAPTERS = 4 };

struct residency {
    struct {
        int seen; /* and not given up since */
        uint64_t seen_at;
        uint64_t order; /* of the sightings */
        uint32_t in_flight;
    } adapters[RESIDENCY_ADAPTERS];
    uint64_t sightings;
    int32_t slots; /* -1: unknown */
    uint64_t slots_at;
};

/** Nothing is known. */
void residency_init(struct residency *residency);

/** The engine was heard of; it has `slots`, or -1: it did not say. */
void residency_slots(struct residency *residency, int32_t slots, uint64_t now);

/** An adapter was seen at work, or served. */
void residency_see(struct residency *residency, uint32_t adapter, uint64_t now);

/** Only what is in flight is held. */
void residency_forget(struct residency *residency);

void residency_sent(struct residency *residency, uint32_t adapter);
void residency_ended(struct residency *residency, uint32_t adapter);

/** 1: holds the adapter; 0.5: has a slot for it; 0.25: unknown; 0: full. */
double residency_score(const struct residency *residency, uint32_t adapter,
                       uint64_t now, uint64_t ttl);

#endif
