/* SPDX-License-Identifier: MIT */
/* The inside of the shared trie: accounts of clients, and who gives way. */
#ifndef LBR_MODELS_PREFIX_TRIE_EVICTION_H
#define LBR_MODELS_PREFIX_TRIE_EVICTION_H

#include "models/prefix_trie_shares.h"

/* The account of |client|, active from now on; beyond the bound, or without
 * memory, the one of all such clients. NULL when there is no memory for that
 * either. */
struct lbr_account *lbr_account_enter(struct lbr_shared_trie *shared,
                                      struct lbr_shared_owner *owner,
                                      uint64_t client, uint64_t now,
                                      const struct lbr_share_rules *rules);

/* What an owner is bound by from now on. */
void lbr_shared_set_rules(struct lbr_shared_owner *owner,
                          const struct lbr_share_rules *rules);

/* Frees an account without claims. */
void lbr_account_free(struct lbr_shared_trie *shared,
                      struct lbr_account *account);

/* Gives up the account's oldest claim, but none as new as |keep| (NULL: no such
 * limit). Returns 0 when there is none. */
int lbr_shared_give_up(struct lbr_shared_trie *shared,
                       struct lbr_account *account,
                       const struct lbr_claim *keep);

/* Makes room for |blocks| more of |account|, which are counted as its own, but
 * takes nothing as new as |keep| (NULL: no such limit) from it. Returns the
 * blocks, at most so many, that there is room for. */
uint64_t lbr_shared_make_room(struct lbr_shared_trie *shared,
                              struct lbr_account *account, uint64_t blocks,
                              const struct lbr_claim *keep,
                              const struct lbr_share_rules *rules);

#endif
