/* SPDX-License-Identifier: MIT */
/* What targets remember of prompts, in blocks, shared fairly among clients.
 *
 * A target remembers `capacity` blocks. Each client that was active on it
 * lately is guaranteed capacity / active clients of them; a client that was
 * silent for longer is guaranteed none. A client may have more as long as
 * nobody needs it. When room is needed, one block after the other goes, that
 * of
 *
 *     1. the client that has been silent longest, if any is no longer active;
 *     2. else the client with the highest charge, the new blocks counted as
 *        the newcomer's
 *
 * and of that client the end of what it used longest ago. The highest charge is
 * above the share whenever room is needed: a client at or below its share loses
 * nothing but its own oldest blocks to its own new ones.
 *
 * A block that several clients use on a target is charged once, split among
 * them; it stays as long as one of them keeps it. */
#ifndef LBR_MODELS_PREFIX_TRIE_SHARES_H
#define LBR_MODELS_PREFIX_TRIE_SHARES_H

#include "models/prefix_trie_claims.h"

struct lbr_share_rules {
    uint64_t capacity;     /* blocks a target remembers */
    uint64_t idle;         /* ns of silence that end a guarantee */
    uint32_t most_clients; /* told apart on a target; others share an account */
};

/* Kinds of handles of the tables: |kind| and the two above it; |secret| as in
 * lbr_trie_init(). */
void lbr_shared_init(struct lbr_shared_trie *shared, struct lbr_memory *memory,
                     uint32_t kind, uint64_t secret);
void lbr_shared_destroy(struct lbr_shared_trie *shared);

void lbr_shared_owner_init(struct lbr_shared_owner *owner, uint32_t number);

/* Notes that |owner| now has all of the prompt of |length| bytes of block
 * hashes, on behalf of |client| (0: unknown), making room as above. |match| is
 * what lbr_trie_find() gave for it, with no change to the trie since. Of a
 * prompt that does not fit, or when there is no memory, only the head is
 * kept. */
void lbr_shared_record(struct lbr_shared_trie *shared,
                       struct lbr_trie_match match, uint64_t root,
                       const void *blocks, size_t length,
                       struct lbr_shared_owner *owner, uint64_t client,
                       uint64_t now, const struct lbr_share_rules *rules);

/* Drops all that |owner| holds and its accounts; linear in that. */
void lbr_shared_purge(struct lbr_shared_trie *shared,
                      struct lbr_shared_owner *owner);

/* What an active client of |owner| is guaranteed at |now|, in charges, and how
 * many there are. Changes nothing. */
uint64_t lbr_shared_guarantee(const struct lbr_shared_owner *owner,
                              uint64_t now, const struct lbr_share_rules *rules,
                              uint32_t *active);

/* Whether an account was active less than |idle| before |now|. */
int lbr_account_is_active(const struct lbr_account *account, uint64_t now,
                          uint64_t idle);

#endif
