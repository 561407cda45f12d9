/* SPDX-License-Identifier: MIT */
/*
 * The results for programs: `{"runs":[…]}`, one run a line. Keys stand in a
 * fixed order and numbers are rounded to what they mean, so that the same
 * results give the same bytes.
 */
#include "report_handover.h"
#include "report_measures.h"
#include "report_object.h"
#include "report_queue.h"
#include "report_routers.h"
#include "report_sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A seed is exact at any size: text where it is beyond a JSON library's
 * integers. */
static json_t *seed_of(uint64_t seed)
{
    if (seed > INT64_MAX)
        return json_sprintf("%" PRIu64, seed);
    return object_count(seed);
}

static json_t *dispatched(const struct replay_target_result *target)
{
    json_t *array = json_array();

    for (size_t i = 0; i < REPLAY_BUCKETS; i++)
        if (json_array_append_new(array, object_count(target->dispatched[i])) !=
            0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *target_object(const struct replay_target_result *target,
                             const struct replay_result *result)
{
    struct report_object object = object_begin();

    object_put(&object, "name", object_text(target->name));
    object_put(&object, "engine", object_text(target->engine));
    object_put(&object, "weight", object_number(target->weight, OBJECT_MICRO));
    object_put(&object, "limit", object_count(target->limit));
    object_put(&object, "cache_tokens", object_count(target->cache_tokens));
    object_put(&object, "requests", object_count(target->requests));
    object_put(&object, "preemptions", object_count(target->preemptions));
    object_put(&object, "hit_share",
               object_number(target->hit_share, OBJECT_MICRO));
    object_put(&object, "busy_share",
               object_number(target->busy_share, OBJECT_MICRO));
    object_put(&object, "work_tokens", object_count(target->work_tokens));
    object_put(&object, "output_tokens", object_count(target->output_tokens));
    object_put(&object, "dispatched", dispatched(target));
    if (result->adapters)
        object_put(&object, "adapter_loads",
                   object_count(target->adapter_loads));
    if (result->priced) {
        object_put(&object, "price_key", object_text(target->price_key));
        object_put(&object, "cost_usd",
                   object_number(target->cost_usd, OBJECT_PICO));
    }
    return object_end(&object);
}

static json_t *target_array(const struct replay_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->target_count; i++)
        if (json_array_append_new(
                array, target_object(&result->targets[i], result)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *option_object(const struct replay_result *result)
{
    struct report_object object = object_begin();

    for (size_t i = 0; i < result->option_count; i++)
        object_put(&object, result->options[i].name,
                   object_text(result->options[i].value));
    return object_end(&object);
}

static json_t *kv_object(const struct replay_kv *kv)
{
    struct report_object object = object_begin();

    object_put(&object, "batches", object_count(kv->batches));
    object_put(&object, "stored", object_count(kv->stored));
    object_put(&object, "removed", object_count(kv->removed));
    object_put(&object, "lost", object_count(kv->lost));
    object_put(&object, "delivered", object_count(kv->delivered));
    object_put(&object, "bytes", object_count(kv->bytes));
    object_put(&object, "replays", object_count(kv->replays));
    object_put(&object, "clears", object_count(kv->clears));
    object_put(&object, "gaps", object_count(kv->gaps));
    object_put(&object, "restarts", object_count(kv->restarts));
    object_put(&object, "duplicates", object_count(kv->duplicates));
    object_put(&object, "evicted", object_count(kv->evicted));
    object_put(&object, "picks", object_count(kv->picks));
    object_put(&object, "unknown_picks", object_count(kv->unknown_picks));
    object_put(&object, "unknown_share",
               object_number(kv->unknown_share, OBJECT_MICRO));
    object_put(&object, "credited", object_count(kv->credited));
    object_put(&object, "justified", object_count(kv->justified));
    object_put(&object, "guessed_picks", object_count(kv->guessed_picks));
    object_put(&object, "wrong_picks", object_count(kv->wrong_picks));
    object_put(&object, "wrong_blocks", object_count(kv->wrong_blocks));
    return object_end(&object);
}

/* What was measured comes first, then what it was measured on. */
static void put_measures(struct report_object *object,
                         const struct replay_result *result)
{
    object_put(object, "requests", object_count(result->requests));
    object_put(object, "ttft_ms", object_quantiles(&result->ttft_ms));
    object_put(object, "tpot_ms", object_quantiles(&result->tpot_ms));
    object_put(object, "total_ms", object_quantiles(&result->total_ms));
    object_put(object, "hit_share",
               object_number(result->hit_share, OBJECT_MICRO));
    object_put(object, "pooled_hit_share",
               object_number(result->pooled_hit_share, OBJECT_MICRO));
    object_put(object, "hits_of_pool",
               object_number(report_hits_of_pool(result), OBJECT_MICRO));
    object_put(object, "prediction_error",
               object_number(result->prediction_error, OBJECT_MICRO));
    object_put(object, "goodput", object_number(result->goodput, OBJECT_MICRO));
    object_put(object, "busiest_over_mean",
               object_number(result->busiest_over_mean, OBJECT_MICRO));
    object_put(object, "busiest_work_over_mean",
               object_number(result->busiest_work_over_mean, OBJECT_MICRO));
    object_put(object, "rejected", object_count(result->rejected));
    object_put(object, "waited", object_count(result->waited));
    if (result->priced) {
        object_put(object, "cost_usd",
                   object_number(result->cost_usd, OBJECT_PICO));
        object_put(object, "unpriced", object_count(result->unpriced));
    }
    if (result->adapters) {
        object_put(object, "adapter_loads",
                   object_count(result->adapter_loads));
        object_put(object, "adapter_load_share",
                   object_number(result->adapter_load_share, OBJECT_MICRO));
    }
    if (result->kv.read)
        object_put(object, "kv", kv_object(&result->kv));
    if (result->queue.asked)
        object_put(object, "queue", report_queue_object(&result->queue));
    if (result->handover.asked)
        object_put(object, "restart",
                   report_handover_object(&result->handover));
    if (result->routers.count > 1)
        object_put(object, "routers", report_routers_object(&result->routers));
    object_put(object, "skipped", object_count(result->skipped));
    object_put(object, "duration_s",
               object_number(result->duration_s, OBJECT_MICRO));
    object_put(object, "bucket_s",
               object_number(result->bucket_s, OBJECT_MICRO));
}

static json_t *run_object(const struct replay_result *result)
{
    struct report_object object = object_begin();

    object_put(&object, "strategy", object_text(result->strategy));
    object_put(&object, "seed", seed_of(result->seed));
    object_put(&object, "targets", object_count(result->target_count));
    object_put(&object, "load", object_number(result->load, OBJECT_MICRO));
    if (result->swept)
        object_put(&object, "sweep_load",
                   object_number(result->sweep_load, OBJECT_MICRO));
    put_measures(&object, result);
    object_put(&object, "trace", object_text(result->trace));
    object_put(&object, "engine", object_text(result->engine));
    object_put(&object, "fleet", object_text(result->fleet));
    object_put(&object, "slo_ttft_ms",
               object_number(result->slo_ttft_ms, OBJECT_MICRO));
    object_put(&object, "slo_tpot_ms",
               object_number(result->slo_tpot_ms, OBJECT_MICRO));
    object_put(&object, "options", option_object(result));
    object_put(&object, "per_target", target_array(result));
    return object_end(&object);
}

/* Writes a value on a line of its own, and frees it. */
static int write_value(FILE *out, json_t *value)
{
    int written;

    if (value == NULL) {
        errno = ENOMEM;
        return -1;
    }
    written = json_dumpf(value, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(value);
    return written;
}

static int write_sweep(FILE *out, const struct replay_result *results,
                       size_t count)
{
    struct report_sweep sweep;
    int written;

    if (report_sweep_make(&sweep, results, count) != 0)
        return -1;
    fputs(",\"sweep\":\n", out);
    written = write_value(out, report_sweep_object(&sweep));
    report_sweep_free(&sweep);
    return written;
}

int replay_report_json(FILE *out, const struct replay_result *results,
                       size_t count)
{
    fputs("{\"runs\":[\n", out);
    for (size_t i = 0; i < count; i++) {
        if (write_value(out, run_object(&results[i])) != 0)
            return -1;
        fputs(i + 1 < count ? ",\n" : "\n", out);
    }
    fputs("]", out);
    if (report_is_sweep(results, count) &&
        write_sweep(out, results, count) != 0)
        return -1;
    fputs("}\n", out);
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}
