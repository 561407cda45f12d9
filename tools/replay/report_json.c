/* SPDX-License-Identifier: MIT */
/*
 * The results for programs: `{"runs":[…]}`, one run a line. Keys stand in a
 * fixed order and numbers are rounded to what they mean, so that the same
 * results give the same bytes.
 */
#include "report_measures.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of a unit that are kept: three digits behind the point, six, or, of
 * money, twelve. */
static const double MILLI = 1e3;
static const double MICRO = 1e6;
static const double PICO = 1e12;

/* An object that remembers whether anything was missing. */
struct object {
    json_t *json;
    bool failed;
};

static struct object begin(void)
{
    struct object object = {json_object(), false};

    return object;
}

static void put(struct object *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) != 0)
        object->failed = true;
}

/* Returns the object, or NULL when it lacks something. */
static json_t *end(struct object *object)
{
    if (!object->failed)
        return object->json;
    json_decref(object->json);
    return NULL;
}

static json_t *number(double value, double steps)
{
    if (!isfinite(value))
        return json_null();
    return json_real(round(value * steps) / steps);
}

static json_t *count_of(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* A seed is exact at any size: text where it is beyond a JSON library's
 * integers. */
static json_t *seed_of(uint64_t seed)
{
    if (seed > INT64_MAX)
        return json_sprintf("%" PRIu64, seed);
    return count_of(seed);
}

/* A string as it is, or, when it is not UTF-8, with '?' for each odd byte. */
static json_t *text(const char *value)
{
    json_t *string = json_string(value);
    char *copy;

    if (string != NULL)
        return string;
    copy = malloc(strlen(value) + 1);
    if (copy == NULL)
        return NULL;
    strcpy(copy, value);
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

static json_t *quantiles(const struct replay_quantiles *measure)
{
    struct object object = begin();

    put(&object, "mean", number(measure->mean, MILLI));
    put(&object, "p50", number(measure->p50, MILLI));
    put(&object, "p90", number(measure->p90, MILLI));
    put(&object, "p99", number(measure->p99, MILLI));
    return end(&object);
}

static json_t *dispatched(const struct replay_target_result *target)
{
    json_t *array = json_array();

    for (size_t i = 0; i < REPLAY_BUCKETS; i++)
        if (json_array_append_new(array, count_of(target->dispatched[i])) !=
            0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *target_object(const struct replay_target_result *target,
                             const struct replay_result *result)
{
    struct object object = begin();

    put(&object, "name", text(target->name));
    put(&object, "engine", text(target->engine));
    put(&object, "weight", number(target->weight, MICRO));
    put(&object, "limit", count_of(target->limit));
    put(&object, "cache_tokens", count_of(target->cache_tokens));
    put(&object, "requests", count_of(target->requests));
    put(&object, "preemptions", count_of(target->preemptions));
    put(&object, "hit_share", number(target->hit_share, MICRO));
    put(&object, "busy_share", number(target->busy_share, MICRO));
    put(&object, "work_tokens", count_of(target->work_tokens));
    put(&object, "output_tokens", count_of(target->output_tokens));
    put(&object, "dispatched", dispatched(target));
    if (result->adapters)
        put(&object, "adapter_loads", count_of(target->adapter_loads));
    if (result->priced) {
        put(&object, "price_key", text(target->price_key));
        put(&object, "cost_usd", number(target->cost_usd, PICO));
    }
    return end(&object);
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
    struct object object = begin();

    for (size_t i = 0; i < result->option_count; i++)
        put(&object, result->options[i].name, text(result->options[i].value));
    return end(&object);
}

static json_t *kv_object(const struct replay_kv *kv)
{
    struct object object = begin();

    put(&object, "batches", count_of(kv->batches));
    put(&object, "stored", count_of(kv->stored));
    put(&object, "removed", count_of(kv->removed));
    put(&object, "lost", count_of(kv->lost));
    put(&object, "delivered", count_of(kv->delivered));
    put(&object, "bytes", count_of(kv->bytes));
    put(&object, "replays", count_of(kv->replays));
    put(&object, "clears", count_of(kv->clears));
    put(&object, "gaps", count_of(kv->gaps));
    put(&object, "restarts", count_of(kv->restarts));
    put(&object, "duplicates", count_of(kv->duplicates));
    put(&object, "evicted", count_of(kv->evicted));
    put(&object, "picks", count_of(kv->picks));
    put(&object, "unknown_picks", count_of(kv->unknown_picks));
    put(&object, "unknown_share", number(kv->unknown_share, MICRO));
    put(&object, "credited", count_of(kv->credited));
    put(&object, "justified", count_of(kv->justified));
    put(&object, "guessed_picks", count_of(kv->guessed_picks));
    put(&object, "wrong_picks", count_of(kv->wrong_picks));
    put(&object, "wrong_blocks", count_of(kv->wrong_blocks));
    return end(&object);
}

/* What was measured comes first, then what it was measured on. */
static void put_measures(struct object *object,
                         const struct replay_result *result)
{
    put(object, "requests", count_of(result->requests));
    put(object, "ttft_ms", quantiles(&result->ttft_ms));
    put(object, "tpot_ms", quantiles(&result->tpot_ms));
    put(object, "total_ms", quantiles(&result->total_ms));
    put(object, "hit_share", number(result->hit_share, MICRO));
    put(object, "pooled_hit_share", number(result->pooled_hit_share, MICRO));
    put(object, "hits_of_pool", number(report_hits_of_pool(result), MICRO));
    put(object, "prediction_error", number(result->prediction_error, MICRO));
    put(object, "goodput", number(result->goodput, MICRO));
    put(object, "busiest_over_mean", number(result->busiest_over_mean, MICRO));
    put(object, "busiest_work_over_mean",
        number(result->busiest_work_over_mean, MICRO));
    put(object, "rejected", count_of(result->rejected));
    put(object, "waited", count_of(result->waited));
    if (result->priced) {
        put(object, "cost_usd", number(result->cost_usd, PICO));
        put(object, "unpriced", count_of(result->unpriced));
    }
    if (result->adapters) {
        put(object, "adapter_loads", count_of(result->adapter_loads));
        put(object, "adapter_load_share",
            number(result->adapter_load_share, MICRO));
    }
    if (result->kv.read)
        put(object, "kv", kv_object(&result->kv));
    put(object, "skipped", count_of(result->skipped));
    put(object, "duration_s", number(result->duration_s, MICRO));
    put(object, "bucket_s", number(result->bucket_s, MICRO));
}

static json_t *run_object(const struct replay_result *result)
{
    struct object object = begin();

    put(&object, "strategy", text(result->strategy));
    put(&object, "seed", seed_of(result->seed));
    put(&object, "targets", count_of(result->target_count));
    put(&object, "load", number(result->load, MICRO));
    put_measures(&object, result);
    put(&object, "trace", text(result->trace));
    put(&object, "engine", text(result->engine));
    put(&object, "fleet", text(result->fleet));
    put(&object, "slo_ttft_ms", number(result->slo_ttft_ms, MICRO));
    put(&object, "slo_tpot_ms", number(result->slo_tpot_ms, MICRO));
    put(&object, "options", option_object(result));
    put(&object, "per_target", target_array(result));
    return end(&object);
}

/* Writes one run on a line of its own. */
static int write_run(FILE *out, const struct replay_result *result)
{
    json_t *run = run_object(result);
    int written;

    if (run == NULL) {
        errno = ENOMEM;
        return -1;
    }
    written = json_dumpf(run, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(run);
    return written;
}

int replay_report_json(FILE *out, const struct replay_result *results,
                       size_t count)
{
    fputs("{\"runs\":[\n", out);
    for (size_t i = 0; i < count; i++) {
        if (write_run(out, &results[i]) != 0)
            return -1;
        fputs(i + 1 < count ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}
