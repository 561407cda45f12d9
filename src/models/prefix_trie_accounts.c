/* SPDX-License-Identifier: MIT */
/* Accounts of clients on a target: who is active, who is not. */
#include "base/clock.h"
#include "base/hash.h"
#include "models/prefix_trie_eviction.h"
#include "models/prefix_trie_upkeep.h"

#include <string.h>

#define FIRST_PLACES 4

void lbr_shared_owner_init(struct lbr_shared_owner *owner, uint32_t number)
{
    memset(owner, 0, sizeof *owner);
    lbr_trie_owner_init(&owner->owner, number);
    lbr_list_init(&owner->active);
    lbr_list_init(&owner->idle);
}

int lbr_account_is_active(const struct lbr_account *account, uint64_t now,
                          uint64_t idle)
{
    return lbr_time_since(now, account->used_at) < idle;
}

static struct lbr_account *oldest_of(const struct lbr_link *list)
{
    if (lbr_list_empty(list))
        return NULL;
    return LBR_OWNER(list->next, struct lbr_account, activity);
}

uint64_t lbr_shared_guarantee(const struct lbr_shared_owner *owner,
                              uint64_t now, const struct lbr_share_rules *rules,
                              uint32_t *active)
{
    const struct lbr_link *link = owner->active.next;

    *active = owner->active_count;
    while (link != &owner->active &&
           !lbr_account_is_active(LBR_OWNER(link, struct lbr_account, activity),
                                  now, rules->idle)) {
        link = link->next;
        --*active;
    }
    return *active ? rules->capacity * LBR_CHARGE_BLOCK / *active : 0;
}

static struct lbr_account *newest_of(const struct lbr_link *list)
{
    if (lbr_list_empty(list))
        return NULL;
    return LBR_OWNER(list->previous, struct lbr_account, activity);
}

static uint64_t key_of(const struct lbr_shared_owner *owner, uint64_t client)
{
    return lbr_hash_pair(client, owner->owner.number);
}

static struct lbr_account *find(const struct lbr_shared_trie *shared,
                                const struct lbr_shared_owner *owner,
                                uint64_t client)
{
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(&shared->by_client, key_of(owner, client),
                                 &cursor)) != LBR_MAP_NONE) {
        struct lbr_account *account = lbr_slab_at(&shared->accounts, index);

        if (account->owner == owner && account->client == client)
            return account;
    }
    return NULL;
}

static int reserve_place(struct lbr_shared_trie *shared,
                         struct lbr_shared_owner *owner)
{
    uint32_t capacity = owner->capacity ? owner->capacity * 2 : FIRST_PLACES;
    void *places = owner->places;

    if (owner->account_count < owner->capacity)
        return 1;
    if (!lbr_memory_grow(shared->memory, &places, owner->capacity, capacity,
                         sizeof *owner->places))
        return 0;
    owner->places = places;
    owner->capacity = capacity;
    return 1;
}

static struct lbr_account *create(struct lbr_shared_trie *shared,
                                  struct lbr_shared_owner *owner,
                                  uint64_t client)
{
    struct lbr_account *account;
    void *object;

    if (!reserve_place(shared, owner) || !lbr_map_reserve(&shared->by_client) ||
        lbr_slab_take(&shared->accounts, &object))
        return NULL;
    account = object;
    account->owner = owner;
    account->client = client;
    account->lost = 0;
    account->claim_count = 0;
    lbr_list_init(&account->claims);
    account->place = owner->account_count++;
    owner->places[account->place].account = account;
    owner->places[account->place].charge = 0;
    account->active = 0;
    lbr_list_append(&owner->idle, &account->activity);
    lbr_map_add(&shared->by_client, key_of(owner, client),
                lbr_slab_index(account->slot.handle));
    return account;
}

void lbr_account_free(struct lbr_shared_trie *shared,
                      struct lbr_account *account)
{
    struct lbr_shared_owner *owner = account->owner;
    struct lbr_account_place *last = &owner->places[owner->account_count - 1];

    lbr_map_remove(&shared->by_client, key_of(owner, account->client),
                   lbr_slab_index(account->slot.handle));
    lbr_list_remove(&account->activity);
    owner->active_count -= (uint32_t)account->active;
    last->account->place = account->place;
    owner->places[account->place] = *last;
    owner->account_count--;
    lbr_slab_give(&shared->accounts, account);
}

