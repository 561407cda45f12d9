/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_saved.h"

#include "models/prefix_trie_eviction.h"
#include "models/prefix_trie_upkeep.h"

#include <string.h>

/* Marks of a run: how its traffic is told, and whether it goes on in the text
 * of the run above. */
enum { TRAFFIC_NOW = 1, TRAFFIC_BEFORE = 2, TRAFFIC = 3, FOLLOWS_TEXT = 4 };

static uint32_t epoch_of(const struct lbr_trie *trie)
{
    return trie->requests / LBR_TRIE_EPOCH;
}

void lbr_trie_save_begin(struct lbr_trie_saving *saving, struct lbr_trie *trie,
                         struct lbr_writer *writer)
{
    struct lbr_trie_node *node = NULL;

    saving->trie = trie;
    saving->writer = writer;
    saving->runs = 0;
    while ((node = lbr_slab_next(&trie->nodes, node ? node->slot.handle : 0)) !=
           NULL)
        node->slot.spare = 0;
}

static int follows_text(const struct lbr_trie_node *node)
{
    const struct lbr_trie_node *above = node->parent;

    return above && above->text == node->text &&
           above->offset + above->length == node->offset;
}

/* Which epoch its traffic belongs to: 1, the one that has begun; 2, the one
 * before; or none that counts. */
static unsigned traffic_of(const struct lbr_trie *trie,
                           const struct lbr_trie_node *node)
{
    uint32_t age = epoch_of(trie) - node->uses.epoch;

    if (age > 1 || (!node->uses.now && !node->uses.before))
        return 0;
    return age + 1;
}

static void put_traffic(const struct lbr_trie_saving *saving,
                        const struct lbr_trie_node *node)
{
    unsigned traffic = traffic_of(saving->trie, node);

    if (traffic)
        lbr_put_count(saving->writer, node->uses.now);
    if (traffic == TRAFFIC_NOW)
        lbr_put_count(saving->writer, node->uses.before);
}

/* A run that has no number yet gets the next one. */
static void put_new(struct lbr_trie_saving *saving, struct lbr_trie_node *node)
{
    struct lbr_writer *writer = saving->writer;
    unsigned marks = traffic_of(saving->trie, node);

    node->slot.spare = ++saving->runs;
    marks |= follows_text(node) ? FOLLOWS_TEXT : 0;
    lbr_put_count(writer, node->parent ? node->parent->slot.spare : 0);
    if (!node->parent)
        lbr_put_u64(writer, node->root);
    lbr_put_u8(writer, (uint8_t)marks);
    lbr_put_count(writer, node->length);
    lbr_put_count(writer, node->text->bytes - node->offset - node->length);
    put_traffic(saving, node);
    lbr_put_bytes(writer, lbr_trie_run(node), node->length);
}

static void put_run(struct lbr_trie_saving *saving, struct lbr_trie_node *node)
{
    uint32_t number = node->slot.spare ? node->slot.spare - 1 : saving->runs;

    lbr_put_count(saving->writer, number);
    if (!node->slot.spare)
        put_new(saving, node);
}

static uint64_t count_links(const struct lbr_link *list)
{
    const struct lbr_link *link;
    uint64_t count = 0;

    for (link = list->next; link != list; link = link->next)
        count++;
    return count;
}

void lbr_trie_save_owner(struct lbr_trie_saving *saving,
                         const struct lbr_trie_owner *owner)
{
    const struct lbr_link *link;

    lbr_put_count(saving->writer, count_links(&owner->holds));
    for (link = owner->holds.previous; link != &owner->holds;
         link = link->previous)
        put_run(saving, LBR_OWNER(link, struct lbr_trie_hold, recency)->node);
}

static void put_account(struct lbr_trie_saving *saving,
                        const struct lbr_account *account)
{
    const struct lbr_link *link;

    lbr_put_u64(saving->writer, account->client);
    lbr_put_age(saving->writer, account->used_at);
    lbr_put_count(saving->writer, account->claim_count);
    for (link = account->claims.previous; link != &account->claims;
         link = link->previous)
        put_run(saving,
                LBR_OWNER(link, struct lbr_claim, recency)->hold->hold.node);
}

