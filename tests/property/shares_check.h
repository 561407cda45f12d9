/* SPDX-License-Identifier: MIT */
/*
 * What must hold between holds, claims and accounts of a trie that is shared
 * among clients, whenever no call is under way. Walks all of it.
 */
#ifndef LBROUTE_TESTS_PROPERTY_SHARES_CHECK_H
#define LBROUTE_TESTS_PROPERTY_SHARES_CHECK_H

#include "models/prefix_trie_shares.h"

/** Checks a trie with all owners that it ever had. */
void shares_check(const struct lbr_shared_trie *shared,
                  const struct lbr_shared_owner *owners, size_t count);

#endif
