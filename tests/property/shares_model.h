/* SPDX-License-Identifier: MIT */
/*
 * A trie shared among clients side by side with a naive model of what is fair.
 *
 * The model has no tree: every prefix of every prompt, in whole blocks, has a
 * number. After each operation it reads from the trie which prefixes each
 * client claims on each owner, in which order of use, and compares that with
 * what was there before:
 *
 *     charge of a client   sum of 1 / claimants over the prefixes it claims
 *     share                capacity / clients heard of within `idle`
 *     gained               only the recorded prompt, only by its client
 *     lost                 only for room; by idle clients first, the longest
 *                          silent before others; then only by who was above
 *                          its share; of each client the least recently used
 *                          ends; or the recording client's own
 *
 * What two clients share and one of them gives up counts in full as the
 * other's: its charge rises within the operation. The most that it can have
 * risen to must be above its share before it may lose anything.
 */
#ifndef LBROUTE_TESTS_PROPERTY_SHARES_MODEL_H
#define LBROUTE_TESTS_PROPERTY_SHARES_MODEL_H

#include "heap.h"
#include "models/prefix_trie_shares.h"

enum {
    SHARES_OWNERS = 4,
    SHARES_CLIENTS = 10, /**< 0: unknown, and those beyond the bound. */
    SHARES_PROMPTS = 64,
    SHARES_PREFIXES = 8192,
    SHARES_LONGEST = 2400 /**< Blocks of a prompt: three nodes. */
};

struct shares_prompt {
    uint64_t root;
    size_t length; /**< Blocks. */
    uint64_t *blocks;
    uint32_t *prefixes; /**< Number of the prefix that ends with a block. */
};

/** What an owner holds for whom. */
struct shares_view {
    uint64_t blocks;
    uint32_t accounts;
    int known[SHARES_CLIENTS];
    double charges[SHARES_CLIENTS];
    /** Places in the client's order of use, oldest 1; 0: no claim. */
    uint32_t ranks[SHARES_CLIENTS][SHARES_PREFIXES];
};

struct shares_model {
    struct heap heap;
    struct lbr_memory memory;
    struct lbr_shared_trie trie;
    struct lbr_share_rules rules;
    size_t owner_count, prompt_count;
    uint32_t prefix_count;
    uint64_t now;
    uint32_t records;
    int timely; /**< Set by the test: ages of prefixes are exact. */
    struct lbr_shared_owner owners[SHARES_OWNERS];
    struct shares_prompt prompts[SHARES_PROMPTS];
    uint32_t parents[SHARES_PREFIXES]; /**< Prefix above + 1; 0: none. */
    uint64_t seen[SHARES_OWNERS][SHARES_CLIENTS];
    uint32_t used[SHARES_OWNERS][SHARES_CLIENTS][SHARES_PREFIXES];
    struct shares_view views[SHARES_OWNERS];
};

void shares_model_open(struct shares_model *model, size_t owners,
                       struct lbr_share_rules rules);

/** Also checks that all memory came back. */
void shares_model_close(struct shares_model *model);

/** Whether a prompt of so many blocks still has a place. */
int shares_model_has_place(const struct shares_model *model, size_t length);

/** Adds a prompt, or finds it; returns its number. */
size_t shares_model_prompt(struct shares_model *model, uint64_t root,
                           const uint64_t *blocks, size_t length);

void shares_model_record(struct shares_model *model, size_t prompt,
                         size_t owner, size_t client);
void shares_model_purge(struct shares_model *model, size_t owner);

#endif
