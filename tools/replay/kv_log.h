/* SPDX-License-Identifier: MIT */
/*
 * What a prefix cache stored and evicted, in order, from the start of a run.
 *
 *     changes   stored 3 after 7 │ removed 1 │ stored 2 at the start │ …
 *     ids       a b c            │ d         │ e f                   │ …
 */
#ifndef LBROUTE_REPLAY_KV_LOG_H
#define LBROUTE_REPLAY_KV_LOG_H

#include <stddef.h>
#include <stdint.h>

/** `parent` of blocks that begin a prompt. */
#define KV_NO_PARENT UINT32_MAX

enum kv_change_kind { KV_STORED, KV_REMOVED };

struct kv_change {
    enum kv_change_kind kind;
    uint32_t count;   /**< Ids that it is about. */
    uint32_t parent;  /**< Content before the first one, of STORED. */
    uint32_t adapter; /**< Of STORED; 0: none. */
};

/** Zeroed, it is empty. */
struct kv_log {
    struct kv_change *changes;
    size_t change_count;
    uint32_t *ids; /**< Of the changes, one behind the other. */
    size_t id_count;

    size_t change_capacity;
    size_t id_capacity;
};

/** Blocks of one request became findable; `parent` stands before the first. */
void kv_log_stored(struct kv_log *log, const uint32_t *ids, uint32_t count,
                   uint32_t parent, uint32_t adapter);

/** The content of a block was evicted. */
void kv_log_removed(struct kv_log *log, uint32_t id);

/** Forgets what came after the first `changes` changes and `ids` ids. */
void kv_log_cut(struct kv_log *log, size_t changes, size_t ids);

void kv_log_release(struct kv_log *log);

#endif
