/* SPDX-License-Identifier: MIT */
/* All that the API shows of a router, as text with one fact a line, so that a
 * test can say "nothing changed" and see what did. Left out: how often memory
 * was asked for and, unless wanted, the counts of rejected picks, which are
 * the one trace that a refused request may leave. */
#ifndef TESTS_SUPPORT_STATE_H
#define TESTS_SUPPORT_STATE_H

#include <stdint.h>

#include <lbroute/lbroute.h>

enum state_scope { STATE_WITHOUT_REJECTIONS, STATE_FULL };

/* Gives the text; the caller frees it. */
char *state_text(lbroute_router *router, uint64_t now, enum state_scope scope);

/* Checks that the router is as in |before|, and frees that. */
void state_check(lbroute_router *router, uint64_t now, enum state_scope scope,
                 char *before);

#endif
