/* SPDX-License-Identifier: MIT */
/* A scorer or filter for tests: gives each target of a fleet the score that
 * the test has set, counts, and does something on the way if asked to. */
#ifndef TESTS_SUPPORT_STAGE_H
#define TESTS_SUPPORT_STAGE_H

#include "support/fleet.h"

enum { STAGE_TARGETS = 32 };

struct stage {
    struct fleet *fleet;
    lbroute_scorer handle;
    double scores[STAGE_TARGETS]; /* By index; `others` beyond. */
    double others;
    int result;    /* Of the call. */
    size_t silent; /* Candidates at the end left unscored. */
    void (*inside)(struct stage *stage, const lbroute_score_request *request);
    size_t calls;     /* So far. */
    size_t explains;  /* Of these, by lbroute_explain(). */
    size_t destroyed; /* Calls of the destructor. */
    size_t count;     /* Candidates of the last call … */
    lbroute_candidate candidates[STAGE_TARGETS]; /* … the first of them. */
    lbroute_score_request request;               /* Of the last call. */
};

/* Starts one that gives everybody |score|. */
void stage_init(struct stage *stage, struct fleet *fleet, double score);

/* Options for it, with kind and weight at their defaults. */
void stage_options(struct stage *stage, const char *name,
                   lbroute_scorer_options *options);

/* Registers it with the fleet's pool. */
void stage_register(struct stage *stage, const char *name, int kind,
                    double weight);

/* Its counts, as the router has them. */
lbroute_scorer_stats stage_stats(const struct stage *stage);

#endif
