/* SPDX-License-Identifier: MIT */
/* Which LoRA adapters an engine holds: a short list for each, keyed by digests.
 *
 *     [ digest, seen at, requests in flight ] …     least recently used first
 *
 * An adapter is held while a request for it is in flight, and for a time after
 * it was last seen at work or served. An engine that says how many it can hold
 * (slots) is never taken to hold more, those in flight apart. */
#ifndef LBR_MODELS_ADAPTERS_H
#define LBR_MODELS_ADAPTERS_H

#include "base/bytes.h"
#include "base/memory.h"

struct lbr_adapter {
    uint64_t digest;
    uint64_t seen_at; /* LBR_NEVER: only requests in flight */
    uint32_t in_flight;
};

struct lbr_adapters {
    struct lbr_adapter *list; /* NULL: none yet */
    uint32_t count, capacity;
    int32_t slots;     /* -1: unknown */
    uint64_t slots_at; /* when the engine said so, or was heard of */
};

/* What is known about room for one more adapter. */
enum lbr_adapter_room {
    LBR_ADAPTER_ROOM,   /* a slot is free */
    LBR_ADAPTER_UNSURE, /* nothing is known */
    LBR_ADAPTER_FULL    /* another one would have to go */
};

/* Digest of an adapter's name, never 0. */
uint64_t lbr_adapter_digest(const char *name, size_t length);

void lbr_adapters_init(struct lbr_adapters *adapters);
void lbr_adapters_destroy(struct lbr_adapters *adapters,
                          struct lbr_memory *memory);

/* Makes room for |count| more digests. Returns 0 without memory. */
int lbr_adapters_reserve(struct lbr_adapters *adapters,
                         struct lbr_memory *memory, size_t count);

/* Takes note of how many it can hold; -1 leaves what was known. */
void lbr_adapters_set_slots(struct lbr_adapters *adapters, int32_t slots,
                            uint64_t now);

/* Forgets all but those with requests in flight. */
void lbr_adapters_forget(struct lbr_adapters *adapters);

/* Notes that |digest| (not 0) was seen there. Without room nothing happens. */
void lbr_adapters_see(struct lbr_adapters *adapters, uint64_t digest,
                      uint64_t now);

/* Counts a request for |digest| that is sent there. Returns 0 without memory or
 * room; then it is not counted, and its end must not be told. */
int lbr_adapters_sent(struct lbr_adapters *adapters, struct lbr_memory *memory,
                      uint64_t digest);

/* A counted request ended. */
void lbr_adapters_ended(struct lbr_adapters *adapters, uint64_t digest);

/* Counts |step| (1 or -1) counted requests, for looks at another time. */
void lbr_adapters_shift(struct lbr_adapters *adapters, uint64_t digest,
                        int step);

/* Whether |digest| is held; what was seen more than |ttl| ago is not. */
int lbr_adapters_hold(const struct lbr_adapters *adapters, uint64_t digest,
                      uint64_t now, uint64_t ttl);

/* How many are held. */
uint32_t lbr_adapters_held(const struct lbr_adapters *adapters, uint64_t now,
                           uint64_t ttl);

enum lbr_adapter_room lbr_adapters_room(const struct lbr_adapters *adapters,
                                        uint64_t now, uint64_t ttl);

/* Upper bound of the memory, growth included. */
size_t lbr_adapters_estimate(void);

/* As bytes, and back: what is known without a request in flight. Loading only
 * reads on if |adapters| is NULL; else it fills in what is empty, as far as
 * lbr_adapters_reserve() has made room. Returns how many there are. */
void lbr_adapters_save(const struct lbr_adapters *adapters,
                       struct lbr_writer *writer);
uint32_t lbr_adapters_load(struct lbr_adapters *adapters,
                           struct lbr_reader *reader);

/* Whether nothing is known. */
static inline int lbr_adapters_unknown(const struct lbr_adapters *adapters)
{
    return !adapters->count && adapters->slots < 0;
}

#endif
