/* SPDX-License-Identifier: MIT */
/* The parameters of pools: one table with names, defaults and ranges, and what
 * the rest of the code reads, converted once when a value is set. */
#ifndef LBR_STATE_PARAM_H
#define LBR_STATE_PARAM_H

#include "base/blocks.h"
#include "models/admission.h"
#include "models/health.h"
#include "models/prefix_trie_shares.h"

#include <lbroute/lbroute.h>

enum lbr_param {
    LBR_PARAM_CACHE_THRESHOLD,
    LBR_PARAM_CACHE_BUDGET,
    LBR_PARAM_CACHE_MODE,
    LBR_PARAM_RING_BOUNDED,
    LBR_PARAM_RING_LOAD_BOUND,
    LBR_PARAM_RING_WEIGHTED_POINTS,
    LBR_PARAM_BENCH_AFTER,
    LBR_PARAM_BENCH_TIME,
    LBR_PARAM_BENCH_MAX,
    LBR_PARAM_SLOW_START,
    LBR_PARAM_KV_CAPACITY,
    LBR_PARAM_KV_CLIENTS,
    LBR_PARAM_KV_CLIENT_IDLE,
    LBR_PARAM_KV_FALLBACK,
    LBR_PARAM_KV_SPREAD,
    LBR_PARAM_KV_THRESHOLD,
    LBR_PARAM_SIGNAL_TTL,
    LBR_PARAM_PIPELINE_SESSION,
    LBR_PARAM_PIPELINE_WEIGHT,
    LBR_PARAM_PIPELINE_LOAD,
    LBR_PARAM_PIPELINE_PREFIX,
    LBR_PARAM_PREFIX_BLOCK_BYTES,
    LBR_PARAM_PREFIX_BLOCK_TOKENS,
    LBR_PARAM_PREFIX_COMMON,
    LBR_PARAM_SESSION_TTL,
    LBR_PARAM_SHARES_WINDOW,
    LBR_PARAM_COST_INPUT_TOKENS,
    LBR_PARAM_COST_OUTPUT_TOKENS,
    LBR_PARAM_ADAPTIVE_LATENCY,
    LBR_PARAM_ADAPTIVE_COST,
    LBR_PARAM_ADAPTIVE_LOAD,
    LBR_PARAM_ADAPTIVE_EXPLORATION,
    LBR_PARAM_ADAPTIVE_MIN_PICKS,
    LBR_PARAM_PIPELINE_COST,
    LBR_PARAM_LMCACHE_TTL,
    LBR_PARAM_LORA_TTL,
    LBR_PARAM_FASTEST_ALPHA,
    LBR_PARAM_FASTEST_AGE,
    LBR_PARAM_PREDICTED_RANK,
    LBR_PARAM_PIPELINE_LATENCY,
    LBR_PARAM_PIPELINE_PREDICTED,
    LBR_PARAM_PIPELINE_ADAPTER,
    LBR_PARAM_PIPELINE_OCCUPANCY,
    LBR_PARAM_PRECISE_GPU,
    LBR_PARAM_PRECISE_HOST,
    LBR_PARAM_PRECISE_DISK,
    LBR_PARAM_PRECISE_THRESHOLD,
    LBR_PARAM_PRECISE_TTL,
    LBR_PARAM_PRECISE_COUNT_COPIES,
    LBR_PARAM_PRECISE_SPECULATE,
    LBR_PARAM_PRECISE_SPECULATION_TTL,
    LBR_PARAM_PIPELINE_RESIDENT,
    LBR_PARAM_ADMISSION_MODE,
    LBR_PARAM_ADMISSION_FAST_LIMIT,
    LBR_PARAM_ADMISSION_BUSY_IN_FLIGHT,
    LBR_PARAM_ADMISSION_BUSY_RATE,
    LBR_PARAM_ADMISSION_CALM,
    LBR_PARAM_ADMISSION_RETRY_MAX,
    LBR_PARAM_QUEUE_ENABLED,
    LBR_PARAM_QUEUE_DEPTH,
    LBR_PARAM_QUEUE_TIMEOUT,
    LBR_PARAM_QUEUE_AGING,
    LBR_PARAM_QUEUE_INPUT_COST,
    LBR_PARAM_QUEUE_OUTPUT_COST,
    LBR_PARAM_QUEUE_FAIR,
    LBR_PARAM_COUNT
};

enum lbr_admission_mode {
    LBR_ADMIT_MAX_CONCURRENCY,
    LBR_ADMIT_SUPERFAST,
    LBR_ADMIT_HYBRID,
    LBR_ADMIT_QUEUE_ALL
};

/* By the parameter's value. */
enum lbr_kv_fallback {
    LBR_FALL_BACK_TO_WEIGHT,
    LBR_FALL_BACK_TO_LOAD,
    LBR_FALL_BACK_TO_WORK
};

struct lbr_queue_rules {
    int on;
    int unbounded; /* but for the router's own bounds */
    double depth;  /* times the sum of the targets' limits */
    uint64_t timeout, aging;
    double input_cost, output_cost; /* of a token */
    int fair;
};

/* Parts of the shares window; it slides by one part. */
#define LBR_SHARE_BUCKETS 12

struct lbr_params {
    double value[LBR_PARAM_COUNT];
    /* The same, as used: times in ns. */
    struct lbr_health_rules health;
    uint64_t slow_start;
    uint64_t signal_ttl;
    uint64_t session_ttl;
    uint64_t share_bucket;
    double load_bound; /* 0: the ring is not bounded */
    int weighted_points;
    double cache_threshold;
    size_t cache_budget;
    struct {
        double session, weight, load, prefix, cost, latency, predicted, adapter,
            occupancy, resident;
    } pipeline;       /* weights of the scorers */
    int cache_blocks; /* compare hashes of blocks */
    struct lbr_share_rules kv;
    double kv_spread, kv_threshold;
    enum lbr_kv_fallback kv_fallback;
    struct lbr_block_sizes blocks;
    double common_head;
    uint64_t input_tokens, output_tokens; /* of a request that does not say */
    struct {
        double latency, cost, load; /* weights of the signals */
        double exploration;
        uint64_t min_picks;
    } adaptive;
    uint64_t lmcache_ttl;
    uint64_t lora_ttl;
    double fastest_alpha;
    uint64_t fastest_age;
    int rank_by_total;
    struct {
        double worth[LBROUTE_MEDIUM_COUNT]; /* of a block in each medium */
        double threshold;
        uint64_t ttl;
        int count_copies;
        uint64_t speculation; /* life of speculative blocks, 0: none are made */
    } precise;
    struct {
        enum lbr_admission_mode mode;
        uint32_t fast_limit;
        struct lbr_admission_rules hybrid;
        uint64_t retry_max;
    } admission;
    struct lbr_queue_rules queue;
};

void lbr_params_init(struct lbr_params *params);

/* Number of the parameter called |name|, or LBR_PARAM_COUNT. */
enum lbr_param lbr_param_find(const char *name);

/* Sets a value. Returns 0 when it is out of range; then nothing changes. */
int lbr_params_set(struct lbr_params *params, enum lbr_param param,
                   double value);

#endif