static void put_accounts(struct lbr_trie_saving *saving,
                         const struct lbr_link *list)
{
    const struct lbr_link *link;

    for (link = list->next; link != list; link = link->next)
        put_account(saving, LBR_OWNER(link, struct lbr_account, activity));
}

void lbr_shared_save_owner(struct lbr_trie_saving *saving,
                           const struct lbr_shared_owner *owner)
{
    lbr_put_count(saving->writer, owner->account_count);
    put_accounts(saving, &owner->idle);
    put_accounts(saving, &owner->active);
}

/* ---- reading runs ---- */

static void get_traffic(struct lbr_trie_run *run, struct lbr_reader *reader,
                        unsigned traffic)
{
    run->uses.epoch = traffic;
    if (traffic)
        run->uses.now = (uint16_t)lbr_get_count(reader, UINT16_MAX);
    if (traffic == TRAFFIC_NOW)
        run->uses.before = (uint16_t)lbr_get_count(reader, UINT16_MAX);
}

static void get_new(struct lbr_trie_loading *loading, struct lbr_reader *reader,
                    struct lbr_trie_run *run)
{
    unsigned marks;

    run->above = (uint32_t)lbr_get_count(reader, loading->count);
    if (!run->above)
        run->root = lbr_get_u64(reader);
    marks = lbr_get_u8(reader);
    run->follows_text = (marks & FOLLOWS_TEXT) != 0;
    lbr_demand(reader, marks < 8 && (marks & TRAFFIC) != TRAFFIC &&
                           (run->above || !run->follows_text));
    run->length = (uint32_t)lbr_get_count(reader, LBR_TRIE_LONGEST_RUN);
    run->rest =
        (uint32_t)lbr_get_count(reader, LBR_TRIE_LONGEST_RUN - run->length);
    lbr_demand(reader, run->length && run->length % loading->unit == 0 &&
                           run->rest % loading->unit == 0);
    get_traffic(run, reader, marks & TRAFFIC);
    run->bytes = lbr_get_bytes(reader, run->length);
}

/* A run that is met for the first time is noted. */
static void note_new(struct lbr_trie_loading *loading,
                     struct lbr_reader *reader)
{
    struct lbr_trie_run run = {0};

    get_new(loading, reader, &run);
    lbr_demand(reader, loading->count < loading->most);
    if (reader->broken)
        return;
    loading->bytes += run.length;
    loading->texts += run.follows_text ? 0 : run.length + run.rest;
    if (loading->runs) {
        if (run.above)
            run.root = loading->runs[run.above - 1].root;
        loading->runs[loading->count] = run;
    }
    loading->count++;
}

/* The number of the next run; it is noted. */
static uint32_t get_run(struct lbr_trie_loading *loading,
                        struct lbr_reader *reader)
{
    uint32_t number = (uint32_t)lbr_get_count(reader, loading->count);

    if (number == loading->count)
        note_new(loading, reader);
    return number;
}

/* ---- adding runs ---- */

/* The node that ends with a run in this trie, or NULL. */
static struct lbr_trie_node *node_of(const struct lbr_trie_loading *loading,
                                     const struct lbr_trie_run *run)
{
    if (run->place != loading->place)
        return NULL;
    return lbr_slab_find(&loading->trie->nodes, run->node);
}

static void set_node(const struct lbr_trie_loading *loading,
                     struct lbr_trie_run *run, const struct lbr_trie_node *node)
{
    run->place = loading->place;
    run->node = node->slot.handle;
}

/* Whether a run goes on in the text of the one above, which has kept room for
 * it behind |above|. */
static int goes_on(const struct lbr_trie_loading *loading,
                   const struct lbr_trie_run *run,
                   const struct lbr_trie_node *above)
{
    const struct lbr_trie_run *upper;

    if (!run->follows_text)
        return 0;
    upper = &loading->runs[run->above - 1];
    return upper->open && !upper->closed && node_of(loading, upper) == above &&
           upper->rest == run->length + run->rest;
}

