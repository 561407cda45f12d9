/* SPDX-License-Identifier: MIT */
#include "state/param.h"

#include "base/abi.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

#define DAY 86400.0

/* A parameter, and whether it takes whole numbers only. */
struct row {
    lbroute_param_info info;
    int whole;
};

#define REAL(n, text, def, min, max)                                           \
    {                                                                          \
        {sizeof(lbroute_param_info), n, text, def, min, max}, 0                \
    }
#define WHOLE(n, text, def, min, max)                                          \
    {                                                                          \
        {sizeof(lbroute_param_info), n, text, def, min, max}, 1                \
    }

static const struct row table[LBR_PARAM_COUNT] = {
    REAL("cache_aware.threshold",
         "leading part of a prompt that a target must know to be preferred",
         0.5, 0, 1),
    WHOLE("cache_aware.budget",
          "bytes for the prompts that are remembered of each target", 16777216,
          0, 1099511627776.0),
    WHOLE("cache_aware.mode",
          "0: compare and keep the bytes of prompts, 1: hashes of blocks", 0, 0,
          1),
    WHOLE("consistent_hash.bounded",
          "1: a target above its bound passes the key on", 0, 0, 1),
    REAL("consistent_hash.load_bound",
         "bound on a target's load, as a multiple of its fair share", 1.25, 1,
         100),
    WHOLE("consistent_hash.weighted_points",
          "1: 100 ring points for each 1.0 of weight, not for each target", 0,
          0, 1),
    WHOLE("health.bench_after",
          "failures in a row that bench a target, 0: never", 5, 0, 1000000),
    REAL("health.bench_time",
         "seconds of the first bench, doubled for each further one, 0: never",
         30, 0, 365 * DAY),
    REAL("health.bench_max", "seconds of the longest bench", 300, 0, 365 * DAY),
    REAL("health.slow_start",
         "seconds in which a new or restored target gains its full weight", 0,
         0, 365 * DAY),
    WHOLE("kv_aware.capacity",
          "blocks that are remembered of each target, shared among clients",
          32768, 0, 16777216),
    WHOLE("kv_aware.clients",
          "clients told apart on a target; others share as one", 1024, 1,
          65536),
    REAL("kv_aware.client_idle",
         "seconds of silence that end a client's guaranteed share", 600, 0.001,
         365 * DAY),
    WHOLE("kv_aware.fallback",
          "without a useful match, 0: weighted, 1: least_connections, 2: "
          "least_work",
          0, 0, 2),
    REAL("kv_aware.spread",
         "homes of a busy shared head, in square roots of the targets that its "
         "traffic fills, 0: one",
         4, 0, 100),
    REAL("kv_aware.threshold",
         "leading part of a prompt that a target must hold to be preferred",
         0.05, 0, 1),
    REAL("load.signal_ttl",
         "seconds a reported load counts in full; then it fades in as many", 10,
         0.001, 365 * DAY),
    REAL("pipeline.session",
         "weight of a session's pin; from 1 on it outweighs all scorers", 1, 0,
         1000),
    REAL("pipeline.weight", "weight of the scorer of targets' weights", 1, 0,
         1000),
    REAL("pipeline.load", "weight of the scorer of load", 1, 0, 1000),
    REAL("pipeline.prefix", "weight of the scorer of known prompts", 1, 0,
         1000),
    WHOLE("prefix.block_bytes", "bytes of text in a hashed block", 256, 1,
          1048576),
    WHOLE("prefix.block_tokens", "token ids in a hashed block", 16, 1, 65536),
    REAL("prefix.common",
         "part of the latest requests that makes a shared head say nothing, "
         "2: never",
         0.9, 0.5, 2),
    REAL("session.ttl", "seconds without a pick that end a session's pin", 300,
         0.001, 365 * DAY),
    REAL("shares.window", "seconds over which traffic shares are measured", 60,
         0.012, 365 * DAY),
    WHOLE("cost.input_tokens",
          "input tokens for the cost of a request that does not say", 1000, 0,
          1e9),
    WHOLE("cost.output_tokens",
          "output tokens for the cost of a request that does not say", 250, 0,
          1e9),
    REAL("adaptive.latency", "weight of latency", 1, 0, 1000),
    REAL("adaptive.cost", "weight of cost", 0.5, 0, 1000),
    REAL("adaptive.load", "weight of load", 0.25, 0, 1000),
    REAL("adaptive.exploration",
         "part of the picks that try any of the least busy targets", 0.05, 0,
         1),
    WHOLE("adaptive.min_picks", "picks of the pool before it adapts", 50, 0,
          1e9),
    REAL("pipeline.cost", "weight of the scorer of cost", 0, 0, 1000),
    REAL("lmcache_aware.ttl",
         "seconds that a report of a cache's occupancy counts", 10, 0.001,
         365 * DAY),
    REAL(
        "lora_aware.ttl",
        "seconds that an adapter is taken to be held since it was last seen or "
        "served",
        60, 0.001, 365 * DAY),
    REAL("fastest.alpha",
         "part of the latest answer in a target's mean latency", 0.3, 0.001, 1),
    REAL("fastest.age",
         "seconds after which a latency counts no more and a target is tried",
         60, 0.001, 365 * DAY),
    WHOLE("predicted_latency.rank",
          "targets are ranked by, 0: time to first token, 1: total time", 0, 0,
          1),
    REAL("pipeline.latency", "weight of the scorer of mean latency", 0, 0,
         1000),
    REAL("pipeline.predicted_latency",
         "weight of the scorer of predicted latency", 0, 0, 1000),
    REAL("pipeline.adapter", "weight of the scorer of LoRA adapters", 0, 0,
         1000),
    REAL("pipeline.occupancy", "weight of the scorer of offloaded caches", 0, 0,
         1000),
    REAL("precise_cache_aware.gpu", "worth of a block in GPU memory", 1, 0, 1),
    REAL("precise_cache_aware.host", "worth of a block in host memory", 0.8, 0,
         1),
    REAL("precise_cache_aware.disk", "worth of a block on disk", 0.5, 0, 1),
    REAL("precise_cache_aware.threshold",
         "resident part of a prompt that a target must have to be preferred",
         0.05, 0, 1),
    REAL("precise_cache_aware.ttl",
         "seconds without KV events, requests being sent, that make a target "
         "unknown",
         60, 0.001, 365 * DAY),
    WHOLE("precise_cache_aware.count_copies",
          "a block stored twice in a medium is gone after, 0: one removal, 1: "
          "two",
          0, 0, 1),
    WHOLE("precise_cache_aware.speculate",
          "1: a picked target is taken to hold the prompt until events tell", 0,
          0, 1),
    REAL("precise_cache_aware.speculation_ttl", "seconds that this is believed",
         2, 0.001, 365 * DAY),
    REAL("pipeline.resident", "weight of the scorer of KV events", 0, 0, 1000),
    WHOLE("admission.mode",
          "0: max_concurrency, 1: superfast, 2: hybrid, 3: queue_all", 0, 0, 3),
    WHOLE("admission.fast_limit",
          "requests in flight on a target under superfast and quiet hybrid", 4,
          1, 1000000),
    WHOLE("admission.busy_in_flight",
          "requests of a hybrid pool, waiting ones included, that make it busy",
          10, 1, 1e9),
    REAL("admission.busy_rate",
         "requests per second over 5 s that make a hybrid pool busy", 10, 0.2,
         1e8),
    REAL("admission.calm",
         "part of both thresholds below which a hybrid pool is quiet again",
         0.8, 0.01, 1),
    REAL("admission.retry_max",
         "seconds that a target's Retry-After keeps it out at most", 300, 0,
         365 * DAY),
    WHOLE("queue.enabled", "1: requests that find no slot wait for one", 0, 0,
          1),
    REAL("queue.depth",
         "requests that may wait, times the sum of the targets' limits", 4, 0,
         1000000),
    REAL("queue.timeout", "seconds that a request waits at most", 30, 0.001,
         365 * DAY),
    REAL("queue.aging",
         "seconds of waiting that put a priority on a par with the highest", 10,
         0, 365 * DAY),
    REAL("queue.input_cost", "what a token of input counts in the fair order",
         1, 0, 1000),
    REAL("queue.output_cost", "what a token of output counts in the fair order",
         2, 0, 1000),
    WHOLE("queue.fair", "1: fair among clients, 0: first in, first out", 1, 0,
          1),
};

