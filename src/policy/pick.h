/* SPDX-License-Identifier: MIT */
/* One pick on its way through the rules. Choosing changes nothing but the
 * pick itself; a choice is then committed (pick) or dropped (explain). */
#ifndef LBR_POLICY_PICK_H
#define LBR_POLICY_PICK_H

#include "state/router.h"

#define LBR_TOKENS_UNKNOWN UINT64_MAX

/* A checked request, digested before the lock is taken. */
struct lbr_ask {
    const lbroute_request *request; /* the caller's, or a completed copy */
    uint64_t sticky_digest;         /* of session, else client; 0: neither */
    struct lbr_text key_source;     /* session, else conversation */
    uint64_t ring_key;              /* hash of that … */
    int ring_key_known;             /* … once it was needed */
    uint64_t input_tokens;          /* or LBR_TOKENS_UNKNOWN */
    struct lbr_run *run;            /* of the pool's own stages, once begun */
    uint32_t rounds;                /* of them that came to nothing */
    int explains;                   /* asked by lbroute_explain() */
};

struct lbr_strategy;

/* Which targets a request is about. */
struct lbr_scope {
    struct lbr_pool *pool;               /* NULL: several, or none */
    const struct lbr_strategy *strategy; /* by which to pick */
    struct lbr_group *candidates;        /* list of groups */
    struct lbr_group *group;             /* to pick in; NULL: no such tier */
    const struct lbr_model *model;       /* asked for, if known */
    int model_asked;
    int model_only; /* no pool was named */
};

/* How far a prompt is known, and how busy the least busy member is. */
struct lbr_affinity {
    struct lbr_trie_match match;
    double lowest;   /* load */
    size_t length;   /* of the prompt */
    uint64_t survey; /* number of the survey, once there is one … */
    size_t common;   /* … and what all know whom it did not visit */
};

/* What the scores of the pipeline are relative to, once it has chosen. */
struct lbr_scale {
    int known;
    struct lbr_affinity affinity;
    double heaviest;   /* weight of an eligible member */
    double stage_mean; /* of the members that the pool's stages have seen */
    uint32_t pinned;   /* member of the pin in force, or LBR_BITS_NONE */
    double pin;        /* what the pin counts */
};

struct lbr_pick {
    struct lbroute_router *router;
    const struct lbr_ask *ask;
    struct lbr_scope scope;
    struct lbr_group *group;
    uint64_t now;
    struct lbr_rng rng; /* a copy, stored back on commit */

    const uint64_t *mask; /* members that may be chosen */
    uint32_t eligible;    /* their number */
    int filtered;         /* the mask is not the group's usable bits */
    uint64_t exclusion;   /* number of this pick's exclusions, 0: none */
    int bench_ignored;
    const struct lbr_run *run; /* whose results are heeded, or NULL */
    uint64_t judgement;        /* number of this pick at its targets */

    uint64_t pin_key; /* 0: the strategy does not pin, or nothing to pin */
    struct lbr_session *session; /* the pin in force, or NULL */
    struct lbr_trie_match match; /* how far the prompt is known, if asked */
    struct lbr_scale scale;
};

/* Why nobody was eligible. */
struct lbr_rejection {
    uint32_t verdicts[LBROUTE_REASON_COUNT];
    int main_reason;           /* the verdict that most targets have */
    uint32_t in_flight, limit; /* sums over the full targets */
};

struct lbr_choice {
    uint32_t position;
    int32_t rule;
    double score;                         /* NaN: the rule does not rank */
    int64_t prefix_matched, prefix_total; /* -1: the rule does not look */
    /* Moves what the rule moves when its choice is taken; may be NULL. */
    void (*commit)(struct lbr_pick *pick, const struct lbr_choice *choice);
};

static inline struct lbr_target *lbr_pick_target(const struct lbr_pick *pick,
                                                 uint32_t position)
{
    return pick->group->members[position];
}

#endif