/* A text for |length| bytes and |rest| more to come. */
static struct lbr_trie_text *new_text(struct lbr_trie *trie,
                                      const unsigned char *bytes, size_t length,
                                      size_t rest)
{
    struct lbr_trie_text *text =
        lbr_arena_take(&trie->texts, sizeof *text + length + rest);

    if (!text)
        return NULL;
    text->nodes = 1;
    text->bytes = (uint32_t)(length + rest);
    memcpy(text->at, bytes, length);
    memset(text->at + length, 0, rest);
    return text;
}

/* Gives a new node its text: behind that of the one above, or one of its own
 * for what is new of the run. Returns 0 without memory. */
static int give_text(struct lbr_trie_loading *loading, struct lbr_trie_run *run,
                     struct lbr_trie_node *node, size_t known)
{
    struct lbr_trie_node *above = node->parent;
    uint32_t length = run->length - (uint32_t)known;
    uint32_t rest = known ? 0 : run->rest;
    struct lbr_trie_text *text;

    if (!known && goes_on(loading, run, above)) {
        uint32_t offset = above->offset + above->length;

        text = above->text;
        text->nodes++;
        memcpy(text->at + offset, run->bytes, length);
        lbr_trie_link(loading->trie, node, text, offset, length);
        loading->runs[run->above - 1].closed = 1;
    } else {
        text = new_text(loading->trie, run->bytes + known, length, rest);
        if (!text)
            return 0;
        lbr_trie_link(loading->trie, node, text, 0, length);
    }
    run->open = rest != 0;
    run->closed = 0;
    return 1;
}

static void set_traffic(const struct lbr_trie_loading *loading,
                        const struct lbr_trie_run *run,
                        struct lbr_trie_node *node)
{
    if (!loading->fresh || !run->uses.epoch)
        return;
    node->uses = run->uses;
    node->uses.epoch = epoch_of(loading->trie) + 1 - run->uses.epoch;
}

/* Adds what is new of a run, of which |known| bytes are there, below |above|.
 * NULL without memory. */
static struct lbr_trie_node *add_node(struct lbr_trie_loading *loading,
                                      struct lbr_trie_run *run,
                                      struct lbr_trie_match above, size_t known)
{
    struct lbr_trie *trie = loading->trie;
    struct lbr_trie_node *node =
        lbr_trie_new_node(trie, above.node, run->root, above.matched);

    if (!node)
        return NULL;
    if (!give_text(loading, run, node, known)) {
        lbr_slab_give(&trie->nodes, node);
        return NULL;
    }
    set_traffic(loading, run, node);
    return node;
}

/* Finds or makes the node that ends with a run. NULL when the run above is not
 * there, or without memory. */
static struct lbr_trie_node *settle_run(struct lbr_trie_loading *loading,
                                        struct lbr_trie_run *run)
{
    struct lbr_trie *trie = loading->trie;
    struct lbr_trie_node *node = node_of(loading, run);
    struct lbr_trie_node *above = NULL;
    struct lbr_trie_match path;
    size_t begin;

    if (node)
        return node;
    if (run->above)
        above = node_of(loading, &loading->runs[run->above - 1]);
    if (run->above && !above)
        return NULL;
    begin = above ? above->start + above->length : 0;
    path = lbr_trie_find_below(trie, above, run->root, run->bytes, run->length);
    if (!lbr_trie_cut(trie, &path))
        return NULL;
    node = path.node;
    if (path.matched < begin + run->length)
        node = add_node(loading, run, path, path.matched - begin);
    if (node)
        set_node(loading, run, node);
    return node;
}

/* A node that nobody came to hold goes again, unless it is gone. */
static void leave_run(struct lbr_trie *trie, uint64_t handle)
{
    struct lbr_trie_node *node = lbr_slab_find(&trie->nodes, handle);

    if (node && !node->holder_count && !node->children)
        lbr_trie_free_node(trie, node);
}

