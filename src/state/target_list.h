/* SPDX-License-Identifier: MIT */
/* Targets as bytes for others name them: in the order of their names, by their
 * number in it, which is left in the targets' spare. */
#ifndef LBR_STATE_TARGET_LIST_H
#define LBR_STATE_TARGET_LIST_H

#include "base/bytes.h"
#include "state/target.h"

/* Puts |count| struct lbr_target in order, and numbers them. */
void lbr_target_list_arrange(void **targets, uint32_t count);

/* Writes their number and names. */
void lbr_target_list_put(struct lbr_writer *writer, void *const *targets,
                         uint32_t count);

#endif