static void convert_capacity(struct lbr_params *params)
{
    const double *value = params->value;
    struct lbr_queue_rules *queue = &params->queue;

    params->admission.mode =
        (enum lbr_admission_mode)value[LBR_PARAM_ADMISSION_MODE];
    params->admission.fast_limit =
        (uint32_t)value[LBR_PARAM_ADMISSION_FAST_LIMIT];
    params->admission.hybrid.busy_in_flight =
        value[LBR_PARAM_ADMISSION_BUSY_IN_FLIGHT];
    params->admission.hybrid.busy_arrivals =
        value[LBR_PARAM_ADMISSION_BUSY_RATE] * (LBR_ADMISSION_WINDOW / 1e9);
    params->admission.hybrid.calm = value[LBR_PARAM_ADMISSION_CALM];
    params->admission.retry_max =
        lbr_time_from_seconds(value[LBR_PARAM_ADMISSION_RETRY_MAX]);
    queue->unbounded = params->admission.mode == LBR_ADMIT_QUEUE_ALL;
    queue->on = queue->unbounded || value[LBR_PARAM_QUEUE_ENABLED] >= 1;
    queue->depth = value[LBR_PARAM_QUEUE_DEPTH];
    queue->timeout = lbr_time_from_seconds(value[LBR_PARAM_QUEUE_TIMEOUT]);
    queue->aging = lbr_time_from_seconds(value[LBR_PARAM_QUEUE_AGING]);
    queue->input_cost = value[LBR_PARAM_QUEUE_INPUT_COST];
    queue->output_cost = value[LBR_PARAM_QUEUE_OUTPUT_COST];
    queue->fair = value[LBR_PARAM_QUEUE_FAIR] >= 1;
}

