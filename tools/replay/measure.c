/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include "grow.h"
#include "kv_cache.h"
#include "measure_handover.h"
#include "measure_queue.h"
#include "measure_routers.h"
#include "prices.h"
#include "quantiles.h"

#include <math.h>
#include <stdlib.h>

/* A number that does not exist. */
#define MISSING ((double)NAN)

static double ms_between(uint64_t from, uint64_t to)
{
    return (double)(to - from) / 1e6;
}

static bool was_served(const struct fleet_outcome *outcome)
{
    return outcome->target != FLEET_NO_TARGET;
}

static double first_token_ms(const struct fleet_outcome *outcome)
{
    return ms_between(outcome->arrived, outcome->first_token);
}

/* Time per output token; NaN for an answer of one token. */
static double output_token_ms(const struct work_request *request,
                              const struct fleet_outcome *outcome)
{
    if (request->output_tokens < 2)
        return MISSING;
    return ms_between(outcome->first_token, outcome->last_token) /
           (double)(request->output_tokens - 1);
}

static void measure_latency(const struct workload *workload,
                            const struct fleet_log *log,
                            struct replay_result *result)
{
    double *first = grow_zeroed(log->request_count, sizeof *first);
    double *per_token = grow_zeroed(log->request_count, sizeof *per_token);
    double *total = grow_zeroed(log->request_count, sizeof *total);
    size_t served = 0;
    size_t long_answers = 0;

    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[i];
        double token_ms = output_token_ms(&workload->requests[i], outcome);

        if (!was_served(outcome))
            continue;
        first[served] = first_token_ms(outcome);
        total[served++] = ms_between(outcome->arrived, outcome->last_token);
        if (!isnan(token_ms))
            per_token[long_answers++] = token_ms;
    }
    result->ttft_ms = quantiles_of(first, served);
    result->total_ms = quantiles_of(total, served);
    result->tpot_ms = quantiles_of(per_token, long_answers);
    free(first);
    free(per_token);
    free(total);
}

/* Of the requests whose first token was predicted, |predicted / real - 1|. */
static double median_error(const struct fleet_log *log)
{
    double *errors = grow_zeroed(log->request_count, sizeof *errors);
    size_t count = 0;
    double median;

    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[i];
        double real = (double)(outcome->first_token - outcome->dispatched);

        if (was_served(outcome) && outcome->expected_first_ns >= 0)
            errors[count++] =
                fabs((double)outcome->expected_first_ns / real - 1.0);
    }
    median = quantiles_of(errors, count).p50;
    free(errors);
    return median;
}

static bool is_good(const struct replay_result *result,
                    const struct work_request *request,
                    const struct fleet_outcome *outcome)
{
    double token_ms = output_token_ms(request, outcome);

    return was_served(outcome) &&
           first_token_ms(outcome) <= result->slo_ttft_ms &&
           (isnan(token_ms) || token_ms <= result->slo_tpot_ms);
}

static void measure_counts(const struct workload *workload,
                           const struct fleet_log *log,
                           struct replay_result *result)
{
    size_t good = 0;
    uint64_t last = 0;

    result->requests = log->request_count;
    result->rejected = 0;
    result->waited = 0;
    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[i];

        result->rejected += !was_served(outcome);
        result->waited += outcome->waited;
        good += is_good(result, &workload->requests[i], outcome);
        if (outcome->last_token > last)
            last = outcome->last_token;
    }
    result->goodput = (double)good / (double)log->request_count;
    result->duration_s = (double)last / 1e9;
    result->bucket_s = result->duration_s / REPLAY_BUCKETS;
}

/* Share of a part in a whole, NaN of nothing. */
static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : MISSING;
}

static size_t bucket_of(const struct replay_result *result, uint64_t at_ns)
{
    double place = share((double)at_ns / 1e9, result->bucket_s);

    return place < REPLAY_BUCKETS ? (size_t)place : REPLAY_BUCKETS - 1;
}

