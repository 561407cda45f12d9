/* SPDX-License-Identifier: MIT */
/*
 * What KV events say, kept as naively as can be.
 *
 * A source has a row for each label, and each row spells out what its block
 * holds: all tokens from the beginning of the prompt.
 *
 *     label   status    adapter  blocks from the beginning      copies
 *       0     placed    -        01 11                          gpu 1
 *       1     placed    -        01 11 00                       host 1, disk 1
 *       2     waiting   (for 5)           10                    gpu 1
 *       3     placed    x        01                             none: a hole,
 *                                                               with children
 *             placed    -        11                             likewise; its
 *                                                               label waits now
 *
 * A block of a prompt is resident if some row spells what the prompt begins
 * with. There is no tree, no hash and no sharing: rows are compared letter by
 * letter.
 */
#ifndef LBROUTE_TESTS_PROPERTY_KV_MODEL_H
#define LBROUTE_TESTS_PROPERTY_KV_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    KV_LABELS = 40,
    KV_ROWS = KV_LABELS + 80, /**< Nameless ones behind the others. */
    KV_GROUPS = 2,
    KV_MEDIA = 3,
    KV_LONGEST = 3, /**< Tokens of the largest block. */
    KV_DEPTH = 48,  /**< Blocks behind each other that are told apart. */
    KV_BLOCKS = 4,  /**< Blocks of an event. */
    KV_EVENTS = 3,  /**< Events of a batch. */
    KV_ASIDE = 24,
    KV_REMEMBERED = 64,
    KV_PROMPT = 16, /**< Tokens of a prompt. */
    KV_ITEMS = 2,
    KV_SALT = 3 /**< The salt among the marks of a block. */
};

/** Tokens, and the marks on them: digits to base 4, in order; images are 1 and
 * 2, the salt is KV_SALT. */
struct kv_block {
    uint8_t tokens[KV_LONGEST];
    uint8_t marks;
};

struct kv_chain {
    uint8_t adapter; /**< 0: none. */
    uint8_t depth;   /**< Above KV_DEPTH: only that is known. */
    struct kv_block blocks[KV_DEPTH];
};

struct kv_event {
    int kind;
    int medium;
    uint8_t group;
    uint8_t count;
    uint8_t labels[KV_BLOCKS];
    int tokens; /**< 0: location only. */
    int has_parent;
    uint8_t parent;
    uint8_t adapter;
    int salted;
    struct kv_block blocks[KV_BLOCKS];
};

struct kv_batch {
    uint64_t seq;
    double timestamp;
    size_t count;
    struct kv_event events[KV_EVENTS];
};

enum kv_status { KV_UNKNOWN, KV_PLACED, KV_WAITING };

struct kv_row {
    enum kv_status status;
    struct kv_chain chain; /**< Of a placed one. */
    struct kv_block own;   /**< The last block. */
    int has_parent;
    uint8_t parent; /**< Row of the block before it, or its label. */
    uint32_t copies[KV_MEDIA];
};

struct kv_source {
    uint8_t size; /**< Tokens in a block. */
    int heard;    /**< It has a state at all. */
    int begun;    /**< `expected` is known. */
    int fresh;
    uint64_t expected;
    double latest; /**< Timestamp of the latest batch. */
    uint64_t restarts, duplicates;
    int known[KV_REMEMBERED]; /**< By number modulo KV_REMEMBERED. */
    struct kv_batch remembered[KV_REMEMBERED];
    size_t aside_count;
    struct kv_batch aside[KV_ASIDE];
    struct kv_row rows[KV_GROUPS][KV_ROWS];
};

struct kv_item {
    uint8_t mark; /**< 1 or 2. */
    uint8_t begin, count;
};

struct kv_prompt {
    uint8_t adapter;
    int salted;
    size_t length;
    uint8_t tokens[KV_PROMPT];
    size_t item_count;
    struct kv_item items[KV_ITEMS];
};

/** Takes over a batch. Returns the outcome, APPLIED for PARTIAL. */
int kv_model_apply(struct kv_source *source, const struct kv_batch *batch,
                   int counts_copies);

/** lbroute_kv_clear(). */
void kv_model_clear(struct kv_source *source);

/** Leading blocks of the prompt that are resident, by their fastest medium. */
void kv_model_run(const struct kv_source *source,
                  const struct kv_prompt *prompt, int64_t run[KV_MEDIA]);

/** The first hole; 0: nothing is missing. */
uint64_t kv_model_missing(const struct kv_source *source, uint64_t *first);

/** Resident rows in a medium; rows that wait. */
uint64_t kv_model_resident(const struct kv_source *source, int medium);
uint64_t kv_model_waiting(const struct kv_source *source);

#endif