/* ---- owners that hold for themselves ---- */

/* What it would cost to hold |node| and all above it. */
static size_t price_of_path(const struct lbr_trie *trie,
                            const struct lbr_trie_node *node,
                            const struct lbr_trie_owner *owner)
{
    size_t price = 0;

    for (; node && !lbr_trie_holds(trie, node, owner); node = node->parent)
        price += lbr_trie_price(node);
    return price;
}

/* Lets the owner hold a path, each above the one below it in the order of use,
 * all before |newer|. Returns 0 without memory; then it holds none of it. */
static int hold_path(struct lbr_trie *trie, struct lbr_trie_node *node,
                     struct lbr_trie_owner *owner, struct lbr_link *newer)
{
    for (; node && !lbr_trie_holds(trie, node, owner); node = node->parent) {
        struct lbr_trie_hold *hold = lbr_trie_add_hold(trie, node, owner);

        if (!hold) {
            while (owner->holds.next != newer)
                lbr_trie_evict(trie, lbr_trie_oldest(owner));
            return 0;
        }
        lbr_trie_place_below(newer, &hold->recency);
        owner->charged += lbr_trie_price(node);
    }
    return 1;
}

/* Lets the owner hold a run as the oldest it has. Returns 0 when there is no
 * room for it, and so for none that is older. */
static int hold_run(struct lbr_trie_loading *loading, uint32_t number,
                    struct lbr_trie_owner *owner)
{
    struct lbr_trie *trie = loading->trie;
    struct lbr_trie_node *node;
    uint64_t handle;
    size_t price;
    int holds;

    lbr_trie_set_budget(trie, owner, owner->budget);
    node = settle_run(loading, &loading->runs[number]);
    if (!node)
        return 0;
    handle = node->slot.handle;
    price = price_of_path(trie, node, owner);
    holds = price <= owner->budget && owner->charged <= owner->budget - price &&
            hold_path(trie, node, owner, owner->holds.next);
    if (!holds)
        leave_run(trie, handle);
    return holds;
}

static void count_run(struct lbr_trie_loading *loading, uint32_t number,
                      int holds)
{
    uint32_t length = loading->runs ? loading->runs[number].length : 0;

    if (holds)
        loading->added += length;
    else
        loading->dropped += length;
}

void lbr_trie_load_owner(struct lbr_trie_loading *loading,
                         struct lbr_reader *reader,
                         struct lbr_trie_owner *owner, size_t budget)
{
    uint64_t count = lbr_get_number(reader, 1);
    int holds = owner != NULL;

    if (owner)
        lbr_trie_set_budget(loading->trie, owner, budget);
    while (count-- && !reader->broken) {
        uint32_t number = get_run(loading, reader);

        if (reader->broken)
            return;
        holds = holds && hold_run(loading, number, owner);
        count_run(loading, number, holds);
    }
}

/* ---- owners that hold on behalf of clients ---- */

static struct lbr_claim *claim_of(const struct lbr_shared_trie *shared,
                                  const struct lbr_trie_node *node,
                                  const struct lbr_account *account)
{
    const struct lbr_trie_hold *hold =
        lbr_trie_find_hold(&shared->trie, node, &account->owner->owner);

    return hold ? lbr_claim_find(shared, hold, account) : NULL;
}

static int claim_node(struct lbr_shared_trie *shared,
                      struct lbr_trie_node *node, struct lbr_account *account,
                      struct lbr_claim *newer)
{
    struct lbr_shared_hold *hold = lbr_hold_take(shared, node, account->owner);

    if (!hold)
        return 0;
    if (lbr_claim_add(shared, hold, account, newer))
        return 1;
    lbr_hold_abandon(shared, hold);
    return 0;
}

/* The same as hold_path(). */
static int claim_path(struct lbr_shared_trie *shared,
                      struct lbr_trie_node *node, struct lbr_account *account)
{
    struct lbr_claim *newer = lbr_claim_oldest(account);

