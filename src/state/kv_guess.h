/* SPDX-License-Identifier: MIT */
/* Blocks that targets are taken to hold for a short time, because a prompt was
 * just sent there. Each target has an owner of its own for them in the index,
 * in which a block is held once for each guess that is still good.
 *
 *     soonest to end ─▶ heap of guesses ─▶ owner, block */
#ifndef LBR_STATE_KV_GUESS_H
#define LBR_STATE_KV_GUESS_H

#include "base/clock.h"
#include "containers/heap.h"
#include "state/kv_source.h"

struct lbr_kv_guess {
    struct lbr_slot slot;
    struct lbr_heap_node node;
    uint64_t until;
    uint64_t owner; /* its handle */
    uint64_t key;   /* the block's, and its name */
};

struct lbr_kv_guesses {
    struct lbr_slab slab;
    struct lbr_heap_node *soonest;
    uint64_t until; /* when the next one ends; LBR_NEVER: there is none */
};

void lbr_kv_guesses_init(struct lbr_kv_guesses *guesses,
                         struct lbr_memory *memory, uint32_t blocks);
void lbr_kv_guesses_destroy(struct lbr_kv_guesses *guesses);
size_t lbr_kv_guesses_estimate(uint32_t blocks);

/* Takes the target of |side| to hold the blocks with |count| keys in a row
 * until |until|. Without room it holds fewer. */
void lbr_kv_guess(struct lbr_kv_guesses *guesses, struct lbr_kv_store *store,
                  struct lbr_kv_side *side, const uint64_t *keys, size_t count,
                  uint64_t until);

void lbr_kv_guesses_end(struct lbr_kv_guesses *guesses,
                        struct lbr_kv_store *store, uint64_t now);

/* Takes those out that will have ended by |at|, for a look at that time, and
 * puts them back. What does not find room again ends early. */
struct lbr_heap_node *lbr_kv_guesses_suspend(struct lbr_kv_guesses *guesses,
                                             struct lbr_kv_store *store,
                                             uint64_t at);
void lbr_kv_guesses_resume(struct lbr_kv_guesses *guesses,
                           struct lbr_kv_store *store,
                           struct lbr_heap_node *suspended);

/* Ends those whose time is over. */
static inline void lbr_kv_guesses_expire(struct lbr_kv_guesses *guesses,
                                         struct lbr_kv_store *store,
                                         uint64_t now)
{
    if (guesses->soonest && now >= guesses->until)
        lbr_kv_guesses_end(guesses, store, now);
}

#endif
