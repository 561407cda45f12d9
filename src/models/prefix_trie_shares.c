/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_shares.h"

#include "models/prefix_trie_eviction.h"
#include "models/prefix_trie_upkeep.h"

#include <string.h>

#define CHUNK_BITS 6
#define MOST_RECORDS 16777215U
/* Claims on a target's blocks, those that other clients hold as well included:
 * enough for whatever is worth sharing. Splits may double them. */
#define CLAIMS_PER_BLOCK 4
#define CLAIMS_AT_LEAST 1024

void lbr_shared_init(struct lbr_shared_trie *shared, struct lbr_memory *memory,
                     uint32_t kind, uint64_t secret)
{
    memset(shared, 0, sizeof *shared);
    shared->memory = memory;
    lbr_trie_init_stakes(&shared->trie, memory, (uint32_t)LBR_BLOCK, kind,
                         secret, &lbr_claims_stakes);
    /* The targets' capacities are the bound. */
    shared->trie.records.limit = UINT64_MAX;
    lbr_arena_set_limit(&shared->trie.texts, SIZE_MAX);
    lbr_arena_keep(&shared->trie.texts, UINT32_MAX);
    lbr_slab_init(&shared->claims, memory, kind + 1, sizeof(struct lbr_claim),
                  CHUNK_BITS, MOST_RECORDS);
    lbr_slab_init(&shared->accounts, memory, kind + 2,
                  sizeof(struct lbr_account), CHUNK_BITS, MOST_RECORDS);
    lbr_map_init(&shared->claimed, memory);
    lbr_map_init(&shared->by_client, memory);
}

void lbr_shared_destroy(struct lbr_shared_trie *shared)
{
    lbr_trie_destroy(&shared->trie);
    lbr_slab_destroy(&shared->claims);
    lbr_slab_destroy(&shared->accounts);
    lbr_map_destroy(&shared->claimed);
    lbr_map_destroy(&shared->by_client);
}

/* ---- recording ---- */

/* A prompt on its way into the trie. */
struct entry {
    struct lbr_shared_trie *shared;
    struct lbr_account *account;
    const struct lbr_share_rules *rules;
    struct lbr_trie_match path; /* as far as it is in the trie */
    struct lbr_claim *last;     /* the account's lowest claim on it */
    struct lbr_trie_node *first_unclaimed;
};

/* Renews the account's claims on the path, from the leaf up, and sets `below`
 * on it. */
static void touch(struct entry *entry)
{
    struct lbr_account *account = entry->account;
    struct lbr_trie *trie = &entry->shared->trie;
    struct lbr_trie_node *node = entry->path.node;

    if (node)
        node->below = NULL;
    for (; node; node = node->parent) {
        struct lbr_trie_hold *hold =
            lbr_trie_find_hold(trie, node, &account->owner->owner);
        struct lbr_claim *claim =
            hold ? lbr_claim_find(entry->shared, hold, account) : NULL;

        if (node->parent)
            node->parent->below = node;
        if (!claim) {
            entry->first_unclaimed = node;
            continue;
        }
        if (!entry->last)
            entry->last = claim;
        lbr_trie_place_below(&account->claims, &claim->recency);
    }
}

/* While there are too many claims, a client keeps its part of them but gets
 * more only for its own oldest. */
static int may_claim(const struct entry *entry)
{
    const struct lbr_account *account = entry->account;
    const struct lbr_shared_owner *owner = account->owner;

    while (owner->claims >= owner->most_claims &&
           account->claim_count >= owner->most_claims / owner->account_count)
        if (!lbr_shared_give_up(entry->shared, entry->account, entry->last))
            return 0;
    return 1;
}

/* Claims |node|, which the owner holds, or has room for. Returns 0 without
 * memory. */
static int claim_node(struct entry *entry, struct lbr_trie_node *node)
{
    struct lbr_shared_hold *hold;
    struct lbr_claim *claim;

    if (!may_claim(entry))
        return 0;
    hold = lbr_hold_take(entry->shared, node, entry->account->owner);
    if (!hold)
        return 0;
    claim = lbr_claim_add(entry->shared, hold, entry->account, entry->last);
    if (claim)
        entry->last = claim;
    else
        lbr_hold_abandon(entry->shared, hold);
    return claim != NULL;
}

/* Room for |bytes| of blocks, without touching the path. */
static size_t room_for(const struct entry *entry, size_t bytes)
{
    return LBR_BLOCK * (size_t)lbr_shared_make_room(
                           entry->shared, entry->account, bytes / LBR_BLOCK,
                           entry->last, entry->rules);
}

/* Claims the next node of the path, or as much of it as there is room for.
 * Returns 0 when that is not all of it. */
static int claim_next(struct entry *entry, struct lbr_trie_node *node)
{
    struct lbr_trie *trie = &entry->shared->trie;
    struct lbr_trie_node *upper;
    size_t room;

    if (lbr_trie_holds(trie, node, &entry->account->owner->owner))
        return claim_node(entry, node);
    room = room_for(entry, node->length);
    if (room == node->length)
        return claim_node(entry, node);
    upper = room ? lbr_trie_split(trie, node, (uint32_t)room) : NULL;
    if (upper)
        (void)claim_node(entry, upper);
    return 0;
}

