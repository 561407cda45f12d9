/* SPDX-License-Identifier: MIT */
/*
 * Prompts as they arrive.
 *
 *   chat    2,048 conversations side by side, each behind one of four system
 *           prompts of 2 kB. One at random comes with 400 bytes more, until it
 *           has about 4 kB; then another takes its place
 *   fresh   first turns of such conversations, none of which comes again
 *   hot     64 prompts of 128 kB, which come again at random
 *   text    the lines of a file, in its order; in each pass the text stands
 *           behind 8 bytes that are the pass's own, so that it begins unknown
 */
#ifndef LBROUTE_BENCH_PROMPTS_H
#define LBROUTE_BENCH_PROMPTS_H

#include "text.h"

typedef struct bench_prompt {
    unsigned char *bytes;
    size_t length; /* so far */
} bench_prompt;

typedef struct bench_prompts {
    bench_prompt_kind kind;
    bench_prompt *all;
    size_t count;
    size_t next;   /* line of the text */
    uint64_t pass; /* through the text */
    uint64_t random;
} bench_prompts;

/* `number` tells streams apart: two of them have nothing in common but the
 * system prompts. */
bench_prompts *bench_prompts_open(const bench_case *test, unsigned number);

/* NULL does nothing. */
void bench_prompts_close(bench_prompts *prompts);

/* The next prompt to arrive. */
bench_prompt *bench_prompts_next(bench_prompts *prompts);

/* Any of the prompts, as it is. */
bench_prompt *bench_prompts_any(bench_prompts *prompts);

#endif
