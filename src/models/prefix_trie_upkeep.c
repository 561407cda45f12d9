/* SPDX-License-Identifier: MIT */
#include "models/prefix_trie_upkeep.h"

#include "base/hash.h"

#include <string.h>

/* ---- tables ---- */

static uint64_t symbol_at(const struct lbr_trie *trie,
                          const unsigned char *bytes)
{
    uint64_t symbol;

    if (trie->unit == 1)
        return *bytes;
    memcpy(&symbol, bytes, sizeof symbol);
    return symbol;
}

/* Key of a child in the table: below one parent, distinct for each symbol.
 * Handles are distinct from root keys for all practical purposes; an entry's
 * parent is checked anyway. The secret is mixed in with the parent, before the
 * symbol: strangers choose symbols and root keys, and can guess handles. */
static uint64_t child_key(const struct lbr_trie *trie,
                          const struct lbr_trie_node *parent, uint64_t root,
                          const unsigned char *bytes)
{
    return lbr_hash_pair(
        lbr_hash_pair(trie->secret, parent ? parent->slot.handle : root),
        symbol_at(trie, bytes));
}

static uint64_t key_of(const struct lbr_trie *trie,
                       const struct lbr_trie_node *node)
{
    return child_key(trie, node->parent, node->root, lbr_trie_run(node));
}

