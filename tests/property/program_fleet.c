/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

static size_t pools_in_use(const struct program *program)
{
    size_t count = 0;
    for (int i = 0; i < PROGRAM_POOLS; i++)
        count += program->pools[i].handle != 0;
    return count;
}

static void set_health(struct program *program, lbroute_pool pool)
{
    const struct model_health_rules *rules = &program->model.rules;
    api_set(program->router, pool, "health.bench_after", rules->bench_after);
    api_set(program->router, pool, "health.bench_time",
            (double)rules->bench_time / 1e9);
    api_set(program->router, pool, "health.bench_max",
            (double)rules->bench_max / 1e9);
}

void program_add_pool(struct program *program)
{
    uint32_t place = program_below(program, PROGRAM_POOLS);
    struct program_pool *pool = &program->pools[place];
    size_t strategy = program_below(program, program->strategies);
    char name[] = {'p', (char)('0' + place), 0};
    lbroute_pool_options options;
    lbroute_pool_options_init(&options, sizeof options);
    options.name = name;
    options.name_len = 2;
    options.strategy = lbroute_strategy_name(strategy);
    options.strategy_len = strlen(options.strategy);

    lbroute_pool handle = 0;
    size_t in_use = pools_in_use(program);
    int result = lbroute_pool_add(program->router, &options, &handle);
    if (pool->handle) {
        CHECK_I(result, LBROUTE_ERR_EXISTS);
        CHECK_U(handle, pool->handle);
    } else if (in_use == PROGRAM_POOLS - 1) {
        CHECK_I(result, LBROUTE_ERR_LIMIT);
    } else {
        CHECK_I(result, LBROUTE_OK);
        CHECK(handle != 0);
        pool->handle = handle;
        pool->strategy = strategy;
        set_health(program, handle);
    }
}

void program_update_pool(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    if (!pool)
        return;
    pool->strategy = program_below(program, program->strategies);
    const char *name = lbroute_strategy_name(pool->strategy);
    CHECK_I(
        lbroute_pool_update(program->router, pool->handle, name, strlen(name)),
        LBROUTE_OK);
}

static size_t pool_size(const struct program *program, lbroute_pool pool)
{
    size_t count = 0;
    for (size_t i = 0; i < program->model.target_count; i++)
        count += program->model.targets[i].pool == pool;
    return count;
}

void program_remove_pool(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    if (!pool)
        return;
    int result = lbroute_pool_remove(program->router, pool->handle);
    if (pool_size(program, pool->handle) > 0) {
        CHECK_I(result, LBROUTE_ERR_BUSY);
        return;
    }
    CHECK_I(result, LBROUTE_OK);
    CHECK_I(lbroute_pool_remove(program->router, pool->handle),
            LBROUTE_ERR_NOT_FOUND);
    pool->handle = 0;
}

/* Those of benching stay as the model has them. */
static int draw_parameter(struct program *program, lbroute_param_info *info)
{
    lbroute_param_info_init(info, sizeof *info);
    if (lbroute_param_get_info(program_below(program, 32), info) != LBROUTE_OK)
        return 0;
    return strncmp(info->name, "health.bench", 12) != 0;
}

/* So that short prompts have blocks, and are evicted. */
static void draw_small(const char *name, double part, double *value)
{
    if (strcmp(name, "cache_aware.budget") == 0)
        *value = floor(part * 8000);
    if (strcmp(name, "kv_aware.capacity") == 0)
        *value = floor(part * 24);
    if (strcmp(name, "kv_aware.clients") == 0)
        *value = floor(1 + part * 4);
    if (strcmp(name, "prefix.block_bytes") == 0)
        *value = floor(1 + part * 8);
    if (strcmp(name, "prefix.block_tokens") == 0)
        *value = floor(1 + part * 3);
}

