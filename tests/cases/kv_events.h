/* SPDX-License-Identifier: MIT */
/* KV events for cases of `precise_cache_aware`, told as the reports tell them.
 *
 * Blocks hold plain ranges of token ids, first … last, both included, and are
 * named by consecutive labels. Each call sends a batch of one event, with the
 * next sequence number, and gives its outcome; between kv_begin() and kv_send()
 * events are gathered into one batch. A call that the router refuses fails the
 * running test. */
#ifndef TESTS_CASES_KV_EVENTS_H
#define TESTS_CASES_KV_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "support/fleet.h"

enum { KV_EVENTS = 8, KV_BLOCKS = 64, KV_TOKENS = 16384, KV_SIZE = 16 };

/* One source of events, as a test speaks for it. Fields may be changed between
 * calls. */
struct kv {
    struct fleet *fleet;
    size_t index;        /* Whose cache it is. */
    uint32_t source;     /* 0 */
    uint64_t seq;        /* Of the next batch (0); UINT64_MAX: none has one. */
    double timestamp;    /* Of the next batch (NaN); stands still. */
    uint32_t block_size; /* KV_SIZE */
    int medium;          /* ANY */
    uint32_t group;
    const char *adapter; /* NULL: none. */
    const char *salt;    /* NULL: none. */
    const uint64_t *extra_keys;
    size_t extra_key_count;
    int gathering;
    size_t count; /* Events gathered. */
    lbroute_kv_event events[KV_EVENTS];
    uint64_t hashes[KV_EVENTS][KV_BLOCKS];
    lbroute_kv_result result; /* Of the latest batch. */
};

/* The first source of a target, with nothing sent yet. */
void kv_open(struct kv *kv, struct fleet *fleet, size_t index);

/* Token ids first, first + 1, …, below KV_TOKENS. */
const uint32_t *kv_tokens(uint32_t first);

/* Blocks |label|, |label| + 1, … of these tokens begin a prompt. */
int kv_store(struct kv *kv, uint64_t label, uint32_t first, uint32_t last);

/* The same behind the block |parent|. */
int kv_store_after(struct kv *kv, uint64_t parent, uint64_t label,
                   uint32_t first, uint32_t last);

/* |count| blocks are in |medium|, too; removed; all are gone. */
int kv_locate(struct kv *kv, uint64_t label, size_t count);
int kv_remove(struct kv *kv, uint64_t label, size_t count);
int kv_empty(struct kv *kv);

/* Any event. */
int kv_send_event(struct kv *kv, const lbroute_kv_event *event);

void kv_begin(struct kv *kv);
int kv_send(struct kv *kv);

/* Forgets the source, by call. */
void kv_forget(struct kv *kv);

lbroute_kv_source_stats kv_stats(const struct kv *kv);

/* Checks outcome and state of the latest batch. */
void kv_expect(const struct kv *kv, int outcome, int state);

/* Checks what is missing: the first hole, or nothing (first > last). */
void kv_expect_missing(const struct kv *kv, uint64_t first, uint64_t last);

/* The requests to come ask with these tokens, and with more behind them. */
void kv_ask(struct fleet *fleet, uint32_t first, uint32_t last);
void kv_ask_more(struct fleet *fleet, uint32_t first, uint32_t last);

/* Leading blocks of the request that are resident on a target, in all media or
 * in one; -1: unknown. */
int64_t kv_resident(struct fleet *fleet, size_t index);
int64_t kv_resident_in(struct fleet *fleet, size_t index, int medium);

/* State of a target as the request sees it. */
int kv_state(struct fleet *fleet, size_t index);

/* kv_ask() and kv_resident(). */
int64_t kv_count(struct fleet *fleet, size_t index, uint32_t first,
                 uint32_t last);

/* Picks, serves and checks that the events decided with so many blocks. */
void kv_expect_pick(struct fleet *fleet, size_t index, int64_t matched);

/* Picks, serves and checks that load decided; gives the index. */
size_t kv_expect_load(struct fleet *fleet);

#endif