struct lbr_trie_node *lbr_trie_child(const struct lbr_trie *trie,
                                     const struct lbr_trie_node *parent,
                                     uint64_t root, const unsigned char *bytes)
{
    uint64_t key = child_key(trie, parent, root, bytes);
    uint32_t cursor = 0;
    uint32_t index;

    while ((index = lbr_map_next(&trie->children, key, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_trie_node *node = lbr_slab_at(&trie->nodes, index);

        if (node->parent == parent && node->root == root)
            return node;
    }
    return NULL;
}

/* Who chooses prompts has a say in which handles stay. */
static uint64_t hold_key(const struct lbr_trie *trie,
                         const struct lbr_trie_node *node,
                         const struct lbr_trie_owner *owner)
{
    return lbr_hash_pair(lbr_hash_pair(trie->secret, node->slot.handle),
                         owner->number);
}

static struct lbr_trie_hold *first_hold(const struct lbr_trie_node *node)
{
    if (lbr_list_empty(&node->holders))
        return NULL;
    return LBR_OWNER(node->holders.next, struct lbr_trie_hold, siblings);
}

struct lbr_trie_hold *lbr_trie_find_hold(const struct lbr_trie *trie,
                                         const struct lbr_trie_node *node,
                                         const struct lbr_trie_owner *owner)
{
    struct lbr_trie_hold *first = first_hold(node);
    uint64_t key;
    uint32_t cursor = 0;
    uint32_t index;

    if (node->holder_count <= 1 || first->owner == owner)
        return first && first->owner == owner ? first : NULL;
    key = hold_key(trie, node, owner);
    while ((index = lbr_map_next(&trie->held, key, &cursor)) != LBR_MAP_NONE) {
        struct lbr_trie_hold *hold = lbr_slab_at(&trie->holds, index);

        if (hold->node == node && hold->owner == owner)
            return hold;
    }
    return NULL;
}

/* ---- holds ---- */

void lbr_trie_note_joinable(struct lbr_trie *trie, struct lbr_trie_node *node)
{
    if (node->children == 1 && !node->pending.next)
        lbr_list_append(&trie->pending, &node->pending);
}

struct lbr_trie_text *lbr_trie_compose(struct lbr_trie *trie,
                                       const struct lbr_trie_node *node,
                                       const unsigned char *bytes, size_t run)
{
    size_t have = node ? node->length : 0;
    struct lbr_trie_text *text =
        lbr_arena_take(&trie->texts, sizeof *text + have + run);

    if (!text)
        return NULL;
    text->nodes = 1;
    text->bytes = (uint32_t)(have + run);
    if (have)
        memcpy(text->at, lbr_trie_run(node), have);
    memcpy(text->at + have, bytes, run);
    return text;
}

void lbr_trie_link(struct lbr_trie *trie, struct lbr_trie_node *node,
                   struct lbr_trie_text *text, uint32_t offset, uint32_t length)
{
    node->text = text;
    node->offset = offset;
    node->length = length;
    lbr_map_add(&trie->children, key_of(trie, node),
                lbr_slab_index(node->slot.handle));
    if (node->parent)
        node->parent->children++;
}

int lbr_trie_reserve_hold(struct lbr_trie *trie)
{
    return lbr_map_reserve_all(&trie->held, trie->holds.live + 1);
}

/* A hold at the newest end of its owner's list, unpaid; NULL without memory. */
struct lbr_trie_hold *lbr_trie_add_hold(struct lbr_trie *trie,
                                        struct lbr_trie_node *node,
                                        struct lbr_trie_owner *owner)
{
    struct lbr_trie_hold *hold;
    void *object;

    if (!lbr_trie_reserve_hold(trie) || lbr_slab_take(&trie->holds, &object))
        return NULL;
    hold = object;
    hold->node = node;
    hold->owner = owner;
    lbr_list_append(&owner->holds, &hold->recency);
    lbr_list_append(&node->holders, &hold->siblings);
    if (node->holder_count++)
        lbr_map_add(&trie->held, hold_key(trie, node, owner),
                    lbr_slab_index(hold->slot.handle));
    if (node->parent)
        lbr_trie_note_joinable(trie, node->parent);
    return hold;
}

static void forget_hold(struct lbr_trie *trie, const struct lbr_trie_hold *hold)
{
    lbr_map_remove(&trie->held, hold_key(trie, hold->node, hold->owner),
                   lbr_slab_index(hold->slot.handle));
}

static void drop_hold(struct lbr_trie *trie, struct lbr_trie_hold *hold)
{
    struct lbr_trie_node *node = hold->node;
    int was_first = hold == first_hold(node);

    lbr_list_remove(&hold->recency);
    lbr_list_remove(&hold->siblings);
    /* Who moves up to the front leaves the table. */
    if (--node->holder_count)
        forget_hold(trie, was_first ? first_hold(node) : hold);
    lbr_slab_give(&trie->holds, hold);
}

/* Gives back a leaf's part of its text. Children go before their parents: what
 * goes is the tail. */
void lbr_trie_leave_text(struct lbr_trie *trie, struct lbr_trie_node *node)
{
    struct lbr_trie_text *text = node->text;

    if (--text->nodes) {
        text->bytes = node->offset;
        lbr_arena_trim(&trie->texts, text, sizeof *text + text->bytes);
    } else {
        lbr_arena_give(&trie->texts, text);
    }
}

void lbr_trie_replace_text(struct lbr_trie *trie, struct lbr_trie_node *node,
                           struct lbr_trie_owner *owner,
                           struct lbr_trie_text *text, uint32_t more)
{
    owner->charged -= lbr_trie_price(node);
    lbr_trie_leave_text(trie, node);
    node->text = text;
    node->offset = 0;
    node->length += more;
    owner->charged += lbr_trie_price(node);
}

void lbr_trie_shorten(struct lbr_trie *trie, struct lbr_trie_node *node,
                      uint32_t length)
{
    struct lbr_trie_owner *owner =
        LBR_OWNER(node->holders.next, struct lbr_trie_hold, siblings)->owner;
    struct lbr_trie_text *text = node->text;

    owner->charged -= lbr_trie_price(node);
    node->length = length;
    text->bytes = node->offset + length;
    lbr_arena_trim(&trie->texts, text, sizeof *text + text->bytes);
    owner->charged += lbr_trie_price(node);
}

void lbr_trie_free_node(struct lbr_trie *trie, struct lbr_trie_node *node)
{
    lbr_map_remove(&trie->children, key_of(trie, node),
                   lbr_slab_index(node->slot.handle));
    if (node->parent) {
        node->parent->children--;
        lbr_trie_note_joinable(trie, node->parent);
    }
    if (node->pending.next)
        lbr_list_remove(&node->pending);
    lbr_trie_leave_text(trie, node);
    lbr_slab_give(&trie->nodes, node);
}

void lbr_trie_evict(struct lbr_trie *trie, struct lbr_trie_hold *hold)
{
    struct lbr_trie_node *node = hold->node;

    hold->owner->charged -= lbr_trie_price(node);
    drop_hold(trie, hold);
    if (node->holder_count)
        lbr_trie_note_joinable(trie, node);
    else
        lbr_trie_free_node(trie, node);
}

struct lbr_trie_hold *lbr_trie_oldest(const struct lbr_trie_owner *owner)
{
    if (lbr_list_empty(&owner->holds))
        return NULL;
    return LBR_OWNER(owner->holds.next, struct lbr_trie_hold, recency);
}

/* Evicts until |cost| more fits, but nothing as new as |keep| (NULL: no such
 * limit). Returns the bytes that are left. */
size_t lbr_trie_make_room(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                          size_t cost, const struct lbr_trie_hold *keep)
{
    struct lbr_trie_hold *hold;

    while (owner->charged + cost > owner->budget &&
           (hold = lbr_trie_oldest(owner)) != NULL && hold != keep)
        lbr_trie_evict(trie, hold);
    return owner->charged < owner->budget ? owner->budget - owner->charged : 0;
}

/* ---- joining and splitting ---- */

/* The only child of a node if it continues the node's own text, else NULL. */
static struct lbr_trie_node *continuation(const struct lbr_trie *trie,
                                          const struct lbr_trie_node *node)
{
    uint32_t end = node->offset + node->length;
    struct lbr_trie_node *child;

    if (node->children != 1 || end >= node->text->bytes)
        return NULL;
    child = lbr_trie_child(trie, node, node->root, node->text->at + end);
    if (!child || child->text != node->text || child->offset != end)
        return NULL;
    return child;
}

/* Whether |child| is held exactly as |node| is. */
static int held_alike(const struct lbr_trie *trie,
                      const struct lbr_trie_node *node,
                      const struct lbr_trie_node *child)
{
    const struct lbr_link *link;

    if (child->holder_count != node->holder_count)
        return 0;
    for (link = node->holders.next; trie->stakes && link != &node->holders;
         link = link->next) {
        const struct lbr_trie_hold *upper =
            LBR_OWNER(link, struct lbr_trie_hold, siblings);

        if (!trie->stakes->same(upper,
                                lbr_trie_find_hold(trie, child, upper->owner)))
            return 0;
    }
    return 1;
}

/* Lets every holder's hold of |child| take the place of that of |node|. */
static void merge_holds(struct lbr_trie *trie, struct lbr_trie_node *node,
                        struct lbr_trie_node *child)
{
    size_t joined = lbr_trie_cost((size_t)node->length + child->length);

    while (!lbr_list_empty(&node->holders)) {
        struct lbr_trie_hold *upper =
            LBR_OWNER(node->holders.next, struct lbr_trie_hold, siblings);
        struct lbr_trie_owner *owner = upper->owner;
        struct lbr_trie_hold *lower = lbr_trie_find_hold(trie, child, owner);

        if (trie->stakes)
            trie->stakes->merge(trie, upper, lower);
        lbr_trie_place_below(&upper->recency, &lower->recency);
        owner->charged += joined - lbr_trie_price(node) - lbr_trie_price(child);
        drop_hold(trie, upper);
    }
}

/* Makes |child|, whose holders are those of |node|, one with it again. */
static void join(struct lbr_trie *trie, struct lbr_trie_node *node,
                 struct lbr_trie_node *child)
{
    merge_holds(trie, node, child);
    lbr_map_remove(&trie->children, key_of(trie, child),
                   lbr_slab_index(child->slot.handle));
    lbr_map_remove(&trie->children, key_of(trie, node),
                   lbr_slab_index(node->slot.handle));
    child->parent = node->parent;
    child->offset = node->offset;
    child->start = node->start;
    child->length += node->length;
    child->text->nodes--;
    lbr_map_add(&trie->children, key_of(trie, child),
                lbr_slab_index(child->slot.handle));
    lbr_slab_give(&trie->nodes, node);
}

void lbr_trie_join(struct lbr_trie *trie)
{
    while (!lbr_list_empty(&trie->pending)) {
        struct lbr_trie_node *node =
            LBR_OWNER(trie->pending.next, struct lbr_trie_node, pending);
        struct lbr_trie_node *child = continuation(trie, node);

        lbr_list_remove(&node->pending);
        node->pending.next = NULL;
        if (child && held_alike(trie, node, child))
            join(trie, node, child);
    }
}

/* Brings owners that splits put above their budget back to it. */
void lbr_trie_settle(struct lbr_trie *trie)
{
    while (!lbr_list_empty(&trie->over)) {
        struct lbr_trie_owner *owner =
            LBR_OWNER(trie->over.next, struct lbr_trie_owner, over);

        lbr_list_remove(&owner->over);
        owner->over.next = NULL;
        (void)lbr_trie_make_room(trie, owner, 0, NULL);
    }
    lbr_trie_join(trie);
}

struct lbr_trie_node *lbr_trie_new_node(struct lbr_trie *trie,
                                        struct lbr_trie_node *parent,
                                        uint64_t root, size_t start)
{
    struct lbr_trie_node *node;
    void *object;

    if (!lbr_map_reserve(&trie->children) ||
        lbr_slab_take(&trie->nodes, &object))
        return NULL;
    node = object;
    node->parent = parent;
    node->root = root;
    node->start = start;
    node->children = node->holder_count = 0;
    node->pending.next = NULL;
    lbr_list_init(&node->holders);
    memset(&node->uses, 0, sizeof node->uses);
    return node;
}

/* Copies a hold of the lower part of a node, or returns 0 without memory. */
static int copy_hold(struct lbr_trie *trie, struct lbr_trie_hold *hold,
                     struct lbr_trie_node *upper)
{
    struct lbr_link *newer = hold->recency.next;
    struct lbr_trie_hold *copy = lbr_trie_add_hold(trie, upper, hold->owner);

    if (!copy)
        return 0;
    lbr_trie_place_below(newer, &copy->recency);
    if (!trie->stakes || trie->stakes->copy(trie, hold, copy))
        return 1;
    drop_hold(trie, copy);
    return 0;
}

/* Gives |upper| a hold of everybody who holds |node|, each just above the
 * other. Returns 0 without memory; then |upper| has none. */
static int copy_holds(struct lbr_trie *trie, const struct lbr_trie_node *node,
                      struct lbr_trie_node *upper)
{
    const struct lbr_link *link = node->holders.next;

    while (
        link != &node->holders &&
        copy_hold(trie, LBR_OWNER(link, struct lbr_trie_hold, siblings), upper))
        link = link->next;
    if (link == &node->holders)
        return 1;
    while (!lbr_list_empty(&upper->holders)) {
        struct lbr_trie_hold *copy =
            LBR_OWNER(upper->holders.next, struct lbr_trie_hold, siblings);

        if (trie->stakes)
            trie->stakes->clear(trie, copy);
        drop_hold(trie, copy);
    }
    return 0;
}

static void charge_split(struct lbr_trie *trie, struct lbr_trie_node *upper,
                         size_t more)
{
    struct lbr_link *link;

    for (link = upper->holders.next; link != &upper->holders;
         link = link->next) {
        struct lbr_trie_owner *owner =
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner;

        owner->charged += more;
        if (owner->charged > owner->budget && !owner->over.next)
            lbr_list_append(&trie->over, &owner->over);
    }
}

/* Splits off the first |length| bytes of |node| as its new parent, which is
 * returned; NULL without memory. */
struct lbr_trie_node *lbr_trie_split(struct lbr_trie *trie,
                                     struct lbr_trie_node *node,
                                     uint32_t length)
{
    size_t before = lbr_trie_price(node);
    struct lbr_trie_node *upper =
        lbr_trie_new_node(trie, node->parent, node->root, node->start);

    if (!upper)
        return NULL;
    /* One entry more, which lbr_trie_new_node() made room for. */
    if (!copy_holds(trie, node, upper)) {
        lbr_slab_give(&trie->nodes, upper);
        return NULL;
    }
    lbr_map_remove(&trie->children, key_of(trie, node),
                   lbr_slab_index(node->slot.handle));
    upper->text = node->text;
    upper->text->nodes++;
    upper->offset = node->offset;
    upper->length = length;
    upper->children = 1;
    upper->uses = node->uses;
    node->parent = upper;
    node->offset += length;
    node->length -= length;
    node->start += length;
    lbr_map_add(&trie->children, key_of(trie, upper),
                lbr_slab_index(upper->slot.handle));
    lbr_map_add(&trie->children, key_of(trie, node),
                lbr_slab_index(node->slot.handle));
    charge_split(trie, upper,
                 lbr_trie_price(upper) + lbr_trie_price(node) - before);
    lbr_trie_note_joinable(trie, upper);
    return upper;
}

int lbr_trie_cut(struct lbr_trie *trie, struct lbr_trie_match *path)
{
    struct lbr_trie_node *node = path->node;
    struct lbr_trie_node *upper;

    if (!node || path->matched == node->start + node->length)
        return 1;
    upper = lbr_trie_split(trie, node, (uint32_t)(path->matched - node->start));
    path->node = upper ? upper : node->parent;
    if (!upper)
        path->matched = node->start;
    return upper != NULL;
}