static int claim_path(struct entry *entry)
{
    struct lbr_trie_node *node = entry->first_unclaimed;

    while (node && claim_next(entry, node))
        node = node->below;
    return node == NULL;
}

/* Whether the path ends in a leaf of this account alone, which may grow. */
static int may_grow(const struct entry *entry)
{
    const struct lbr_trie_node *node = entry->path.node;
    const struct lbr_claim *last = entry->last;

    return node && last && last->hold->hold.node == node && !node->children &&
           node->holder_count == 1 && last->hold->claim_count == 1 &&
           node->length < LBR_TRIE_LONGEST_RUN;
}

/* Lets the path's last node grow by a run of |bytes|. */
static int grow_leaf(struct entry *entry, const unsigned char *bytes,
                     size_t run)
{
    struct lbr_trie *trie = &entry->shared->trie;
    struct lbr_trie_node *node = entry->path.node;
    struct lbr_shared_owner *owner = entry->account->owner;
    struct lbr_trie_text *text = lbr_trie_compose(trie, node, bytes, run);

    if (!text)
        return 0;
    lbr_trie_replace_text(trie, node, &owner->owner, text, (uint32_t)run);
    owner->blocks += run / LBR_BLOCK;
    *lbr_account_charge(entry->account) += run / LBR_BLOCK * LBR_CHARGE_BLOCK;
    return 1;
}

/* Adds a node with a run of |bytes| below the path's last one. */
static int add_leaf(struct entry *entry, uint64_t root,
                    const unsigned char *bytes, size_t run)
{
    struct lbr_trie *trie = &entry->shared->trie;
    struct lbr_trie_match *path = &entry->path;
    struct lbr_trie_text *text = lbr_trie_compose(trie, NULL, bytes, run);
    struct lbr_trie_node *node =
        text ? lbr_trie_new_node(trie, path->node, root, path->matched) : NULL;
    uint64_t handle;

    if (!node) {
        if (text)
            lbr_arena_give(&trie->texts, text);
        return 0;
    }
    lbr_trie_link(trie, node, text, 0, (uint32_t)run);
    handle = node->slot.handle;
    if (claim_node(entry, node)) {
        path->node = node;
        return 1;
    }
    /* A hold that was taken and abandoned took the node along. */
    if (lbr_slab_find(&trie->nodes, handle))
        lbr_trie_free_node(trie, node);
    return 0;
}

/* Makes place for the client, which may take the end of the match along with
 * what another client had: then looks the prompt up again. */
static void enter_client(struct entry *entry, uint64_t root, const void *prompt,
                         size_t length, struct lbr_shared_owner *owner,
                         uint64_t client, uint64_t now)
{
    const struct lbr_trie *trie = &entry->shared->trie;
    const struct lbr_trie_node *node = entry->path.node;
    uint64_t end = node ? node->slot.handle : 0;

    entry->account =
        lbr_account_enter(entry->shared, owner, client, now, entry->rules);
    if (node && !lbr_slab_find(&trie->nodes, end))
        entry->path = lbr_trie_find(trie, root, prompt, length);
}

/* Takes up the rest of the prompt as far as it fits. */
static void append(struct entry *entry, uint64_t root,
                   const unsigned char *prompt, size_t length)
{
    struct lbr_trie_match *path = &entry->path;

    while (path->matched < length) {
        const unsigned char *rest = prompt + path->matched;
        size_t have = may_grow(entry) ? path->node->length : 0;
        size_t run = length - path->matched;

        if (run > LBR_TRIE_LONGEST_RUN - have)
            run = LBR_TRIE_LONGEST_RUN - have;
        run = room_for(entry, run);
        if (!run || !(have ? grow_leaf(entry, rest, run)
                           : add_leaf(entry, root, rest, run)))
            return;
        path->matched += run;
    }
}

void lbr_shared_set_rules(struct lbr_shared_owner *owner,
                          const struct lbr_share_rules *rules)
{
    owner->owner.budget = SIZE_MAX; /* blocks count here, not bytes */
    owner->most_claims = CLAIMS_PER_BLOCK * rules->capacity + CLAIMS_AT_LEAST;
}

void lbr_shared_record(struct lbr_shared_trie *shared,
                       struct lbr_trie_match match, uint64_t root,
                       const void *blocks, size_t length,
                       struct lbr_shared_owner *owner, uint64_t client,
                       uint64_t now, const struct lbr_share_rules *rules)
{
    struct entry entry = {shared, NULL, rules, match, NULL, NULL};
    int fits;

    lbr_shared_set_rules(owner, rules);
    enter_client(&entry, root, blocks, length, owner, client, now);
    if (entry.account) {
        fits = !entry.path.deep && lbr_trie_cut(&shared->trie, &entry.path);
        touch(&entry);
        if (claim_path(&entry) && fits)
            append(&entry, root, blocks, length);
        lbr_trie_note_request(&shared->trie, entry.path.node);
        (void)lbr_shared_make_room(shared, entry.account, 0, NULL, rules);
    }
    lbr_trie_settle(&shared->trie);
}