void program_set_parameter(struct program *program)
{
    lbroute_param_info info;
    struct program_pool *pool = program_some_pool(program);
    if (!pool || !draw_parameter(program, &info))
        return;
    double before = 0;
    double after = 0;
    double part = program_byte(program) / 255.0;
    double value = part < 0.5
                       ? info.default_value
                       : info.minimum + (info.maximum - info.minimum) * part;
    draw_small(info.name, part, &value);
    int outside = program_below(program, 4) == 0;
    if (outside)
        value = part < 0.5 ? info.minimum - 1 : info.maximum + 1;
    CHECK_I(lbroute_pool_get(program->router, pool->handle, info.name, &before),
            LBROUTE_OK);
    if (strcmp(info.name, "consistent_hash.weighted_points") == 0)
        program->estimate = 0;
    int result =
        lbroute_pool_set(program->router, pool->handle, info.name, value);
    CHECK_I(lbroute_pool_get(program->router, pool->handle, info.name, &after),
            LBROUTE_OK);
    if (outside)
        CHECK_I(result, LBROUTE_ERR_RANGE);
    if (result == LBROUTE_OK)
        CHECK_SAME(after, value);
    else
        CHECK_SAME(after, before);
}

/* Settings of a target, as the model and the API say them. */
struct settings {
    lbroute_pool pool;
    double weight;
    uint32_t max_concurrency;
    uint64_t max_input_tokens;
    int tier;
    int serves;
};

static double draw_weight(struct program *program)
{
    static const double weights[] = {1, 1, 1, 2, 0.5, 0.1, 3, 0, 1e-6, 1e9};
    return weights[program_below(program, 10)];
}

/* Mostly the empty label. */
static int draw_label(struct program *program)
{
    uint32_t label = program_below(program, 16);
    return label < MODEL_LABELS ? (int)label : 0;
}

static void draw_settings(struct program *program, struct settings *settings)
{
    static const uint32_t limits[] = {0, 1, 2, 3, 32};
    static const uint64_t tokens[] = {0, 0, 0, 10, 100, UINT64_MAX};
    struct program_pool *pool = program_some_pool(program);
    int free_of_pools = program_below(program, 8) == 0;
    settings->pool = pool && !free_of_pools ? pool->handle : 0;
    settings->weight = draw_weight(program);
    settings->max_concurrency = limits[program_below(program, 5)];
    settings->max_input_tokens = tokens[program_below(program, 6)];
    settings->tier = draw_label(program);
    settings->serves = draw_label(program);
}

static void fill_options(const struct settings *settings, const char *name,
                         lbroute_target_options *options)
{
    api_target_options(options, settings->pool, name, settings->weight);
    options->max_concurrency = settings->max_concurrency;
    options->max_input_tokens = settings->max_input_tokens;
    options->tier = model_label(settings->tier);
    options->tier_len = strlen(options->tier);
    options->model = model_label(settings->serves);
    options->model_len = strlen(options->model);
}

static void apply(const struct settings *settings, struct model_target *target)
{
    target->pool = settings->pool;
    target->max_concurrency = settings->max_concurrency;
    target->max_input_tokens = settings->max_input_tokens;
    target->tier = settings->tier;
    target->serves = settings->serves;
    model_set_weight(target, settings->weight);
}

void program_add_target(struct program *program)
{
    struct settings settings;
    draw_settings(program, &settings);
    char name[32];
    snprintf(name, sizeof name, "target %u", program->names);
    lbroute_target_options options;
    fill_options(&settings, name, &options);
    lbroute_target handle = 0;
    int result = lbroute_target_add(program->router, &options,
                                    program_now(program), &handle);
    if (program->model.target_count == PROGRAM_TARGETS) {
        CHECK_I(result, LBROUTE_ERR_LIMIT);
        return;
    }
    CHECK_I(result, LBROUTE_OK);
    CHECK(model_find(&program->model, handle) == MODEL_TARGETS);
    apply(&settings, model_add(&program->model, handle, settings.pool, 1));
    program->names++;

    lbroute_target again = 0;
    if (program->model.target_count < PROGRAM_TARGETS) {
        CHECK_I(lbroute_target_add(program->router, &options,
                                   program->model.now, &again),
                LBROUTE_ERR_EXISTS);
        CHECK_U(again, handle);
    }
}

void program_update_target(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    struct model_target *target = &program->model.targets[place];
    struct settings settings;
    draw_settings(program, &settings);
    lbroute_target_options options;
    fill_options(&settings, "ignored", &options);
    CHECK_I(lbroute_target_update(program->router, target->handle, &options,
                                  program_now(program)),
            LBROUTE_OK);
    apply(&settings, target);
}

