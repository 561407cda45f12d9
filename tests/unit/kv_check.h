/* SPDX-License-Identifier: MIT */
/* What must hold between the tables of an index at any time. */
#ifndef TESTS_UNIT_KV_CHECK_H
#define TESTS_UNIT_KV_CHECK_H

#include "models/kv_index.h"

/* Checks buckets and counters of each table alone. */
void kv_check_nodes(const struct lbr_kv_nodes *nodes);
void kv_check_labels(const struct lbr_kv_labels *labels);

/* Counts everything anew from the labels and compares: sets and nodes, owners,
 * children, the index's own counters, what waits. |spare_ghosts|: labels
 * without copies and children may stand about, as after a lack of memory. */
void kv_check_index(struct lbr_kv_index *index, int spare_ghosts);

/* Sweeps until nothing of retired owners is left. */
void kv_sweep_all(struct lbr_kv_index *index);

#endif
