/* SPDX-License-Identifier: MIT */
/* On whose behalf an owner (target) holds a prefix: claims of clients on the
 * holds of a trie.
 *
 *     node ─▶ hold of target A ─▶ claim of client x, claim of client y
 *          ─▶ hold of target B ─▶ claim of client x
 *
 *     target A ─▶ account of client x: charge, claims oldest … newest
 *              ─▶ account of client y: …
 *
 * A block is charged once on each target, split equally among the clients that
 * claim it there. Charges are sums of 2^-32 blocks. A client that claims a node
 * claims all above it, and each of its claims is older than the one above: the
 * oldest claim of an account is a leaf among its own. */
#ifndef LBR_MODELS_PREFIX_TRIE_CLAIMS_H
#define LBR_MODELS_PREFIX_TRIE_CLAIMS_H

#include "models/prefix_trie.h"

/* Bytes of a block hash, the symbol of these tries. */
#define LBR_BLOCK ((size_t)8)

/* A block in charges. */
#define LBR_CHARGE_BLOCK (UINT64_C(1) << 32)

struct lbr_shared_hold {
    struct lbr_trie_hold hold;
    struct lbr_link claims;
    uint32_t claim_count;
};

struct lbr_account;

struct lbr_claim {
    struct lbr_slot slot;
    struct lbr_shared_hold *hold;
    struct lbr_account *account;
    struct lbr_link recency;  /* among the account's, oldest first */
    struct lbr_link siblings; /* among the hold's */
};

struct lbr_account_place {
    uint64_t charge;
    struct lbr_account *account;
};

/* A target's side; embedded in the caller's object. */
struct lbr_shared_owner {
    struct lbr_trie_owner owner;
    uint64_t blocks;      /* that it holds, each counted once */
    uint64_t claims;      /* on them, at most twice as many as … */
    uint64_t most_claims; /* … there should be */
    uint64_t evicted;     /* blocks so far */
    struct lbr_account_place *places;
    uint32_t account_count;       /* places in use of … */
    uint32_t capacity;            /* … so many */
    struct lbr_link active, idle; /* accounts, longest silent first */
    uint32_t active_count;
};

struct lbr_account {
    struct lbr_slot slot;
    struct lbr_shared_owner *owner;
    uint64_t client; /* digest; 0: nobody known, and those beyond the bound */
    uint32_t place;  /* of the owner's */
    int active;
    struct lbr_link activity; /* among the owner's active or idle */
    struct lbr_link claims;   /* oldest first */
    uint64_t claim_count;
    uint64_t used_at;
    uint64_t lost; /* blocks evicted so far */
};

struct lbr_shared_trie {
    struct lbr_trie trie;
    struct lbr_memory *memory;
    struct lbr_slab claims, accounts;
    struct lbr_map claimed; /* (hold, account) ─▶ claim, but a hold's first */
    struct lbr_map by_client; /* (owner, client) ─▶ account */
};

extern const struct lbr_trie_stakes lbr_claims_stakes;

static inline uint64_t *lbr_account_charge(const struct lbr_account *account)
{
    return &account->owner->places[account->place].charge;
}

static inline uint64_t lbr_claim_blocks(const struct lbr_claim *claim)
{
    return claim->hold->hold.node->length / LBR_BLOCK;
}

/* What one of |claims| that share a block pays for it; rounded up, so that all
 * of them pay for the whole. */
static inline uint64_t lbr_claim_price(uint32_t claims)
{
    return (LBR_CHARGE_BLOCK + claims - 1) / claims;
}

struct lbr_claim *lbr_claim_find(const struct lbr_shared_trie *shared,
                                 const struct lbr_trie_hold *hold,
                                 const struct lbr_account *account);

/* The target's hold of a node, made if it has none; NULL without memory. A hold
 * without claims must get one, or lbr_hold_abandon(). */
struct lbr_shared_hold *lbr_hold_take(struct lbr_shared_trie *shared,
                                      struct lbr_trie_node *node,
                                      struct lbr_shared_owner *owner);
void lbr_hold_abandon(struct lbr_shared_trie *shared,
                      struct lbr_shared_hold *hold);

/* Adds a claim that the account pays for from now on, as its newest but those
 * from |above| on (NULL: the newest of all). NULL without memory, or when there
 * are too many. */
struct lbr_claim *lbr_claim_add(struct lbr_shared_trie *shared,
                                struct lbr_shared_hold *hold,
                                struct lbr_account *account,
                                struct lbr_claim *above);

/* Gives a claim up, and with the last one the hold. */
void lbr_claim_drop(struct lbr_shared_trie *shared, struct lbr_claim *claim);

/* The claim that an account would lose next, or NULL. */
struct lbr_claim *lbr_claim_oldest(const struct lbr_account *account);

#endif
