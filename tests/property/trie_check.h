/* SPDX-License-Identifier: MIT */
/*
 * What must hold between the tables, lists and texts of a prefix trie whenever
 * no call is under way. The check walks all of it, so it is slow on purpose.
 */
#ifndef LBROUTE_TESTS_PROPERTY_TRIE_CHECK_H
#define LBROUTE_TESTS_PROPERTY_TRIE_CHECK_H

#include "models/prefix_trie_shares.h"

/** Checks a trie with all owners that it ever had; some may hold nothing. */
void trie_check(const struct lbr_trie *trie,
                const struct lbr_trie_owner *owners, size_t count);

/** The same of a trie whose owners hold for clients; see shares_check.h for
 * what stands behind the holds. */
void trie_check_shared(const struct lbr_shared_trie *shared,
                       const struct lbr_shared_owner *owners, size_t count);

#endif
