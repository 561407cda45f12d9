/* SPDX-License-Identifier: MIT */
/* Prompts of any bytes for cases of prefix affinity. */
#ifndef TESTS_CASES_PROMPTS_H
#define TESTS_CASES_PROMPTS_H

#include <stddef.h>
#include <stdint.h>

#include "support/fleet.h"

/* Fills |length| bytes that only |seed| decides. */
void prompt_fill(unsigned char *bytes, size_t length, uint64_t seed);

/* The requests to come ask with these bytes, which must outlive them. */
void prompt_set(struct fleet *fleet, const void *bytes, size_t length);

/* Picks, serves and checks rule and matched part; gives the index. */
size_t prompt_serve(struct fleet *fleet, int rule, size_t matched);

/* Sends the prompt to one target by exclusion, so that it knows it. */
void prompt_warm(struct fleet *fleet, size_t index, const void *bytes,
                 size_t length);

/* How much of the prompt one target would be found to know, without effect. */
size_t prompt_known(struct fleet *fleet, size_t index, const void *bytes,
                    size_t length);

/* The same in whole blocks, of which the pool compares hashes. */
size_t prompt_known_blocks(struct fleet *fleet, size_t index, const void *bytes,
                           size_t length);

/* Checks rule and matched part of the last decision, whose total is that of
 * the request. */
void prompt_expect(const struct fleet *fleet, int rule, size_t matched);

#endif