    for (; node && !claim_of(shared, node, account); node = node->parent) {
        if (claim_node(shared, node, account, newer))
            continue;
        while (lbr_claim_oldest(account) != newer)
            lbr_claim_drop(shared, lbr_claim_oldest(account));
        return 0;
    }
    return 1;
}

static int claim_run(struct lbr_trie_loading *loading, uint32_t number,
                     struct lbr_account *account)
{
    struct lbr_shared_trie *shared =
        LBR_OWNER(loading->trie, struct lbr_shared_trie, trie);
    struct lbr_trie_node *node = settle_run(loading, &loading->runs[number]);
    uint64_t handle;

    if (!node)
        return 0;
    handle = node->slot.handle;
    if (claim_path(shared, node, account))
        return 1;
    leave_run(loading->trie, handle);
    return 0;
}

static void load_account(struct lbr_trie_loading *loading,
                         struct lbr_reader *reader,
                         struct lbr_shared_owner *owner, int anonymous,
                         const struct lbr_share_rules *rules)
{
    uint64_t client = lbr_get_u64(reader);
    uint64_t used_at = lbr_get_age(reader);
    uint64_t count = lbr_get_number(reader, 1);
    struct lbr_account *account = NULL;

    if (owner && !reader->broken)
        account = lbr_account_enter(
            LBR_OWNER(loading->trie, struct lbr_shared_trie, trie), owner,
            anonymous ? 0 : client, used_at, rules);
    while (count-- && !reader->broken) {
        uint32_t number = get_run(loading, reader);

        if (reader->broken)
            return;
        if (account && !claim_run(loading, number, account))
            account = NULL;
        count_run(loading, number, account != NULL);
    }
}

void lbr_shared_load_owner(struct lbr_trie_loading *loading,
                           struct lbr_reader *reader,
                           struct lbr_shared_owner *owner, int anonymous,
                           const struct lbr_share_rules *rules)
{
    uint64_t count = lbr_get_number(reader, 10);

    if (owner)
        lbr_shared_set_rules(owner, rules);
    while (count-- && !reader->broken)
        load_account(loading, reader, owner, anonymous, rules);
}

/* ---- the end ---- */

int lbr_trie_loading_is_whole(const struct lbr_trie_loading *loading)
{
    return loading->count == loading->most && loading->bytes == loading->texts;
}

void lbr_trie_load_end(struct lbr_trie_loading *loading)
{
    uint32_t i;

    for (i = 0; i < loading->count; i++) {
        const struct lbr_trie_run *run = &loading->runs[i];
        const struct lbr_trie_node *node = node_of(loading, run);
        struct lbr_trie_text *text;

        if (!node || !run->open || run->closed)
            continue;
        text = node->text;
        text->bytes = node->offset + node->length;
        lbr_arena_trim(&loading->trie->texts, text, sizeof *text + text->bytes);
    }
}

/* The client that was heard of last: of all it is the last to give way. */
static struct lbr_account *latest_of(const struct lbr_shared_owner *owner)
{
    const struct lbr_link *list =
        lbr_list_empty(&owner->active) ? &owner->idle : &owner->active;

    if (lbr_list_empty(list))
        return NULL;
    return LBR_OWNER(list->previous, struct lbr_account, activity);
}

void lbr_shared_trim(struct lbr_shared_trie *shared,
                     struct lbr_shared_owner *owner,
                     const struct lbr_share_rules *rules)
{
    struct lbr_account *latest = latest_of(owner);

    if (latest)
        (void)lbr_shared_make_room(shared, latest, 0, NULL, rules);
    lbr_trie_settle(&shared->trie);
}

void lbr_trie_unload(struct lbr_trie *trie, struct lbr_trie_owner *owner)
{
    struct lbr_trie_hold *hold;

    while ((hold = lbr_trie_oldest(owner)) != NULL)
        lbr_trie_evict(trie, hold);
    lbr_trie_join(trie);
}
