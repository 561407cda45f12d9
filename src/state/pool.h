/* SPDX-License-Identifier: MIT */
/* Pools, and models as far as they name sets of targets. Both hold their
 * targets in groups, one for each tier:
 *
 *     pool ─▶ group "" ─▶ group "gold"        model ─▶ group "" …
 *              │ members                                │ members
 *              ▼                                        ▼
 *            target  ◀──── a target is in at most one of each
 */
#ifndef LBR_STATE_POOL_H
#define LBR_STATE_POOL_H

#include "models/admission.h"
#include "state/group.h"
#include "state/param.h"
#include "state/stage.h"

struct lbr_strategy;

struct lbr_pool {
    struct lbr_slot slot;
    struct lbr_group *groups;
    const struct lbr_strategy *strategy;
    unsigned uses;                /* LBR_USES_ bits of the strategy */
    enum lbr_trie_kind trie_kind; /* of its groups, if they keep a trie */
    uint32_t targets;
    uint64_t picks;         /* of its targets */
    uint64_t earlier_picks; /* before the process was restarted */
    struct lbr_params params;
    uint32_t cap;                   /* on a target's limit; 0: none */
    struct lbr_admission admission; /* of hybrid pools */
    struct lbr_waiting_counts waits;
    struct lbr_link stages; /* of the host's own */
    uint64_t kv_sizes; /* of blocks, as KV events say; see state/kv_sizes.h */
    struct lbr_text name; /* own allocation */
    uint64_t pin_key;     /* of its pins; follows from the name */
};

struct lbr_model {
    struct lbr_slot slot;
    struct lbr_group *groups;
    struct lbr_pool *pool; /* of all its targets, unless … */
    int mixed;             /* … they are in several, or one is in none */
    struct lbr_text name;  /* own allocation */
};

/* Works out the cap from parameters and state. Targets heed it from their next
 * renewal on, for which they are marked if it has changed. */
void lbr_pool_renew_cap(struct lbr_pool *pool);

/* Lets a hybrid pool find out at |now| whether it is busy; |arrives|: a request
 * has just come. Returns whether that changed. */
int lbr_pool_admit(struct lbr_pool *pool, uint64_t now, int arrives);

/* Tells all who wait for the pool that there may be slots. */
void lbr_pool_wake(const struct lbr_pool *pool);

/* Undoes an admission. */
void lbr_pool_restore(struct lbr_pool *pool,
                      const struct lbr_admission *before);

/* Picks of its targets so far, in all runs of the process. */
static inline uint64_t lbr_pool_picks(const struct lbr_pool *pool)
{
    return pool->earlier_picks + pool->picks;
}

/* The group of |tier| in a list of groups, or NULL. */
static inline struct lbr_group *lbr_groups_find(struct lbr_group *groups,
                                                struct lbr_text tier)
{
    while (groups && !lbr_text_equal(groups->tier, tier))
        groups = groups->next;
    return groups;
}

#endif