static void convert_precise(struct lbr_params *params)
{
    const double *value = params->value;

    params->precise.worth[LBROUTE_MEDIUM_GPU] = value[LBR_PARAM_PRECISE_GPU];
    params->precise.worth[LBROUTE_MEDIUM_HOST] = value[LBR_PARAM_PRECISE_HOST];
    params->precise.worth[LBROUTE_MEDIUM_DISK] = value[LBR_PARAM_PRECISE_DISK];
    params->precise.threshold = value[LBR_PARAM_PRECISE_THRESHOLD];
    params->precise.ttl = lbr_time_from_seconds(value[LBR_PARAM_PRECISE_TTL]);
    params->precise.count_copies = value[LBR_PARAM_PRECISE_COUNT_COPIES] >= 1;
    params->precise.speculation =
        value[LBR_PARAM_PRECISE_SPECULATE] >= 1
            ? lbr_time_from_seconds(value[LBR_PARAM_PRECISE_SPECULATION_TTL])
            : 0;
}

static void convert(struct lbr_params *params)
{
    const double *value = params->value;

    params->load_bound = value[LBR_PARAM_RING_BOUNDED] >= 1
                             ? value[LBR_PARAM_RING_LOAD_BOUND]
                             : 0;
    params->cache_threshold = value[LBR_PARAM_CACHE_THRESHOLD];
    params->cache_budget = value[LBR_PARAM_CACHE_BUDGET] < (double)SIZE_MAX
                               ? (size_t)value[LBR_PARAM_CACHE_BUDGET]
                               : SIZE_MAX;
    params->pipeline.session = value[LBR_PARAM_PIPELINE_SESSION];
    params->pipeline.weight = value[LBR_PARAM_PIPELINE_WEIGHT];
    params->pipeline.load = value[LBR_PARAM_PIPELINE_LOAD];
    params->pipeline.prefix = value[LBR_PARAM_PIPELINE_PREFIX];
    params->pipeline.cost = value[LBR_PARAM_PIPELINE_COST];
    params->pipeline.latency = value[LBR_PARAM_PIPELINE_LATENCY];
    params->pipeline.predicted = value[LBR_PARAM_PIPELINE_PREDICTED];
    params->fastest_alpha = value[LBR_PARAM_FASTEST_ALPHA];
    params->fastest_age = lbr_time_from_seconds(value[LBR_PARAM_FASTEST_AGE]);
    params->rank_by_total = value[LBR_PARAM_PREDICTED_RANK] >= 1;
    params->pipeline.adapter = value[LBR_PARAM_PIPELINE_ADAPTER];
    params->pipeline.occupancy = value[LBR_PARAM_PIPELINE_OCCUPANCY];
    params->pipeline.resident = value[LBR_PARAM_PIPELINE_RESIDENT];
    convert_precise(params);
    convert_capacity(params);
    params->cache_blocks = value[LBR_PARAM_CACHE_MODE] >= 1;
    params->kv.capacity = (uint64_t)value[LBR_PARAM_KV_CAPACITY];
    params->kv.idle = lbr_time_from_seconds(value[LBR_PARAM_KV_CLIENT_IDLE]);
    params->kv.most_clients = (uint32_t)value[LBR_PARAM_KV_CLIENTS];
    params->kv_spread = value[LBR_PARAM_KV_SPREAD];
    params->kv_threshold = value[LBR_PARAM_KV_THRESHOLD];
    params->kv_fallback =
        (enum lbr_kv_fallback)(int)value[LBR_PARAM_KV_FALLBACK];
    params->blocks.bytes = (uint32_t)value[LBR_PARAM_PREFIX_BLOCK_BYTES];
    params->blocks.tokens = (uint32_t)value[LBR_PARAM_PREFIX_BLOCK_TOKENS];
    params->common_head = value[LBR_PARAM_PREFIX_COMMON];
    params->input_tokens = (uint64_t)value[LBR_PARAM_COST_INPUT_TOKENS];
    params->output_tokens = (uint64_t)value[LBR_PARAM_COST_OUTPUT_TOKENS];
    params->adaptive.latency = value[LBR_PARAM_ADAPTIVE_LATENCY];
    params->adaptive.cost = value[LBR_PARAM_ADAPTIVE_COST];
    params->adaptive.load = value[LBR_PARAM_ADAPTIVE_LOAD];
    params->adaptive.exploration = value[LBR_PARAM_ADAPTIVE_EXPLORATION];
    params->adaptive.min_picks = (uint64_t)value[LBR_PARAM_ADAPTIVE_MIN_PICKS];
    params->weighted_points = value[LBR_PARAM_RING_WEIGHTED_POINTS] >= 1;
    params->health.bench_after = (uint32_t)value[LBR_PARAM_BENCH_AFTER];
    params->health.bench_time =
        lbr_time_from_seconds(value[LBR_PARAM_BENCH_TIME]);
    params->health.bench_max =
        lbr_time_from_seconds(value[LBR_PARAM_BENCH_MAX]);
    params->slow_start = lbr_time_from_seconds(value[LBR_PARAM_SLOW_START]);
    params->signal_ttl = lbr_time_from_seconds(value[LBR_PARAM_SIGNAL_TTL]);
    params->session_ttl = lbr_time_from_seconds(value[LBR_PARAM_SESSION_TTL]);
    params->share_bucket =
        lbr_time_from_seconds(value[LBR_PARAM_SHARES_WINDOW]) /
        LBR_SHARE_BUCKETS;
    params->lmcache_ttl = lbr_time_from_seconds(value[LBR_PARAM_LMCACHE_TTL]);
    params->lora_ttl = lbr_time_from_seconds(value[LBR_PARAM_LORA_TTL]);
}

