/* SPDX-License-Identifier: MIT */
/* The inside of the prefix trie: nodes, holds, eviction, splitting, joining.
 * prefix_trie.c is made of these; nobody else uses them. */
#ifndef LBR_MODELS_PREFIX_TRIE_UPKEEP_H
#define LBR_MODELS_PREFIX_TRIE_UPKEEP_H

#include "models/prefix_trie.h"

static inline const unsigned char *lbr_trie_run(
    const struct lbr_trie_node *node)
{
    return node->text->at + node->offset;
}

/* What a hold of a node costs. */
static inline size_t lbr_trie_price(const struct lbr_trie_node *node)
{
    return lbr_trie_cost(node->length);
}

/* Puts a hold just below |next|, as the older of the two. */
static inline void lbr_trie_place_below(struct lbr_link *next,
                                        struct lbr_link *link)
{
    lbr_list_remove(link);
    lbr_list_append(next, link);
}

/* The child of |parent| (NULL: of the root key) that begins with the symbol at
 * |bytes|, or NULL. */
struct lbr_trie_node *lbr_trie_child(const struct lbr_trie *trie,
                                     const struct lbr_trie_node *parent,
                                     uint64_t root, const unsigned char *bytes);

struct lbr_trie_hold *lbr_trie_find_hold(const struct lbr_trie *trie,
                                         const struct lbr_trie_node *node,
                                         const struct lbr_trie_owner *owner);

/* A node without text, holders and children that is not linked yet; NULL
 * without memory. The child table then has room for one entry more. */
struct lbr_trie_node *lbr_trie_new_node(struct lbr_trie *trie,
                                        struct lbr_trie_node *parent,
                                        uint64_t root, size_t start);

/* A text with the |run| bytes at |bytes|, behind those of |node| (NULL: none);
 * NULL without memory. */
struct lbr_trie_text *lbr_trie_compose(struct lbr_trie *trie,
                                       const struct lbr_trie_node *node,
                                       const unsigned char *bytes, size_t run);

/* Gives a new leaf its |length| bytes of a text, from |offset| on, and makes it
 * findable. */
void lbr_trie_link(struct lbr_trie *trie, struct lbr_trie_node *node,
                   struct lbr_trie_text *text, uint32_t offset,
                   uint32_t length);

/* Gives a leaf that |owner| alone holds another text, |more| bytes longer. */
void lbr_trie_replace_text(struct lbr_trie *trie, struct lbr_trie_node *node,
                           struct lbr_trie_owner *owner,
                           struct lbr_trie_text *text, uint32_t more);

/* Cuts a leaf with one hold back to its first |length| bytes. */
void lbr_trie_shorten(struct lbr_trie *trie, struct lbr_trie_node *node,
                      uint32_t length);

/* Frees a leaf that nobody holds. */
void lbr_trie_free_node(struct lbr_trie *trie, struct lbr_trie_node *node);

/* Gives back a leaf's part of its text: children go before their parents, so
 * what goes is the tail. */
void lbr_trie_leave_text(struct lbr_trie *trie, struct lbr_trie_node *node);

/* Makes room for one more hold in the table, as if all were in it: who is first
 * may change. Returns 0 without memory. */
int lbr_trie_reserve_hold(struct lbr_trie *trie);

/* Lets lbr_trie_settle() see whether |node| is to be joined with its child. */
void lbr_trie_note_joinable(struct lbr_trie *trie, struct lbr_trie_node *node);

/* A hold at the newest end of its owner's list, unpaid; NULL without memory. */
struct lbr_trie_hold *lbr_trie_add_hold(struct lbr_trie *trie,
                                        struct lbr_trie_node *node,
                                        struct lbr_trie_owner *owner);

/* The hold that an owner would lose next, or NULL. */
struct lbr_trie_hold *lbr_trie_oldest(const struct lbr_trie_owner *owner);

/* Takes a hold back, and frees the node if it was the last. */
void lbr_trie_evict(struct lbr_trie *trie, struct lbr_trie_hold *hold);

/* Evicts until |cost| more fits, but nothing as new as |keep| (NULL: no such
 * limit). Returns the bytes that are left. */
size_t lbr_trie_make_room(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                          size_t cost, const struct lbr_trie_hold *keep);

/* Splits off the first |length| bytes of |node| as its new parent, which is
 * returned; NULL without memory. */
struct lbr_trie_node *lbr_trie_split(struct lbr_trie *trie,
                                     struct lbr_trie_node *node,
                                     uint32_t length);

/* Splits the last node of a path where the prompt leaves it. Returns 0 without
 * memory; then the path ends above that node. */
int lbr_trie_cut(struct lbr_trie *trie, struct lbr_trie_match *path);

/* Counts a request that went through |node| and all above it. */
void lbr_trie_note_request(struct lbr_trie *trie, struct lbr_trie_node *node);

/* What an owner may hold from now on, and what the trie's memory may be for
 * it; call before anything is added. */
void lbr_trie_set_budget(struct lbr_trie *trie, struct lbr_trie_owner *owner,
                         size_t budget);

/* Joins what splits left behind. */
void lbr_trie_join(struct lbr_trie *trie);

/* What must wait until no node is in use: brings owners that splits put above
 * their budget back to it, and joins what splits left behind. */
void lbr_trie_settle(struct lbr_trie *trie);

#endif
