/* SPDX-License-Identifier: MIT */
/*
 * Prompts as they arrive.
 *
 *   chat    2,048 conversations side by side, each behind one of four system
 *           prompts of 2 kB. One at random comes with 400 bytes more, until it
 *           has about 4 kB; then another takes its place
 *   fresh   first turns of such conversations, none of which comes again
 *   hot     64 prompts of 128 kB, which come again at random
 *   text    the lines of a file, in its order, over and over
 *
 *     chat:   [ system prompt | number, rest of the text ]
 *     hot:    [ number, rest of the text ]
 *     text:   [ number of the pass | line ]
 *
 * Prompts differ by their numbers, which stand where they part. Those that are
 * made up have the rest in common, so that their bytes are in cache, as they
 * are in a host that has just read the request.
 */
#ifndef LBROUTE_BENCH_PROMPTS_H
#define LBROUTE_BENCH_PROMPTS_H

#include "text.h"

typedef struct bench_prompt {
    unsigned char *bytes; /* hold until the next prompt is asked for */
    size_t length;        /* so far */
    uint64_t number;
} bench_prompt;

typedef struct bench_prompts {
    bench_prompt_kind kind;
    bench_prompt *all;
    size_t count;
    unsigned char **bodies; /* what prompts point to */
    size_t body_count;
    size_t number_at; /* where the number stands */
    size_t next;      /* line of the text */
    uint64_t numbers; /* given so far */
    uint64_t random;
} bench_prompts;

/* `number` tells streams apart: two of them have nothing in common but the
 * system prompts. */
bench_prompts *bench_prompts_open(const bench_case *test, unsigned number);

/* NULL does nothing. */
void bench_prompts_close(bench_prompts *prompts);

/* The next prompt to arrive. */
bench_prompt *bench_prompts_next(bench_prompts *prompts);

/* Prompt `index` as it is. */
bench_prompt *bench_prompts_get(bench_prompts *prompts, size_t index);

/* Any of the prompts, as it is. */
bench_prompt *bench_prompts_any(bench_prompts *prompts);

#endif
