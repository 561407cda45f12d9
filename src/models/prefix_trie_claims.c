/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_claims.h"

#include "base/hash.h"
#include "models/prefix_trie_upkeep.h"

static struct lbr_shared_trie *shared_of(struct lbr_trie *trie)
{
    return LBR_OWNER(trie, struct lbr_shared_trie, trie);
}

static struct lbr_shared_hold *shared_hold(struct lbr_trie_hold *hold)
{
    return LBR_OWNER(hold, struct lbr_shared_hold, hold);
}

static struct lbr_shared_owner *owner_of(const struct lbr_shared_hold *hold)
{
    return LBR_OWNER(hold->hold.owner, struct lbr_shared_owner, owner);
}

static struct lbr_claim *first_of(const struct lbr_shared_hold *hold)
{
    return LBR_OWNER(hold->claims.next, struct lbr_claim, siblings);
}

static uint64_t key_of(const struct lbr_shared_trie *shared,
                       const struct lbr_trie_hold *hold,
                       const struct lbr_account *account)
{
    return lbr_hash_pair(lbr_hash_pair(shared->trie.secret, hold->slot.handle),
                         account->slot.handle);
}

struct lbr_claim *lbr_claim_find(const struct lbr_shared_trie *shared,
                                 const struct lbr_trie_hold *hold,
                                 const struct lbr_account *account)
{
    const struct lbr_shared_hold *all =
        LBR_OWNER(hold, struct lbr_shared_hold, hold);
    struct lbr_claim *first = first_of(all);
    uint64_t key;
    uint32_t cursor = 0;
    uint32_t index;

    if (all->claim_count <= 1 || first->account == account)
        return all->claim_count && first->account == account ? first : NULL;
    key = key_of(shared, hold, account);
    while ((index = lbr_map_next(&shared->claimed, key, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_claim *claim = lbr_slab_at(&shared->claims, index);

        if (&claim->hold->hold == hold && claim->account == account)
            return claim;
    }
    return NULL;
}

struct lbr_claim *lbr_claim_oldest(const struct lbr_account *account)
{
    if (lbr_list_empty(&account->claims))
        return NULL;
    return LBR_OWNER(account->claims.next, struct lbr_claim, recency);
}

/* Makes room in the table as if all claims were in it: who is first may change.
 * Returns 0 without memory. */
static int reserve_claim(struct lbr_shared_trie *shared)
{
    return lbr_map_reserve_all(&shared->claimed, shared->claims.live + 1);
}

/* A claim just below |newer| in its account's list, not charged yet; NULL
 * without memory or when there are too many. */
static struct lbr_claim *make_claim(struct lbr_shared_trie *shared,
                                    struct lbr_shared_hold *hold,
                                    struct lbr_account *account,
                                    struct lbr_link *newer)
{
    struct lbr_claim *claim;
    void *object;

    if (account->owner->claims >= 2 * account->owner->most_claims ||
        !reserve_claim(shared) || lbr_slab_take(&shared->claims, &object))
        return NULL;
    claim = object;
    claim->hold = hold;
    claim->account = account;
    lbr_list_append(newer, &claim->recency);
    lbr_list_append(&hold->claims, &claim->siblings);
    if (hold->claim_count++)
        lbr_map_add(&shared->claimed, key_of(shared, &hold->hold, account),
                    lbr_slab_index(claim->slot.handle));
    account->claim_count++;
    account->owner->claims++;
    return claim;
}

static void forget_claim(struct lbr_shared_trie *shared,
                         const struct lbr_claim *claim)
{
    lbr_map_remove(&shared->claimed,
                   key_of(shared, &claim->hold->hold, claim->account),
                   lbr_slab_index(claim->slot.handle));
}

static void free_claim(struct lbr_shared_trie *shared, struct lbr_claim *claim)
{
    struct lbr_shared_hold *hold = claim->hold;
    int was_first = claim == first_of(hold);

    lbr_list_remove(&claim->recency);
    lbr_list_remove(&claim->siblings);
    /* Who moves up to the front leaves the table. */
    if (--hold->claim_count)
        forget_claim(shared, was_first ? first_of(hold) : claim);
    claim->account->claim_count--;
    claim->account->owner->claims--;
    lbr_slab_give(&shared->claims, claim);
}

/* Charges all claims of a hold what its blocks cost now, instead of what they
 * cost when |before| claims shared them. */
static void charge_again(const struct lbr_shared_hold *hold, uint32_t before)
{
    uint64_t blocks = hold->hold.node->length / LBR_BLOCK;
    uint64_t change;
    const struct lbr_link *link;

    if (!hold->claim_count)
        return;
    /* Modulo 2^64, so that it may be negative. */
    change = blocks * (lbr_claim_price(hold->claim_count) -
                       (before ? lbr_claim_price(before) : 0));
    for (link = hold->claims.next; link != &hold->claims; link = link->next)
        *lbr_account_charge(
            LBR_OWNER(link, struct lbr_claim, siblings)->account) += change;
}

struct lbr_claim *lbr_claim_add(struct lbr_shared_trie *shared,
                                struct lbr_shared_hold *hold,
                                struct lbr_account *account,
                                struct lbr_claim *above)
{
    uint32_t before = hold->claim_count;
    struct lbr_claim *claim = make_claim(
        shared, hold, account, above ? &above->recency : &account->claims);

    if (!claim)
        return NULL;
    if (before)
        *lbr_account_charge(account) +=
            lbr_claim_blocks(claim) * lbr_claim_price(before);
    else
        account->owner->blocks += lbr_claim_blocks(claim);
    charge_again(hold, before);
    if (hold->hold.node->parent)
        lbr_trie_note_joinable(&shared->trie, hold->hold.node->parent);
    return claim;
}

void lbr_claim_drop(struct lbr_shared_trie *shared, struct lbr_claim *claim)
{
    struct lbr_shared_hold *hold = claim->hold;
    uint32_t before = hold->claim_count;
    uint64_t blocks = lbr_claim_blocks(claim);

    *lbr_account_charge(claim->account) -= blocks * lbr_claim_price(before);
    free_claim(shared, claim);
    charge_again(hold, before);
    if (hold->claim_count) {
        lbr_trie_note_joinable(&shared->trie, hold->hold.node);
        return;
    }
    owner_of(hold)->blocks -= blocks;
    lbr_trie_evict(&shared->trie, &hold->hold);
}

struct lbr_shared_hold *lbr_hold_take(struct lbr_shared_trie *shared,
                                      struct lbr_trie_node *node,
                                      struct lbr_shared_owner *owner)
{
    struct lbr_trie *trie = &shared->trie;
    struct lbr_trie_hold *hold = lbr_trie_find_hold(trie, node, &owner->owner);

    if (hold)
        return shared_hold(hold);
    hold = lbr_trie_add_hold(trie, node, &owner->owner);
    if (!hold)
        return NULL;
    owner->owner.charged += lbr_trie_price(node);
    lbr_list_init(&shared_hold(hold)->claims);
    shared_hold(hold)->claim_count = 0;
    return shared_hold(hold);
}

void lbr_hold_abandon(struct lbr_shared_trie *shared,
                      struct lbr_shared_hold *hold)
{
    if (!hold->claim_count)
        lbr_trie_evict(&shared->trie, &hold->hold);
}

/* ---- carried along by the trie ---- */

static void clear_copy(struct lbr_trie *trie, struct lbr_trie_hold *copy)
{
    struct lbr_shared_hold *hold = shared_hold(copy);

    while (!lbr_list_empty(&hold->claims))
        free_claim(shared_of(trie), first_of(hold));
}

/* The blocks of both parts are those of the whole: charges stay. */
static int copy_claims(struct lbr_trie *trie, struct lbr_trie_hold *hold,
                       struct lbr_trie_hold *copy)
{
    struct lbr_shared_hold *from = shared_hold(hold);
    struct lbr_shared_hold *to = shared_hold(copy);
    struct lbr_link *link;

    lbr_list_init(&to->claims);
    to->claim_count = 0;
    for (link = from->claims.next; link != &from->claims; link = link->next) {
        struct lbr_claim *claim = LBR_OWNER(link, struct lbr_claim, siblings);

        if (make_claim(shared_of(trie), to, claim->account,
                       claim->recency.next))
            continue;
        clear_copy(trie, copy);
        return 0;
    }
    return 1;
}

/* Whoever claims the lower part claims the upper. */
static int claimed_alike(const struct lbr_trie_hold *upper,
                         const struct lbr_trie_hold *lower)
{
    return LBR_OWNER(upper, struct lbr_shared_hold, hold)->claim_count ==
           LBR_OWNER(lower, struct lbr_shared_hold, hold)->claim_count;
}

static void merge_claims(struct lbr_trie *trie, struct lbr_trie_hold *upper,
                         struct lbr_trie_hold *lower)
{
    struct lbr_shared_trie *shared = shared_of(trie);
    struct lbr_shared_hold *from = shared_hold(upper);

    while (!lbr_list_empty(&from->claims)) {
        struct lbr_claim *claim = first_of(from);
        struct lbr_claim *stays = lbr_claim_find(shared, lower, claim->account);

        lbr_trie_place_below(&claim->recency, &stays->recency);
        free_claim(shared, claim);
    }
}

const struct lbr_trie_stakes lbr_claims_stakes = {
    .hold_size = sizeof(struct lbr_shared_hold),
    .copy = copy_claims,
    .clear = clear_copy,
    .same = claimed_alike,
    .merge = merge_claims,
};
