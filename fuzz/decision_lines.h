/* SPDX-License-Identifier: MIT */
/* Headers of a decision, as a host writes them. */
#ifndef LBROUTE_FUZZ_DECISION_LINES_H
#define LBROUTE_FUZZ_DECISION_LINES_H

#include <lbroute/lbroute.h>

/** Reads all headers of a decision, and checks what holds for any: names are
 * the prefix and one of the documented words, each at most once and in their
 * order; values are visible ASCII or spaces; server and pool are the names,
 * escaped; buffers that are a byte too small are left alone. */
void decision_lines_check(lbroute_router *router, const char *prefix,
                          const lbroute_decision *decision);

#endif
