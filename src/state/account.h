/* SPDX-License-Identifier: MIT */
/* What a target's answers teach about its latency, and the work that its
 * requests still mean for it: where both are kept, and how the forecast of its
 * group learns of them. Only groups that keep a forecast take part.
 *
 *     target ── averages, planes           taught by successes
 *        │
 *        └─ waiting ─▶ task ─▶ task        requests without a first token,
 *                                          oldest first */
#ifndef LBR_STATE_ACCOUNT_H
#define LBR_STATE_ACCOUNT_H

#include "containers/list.h"
#include "models/ewma.h"
#include "models/forecast.h"
#include "models/least_squares.h"
#include "state/work_times.h"

struct lbr_group;
struct lbr_target;

/* Work is counted in these. */
#define LBR_TOKENS_PER_UNIT 1000.0

/* More tokens than any engine takes: a larger number means as many. */
#define LBR_MOST_TOKENS UINT64_C(1000000000)

enum lbr_task_state {
    LBR_TASK_UNTOLD,  /* its target kept no account when it was sent */
    LBR_TASK_WAITING, /* for its first token */
    LBR_TASK_STARTED
};

/* A request's side of the account; a part of its ticket. */
struct lbr_task {
    enum lbr_task_state state;
    int measured; /* its tokens were told, not taken for the mean, … */
    int counted;  /* … in tokens, not guessed from bytes or blocks */
    struct lbr_link link; /* while it waits */
    uint64_t sent_at;
    uint64_t tokens;    /* uncached input */
    uint64_t matched;   /* input that is expected in the cache */
    double running;     /* requests there when it was sent */
    double queue;       /* work before it when it was sent */
    double expected;    /* ns to its first token, or to its end; NaN: unknown */
    double first_token; /* ns that it took; 0: not told */
};

/* A target's side. */
struct lbr_latency {
    struct lbr_link waiting;
    uint64_t waiting_tokens;
    uint32_t waiting_count;
    double others_waiting; /* requests, at the latest scrape; NaN: unknown */
    struct lbr_ewma average[LBR_LATENCY_KINDS];
    struct lbr_least_squares model[LBR_LATENCY_KINDS];
    struct lbr_pace_member pace;
    uint64_t input_tokens, cached_tokens, output_tokens; /* as reported */
};

/* What a group has in common: its mean uncached input, and a plane for each
 * kind that its members' ridges pull to. */
struct lbr_latency_mean {
    double input; /* kilotokens */
    uint64_t samples;
    struct lbr_plane plane[LBR_LATENCY_KINDS];
    int plane_known[LBR_LATENCY_KINDS];
    struct lbr_work_times times; /* where pace is kept */
};

void lbr_latency_init(struct lbr_latency *latency);

/* A request is sent: it waits, with its |tokens| and |expected| filled in. */
void lbr_task_start(struct lbr_target *target, struct lbr_task *task,
                    uint64_t now);

/* It waits no longer: a first token, settling or expiry. */
void lbr_task_finish(struct lbr_target *target, struct lbr_task *task);

/* Leaves a waiting task out of the account for a moment, and takes it back in
 * before all others. */
void lbr_task_hide(struct lbr_target *target, struct lbr_task *task);
void lbr_task_show(struct lbr_target *target, struct lbr_task *task);

/* The engine was reported to have |waiting| requests waiting (NaN: unknown).
 * The own ones, and those that other routers told of, are known better: what is
 * more is others'. */
void lbr_latency_scrape(struct lbr_target *target, double waiting);

/* Shows the forecast the work that waits. */
void lbr_latency_publish_work(const struct lbr_target *target);

/* Shows the forecast how many requests of others wait. */
void lbr_latency_publish_others(const struct lbr_target *target, double others);

/* A success of a task of which there is an account, after |total| ns (0: not
 * measured) and with the usage that was reported (-1: unknown): everything that
 * it teaches. */
void lbr_latency_learn(struct lbr_target *target, const struct lbr_task *task,
                       double total, int64_t input, int64_t cached,
                       int64_t output, uint64_t now);

/* Fills in a member's row of its group's forecast. */
void lbr_latency_publish(const struct lbr_target *target);

/* Tokens that a request of unknown size counts for. */
static inline uint64_t lbr_latency_usual_tokens(
    const struct lbr_latency_mean *mean)
{
    return (uint64_t)(mean->input * LBR_TOKENS_PER_UNIT + 0.5);
}

#endif
