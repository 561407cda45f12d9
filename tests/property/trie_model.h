/* SPDX-License-Identifier: MIT */
/*
 * A prefix trie side by side with a naive model of what it may say.
 *
 * The model has no tree: it keeps the prompts as they are, how many bytes each
 * two of them have in common, and when each owner last recorded each of them.
 *
 *     an owner touched byte i of prompt p at   max last[q], common[p][q] > i
 *     it holds of p, if it never evicts        max common[p][q], q recorded
 *
 * Every operation goes to the trie, and then everything is compared for every
 * prompt and owner: what is held never exceeds what was recorded, and equals it
 * without a limit; the newest prompt is held in full if it fits; and what is
 * lost is the oldest. trie_check() looks inside.
 *
 * Age comes in two forms. By the order of the owner's list: what is lost stood
 * before everything left, and what was touched stands behind everything else.
 * By time, as above: a node that is joined with the rest of its run hands its
 * age on to it, so times are exact only where no prompt, and no head that is
 * kept of one, is a prefix of another.
 */
#ifndef LBROUTE_TESTS_PROPERTY_TRIE_MODEL_H
#define LBROUTE_TESTS_PROPERTY_TRIE_MODEL_H

#include "heap.h"
#include "models/prefix_trie.h"

enum {
    TRIE_OWNERS = 64,
    TRIE_PROMPTS = 64,
    TRIE_DEPTH = 48,                      /**< Most nodes of a prompt. */
    TRIE_RUN = (int)LBR_TRIE_LONGEST_RUN, /**< Longest run of a node. */
    TRIE_UNLIMITED = 1 << 30
};

struct trie_prompt {
    uint64_t root;
    size_t length;
    unsigned char *bytes; /**< Exactly so many: reads beyond are seen. */
};

/** The nodes of a prompt that an owner holds, top down. */
struct trie_path {
    uint32_t nodes;
    size_t ends[TRIE_DEPTH];
    uint32_t ranks[TRIE_DEPTH]; /**< Places in the owner's list, oldest 1. */
};

struct trie_model {
    struct heap heap;
    struct lbr_memory memory;
    struct lbr_trie trie;
    size_t owner_count, prompt_count;
    uint32_t now;
    int timely; /**< Set by the test: times are exact. */
    int lossy;  /**< Something may have been evicted or refused. */
    struct lbr_trie_owner owners[TRIE_OWNERS];
    struct trie_prompt prompts[TRIE_PROMPTS];
    size_t common[TRIE_PROMPTS][TRIE_PROMPTS];
    uint32_t last[TRIE_OWNERS][TRIE_PROMPTS]; /**< 0: not recorded. */
    struct trie_path paths[TRIE_OWNERS][TRIE_PROMPTS];
};

void trie_model_open(struct trie_model *model, uint32_t unit, size_t owners);

/** Also checks that all memory came back. */
void trie_model_close(struct trie_model *model);

/** Number of a prompt, copied if it is new. A new one takes a place: at most
 * TRIE_PROMPTS are known. */
size_t trie_model_prompt(struct trie_model *model, uint64_t root,
                         const void *bytes, size_t length);

/** Records a prompt for an owner and checks everything. */
void trie_model_record(struct trie_model *model, size_t prompt, size_t owner,
                       size_t budget);

/** Purges an owner and checks everything. */
void trie_model_purge(struct trie_model *model, size_t owner);

/** Checks what all owners hold of a prompt that need not be known. */
void trie_model_probe(const struct trie_model *model, uint64_t root,
                      const void *bytes, size_t length);

/** What an owner pays for the whole of a prompt once it is recorded. */
size_t trie_model_cost(const struct lbr_trie *trie, struct lbr_trie_match match,
                       size_t length, const struct lbr_trie_owner *owner);

#endif