void program_set_weight(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    struct model_target *target = &program->model.targets[place];
    double weight = draw_weight(program);
    CHECK_I(lbroute_target_set_weight(program->router, target->handle, weight,
                                      program_now(program)),
            LBROUTE_OK);
    model_set_weight(target, weight);
}

void program_drain(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    struct model_target *target = &program->model.targets[place];
    target->drained = program_below(program, 4) == 0;
    CHECK_I(lbroute_target_drain(program->router, target->handle,
                                 target->drained, program_now(program)),
            LBROUTE_OK);
}

void program_bench(struct program *program)
{
    static const uint64_t durations[] = {0, SECOND, 10 * SECOND};
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    uint64_t duration = durations[program_below(program, 3)];
    CHECK_I(lbroute_target_bench(program->router,
                                 program->model.targets[place].handle, duration,
                                 program_now(program)),
            LBROUTE_OK);
    model_bench(&program->model, place, duration);
}

void program_remove_target(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    lbroute_target handle = program->model.targets[place].handle;
    CHECK_I(lbroute_target_remove(program->router, handle), LBROUTE_OK);
    model_remove(&program->model, place);
    program_remember_removed(program, handle);
}

void program_set_gauge(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    int gauge = (int)program_below(program, LBROUTE_GAUGE_COUNT);
    double value = program_byte(program) / 8.0;
    if (gauge == LBROUTE_GAUGE_KV_USAGE)
        value /= 32;
    if (program_below(program, 8) == 0)
        value = (double)NAN;
    CHECK_I(lbroute_set_gauge(program->router,
                              program->model.targets[place].handle, gauge,
                              value, program_now(program)),
            LBROUTE_OK);
}

static void check_info(struct program *program, lbroute_target handle)
{
    size_t place = model_find(&program->model, handle);
    CHECK(place < MODEL_TARGETS);
    const struct model_target *target = &program->model.targets[place];
    lbroute_target_info info;
    lbroute_target_info_init(&info, sizeof info);
    CHECK_I(lbroute_target_get_info(program->router, handle, &info),
            LBROUTE_OK);
    CHECK_U(info.pool, target->pool);
    CHECK_SAME(info.weight, target->weight);
    CHECK_U(info.max_concurrency, target->max_concurrency);
    CHECK_U(info.max_input_tokens, target->max_input_tokens);
    CHECK_I(info.draining, target->drained);
    CHECK_I(strcmp(info.tier, model_label(target->tier)), 0);
    CHECK_I(strcmp(info.model, model_label(target->serves)), 0);

    lbroute_target found = 0;
    CHECK_I(lbroute_target_find(program->router, info.name, strlen(info.name),
                                &found),
            LBROUTE_OK);
    CHECK_U(found, handle);
}

static void walk_targets(struct program *program, lbroute_pool pool,
                         size_t expected)
{
    size_t count = 0;
    lbroute_target at = 0;
    while (lbroute_target_next(program->router, pool, at, &at) == LBROUTE_OK) {
        CHECK(++count <= expected);
        check_info(program, at);
    }
    CHECK_U(count, expected);
}

void program_walk(struct program *program)
{
    size_t pools = 0;
    lbroute_pool at = 0;
    while (lbroute_pool_next(program->router, at, &at) == LBROUTE_OK) {
        struct program_pool *pool = program_find_pool(program, at);
        CHECK(pool != NULL);
        lbroute_pool_info info;
        lbroute_pool_info_init(&info, sizeof info);
        CHECK_I(lbroute_pool_get_info(program->router, at, &info), LBROUTE_OK);
        CHECK_I(strcmp(info.strategy, lbroute_strategy_name(pool->strategy)),
                0);
        CHECK_U(info.targets, pool_size(program, at));
        lbroute_pool found = 0;
        CHECK_I(lbroute_pool_find(program->router, info.name, strlen(info.name),
                                  &found),
                LBROUTE_OK);
        CHECK_U(found, at);
        walk_targets(program, at, info.targets);
        pools++;
    }
    CHECK_U(pools, pools_in_use(program));
    walk_targets(program, 0, program->model.target_count);
}
