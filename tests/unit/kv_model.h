/* SPDX-License-Identifier: MIT */
/* An index beside a naive account of what its owners said: every prompt is
 * spelt out, nothing is hashed, shared or linked.
 *
 *     owner, name ─▶ chain ─▶ content, chain before it
 *
 * While the model is |exact| the index must do as it does. Otherwise the index
 * may know less, for lack of room or of memory, but nothing else. */
#ifndef TESTS_UNIT_KV_MODEL_H
#define TESTS_UNIT_KV_MODEL_H

#include <stdbool.h>

#include "heap.h"
#include "models/kv_index.h"
#include "support/rng.h"

#define KV_MODEL_OWNERS 4
#define KV_MODEL_NAMES 14 /* fewer than what an entry counts */
#define KV_MODEL_CHAINS 4096
#define KV_MODEL_ROOT UINT64_C(42)
#define KV_MODEL_NONE (-1)
#define KV_MODEL_KIND 10
#define KV_MODEL_BALLAST 32768

struct kv_model_label {
    bool known;
    int chain;
    int parent; /* a name, or KV_MODEL_NONE */
    unsigned copies[LBR_KV_MEDIA];
};

struct kv_model_chain {
    int before; /* KV_MODEL_NONE: it is the first block */
    uint64_t content;
    uint64_t key; /* as the index would call it */
};

struct kv_model {
    struct unit_heap heap;
    struct lbr_kv_index index;
    bool exact;
    struct lbr_kv_owner *owners[KV_MODEL_OWNERS];
    struct kv_model_label labels[KV_MODEL_OWNERS][KV_MODEL_NAMES];
    struct kv_model_chain chains[KV_MODEL_CHAINS];
    int chain_count;
    uint64_t refused, lost;
    void *ballast[KV_MODEL_BALLAST];
    int ballast_count;
};

void kv_model_open(struct kv_model *model, uint32_t limit, bool exact);

/* Checks that, once all owners are retired and swept, nothing is left. */
void kv_model_close(struct kv_model *model);

/* The chain of |content| after chain |before|, or KV_MODEL_NONE. */
int kv_model_chain(struct kv_model *model, int before, uint64_t content);

/* What owners say. |parent| is a known name or KV_MODEL_NONE. */
void kv_model_put(struct kv_model *model, int owner, int name, int parent,
                  uint64_t content, unsigned medium, bool counted);
void kv_model_add_copy(struct kv_model *model, int owner, int name,
                       unsigned medium, bool counted);
void kv_model_remove(struct kv_model *model, int owner, int name,
                     unsigned medium, bool counted);

/* A new owner takes the place of one that is retired. */
void kv_model_retire(struct kv_model *model, int owner);

/* Fills what holds the sets, but for |spare| of them; and empties it again. */
void kv_model_starve(struct kv_model *model, int spare);
void kv_model_feed(struct kv_model *model);

/* Any of these. */
void kv_model_random(struct kv_model *model, struct test_rng *rng);

/* Checks the index against the account. */
void kv_model_check(struct kv_model *model);

/* Whether the owner holds the chain, and the fastest medium in which it does.
 */
bool kv_model_holds(const struct kv_model *model, int owner, int chain,
                    unsigned *medium);

#endif