void lbr_params_init(struct lbr_params *params)
{
    int i;

    for (i = 0; i < LBR_PARAM_COUNT; i++)
        params->value[i] = table[i].info.default_value;
    convert(params);
}

enum lbr_param lbr_param_find(const char *name)
{
    int i = 0;

    while (i < LBR_PARAM_COUNT && strcmp(table[i].info.name, name) != 0)
        i++;
    return (enum lbr_param)i;
}

int lbr_params_set(struct lbr_params *params, enum lbr_param param,
                   double value)
{
    const struct row *row = &table[param];

    if (!(value >= row->info.minimum && value <= row->info.maximum))
        return 0;
    if (row->whole && value != floor(value))
        return 0;
    params->value[param] = value;
    convert(params);
    return 1;
}

void lbroute_param_info_init(lbroute_param_info *info, size_t size)
{
    lbroute_param_info defaults = {0};

    lbr_abi_init(info, size, &defaults, sizeof defaults);
}

int lbroute_param_get_info(size_t index, lbroute_param_info *info)
{
    if (!lbr_abi_valid(info))
        return LBROUTE_ERR_INVALID;
    if (index >= LBR_PARAM_COUNT)
        return LBROUTE_ERR_NOT_FOUND;
    return lbr_abi_write(info, &table[index].info, sizeof table[index].info);
}
