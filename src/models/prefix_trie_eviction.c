/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_eviction.h"

#include "models/prefix_trie_upkeep.h"

/* Whose blocks go next, and how many of them before others must be looked at
 * again. */
struct victim {
    struct lbr_account *account; /* NULL: nobody's may go */
    uint64_t surplus;            /* in charges */
};

/* Of two with the same charge. By nothing that a restart changes. */
static int goes_before(const struct lbr_account *a, const struct lbr_account *b)
{
    return a->used_at != b->used_at ? a->used_at < b->used_at
                                    : a->client < b->client;
}

/* The two highest charges but one account's. */
struct highest {
    struct lbr_account *account; /* NULL: there is no other */
    uint64_t first, second;
};

static struct highest highest_but(const struct lbr_account *but)
{
    const struct lbr_shared_owner *owner = but->owner;
    struct highest highest = {NULL, 0, 0};
    uint32_t i;

    for (i = 0; i < owner->account_count; i++) {
        const struct lbr_account_place *place = &owner->places[i];

        if (i == but->place || place->charge < highest.second)
            continue;
        highest.second = place->charge;
        if (place->charge < highest.first ||
            (place->charge == highest.first &&
             !(highest.account &&
               goes_before(place->account, highest.account))))
            continue;
        highest.second = highest.first;
        highest.first = place->charge;
        highest.account = place->account;
    }
    return highest;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t free_blocks(const struct lbr_shared_owner *owner,
                            const struct lbr_share_rules *rules)
{
    return rules->capacity > owner->blocks ? rules->capacity - owner->blocks
                                           : 0;
}

/* Each block may be charged one too much: so little above a share is not above
 * it. */
static uint64_t rounding(const struct lbr_share_rules *rules)
{
    return rules->capacity;
}

/* Of a charge that is |ahead| of another. With each block that goes from the
 * one to the other it is two less ahead; the last one turns the order round. */
static uint64_t until_even(uint64_t ahead)
{
    return (ahead / (2 * LBR_CHARGE_BLOCK) + 1) * LBR_CHARGE_BLOCK;
}

/* What may go of the account that makes room and is |ahead| of others: its own
 * oldest. As long as they make room for its new ones, its charge stays. */
static struct victim own(struct lbr_account *account, uint64_t ahead,
                         const struct lbr_claim *keep,
                         const struct lbr_share_rules *rules)
{
    const struct lbr_claim *oldest = lbr_claim_oldest(account);
    struct victim victim = {NULL, until_even(ahead)};

    if (!oldest || oldest == keep)
        return victim;
    victim.account = account;
    if (oldest->hold->claim_count == 1 &&
        account->owner->blocks <= rules->capacity)
        victim.surplus = UINT64_MAX;
    return victim;
}

/* The longest silent of those who are no longer active. */
static struct lbr_account *longest_idle(const struct lbr_shared_owner *owner)
{
    if (lbr_list_empty(&owner->idle))
        return NULL;
    return LBR_OWNER(owner->idle.next, struct lbr_account, activity);
}

/* Of |blocks| that |account| is to get more. */
static struct victim choose_victim(struct lbr_account *account, uint64_t blocks,
                                   const struct lbr_claim *keep,
                                   const struct lbr_share_rules *rules)
{
    const struct lbr_shared_owner *owner = account->owner;
    struct victim victim = {longest_idle(owner), UINT64_MAX};
    uint64_t share, wanted;
    struct highest others;

    if (victim.account)
        return victim;
    share = rules->capacity * LBR_CHARGE_BLOCK / owner->active_count;
    wanted = *lbr_account_charge(account) +
             smaller(blocks, free_blocks(owner, rules) + 1) * LBR_CHARGE_BLOCK;
    others = highest_but(account);
    if (others.first <= share + rounding(rules) || others.first < wanted)
        return own(account, wanted - smaller(wanted, others.first), keep,
                   rules);
    victim.account = others.account;
    victim.surplus = smaller(others.first - larger(others.second, share),
                             until_even(others.first - wanted));
    return victim;
}

/* Blocks of a claim that may go: at the end of its run, at least one. */
static uint64_t blocks_to_drop(const struct lbr_claim *claim, uint64_t surplus,
                               uint64_t needed)
{
    uint64_t blocks = lbr_claim_blocks(claim);
    uint64_t price = lbr_claim_price(claim->hold->claim_count);
    uint64_t above = surplus / price + (surplus % price != 0);

    /* Only what nobody else claims makes room. */
    if (claim->hold->claim_count == 1)
        above = smaller(above, needed);
    return smaller(larger(above, 1), blocks);
}

/* Whether a run is a leaf of one client of one target. */
static int is_private(const struct lbr_claim *claim)
{
    const struct lbr_trie_node *node = claim->hold->hold.node;

    return !node->children && node->holder_count == 1 &&
           claim->hold->claim_count == 1;
}

/* Drops the last |blocks| of a claim's run, or all of it when that needs memory
 * which is not there. Returns how many. */
static uint64_t drop_end(struct lbr_shared_trie *shared,
                         struct lbr_claim *claim, uint64_t blocks)
{
    struct lbr_trie_node *node = claim->hold->hold.node;
    struct lbr_account *account = claim->account;
    uint64_t whole = lbr_claim_blocks(claim);
    uint32_t rest = (uint32_t)((whole - blocks) * LBR_BLOCK);

    if (rest && is_private(claim)) {
        lbr_trie_shorten(&shared->trie, node, rest);
        account->owner->blocks -= blocks;
        *lbr_account_charge(account) -= blocks * LBR_CHARGE_BLOCK;
        return blocks;
    }
    /* The claim stays with the lower part. */
    if (rest && !lbr_trie_split(&shared->trie, node, rest))
        blocks = whole;
    lbr_claim_drop(shared, claim);
    return blocks;
}

/* Takes some of what the victim used longest ago. */
static void evict(struct lbr_shared_trie *shared, struct victim victim,
                  uint64_t needed)
{
    struct lbr_account *account = victim.account;
    struct lbr_claim *claim = lbr_claim_oldest(account);
    uint64_t blocks =
        drop_end(shared, claim, blocks_to_drop(claim, victim.surplus, needed));

    account->lost += blocks;
    account->owner->evicted += blocks;
    if (!account->active && lbr_list_empty(&account->claims))
        lbr_account_free(shared, account);
}

int lbr_shared_give_up(struct lbr_shared_trie *shared,
                       struct lbr_account *account,
                       const struct lbr_claim *keep)
{
    const struct lbr_claim *oldest = lbr_claim_oldest(account);
    struct victim victim = {account, UINT64_MAX};

    if (!oldest || oldest == keep)
        return 0;
    evict(shared, victim, UINT64_MAX);
    return 1;
}

uint64_t lbr_shared_make_room(struct lbr_shared_trie *shared,
                              struct lbr_account *account, uint64_t blocks,
                              const struct lbr_claim *keep,
                              const struct lbr_share_rules *rules)
{
    struct lbr_shared_owner *owner = account->owner;

    while (owner->blocks + blocks > rules->capacity) {
        struct victim victim = choose_victim(account, blocks, keep, rules);

        if (!victim.account)
            break;
        evict(shared, victim, owner->blocks + blocks - rules->capacity);
    }
    return smaller(blocks, free_blocks(owner, rules));
}