static void name_target(const struct fleet_target *from,
                        const struct fleet_target_log *log,
                        uint32_t block_tokens,
                        struct replay_target_result *target)
{
    target->name = from->name;
    target->engine = from->spec->name;
    target->weight = from->weight;
    target->limit = from->limit;
    target->cache_tokens = (uint64_t)log->blocks * block_tokens;
    target->preemptions = log->preemptions;
    target->adapter_loads = log->adapter_loads;
    target->work_tokens = log->work_tokens;
    target->price_key = from->price_key;
}

/* What the served requests cost: by the cache as it was, not as the router
 * expected it. */
static void measure_costs(const struct workload *workload,
                          const struct fleet_spec *fleet,
                          const struct fleet_log *log,
                          struct replay_target_result *targets,
                          struct replay_result *result)
{
    result->cost_usd = 0.0;
    result->unpriced = 0;
    for (size_t i = 0; i < log->request_count; i++) {
        const struct work_request *request = &workload->requests[i];
        const struct fleet_outcome *outcome = &log->outcomes[i];
        double cost;

        if (!was_served(outcome))
            continue;
        cost = price_cost_usd(fleet->targets[outcome->target].price,
                              request->input_tokens, outcome->hit_tokens,
                              request->output_tokens);
        targets[outcome->target].cost_usd += cost;
        result->cost_usd += cost;
        if (isnan(cost))
            result->unpriced++;
    }
}

static void measure_targets(const struct workload *workload,
                            const struct fleet_spec *fleet,
                            const struct fleet_log *log,
                            struct replay_result *result)
{
    struct replay_target_result *targets =
        grow_zeroed(fleet->count, sizeof *targets);
    double *hits = grow_zeroed(fleet->count, sizeof *hits);
    double *inputs = grow_zeroed(fleet->count, sizeof *inputs);
    double all_hits = 0.0;
    double all_inputs = 0.0;

    for (size_t i = 0; i < log->request_count; i++) {
        const struct fleet_outcome *outcome = &log->outcomes[i];
        struct replay_target_result *target;

        if (!was_served(outcome))
            continue;
        target = &targets[outcome->target];
        target->requests++;
        target->output_tokens += workload->requests[i].output_tokens;
        target->dispatched[bucket_of(result, outcome->dispatched)]++;
        hits[outcome->target] += outcome->hit_tokens;
        inputs[outcome->target] += workload->requests[i].input_tokens;
    }
    for (size_t i = 0; i < fleet->count; i++) {
        name_target(&fleet->targets[i], &log->targets[i],
                    workload->block_tokens, &targets[i]);
        targets[i].hit_share = share(hits[i], inputs[i]);
        targets[i].busy_share =
            share((double)log->targets[i].busy_ns / 1e9, result->duration_s);
        all_hits += hits[i];
        all_inputs += inputs[i];
    }
    measure_costs(workload, fleet, log, targets, result);
    result->hit_share = share(all_hits, all_inputs);
    result->target_count = fleet->count;
    result->targets = targets;
    free(hits);
    free(inputs);
}

/* Input that a target computed, and what it put out if `answers` count too,
 * relative to weight: the largest over the mean. */
static double busiest_over_mean(const struct replay_result *result,
                                bool answers)
{
    double largest = 0.0;
    double sum = 0.0;
    size_t count = 0;

    for (size_t i = 0; i < result->target_count; i++) {
        const struct replay_target_result *target = &result->targets[i];
        double work = (double)target->work_tokens;

        if (target->weight <= 0.0)
            continue;
        if (answers)
            work += (double)target->output_tokens;
        work /= target->weight;
        largest = fmax(largest, work);
        sum += work;
        count++;
    }
    return share(largest * (double)count, sum);
}

/* Passes a prompt and its answer through the cache; returns the tokens of the
 * prompt that were found there. */
