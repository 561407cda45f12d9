/* SPDX-License-Identifier: MIT */
/* One pick on its way through the rules. Choosing changes nothing but the
 * pick itself; a choice is then committed (pick) or dropped (explain). */
#ifndef LBR_POLICY_PICK_H
#define LBR_POLICY_PICK_H

#include "policy/chains.h"
#include "state/router.h"

#define LBR_TOKENS_UNKNOWN UINT64_MAX

/* A prompt as it was given. */
struct lbr_prompt {
    const void *symbols;
    size_t length; /* bytes */
    uint32_t unit; /* bytes of a symbol: 1 text, 4 token ids, 8 block hashes */
};

/* Its blocks, hashed without the lock once it is known how large they are. */
struct lbr_hashed {
    size_t block_bytes; /* 0: not hashed yet */
    size_t count;      /* of the leading blocks, as many as there is room for */
    uint64_t *near;    /* the caller's space, for LBR_NEAR_BLOCKS */
    uint64_t *scratch; /* the router's, for |room|; NULL: not borrowed */
    size_t room;
};

/* A checked request, digested before the lock is taken. */
struct lbr_ask {
    const lbroute_request *request; /* the caller's, or a completed copy */
    uint64_t sticky_digest;         /* of session, else client; 0: neither */
    struct lbr_text key_source;     /* session, else conversation */
    uint64_t ring_key;              /* hash of that … */
    int ring_key_known;             /* … once it was needed */
    uint64_t input_tokens;          /* or LBR_TOKENS_UNKNOWN */
    uint64_t client_digest;         /* of the client, where a prompt is given */
    struct lbr_prompt prompt;
    uint64_t prefix_root; /* what the prompt is compared under */
    uint64_t adapter;     /* digest of the adapter; 0: none */
    struct lbr_hashed hashed;
    struct lbr_chains chains;
    struct lbr_run *run;           /* of the pool's own stages, once begun */
    uint32_t rounds;               /* of them that came to nothing */
    int explains;                  /* asked by lbroute_explain() */
    struct lbr_request_copy *copy; /* for the case that it has to wait */
    int copy_failed;               /* why there is none, an error code */
    int arrived; /* counted among the arrivals of its pool, or need not be */
};

static inline uint64_t *lbr_hashed_blocks(const struct lbr_hashed *hashed)
{
    return hashed->scratch ? hashed->scratch : hashed->near;
}

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

/* A prompt as the group's trie compares it, and what it is judged by. */
struct lbr_affinity {
    const void *symbols;
    size_t length;       /* bytes */
    uint32_t unit;       /* bytes of what is counted in decisions */
    size_t total;        /* of those, in the whole prompt */
    size_t common;       /* leading bytes that nearly all requests have */
    double lowest;       /* relative load of the eligible */
    uint64_t survey;     /* number of the survey, once there is one … */
    size_t known_to_all; /* … and bytes that whom it did not visit knows */
};

/* What the eligible members cost. */
struct lbr_costs {
    uint32_t known; /* members with a known cost */
    struct lbr_wide lowest;
};

/* The pipeline's scorers of latency. */
enum lbr_latency_scorer {
    LBR_SCORER_AVERAGE,
    LBR_SCORER_PREDICTED,
    LBR_LATENCY_SCORERS
};

/* What one of them is relative to. */
struct lbr_latency_scale {
    double lowest; /* latency of an eligible member, ns */
    double mean;   /* score of those that are known; NaN: of nobody */
};

/* What the scores of the pipeline are relative to, once it has chosen. */
struct lbr_scale {
    int known;
    struct lbr_affinity affinity;
    double heaviest;   /* weight of an eligible member */
    double stage_mean; /* of the members that the pool's stages have seen */
    uint32_t pinned;   /* member of the pin in force, or LBR_BITS_NONE */
    double pin;        /* what the pin counts */
    struct lbr_costs costs;
    double cost_mean; /* score of those with a cost */
    struct lbr_latency_scale latency[LBR_LATENCY_SCORERS];
    enum lbr_latency_kind latency_kind; /* that predictions are about */
    double cache_mean;    /* of those whose offloaded cache is known, or NaN */
    double resident_mean; /* of those whose events can be believed, or NaN */
    double lean;          /* how far what was sent to whom counts; 0: not */
    double mean_blocks;   /* that members remember */
};

/* The signals that adaptive blends, over the members in the window. */
struct lbr_blend {
    int known; /* the blend chooses, not the pipeline */
    struct lbr_blended {
        uint32_t known;               /* members that have it */
        double lowest, highest, mean; /* of these */
        double weight;                /* 0: it tells nobody apart */
    } signals[LBR_SIGNAL_COUNT];
    double weights; /* all together */
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
    int match_known;
    size_t block_bytes; /* that the pool wants hashed, 0: none */
    struct lbr_scale scale;

    uint64_t lookup;        /* number of this pick's lookup, 0: none */
    uint64_t longest_match; /* tokens of it that decided, 0: it did not */
    double free_mean;       /* of the eligible members' caches, NaN: unknown */
    uint64_t look;          /* number of this pick's look at what is resident
                             * everywhere, 0: none */
    struct lbr_blend blend;

    /* State of a hybrid pool before an explanation counted the arrival. */
    struct lbr_admission admission;
    int admitted;
};

/* Why nobody was eligible. */
struct lbr_rejection {
    uint32_t verdicts[LBROUTE_REASON_COUNT];
    int main_reason;           /* the verdict that most targets have */
    uint32_t in_flight, limit; /* sums over the full targets */
    int waiting_helps;         /* there are such */
};

/* The leading blocks of a prompt that are resident at a target. */
struct lbr_residence {
    int state;                    /* LBROUTE_KV_SOURCE_ */
    int known;                    /* the rest says something */
    double worth;                 /* of the blocks, over all */
    uint32_t found[LBR_KV_MEDIA]; /* by their fastest medium */
    uint32_t total;               /* complete blocks of the prompt */
};

struct lbr_choice {
    uint32_t position;
    int32_t rule;
    double score;                         /* NaN: the rule does not rank */
    int64_t prefix_matched, prefix_total; /* -1: the rule does not look */
    /* Moves what the rule moves when its choice is taken; may be NULL. */
    void (*commit)(struct lbr_pick *pick, const struct lbr_choice *choice);
    /* The same of the rule that a rule with affinity fell back to. */
    void (*commit_fallback)(struct lbr_pick *pick,
                            const struct lbr_choice *choice);
    double expected[LBR_LATENCY_KINDS]; /* ns; NaN: unknown */
    uint64_t tokens;  /* uncached input, where latency is learned … */
    uint64_t matched; /* … and the rest of it */
    int tokens_told;  /* they are the request's own, not the pool's mean */
    int looked;       /* the rule asked what is resident, … */
    struct lbr_residence residence; /* … and this is at the target */
};

static inline struct lbr_target *lbr_pick_target(const struct lbr_pick *pick,
                                                 uint32_t position)
{
    return pick->group->members[position];
}

#endif
