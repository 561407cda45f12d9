/* SPDX-License-Identifier: MIT */
/* Which owner (target) has seen which prompt prefixes: one run-compressed trie
 * for all owners of a group.
 *
 *     root key ─▶ [You are a helpful …] ─┬▶ [What is …]      held by A
 *                  held by A, B          └▶ [Write a poem …] held by B
 *
 * A node is a run of symbols, bytes or 64-bit block hashes; its children differ
 * in their first symbol and are found through one flat table. Whoever holds a
 * node holds all nodes above it, so the holders of the deepest match match
 * longest, and going up adds those that match less: the length that an owner
 * holds is exact.
 *
 *     owner ─▶ oldest hold … newest hold      eviction takes the oldest
 *
 * Every record touches its path from the leaf up, so an owner's oldest hold is
 * always a leaf among its holds: eviction is least recently used, leaf first,
 * and costs the same whatever the size. A node without holders is freed; a
 * node left with one child of the same holders is joined with it, so that live
 * content alone decides the size. Each owner pays for what it holds out of a
 * budget in bytes, overhead included; texts come in chunks, of which one may
 * stay unused, since the memory of all budgets is a bound. Nothing recurses. */
#ifndef LBR_MODELS_PREFIX_TRIE_H
#define LBR_MODELS_PREFIX_TRIE_H

#include "containers/arena.h"
#include "containers/list.h"
#include "containers/map.h"
#include "containers/slab.h"

/* Longest run of one node, bytes: a multiple of every unit, of which four fit
 * into a chunk of texts. */
#define LBR_TRIE_LONGEST_RUN ((size_t)8128)

/* Text of one or more nodes on a path; the lowest part is given back first. */
struct lbr_trie_text {
    uint32_t nodes; /* that use it */
    uint32_t bytes;
    unsigned char at[]; /* the symbols */
};

/* How many requests went through a node lately: counted in epochs of
 * LBR_TRIE_EPOCH requests, of which the last complete one is what counts. */
struct lbr_trie_uses {
    uint32_t epoch; /* that `now` belongs to */
    uint16_t now, before;
};

#define LBR_TRIE_EPOCH 128U

/* Most nodes on the way of a prompt. There is one for each place where others
 * leave it: a stranger can make one of each of its bytes, after which a look at
 * it would take a thousand times as long as its bytes should. What is below is
 * not found, so it is not used, and goes. */
#define LBR_TRIE_DEEPEST 512U

struct lbr_trie_node {
    struct lbr_slot slot;         /* spare: scratch, its number in a snapshot */
    struct lbr_trie_node *parent; /* NULL: below the root key */
    struct lbr_trie_text *text;
    uint32_t offset, length; /* bytes of the text */
    size_t start;            /* bytes on the path before this node */
    uint64_t root;
    uint32_t children;
    uint32_t holder_count;
    struct lbr_link holders; /* holds of this node */
    struct lbr_link pending; /* to be looked at for joining; next NULL: no */
    struct lbr_trie_node *below; /* scratch: next on the way of a record */
    struct lbr_trie_uses uses;
};

struct lbr_trie_owner;

struct lbr_trie_hold {
    struct lbr_slot slot;
    struct lbr_trie_node *node;
    struct lbr_trie_owner *owner;
    struct lbr_link recency;  /* among the owner's, oldest first */
    struct lbr_link siblings; /* among the node's */
};

/* An owner's side; embedded in the caller's object. */
struct lbr_trie_owner {
    struct lbr_link holds; /* oldest first */
    struct lbr_link over;  /* among those above their budget; next NULL: no */
    size_t charged;        /* bytes it pays for … */
    size_t budget;         /* … out of so many */
    uint32_t number;       /* distinct among the owners of a trie */
};

struct lbr_trie;

/* What stands behind a hold when an owner does not hold by itself but for
 * others: the trie asks to carry it along. See prefix_trie_shares.h. */
struct lbr_trie_stakes {
    size_t hold_size; /* of an object that begins with a hold */
    /* Lets |copy|, a new hold of the part above, have what |hold| has. Returns
     * 0 without memory; then |copy| has nothing. */
    int (*copy)(struct lbr_trie *trie, struct lbr_trie_hold *hold,
                struct lbr_trie_hold *copy);
    /* Takes everything from |copy| again. */
    void (*clear)(struct lbr_trie *trie, struct lbr_trie_hold *copy);
    /* Whether |upper| has no more than |lower|, the hold below it. */
    int (*same)(const struct lbr_trie_hold *upper,
                const struct lbr_trie_hold *lower);
    /* Lets |lower| take the place of |upper|, which has nothing then. */
    void (*merge)(struct lbr_trie *trie, struct lbr_trie_hold *upper,
                  struct lbr_trie_hold *lower);
};

