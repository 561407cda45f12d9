/* SPDX-License-Identifier: MIT */
#include "shares_check.h"

#include "check.h"
#include "models/prefix_trie_upkeep.h"
#include "trie_check.h"

static void check_live(const struct lbr_slab *slab, const void *object)
{
    const struct lbr_slot *slot = object;

    CHECK(lbr_slab_find(slab, slot->handle) == object);
}

/* ---- claims of an account ---- */

/* Numbers the claims of an account's list, in the room that slots have. */
static void rank_claims(const struct lbr_account *account)
{
    uint32_t rank = 0;

    for (const struct lbr_link *link = account->claims.next;
         link != &account->claims; link = link->next)
        LBR_OWNER(link, struct lbr_claim, recency)->slot.spare = ++rank;
}

/* Whoever claims a node claims its parent, more recently. */
static void check_parent(const struct lbr_shared_trie *shared,
                         const struct lbr_claim *claim)
{
    const struct lbr_trie_node *above = claim->hold->hold.node->parent;
    const struct lbr_trie_hold *hold;
    const struct lbr_claim *parent;

    if (!above)
        return;
    hold = lbr_trie_find_hold(&shared->trie, above, claim->hold->hold.owner);
    CHECK(hold);
    parent = lbr_claim_find(shared, hold, claim->account);
    CHECK(parent);
    CHECK(parent->slot.spare > claim->slot.spare);
}

static void check_claim(const struct lbr_shared_trie *shared,
                        const struct lbr_account *account,
                        const struct lbr_claim *claim)
{
    check_live(&shared->claims, claim);
    check_live(&shared->trie.holds, claim->hold);
    CHECK(claim->account == account);
    CHECK(claim->hold->hold.owner == &account->owner->owner);
    CHECK(lbr_claim_find(shared, &claim->hold->hold, account) == claim);
    check_parent(shared, claim);
}

/* Equal shares, each rounded up to a whole 2^-32. */
static uint64_t price(uint64_t claims)
{
    uint64_t whole = UINT64_C(1) << 32;

    return whole / claims + (whole % claims != 0);
}

/* Returns how many claims the account has. */
static uint64_t check_account(const struct lbr_shared_trie *shared,
                              const struct lbr_account *account)
{
    uint64_t charge = 0;
    uint64_t claims = 0;

    rank_claims(account);
    for (const struct lbr_link *link = account->claims.next;
         link != &account->claims; link = link->next) {
        const struct lbr_claim *claim =
            LBR_OWNER(link, struct lbr_claim, recency);

        CHECK(link->next->previous == link);
        check_claim(shared, account, claim);
        charge += claim->hold->hold.node->length / 8 *
                  price(claim->hold->claim_count);
        claims++;
    }
    CHECK_U(*lbr_account_charge(account), charge);
    CHECK_U(account->claim_count, claims);
    return claims;
}

/* ---- accounts of an owner ---- */

static int is_on_list(const struct lbr_account *account,
                      const struct lbr_link *list)
{
    const struct lbr_link *link = list->next;

    while (link != list && link != &account->activity)
        link = link->next;
    return link != list;
}

/* Longest silent first. Returns the length. */
static uint32_t check_activity(const struct lbr_link *list)
{
    uint64_t before = 0;
    uint32_t length = 0;

    for (const struct lbr_link *link = list->next; link != list;
         link = link->next, length++) {
        const struct lbr_account *account =
            LBR_OWNER(link, struct lbr_account, activity);

        CHECK(account->used_at >= before);
        before = account->used_at;
    }
    return length;
}

static uint64_t check_accounts(const struct lbr_shared_trie *shared,
                               const struct lbr_shared_owner *owner)
{
    uint32_t active = check_activity(&owner->active);
    uint64_t claims = 0;

    CHECK_U(owner->active_count, active);
    CHECK_U(owner->account_count, active + check_activity(&owner->idle));
    for (uint32_t i = 0; i < owner->account_count; i++) {
        const struct lbr_account *account = owner->places[i].account;

        check_live(&shared->accounts, account);
        CHECK(account->owner == owner);
        CHECK_U(account->place, i);
        CHECK(is_on_list(account,
                         account->active ? &owner->active : &owner->idle));
        CHECK(account->active || account->claim_count > 0);
        for (uint32_t j = 0; j < i; j++)
            CHECK(owner->places[j].account->client != account->client);
        claims += check_account(shared, account);
    }
    CHECK_U(owner->claims, claims);
    return claims;
}

/* ---- holds of an owner ---- */

/* Nobody holds for nobody. */
static uint64_t check_hold(const struct lbr_shared_hold *hold)
{
    uint32_t claims = 0;

    for (const struct lbr_link *link = hold->claims.next; link != &hold->claims;
         link = link->next) {
        CHECK(link->next->previous == link);
        CHECK(LBR_OWNER(link, struct lbr_claim, siblings)->hold == hold);
        claims++;
    }
    CHECK(claims > 0);
    CHECK_U(hold->claim_count, claims);
    return hold->hold.node->length / 8;
}

static void check_holds(const struct lbr_shared_owner *owner)
{
    uint64_t blocks = 0;

    for (const struct lbr_link *link = owner->owner.holds.next;
         link != &owner->owner.holds; link = link->next)
        blocks +=
            check_hold(LBR_OWNER(link, struct lbr_shared_hold, hold.recency));
    CHECK_U(owner->blocks, blocks);
}

void shares_check(const struct lbr_shared_trie *shared,
                  const struct lbr_shared_owner *owners, size_t count)
{
    uint64_t claims = 0;
    uint64_t accounts = 0;

    trie_check_shared(shared, owners, count);
    for (size_t i = 0; i < count; i++) {
        claims += check_accounts(shared, &owners[i]);
        accounts += owners[i].account_count;
        check_holds(&owners[i]);
    }
    CHECK_U(shared->claims.live, claims);
    /* The first claim on each hold is not in the table. */
    CHECK_U(shared->claimed.count, claims - shared->trie.holds.live);
    CHECK_U(shared->accounts.live, accounts);
    CHECK_U(shared->by_client.count, accounts);
}