static void free_if_done(struct lbr_shared_trie *shared,
                         struct lbr_account *account)
{
    if (!account->active && lbr_list_empty(&account->claims))
        lbr_account_free(shared, account);
}

/* Ends the guarantees of those who were silent for too long. */
static void retire_silent(struct lbr_shared_trie *shared,
                          struct lbr_shared_owner *owner, uint64_t now,
                          uint64_t idle)
{
    struct lbr_account *account;

    while ((account = oldest_of(&owner->active)) != NULL &&
           !lbr_account_is_active(account, now, idle)) {
        lbr_list_remove(&account->activity);
        lbr_list_append(&owner->idle, &account->activity);
        account->active = 0;
        owner->active_count--;
        free_if_done(shared, account);
    }
}

/* Restores the guarantees of those who are not silent for too long after all,
 * since that was made longer. */
static void revive(struct lbr_shared_owner *owner, uint64_t now, uint64_t idle)
{
    struct lbr_account *account;

    while ((account = newest_of(&owner->idle)) != NULL &&
           lbr_account_is_active(account, now, idle)) {
        lbr_list_remove(&account->activity);
        lbr_list_prepend(&owner->active, &account->activity);
        account->active = 1;
        owner->active_count++;
    }
}

static void drop_account(struct lbr_shared_trie *shared,
                         struct lbr_account *account)
{
    struct lbr_claim *claim;

    while ((claim = lbr_claim_oldest(account)) != NULL)
        lbr_claim_drop(shared, claim);
    lbr_account_free(shared, account);
}

/* Frees the account of the client that has been silent longest, if it is no
 * longer active, with all it has; not the one of those not told apart. Returns
 * 0 when there is none. */
static int reclaim_one(struct lbr_shared_trie *shared,
                       struct lbr_shared_owner *owner)
{
    struct lbr_link *link = owner->idle.next;

    if (link != &owner->idle &&
        !LBR_OWNER(link, struct lbr_account, activity)->client)
        link = link->next;
    if (link == &owner->idle)
        return 0;
    drop_account(shared, LBR_OWNER(link, struct lbr_account, activity));
    return 1;
}

static uint32_t told_apart(const struct lbr_shared_trie *shared,
                           const struct lbr_shared_owner *owner)
{
    return owner->account_count - (find(shared, owner, 0) != NULL);
}

static struct lbr_account *find_or_create(struct lbr_shared_trie *shared,
                                          struct lbr_shared_owner *owner,
                                          uint64_t client,
                                          uint32_t most_clients)
{
    struct lbr_account *account = find(shared, owner, client);
    int fits = 1;

    if (account)
        return account;
    while (client && fits && told_apart(shared, owner) >= most_clients)
        fits = reclaim_one(shared, owner);
    if (fits)
        account = create(shared, owner, client);
    if (!account && client)
        account = find(shared, owner, 0);
    return account ? account : create(shared, owner, 0);
}

struct lbr_account *lbr_account_enter(struct lbr_shared_trie *shared,
                                      struct lbr_shared_owner *owner,
                                      uint64_t client, uint64_t now,
                                      const struct lbr_share_rules *rules)
{
    struct lbr_account *account;

    retire_silent(shared, owner, now, rules->idle);
    revive(owner, now, rules->idle);
    account = find_or_create(shared, owner, client, rules->most_clients);
    if (!account)
        return NULL;
    lbr_list_remove(&account->activity);
    lbr_list_append(&owner->active, &account->activity);
    owner->active_count += (uint32_t)!account->active;
    account->active = 1;
    account->used_at = now;
    return account;
}

void lbr_shared_purge(struct lbr_shared_trie *shared,
                      struct lbr_shared_owner *owner)
{
    while (owner->account_count)
        drop_account(shared, owner->places[owner->account_count - 1].account);
    lbr_memory_free(shared->memory, owner->places, owner->capacity,
                    sizeof *owner->places);
    owner->places = NULL;
    owner->capacity = 0;
    owner->evicted = 0;
    owner->owner.budget = 0;
    lbr_trie_settle(&shared->trie);
}