static uint32_t pool_request(struct kv_cache *pool,
                             const struct workload *workload,
                             const struct work_request *request,
                             uint32_t *blocks)
{
    const uint32_t *ids = workload->ids + request->first_id;
    uint32_t findable = (request->input_tokens - 1) / workload->block_tokens;
    uint32_t whole = (request->input_tokens + request->output_tokens - 1) /
                     workload->block_tokens;
    uint32_t idle;
    uint32_t hits = kv_cache_match(pool, ids, findable, &idle);

    kv_cache_reuse(pool, ids, hits, blocks);
    kv_cache_allocate(pool, whole - hits, blocks + hits);
    for (uint32_t i = hits; i < whole; i++)
        kv_cache_name(pool, blocks[i], ids[i]);
    kv_cache_release(pool, blocks, whole);
    return hits * workload->block_tokens;
}

/* What one cache of all targets' blocks would hit, if every prompt passed
 * through it at once on arrival, with its answer. */
static double pooled_hit_share(const struct workload *workload,
                               const struct fleet_log *log)
{
    uint64_t blocks = 0;
    double hits = 0.0;
    double inputs = 0.0;
    struct kv_cache *pool;
    uint32_t *scratch;

    for (size_t i = 0; i < log->target_count; i++)
        blocks += log->targets[i].blocks;
    blocks = blocks < UINT32_MAX ? blocks : UINT32_MAX - 1;
    pool = kv_cache_create((uint32_t)blocks, workload->distinct_ids);
    scratch = grow_zeroed(blocks, sizeof *scratch);
    for (size_t i = 0; i < log->request_count; i++) {
        uint32_t number = log->arrivals[i];

        if (!was_served(&log->outcomes[number]))
            continue;
        hits +=
            pool_request(pool, workload, &workload->requests[number], scratch);
        inputs += workload->requests[number].input_tokens;
    }
    free(scratch);
    kv_cache_destroy(pool);
    return share(hits, inputs);
}

static void measure_adapters(const struct fleet_log *log,
                             struct replay_result *result)
{
    uint64_t served = result->requests - result->rejected;

    result->adapter_loads = 0;
    for (size_t i = 0; i < log->target_count; i++)
        result->adapter_loads += log->targets[i].adapter_loads;
    result->adapter_load_share =
        share((double)result->adapter_loads, (double)served);
}

static void measure_kv(const struct kv_feed_counts *counts,
                       struct replay_result *result)
{
    result->kv = (struct replay_kv){
        .read = counts->picks > 0,
        .batches = counts->batches,
        .stored = counts->stored,
        .removed = counts->removed,
        .lost = counts->lost,
        .delivered = counts->delivered,
        .bytes = counts->bytes,
        .replays = counts->replays,
        .clears = counts->clears,
        .gaps = counts->router.gaps,
        .restarts = counts->router.restarts,
        .duplicates = counts->router.duplicates,
        .evicted = counts->router.evicted,
        .picks = counts->picks,
        .unknown_picks = counts->unknown_picks,
        .unknown_share =
            share((double)counts->unknown_picks, (double)counts->picks),
        .credited = counts->credited,
        .justified = counts->justified,
        .guessed_picks = counts->guessed_picks,
        .wrong_picks = counts->wrong_picks,
        .wrong_blocks = counts->wrong_blocks,
    };
}

void measure_run(const struct workload *workload,
                 const struct fleet_spec *fleet, const struct fleet_log *log,
                 struct replay_result *result)
{
    measure_counts(workload, log, result);
    measure_latency(workload, log, result);
    measure_targets(workload, fleet, log, result);
    measure_adapters(log, result);
    measure_kv(&log->kv, result);
    if (result->queue.asked)
        measure_queue(workload, log, &result->queue);
    if (result->handover.asked)
        measure_handover(workload, log, &result->handover);
    measure_routers(log, result);
    result->busiest_over_mean = busiest_over_mean(result, false);
    result->busiest_work_over_mean = busiest_over_mean(result, true);
    result->prediction_error = median_error(log);
    result->pooled_hit_share = pooled_hit_share(workload, log);
}

void measure_release(struct replay_result *result)
{
    free((struct replay_target_result *)result->targets);
    result->targets = NULL;
    result->target_count = 0;
    measure_queue_release(&result->queue);
    measure_routers_release(&result->routers);
}