struct lbr_trie {
    struct lbr_arena texts;
    struct lbr_memory records; /* of the following tables */
    struct lbr_slab nodes, holds;
    struct lbr_map children; /* (parent or root, first symbol) ─▶ node */
    struct lbr_map held;     /* (node, owner) ─▶ hold, but a node's first */
    struct lbr_link pending; /* nodes that may be joined with their child */
    struct lbr_link over;    /* owners that a split put above their budget */
    uint64_t budgets;        /* of all owners: what the trie may take */
    uint32_t unit;           /* bytes of a symbol: 1 or 8 */
    uint32_t requests;       /* recorded so far, modulo 2^32 */
    const struct lbr_trie_stakes *stakes; /* NULL: owners hold for themselves */
    uint64_t secret;                      /* of the tables' keys */
};

/* How far a prompt is known: |node| is the deepest node it reaches, of which
 * |matched| counts the bytes on the whole path, a part of the node included. */
struct lbr_trie_match {
    struct lbr_trie_node *node; /* NULL: nothing */
    size_t matched;
    int deep; /* it ends here for having LBR_TRIE_DEEPEST nodes */
};

/* Nobody who chooses prompts may know |secret|: the tables are keyed by it. */
void lbr_trie_init(struct lbr_trie *trie, struct lbr_memory *memory,
                   uint32_t unit, uint32_t kind, uint64_t secret);
/* The same for holds that have something behind them. */
void lbr_trie_init_stakes(struct lbr_trie *trie, struct lbr_memory *memory,
                          uint32_t unit, uint32_t kind, uint64_t secret,
                          const struct lbr_trie_stakes *stakes);
void lbr_trie_destroy(struct lbr_trie *trie);

void lbr_trie_owner_init(struct lbr_trie_owner *owner, uint32_t number);

/* Finds how far the |length| bytes (whole symbols) under |root| are known, as
 * deep as LBR_TRIE_DEEPEST. Changes nothing. */
struct lbr_trie_match lbr_trie_find(const struct lbr_trie *trie, uint64_t root,
                                    const void *bytes, size_t length);

/* Bytes of a match that somebody holds who holds |node|, the match's own node
 * or one above it. */
static inline size_t lbr_trie_depth(struct lbr_trie_match match,
                                    const struct lbr_trie_node *node)
{
    size_t end = node->start + node->length;

    return end < match.matched ? end : match.matched;
}

/* The same below |node|, all of which is known, however deep; NULL: the root
 * key. Bytes on the whole path count as matched, those of the prompt at |bytes|
 * are what comes after it. */
struct lbr_trie_match lbr_trie_find_below(const struct lbr_trie *trie,
                                          struct lbr_trie_node *node,
                                          uint64_t root, const void *bytes,
                                          size_t length);

/* Whether |owner| holds |node|. */
int lbr_trie_holds(const struct lbr_trie *trie,
                   const struct lbr_trie_node *node,
                   const struct lbr_trie_owner *owner);

/* Bytes of a match that |owner| holds. */
size_t lbr_trie_held(const struct lbr_trie *trie, struct lbr_trie_match match,
                     const struct lbr_trie_owner *owner);

/* Part of the latest requests that went through a node; 0 when too little was
 * seen. */
double lbr_trie_traffic(const struct lbr_trie *trie,
                        const struct lbr_trie_node *node);

/* Bytes of a match that at least |part| of the latest requests had in common
 * with it: a head that says little about where a request belongs. 0 when the
 * match is the whole prompt of |length| bytes, or too little was seen. */
size_t lbr_trie_common_head(const struct lbr_trie *trie,
                            struct lbr_trie_match match, size_t length,
                            double part);

/* Notes that |owner| now has all of the prompt, evicting the oldest of what it
 * holds to stay within |budget|. |match| is what lbr_trie_find() gave for it,
 * with no change to the trie since. Of a prompt that is too long, ends
 * too deep, or when there is no memory, only the head is kept. */
void lbr_trie_record(struct lbr_trie *trie, struct lbr_trie_match match,
                     uint64_t root, const void *bytes, size_t length,
                     struct lbr_trie_owner *owner, size_t budget);

/* Drops all that |owner| holds; linear in that. */
void lbr_trie_purge(struct lbr_trie *trie, struct lbr_trie_owner *owner);

/* What a run of |bytes| costs an owner. */
size_t lbr_trie_cost(size_t bytes);

#endif
