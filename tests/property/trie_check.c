/* SPDX-License-Identifier: MIT */
#include "trie_check.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* What one walk over the nodes finds out about each, by its slab index. */
struct note {
    uint32_t children;
    const struct lbr_trie_node *child; /* one of them */
    uint32_t text_nodes;               /* of the text that begins here */
    uint32_t text_end;
};

struct walk {
    const struct lbr_trie *trie;
    const char *owners; /* the first, the next ones |stride| bytes further */
    size_t stride, count;
    struct note *notes;
    uint32_t *ages; /* by node and owner: place in its list + 1, 0: no hold */
    unsigned char *path;
    size_t path_bytes;
    uint32_t nodes;
    uint64_t holds;
};

static size_t index_of(const struct lbr_trie_node *node)
{
    return lbr_slab_index(node->slot.handle);
}

static uint32_t *age_of(const struct walk *walk,
                        const struct lbr_trie_node *node, size_t owner)
{
    return &walk->ages[index_of(node) * walk->count + owner];
}

static const struct lbr_trie_owner *owner_at(const struct walk *walk,
                                             size_t number)
{
    return (const void *)(walk->owners + number * walk->stride);
}

static void check_live(const struct lbr_slab *slab, const void *object)
{
    const struct lbr_slot *slot = object;

    CHECK(lbr_slab_find(slab, slot->handle) == object);
}

/* ---- owners ---- */

static uint32_t walk_owner(struct walk *walk, size_t number)
{
    const struct lbr_trie_owner *owner = owner_at(walk, number);
    const struct lbr_link *link;
    size_t charged = 0;
    uint32_t age = 0;

    for (link = owner->holds.next; link != &owner->holds; link = link->next) {
        const struct lbr_trie_hold *hold =
            LBR_OWNER(link, struct lbr_trie_hold, recency);

        check_live(&walk->trie->holds, hold);
        check_live(&walk->trie->nodes, hold->node);
        CHECK(link->next->previous == link);
        CHECK(hold->owner == owner);
        CHECK(lbr_trie_holds(walk->trie, hold->node, owner));
        CHECK_U(*age_of(walk, hold->node, number), 0);
        *age_of(walk, hold->node, number) = ++age;
        charged += lbr_trie_cost(hold->node->length);
    }
    CHECK_U(owner->charged, charged);
    CHECK(owner->charged <= owner->budget);
    CHECK(!owner->over.next);
    return age;
}

static void walk_owners(struct walk *walk)
{
    uint64_t holds = 0;

    for (size_t i = 0; i < walk->count; i++)
        holds += walk_owner(walk, i);
    CHECK_U(walk->trie->holds.live, holds);
    /* All but the first of each node are in the table. */
    CHECK_U(walk->trie->held.count, holds - walk->trie->nodes.live);
}

/* ---- nodes ---- */

/* Whoever holds a node holds its parent, more recently, unless it holds for
 * others: then theirs is the age that counts. */
static void check_holders(struct walk *walk, const struct lbr_trie_node *node)
{
    const struct lbr_link *link;
    uint32_t holders = 0;

    for (link = node->holders.next; link != &node->holders; link = link->next) {
        const struct lbr_trie_hold *hold =
            LBR_OWNER(link, struct lbr_trie_hold, siblings);
        size_t owner =
            (size_t)((const char *)hold->owner - walk->owners) / walk->stride;

        CHECK(link->next->previous == link);
        CHECK(hold->node == node);
        CHECK(owner < walk->count);
        CHECK(*age_of(walk, node, owner) > 0);
        if (node->parent)
            CHECK(*age_of(walk, node->parent, owner) >
                  (walk->trie->stakes ? 0 : *age_of(walk, node, owner)));
        holders++;
    }
    CHECK(holders > 0);
    CHECK_U(node->holder_count, holders);
    walk->holds += holders;
}

static void check_place(const struct walk *walk,
                        const struct lbr_trie_node *node)
{
    const struct lbr_trie_node *parent = node->parent;

    CHECK(node->length > 0);
    CHECK_U(node->length % walk->trie->unit, 0);
    CHECK(!node->pending.next);
    if (!parent) {
        CHECK_U(node->start, 0);
        return;
    }
    check_live(&walk->trie->nodes, parent);
    CHECK_U(node->root, parent->root);
    CHECK_U(node->start, parent->start + parent->length);
}

/* A text belongs to a chain of nodes, top down without gaps. */
static void note_text(struct walk *walk, const struct lbr_trie_node *node)
{
    const struct lbr_trie_node *top = node;
    uint32_t end = node->offset + node->length;
    struct note *note;

    for (; top->parent && top->parent->text == node->text; top = top->parent)
        CHECK_U(top->offset, top->parent->offset + top->parent->length);
    CHECK_U(top->offset, 0);
    note = &walk->notes[index_of(top)];
    note->text_nodes++;
    if (end > note->text_end)
        note->text_end = end;
}

