/* SPDX-License-Identifier: MIT */
/* What tries remember, as bytes, and back. An owner is saved as what it holds,
 * latest first; whoever holds a run holds what stands before it, so each run
 * comes after the one above it, and is written in full where it is first met:
 *
 *     owner:  number of runs, run run run …
 *     run:    number                     one that was written before; or
 *             number, what it follows,   the next number
 *             root key if nothing, marks, length, rest of its text, traffic,
 *             its bytes
 *
 * Loading adds runs to whatever trie is there, so any row of runs makes a valid
 * trie, and one that several owners hold is one again. */
#ifndef LBR_MODELS_PREFIX_TRIE_SAVED_H
#define LBR_MODELS_PREFIX_TRIE_SAVED_H

#include "base/bytes.h"
#include "models/prefix_trie_shares.h"

/* ---- saving ---- */

struct lbr_trie_saving {
    struct lbr_trie *trie;
    struct lbr_writer *writer;
    uint32_t runs; /* written so far */
};

/* Begins with a trie: no run was written yet. Linear in its nodes. */
void lbr_trie_save_begin(struct lbr_trie_saving *saving, struct lbr_trie *trie,
                         struct lbr_writer *writer);

/* What an owner holds. */
void lbr_trie_save_owner(struct lbr_trie_saving *saving,
                         const struct lbr_trie_owner *owner);

/* The same of one that holds on behalf of clients, longest silent first. */
void lbr_shared_save_owner(struct lbr_trie_saving *saving,
                           const struct lbr_shared_owner *owner);

/* ---- loading ---- */

/* A run as it was read. */
struct lbr_trie_run {
    const unsigned char *bytes;
    uint64_t root;
    uint64_t node;  /* handle of the node that ends with it … */
    uint32_t place; /* … in the trie of that number */
    uint32_t above; /* number of the run that it follows, from 1; 0: none */
    uint32_t length, rest;
    struct lbr_trie_uses uses; /* epoch: how long ago, from 1; 0: none */
    uint8_t follows_text;      /* it stands behind the run above in one text */
    uint8_t open;              /* its text has room for the rest … */
    uint8_t closed;            /* … which is taken */
};

struct lbr_trie_loading {
    struct lbr_trie *trie; /* NULL: only read */
    uint32_t place;        /* the trie's number; another one for each */
    int fresh;             /* it was empty: traffic counts */
    uint32_t unit;
    struct lbr_trie_run *runs; /* NULL: only read */
    uint32_t most;             /* runs that there are */
    uint32_t count;            /* read so far */
    uint64_t bytes, texts;     /* of all of these, and of their texts */
    uint64_t added, dropped;   /* bytes of runs that owners hold now, or do
                                * not for want of room */
};

/* Lets an owner that holds nothing hold what follows, within |budget|; NULL:
 * only reads on. */
void lbr_trie_load_owner(struct lbr_trie_loading *loading,
                         struct lbr_reader *reader,
                         struct lbr_trie_owner *owner, size_t budget);

/* The same on behalf of clients; |anonymous|: whose clients cannot be told. */
void lbr_shared_load_owner(struct lbr_trie_loading *loading,
                           struct lbr_reader *reader,
                           struct lbr_shared_owner *owner, int anonymous,
                           const struct lbr_share_rules *rules);

/* All runs were read. Whether they were as many as there are, and of as many
 * bytes as their texts. */
int lbr_trie_loading_is_whole(const struct lbr_trie_loading *loading);

/* All owners of the trie are loaded: gives back what was kept for runs that
 * did not come. */
void lbr_trie_load_end(struct lbr_trie_loading *loading);

/* Brings an owner that was loaded within the rules. */
void lbr_shared_trim(struct lbr_shared_trie *shared,
                     struct lbr_shared_owner *owner,
                     const struct lbr_share_rules *rules);

/* Takes everything back that an owner was given, as if it had never had it:
 * first of all owners, then the trie is purged of each. */
void lbr_trie_unload(struct lbr_trie *trie, struct lbr_trie_owner *owner);

#endif
