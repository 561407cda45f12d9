/* SPDX-License-Identifier: MIT */
/* Scorers and filters of the host's own ("stages"), and the runs in which picks
 * call them.
 *
 *     pool ─▶ stage ─▶ stage ─▶ …       in the order of registration
 *     run ─┬─ calls ─▶ stage, stage     which live as long as the run at least
 *          └─ rows: candidates, scores of the stage that is called, sums
 *
 * A run belongs to one thread from lbr_run_take() to lbr_run_give(); the stages
 * are called in between, without the lock. A stage that is removed meanwhile is
 * found by nobody any more, and freed after its last run. Runs that have ended
 * are used again, so that a warm pick needs no memory. */
#ifndef LBR_STATE_STAGE_H
#define LBR_STATE_STAGE_H

#include "base/lock.h"
#include "base/text.h"
#include "containers/list.h"
#include "containers/slab.h"

struct lbr_stage {
    struct lbr_slot slot;
    struct lbr_link siblings;       /* of the pool, or of those to be freed */
    lbroute_pool pool;              /* 0: removed */
    lbroute_scorer_options options; /* with its own name */
    struct lbr_text name;
    uint32_t runs; /* that hold it */
    uint64_t calls, errors, not_finite;
};

/* What became of a call. */
enum lbr_outcome {
    LBR_CALL_NONE, /* there was none */
    LBR_CALL_COUNTS,
    LBR_CALL_FAILED,
    LBR_CALL_NOT_FINITE
};

struct lbr_call {
    struct lbr_stage *stage;
    lbroute_scorer_options what; /* as it was when the run began */
    enum lbr_outcome outcome;
};

struct lbr_run {
    struct lbr_link link; /* among the runs under way */
    struct lbr_run *next; /* among those that wait for use */
    const void *thread;
    lbroute_pool pool;
    uint64_t now;
    int explains;   /* for an explanation: counts nothing */
    int filtered;   /* some filter was heeded */
    double weights; /* sum of the weights of the scorers heeded */

    struct lbr_call *calls; /* as many as there can be stages */
    uint32_t call_count;

    /* Rows below |kept| passed all filters; the others follow. */
    uint32_t kept, count, capacity;
    lbroute_candidate *candidates; /* one block of memory with … */
    double *scores; /* … of the stage that is called, and … */
    double *sums;   /* … weighted, of all so far */
};

struct lbr_stages {
    struct lbr_slab slab;
    struct lbr_link under_way; /* runs */
    struct lbr_run *idle;
    uint64_t judgements; /* number of the latest pick that used a run */
};

void lbr_stages_init(struct lbr_stages *stages, struct lbr_memory *memory,
                     uint32_t limit);

/* Frees all, the stages by their destructors. No run is under way. */
void lbr_stages_destroy(struct lbr_stages *stages);

/* Upper bound of the memory of |limit| stages, without runs. */
size_t lbr_stages_estimate(uint32_t limit);

/* Makes a stage at the end of a pool's |list|. Returns 0, LBROUTE_ERR_LIMIT or
 * LBROUTE_ERR_NO_MEMORY. */
int lbr_stage_create(struct lbr_stages *stages,
                     const lbroute_scorer_options *options, lbroute_pool pool,
                     struct lbr_link *list, struct lbr_stage **stage);

/* The stage of a handle, or of a name in a pool's list; NULL: none. */
struct lbr_stage *lbr_stage_find(const struct lbr_stages *stages,
                                 lbroute_scorer handle);
struct lbr_stage *lbr_stage_named(const struct lbr_link *list,
                                  struct lbr_text name);

/* Removes a stage; unless a run holds it, it goes to |dead|. */
void lbr_stage_remove(struct lbr_stage *stage, struct lbr_link *dead);

/* Calls the destructors of a list of dead stages, without the lock, and frees
 * them under |lock|. */
void lbr_stages_bury(struct lbr_stages *stages, struct lbr_lock *lock,
                     struct lbr_link *dead);

/* Takes a run with room for |rows| candidates and all stages, for the calling
 * thread. Returns NULL without memory. */
struct lbr_run *lbr_run_take(struct lbr_stages *stages, uint32_t rows);

/* Adds a call to a run, which holds its stage from now on. */
void lbr_run_hold(struct lbr_run *run, struct lbr_stage *stage);

/* Ends a run: counts its calls and lets go of the stages. Removed ones that
 * nobody holds any more go to |dead|. */
void lbr_run_give(struct lbr_stages *stages, struct lbr_run *run,
                  struct lbr_link *dead);

/* Whether the calling thread is inside a run. */
int lbr_stages_inside(const struct lbr_stages *stages);

#endif
