/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

static lbroute_target stale_target(struct program *program)
{
    return program->removed[program_below(program, PROGRAM_STALE)];
}

static void use_stale_target(struct program *program)
{
    lbroute_router *router = program->router;
    lbroute_target stale = stale_target(program);
    uint64_t now = program->model.now;
    lbroute_target_options options;
    lbroute_target_info info;
    lbroute_target_stats stats;
    lbroute_latency_model model;
    uint32_t source = 0;
    api_target_options(&options, 0, "ignored", 1);
    lbroute_target_info_init(&info, sizeof info);
    lbroute_target_stats_init(&stats, sizeof stats);
    lbroute_latency_model_init(&model, sizeof model);
    CHECK_I(lbroute_target_update(router, stale, &options, now),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_target_set_weight(router, stale, 1, now),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_target_drain(router, stale, 1, now), LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_target_bench(router, stale, 1, now), LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_target_remove(router, stale), LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_target_get_info(router, stale, &info),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_get_target_stats(router, stale, now, &stats),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_set_gauge(router, stale, LBROUTE_GAUGE_RUNNING, 1, now),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_get_latency_model(router, stale, 0, now, &model),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(api_tell(router, stale, 0, 0, LBROUTE_KV_CLEARED, 0, NULL, 0, now),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_kv_clear(router, stale, 0, now), LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_kv_source_next(router, stale, -1, &source),
            LBROUTE_ERR_NOT_FOUND);
}

static void use_bad_weights(struct program *program)
{
    static const double bad[] = {-1, 1e-7, 1e10, (double)INFINITY, (double)NAN};
    double weight = bad[program_below(program, 5)];
    lbroute_target handle = 0;
    lbroute_target_options options;
    api_target_options(&options, 0, "never", weight);
    CHECK_I(lbroute_target_add(program->router, &options, program->model.now,
                               &handle),
            LBROUTE_ERR_RANGE);
    CHECK_U(handle, 0);
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    lbroute_target target = program->model.targets[place].handle;
    CHECK_I(lbroute_target_set_weight(program->router, target, weight,
                                      program->model.now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_target_update(program->router, target, &options,
                                  program->model.now),
            LBROUTE_ERR_RANGE);
    CHECK_I(
        lbroute_target_drain(program->router, target, 2, program->model.now),
        LBROUTE_ERR_INVALID);
}

static void use_bad_names(struct program *program)
{
    char longest[LBROUTE_NAME_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const char *const bad[] = {"", "a\nb", "\x7f", longest};
    const char *name = bad[program_below(program, 4)];
    lbroute_target target = 0;
    lbroute_pool pool = 0;
    lbroute_target_options target_options;
    lbroute_pool_options pool_options;
    api_target_options(&target_options, 0, name, 1);
    CHECK_I(lbroute_target_add(program->router, &target_options,
                               program->model.now, &target),
            LBROUTE_ERR_NAME);
    lbroute_pool_options_init(&pool_options, sizeof pool_options);
    pool_options.name = name;
    pool_options.name_len = strlen(name);
    CHECK_I(lbroute_pool_add(program->router, &pool_options, &pool),
            LBROUTE_ERR_NAME);
    CHECK(target == 0 && pool == 0);
    CHECK_I(lbroute_pool_find(program->router, name, strlen(name), &pool),
            LBROUTE_ERR_NOT_FOUND);
}

/* The empty tier and the empty model are names, too. */
static void use_bad_labels(struct program *program)
{
    char longest[LBROUTE_NAME_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const char *label = program_below(program, 2) ? "a\tb" : longest;
    lbroute_target target = 0;
    lbroute_target_options options;
    api_target_options(&options, 0, "never", 1);
    if (program_below(program, 2)) {
        options.tier = label;
        options.tier_len = strlen(label);
    } else {
        options.model = label;
        options.model_len = strlen(label);
    }
    CHECK_I(lbroute_target_add(program->router, &options, program->model.now,
                               &target),
            LBROUTE_ERR_NAME);
    size_t place = program_some_target(program);
    if (place < MODEL_TARGETS)
        CHECK_I(lbroute_target_update(program->router,
                                      program->model.targets[place].handle,
                                      &options, program->model.now),
                LBROUTE_ERR_NAME);
}

static void use_bad_gauges(struct program *program)
{
    size_t place = program_some_target(program);
    if (place == MODEL_TARGETS)
        return;
    lbroute_router *router = program->router;
    lbroute_target target = program->model.targets[place].handle;
    uint64_t now = program->model.now;
    CHECK_I(lbroute_set_gauge(router, target, LBROUTE_GAUGE_RUNNING, -1, now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_set_gauge(router, target, LBROUTE_GAUGE_WAITING,
                              (double)INFINITY, now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_set_gauge(router, target, LBROUTE_GAUGE_KV_USAGE, 1.5, now),
            LBROUTE_ERR_RANGE);
    CHECK_I(lbroute_set_gauge(router, target, LBROUTE_GAUGE_COUNT, 0, now),
            LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_set_gauge(router, target, -1, 0, now), LBROUTE_ERR_INVALID);
}

static void refuse_request(struct program *program,
                           const lbroute_request *request, int expected)
{
    lbroute_decision decision;
    size_t count = 0;
    CHECK_I(api_explain(program->router, request, program->model.now, &decision,
                        NULL, 0, &count),
            expected);
    CHECK_I(
        lbroute_pick(program->router, request, program->model.now, &decision),
        expected);
}

static void use_bad_requests(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    lbroute_request request;
    api_request(&request, 0);
    refuse_request(program, &request, LBROUTE_ERR_INVALID);
    if (!pool)
        return;
    api_request(&request, pool->handle);
    request.session_len = 1;
    refuse_request(program, &request, LBROUTE_ERR_INVALID);
    api_request(&request, pool->handle);
    request.input_tokens = -2;
    refuse_request(program, &request, LBROUTE_ERR_RANGE);
    static const lbroute_target many[1025];
    api_request(&request, pool->handle);
    request.exclude = many;
    request.exclude_len = 1025;
    refuse_request(program, &request, LBROUTE_ERR_RANGE);
    api_request(&request, pool->handle ^ (UINT64_C(1) << 63));
    refuse_request(program, &request, LBROUTE_ERR_NOT_FOUND);
    lbroute_decision decision;
    lbroute_decision_init(&decision, sizeof decision);
    api_request(&request, pool->handle);
    CHECK_I(lbroute_explain(program->router, &request, program->model.now,
                            &decision, NULL, 1, NULL),
            LBROUTE_ERR_INVALID);
}

static void use_bad_pools(struct program *program)
{
    struct program_pool *pool = program_some_pool(program);
    if (!pool)
        return;
    lbroute_router *router = program->router;
    double value = 0;
    CHECK_I(lbroute_pool_update(router, pool->handle, "nonsense", 8),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_pool_set(router, pool->handle, "no.such", 1),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_pool_get(router, pool->handle, "no.such", &value),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(
        lbroute_pool_set(router, pool->handle, "load.signal_ttl", (double)NAN),
        LBROUTE_ERR_RANGE);
    lbroute_pool stale = pool->handle ^ (UINT64_C(1) << 63);
    CHECK_I(lbroute_pool_remove(router, stale), LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_pool_shares(router, stale, 0, NULL, 0, NULL),
            LBROUTE_ERR_NOT_FOUND);
    CHECK_I(lbroute_pool_shares(router, pool->handle, 0, NULL, 1, NULL),
            LBROUTE_ERR_INVALID);
}

static void use_null(struct program *program)
{
    lbroute_router *router = program->router;
    lbroute_decision decision;
    lbroute_request request;
    lbroute_decision_init(&decision, sizeof decision);
    lbroute_request_init(&request, sizeof request);
    CHECK_I(lbroute_pick(router, NULL, 0, &decision), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_pick(router, &request, 0, NULL), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_pick(NULL, &request, 0, &decision), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_observe(router, NULL, 0), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_tick(NULL, 0), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_get_stats(router, NULL), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_target_add(router, NULL, 0, NULL), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_pool_add(router, NULL, NULL), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_kv_apply(router, 0, 0, NULL, 0, NULL), LBROUTE_ERR_INVALID);
    CHECK_I(lbroute_kv_source_next(router, 0, -1, NULL), LBROUTE_ERR_INVALID);
    lbroute_router_destroy(NULL);
}

void program_misuse(struct program *program)
{
    static void (*const misuses[])(struct program *) = {
        use_stale_target, use_bad_weights, use_bad_names, use_bad_gauges,
        use_bad_requests, use_bad_pools,   use_null,      use_bad_labels,
    };
    uint32_t count = sizeof misuses / sizeof misuses[0];
    misuses[program_below(program, count)](program);
}
