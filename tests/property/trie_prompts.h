/* SPDX-License-Identifier: MIT */
/*
 * Prompts for the property tests of the prefix trie: related to each other in
 * the ways that split, join and fill its nodes.
 */
#ifndef LBROUTE_TESTS_PROPERTY_TRIE_PROMPTS_H
#define LBROUTE_TESTS_PROPERTY_TRIE_PROMPTS_H

#include "prng.h"
#include "trie_model.h"

enum trie_style {
    TRIE_TINY,   /**< A few symbols of a tiny alphabet. */
    TRIE_HEADS,  /**< One of few heads, and a tail. */
    TRIE_RAW,    /**< Runs of NUL and 0xff bytes. */
    TRIE_LONG,   /**< More than one node has room for. */
    TRIE_RELATED /**< A known prompt cut, grown or altered. */
};

/** A drawn prompt; `bytes` is a buffer of the generator. */
struct trie_draw {
    uint64_t root;
    size_t length;
    const unsigned char *bytes;
};

/** Draws a prompt of whole symbols, in relation to those of the model. With
 * |ended| its last symbol is one that stands nowhere else, so that none is a
 * prefix of another. */
struct trie_draw trie_prompt_draw(const struct trie_model *model,
                                  struct rng *rng, enum trie_style style,
                                  int ended);

#endif