/* The prompt that ends with a node finds it, however deep: the table has its
 * entry, under the right key, and no other node stands in its place. */
static void check_findable(struct walk *walk, const struct lbr_trie_node *node)
{
    size_t length = node->start + node->length;
    const struct lbr_trie_node *above;
    struct lbr_trie_match match;

    if (length > walk->path_bytes) {
        free(walk->path);
        walk->path = malloc(length);
        walk->path_bytes = length;
        CHECK(walk->path);
    }
    for (above = node; above; above = above->parent)
        memcpy(walk->path + above->start, above->text->at + above->offset,
               above->length);
    match =
        lbr_trie_find_below(walk->trie, NULL, node->root, walk->path, length);
    CHECK(match.node == node);
    CHECK_U(match.matched, length);
}

static void walk_node(struct walk *walk, const struct lbr_trie_node *node)
{
    check_place(walk, node);
    check_holders(walk, node);
    check_findable(walk, node);
    note_text(walk, node);
    if (node->parent) {
        struct note *note = &walk->notes[index_of(node->parent)];

        note->children++;
        note->child = node;
    }
    walk->nodes++;
}

/* ---- what the walk came to ---- */

/* What stands behind all holds of a node. */
static uint32_t stakes_of(const struct walk *walk,
                          const struct lbr_trie_node *node)
{
    const struct lbr_link *link;
    uint32_t claims = 0;

    for (link = node->holders.next;
         walk->trie->stakes && link != &node->holders; link = link->next)
        claims +=
            LBR_OWNER(link, struct lbr_shared_hold, hold.siblings)->claim_count;
    return claims;
}

/* Whether a node and its only child share their text, their holders, and what
 * stands behind these: the lower part's is never more. */
static int joinable(const struct walk *walk, const struct note *note,
                    const struct lbr_trie_node *node)
{
    return note->children == 1 && note->child->text == node->text &&
           note->child->holder_count == node->holder_count &&
           stakes_of(walk, note->child) == stakes_of(walk, node);
}

static void check_notes(const struct walk *walk)
{
    const struct lbr_trie *trie = walk->trie;
    const struct lbr_trie_node *node = lbr_slab_next(&trie->nodes, 0);
    size_t texts = 0;

    for (; node; node = lbr_slab_next(&trie->nodes, node->slot.handle)) {
        const struct note *note = &walk->notes[index_of(node)];

        CHECK_U(node->children, note->children);
        CHECK(!joinable(walk, note, node));
        if (!note->text_nodes)
            continue;
        CHECK_U(node->text->nodes, note->text_nodes);
        CHECK_U(node->text->bytes, note->text_end);
        texts += lbr_arena_cost(sizeof *node->text + node->text->bytes);
    }
    CHECK_U(lbr_arena_used(&trie->texts), texts);
    CHECK_U(trie->nodes.live, walk->nodes);
    CHECK_U(trie->children.count, walk->nodes);
    CHECK_U(trie->holds.live, walk->holds);
    CHECK(lbr_list_empty(&trie->pending));
    CHECK(lbr_list_empty(&trie->over));
}

static void check_trie(struct walk *walk)
{
    const struct lbr_trie *trie = walk->trie;
    const struct lbr_trie_node *node;

    walk->notes = calloc((size_t)trie->nodes.used + 1, sizeof *walk->notes);
    walk->ages = calloc(((size_t)trie->nodes.used + 1) * walk->count,
                        sizeof *walk->ages);
    CHECK(walk->notes && walk->ages);
    walk_owners(walk);
    for (node = lbr_slab_next(&trie->nodes, 0); node;
         node = lbr_slab_next(&trie->nodes, node->slot.handle))
        walk_node(walk, node);
    check_notes(walk);
    free(walk->notes);
    free(walk->ages);
    free(walk->path);
}

void trie_check(const struct lbr_trie *trie,
                const struct lbr_trie_owner *owners, size_t count)
{
    struct walk walk = {.trie = trie,
                        .owners = (const char *)owners,
                        .stride = sizeof *owners,
                        .count = count};

    check_trie(&walk);
}

void trie_check_shared(const struct lbr_shared_trie *shared,
                       const struct lbr_shared_owner *owners, size_t count)
{
    struct walk walk = {.trie = &shared->trie,
                        .owners = (const char *)&owners->owner,
                        .stride = sizeof *owners,
                        .count = count};

    check_trie(&walk);
}
