/* SPDX-License-Identifier: MIT */
#include "rotation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "model.h"
#include "model_rotation.h"
#include "prng.h"

enum { MAX_DISTINCT = 50, NOWHERE = -1 };

static struct run {
    const struct rotation_shape *shape;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_pool other; /* where targets are sent and called back from */
    struct rng rng;
    struct model model;
    int weighted;
    struct model_rotation rotations[MODEL_LABELS]; /* by tier */
    uint32_t names;
    double weights[MAX_DISTINCT];
} run;

static double power_of_ten(uint32_t exponent)
{
    double power = 1;
    for (uint32_t i = 0; i < exponent; i++)
        power *= 10;
    return power;
}

/* A mantissa of up to nine digits over a power of ten: the division of two
 * exact numbers gives the nearest double. */
static double draw_decimal(void)
{
    uint32_t digits = rng_between(&run.rng, 1, 9);
    double top = power_of_ten(digits);
    double mantissa = (double)rng_between(&run.rng, 1, (uint32_t)top);
    double weight = mantissa / power_of_ten(rng_between(&run.rng, 0, 9));
    if (weight < 1e-6)
        return 1e-6;
    return weight > 4e6 ? 4e6 : weight;
}

static double draw_weight(void)
{
    switch (run.shape->weights) {
    case ROTATION_INTEGERS:
        return rng_between(&run.rng, 1, 20);
    case ROTATION_TENTHS:
        return rng_between(&run.rng, 1, 50) / 10.0;
    case ROTATION_DECIMALS:
        return draw_decimal();
    case ROTATION_REALS:
        if (rng_chance(&run.rng, 30))
            return rng_between(&run.rng, 1, 30) / 10.0;
        return sqrt(rng_between(&run.rng, 1, 1000)) / 3.0;
    case ROTATION_EXTREMES:
        return power_of_ten(rng_between(&run.rng, 0, 13)) / 1e6;
    case ROTATION_EQUAL:
    case ROTATION_KINDS:
        break;
    }
    return 1;
}

static double known_weight(void)
{
    return run.weights[rng_below(&run.rng, run.shape->distinct)];
}

static int draw_tier(void)
{
    return (int)rng_below(&run.rng, (uint32_t)run.shape->tiers);
}

static void fill_options(const struct model_target *target, const char *name,
                         lbroute_target_options *options)
{
    api_target_options(options, run.pool, name, target->weight);
    options->max_concurrency = target->max_concurrency;
    options->max_input_tokens = target->max_input_tokens;
    options->tier = model_label(target->tier);
    options->tier_len = strlen(options->tier);
}

static void add_target(void)
{
    if (run.model.target_count >= run.shape->targets)
        return;
    struct model_target *target =
        model_add(&run.model, 0, run.pool, known_weight());
    if (rng_chance(&run.rng, 30))
        target->max_concurrency = rng_between(&run.rng, 1, 3);
    if (rng_chance(&run.rng, 20))
        target->max_input_tokens = rng_between(&run.rng, 1, 100);
    target->tier = draw_tier();

    char name[32];
    snprintf(name, sizeof name, "target-%u", run.names++);
    lbroute_target_options options;
    fill_options(target, name, &options);
    CHECK_I(lbroute_target_add(run.router, &options, run.model.now,
                               &target->handle),
            LBROUTE_OK);
    model_rotation_join(&run.rotations[target->tier], target->handle);
}

static void remove_target(size_t place)
{
    CHECK_I(lbroute_target_remove(run.router, run.model.targets[place].handle),
            LBROUTE_OK);
    int tier = run.model.targets[place].tier;
    model_rotation_leave(&run.rotations[tier], run.model.targets[place].handle);
    model_remove(&run.model, place);
    model_clamp(&run.model, tier);
}

static void update(const struct model_target *target, lbroute_pool pool)
{
    lbroute_target_options options;
    fill_options(target, "ignored", &options);
    options.pool = pool;
    CHECK_I(lbroute_target_update(run.router, target->handle, &options,
                                  run.model.now),
            LBROUTE_OK);
}

static void change_weight(struct model_target *target)
{
    double weight = rng_chance(&run.rng, 10) ? 0 : known_weight();
    int lowered = weight < target->weight;
    model_set_weight(target, weight);
    if (lowered)
        model_clamp(&run.model, target->tier);
    if (rng_chance(&run.rng, 50)) {
        CHECK_I(lbroute_target_set_weight(run.router, target->handle, weight,
                                          run.model.now),
                LBROUTE_OK);
        return;
    }
    target->max_concurrency = rng_below(&run.rng, 4);
    update(target, run.pool);
}

/* To another pool and back, or to another tier: without a sum, to the same
 * place in the list. */
static void move_target(struct model_target *target)
{
    int tier = draw_tier();
    int left = target->tier;
    if (tier == left)
        update(target, run.other);
    target->tier = NOWHERE;
    target->current = exact_zero();
    model_clamp(&run.model, left);
    model_rotation_leave(&run.rotations[left], target->handle);
    model_rotation_join(&run.rotations[tier], target->handle);
    target->tier = tier;
    update(target, run.pool);
}

static void drain_target(struct model_target *target)
{
    target->drained = (int)rng_below(&run.rng, 2);
    CHECK_I(lbroute_target_drain(run.router, target->handle, target->drained,
                                 run.model.now),
            LBROUTE_OK);
}

static void bench_target(size_t place)
{
    uint64_t duration = rng_below(&run.rng, 3) * SECOND;
    CHECK_I(lbroute_target_bench(run.router, run.model.targets[place].handle,
                                 duration, run.model.now),
            LBROUTE_OK);
    model_bench(&run.model, place, duration);
}

static void settle(size_t ticket, int kind)
{
    api_settle(run.router, run.model.tickets[ticket].handle, kind,
               run.model.now);
    model_settle(&run.model, ticket, kind);
}

static void settle_some(void)
{
    if (run.model.ticket_count > 0)
        settle(rng_below(&run.rng, (uint32_t)run.model.ticket_count),
               LBROUTE_EVENT_SUCCESS);
}

static void change_something(void)
{
    uint32_t count = (uint32_t)run.model.target_count;
    if (count == 0) {
        add_target();
        return;
    }
    size_t place = rng_below(&run.rng, count);
    switch (rng_below(&run.rng, 9)) {
    case 0:
    case 1:
        add_target();
        break;
    case 2:
        remove_target(place);
        break;
    case 3:
    case 4:
        change_weight(&run.model.targets[place]);
        break;
    case 5:
        drain_target(&run.model.targets[place]);
        break;
    case 6:
        bench_target(place);
        break;
    case 7:
        move_target(&run.model.targets[place]);
        break;
    default:
        model_advance(&run.model,
                      run.model.now + rng_below(&run.rng, 2000) * MILLISECOND);
        break;
    }
}

static void draw_request(struct model_request *request)
{
    memset(request, 0, sizeof *request);
    request->pool = run.pool;
    request->tier = draw_tier();
    request->tokens = rng_chance(&run.rng, 20) ? 50 : -1;
    if (!rng_chance(&run.rng, 10) || run.model.target_count == 0)
        return;
    request->exclude_len = rng_between(&run.rng, 1, 5);
    for (size_t i = 0; i < request->exclude_len; i++) {
        size_t place = rng_below(&run.rng, (uint32_t)run.model.target_count);
        request->exclude[i] = run.model.targets[place].handle;
    }
}

static size_t rotation_choice(const struct model_view *view, int tier)
{
    const struct model_rotation *rotation = &run.rotations[tier];
    for (size_t i = 0; i < rotation->count; i++) {
        size_t place = model_find(&run.model, rotation->queue[i]);
        if (view->verdicts[place] == LBROUTE_REASON_NONE)
            return place;
    }
    return MODEL_TARGETS;
}

static void accept_pick(const struct model_view *view, int tier,
                        const lbroute_decision *decision)
{
    size_t place = run.weighted ? model_weighted(&run.model, view)
                                : rotation_choice(view, tier);
    CHECK_U(decision->target, run.model.targets[place].handle);
    CHECK_I(decision->rule,
            run.weighted ? LBROUTE_RULE_WEIGHTED : LBROUTE_RULE_ROUND_ROBIN);
    model_weighted_done(&run.model, view, place);
    model_rotation_serve(&run.rotations[tier], decision->target);
    model_pick(&run.model, place, decision->ticket);
    if (rng_chance(&run.rng, 70))
        settle(run.model.ticket_count - 1, LBROUTE_EVENT_SUCCESS);
}

static void pick_once(void)
{
    struct model_request request;
    struct model_view view;
    draw_request(&request);
    model_look(&run.model, &request, &view);

    lbroute_request asked;
    lbroute_decision decision;
    model_fill_request(&request, &asked);
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(run.router, &asked, run.model.now, &decision);
    CHECK_U(decision.candidates, view.candidates);
    CHECK_U(decision.eligible, view.eligible);
    CHECK_I(decision.bench_ignored, view.bench_ignored);
    CHECK_I(result, model_result(&view));
    if (view.eligible == 0) {
        CHECK(model_main_reason(&view, decision.reason));
        run.model.rejections[decision.reason]++;
        return;
    }
    accept_pick(&view, request.tier, &decision);
}

static void start(const struct rotation_shape *shape, uint64_t seed)
{
    check_context(shape->strategy, seed);
    memset(&run, 0, sizeof run);
    run.shape = shape;
    rng_seed(&run.rng, seed);
    model_init(&run.model);
    run.weighted = strcmp(shape->strategy, "weighted") == 0;
    run.router = api_router(seed + 1);
    run.pool = api_pool(run.router, "pool", shape->strategy);
    run.other = api_pool(run.router, "other", "random");
    for (uint32_t i = 0; i < shape->distinct; i++)
        run.weights[i] = draw_weight();
    uint32_t first = rng_between(&run.rng, 1, shape->targets);
    for (uint32_t i = 0; i < first; i++)
        add_target();
}

void rotation_run(const struct rotation_shape *shape, uint64_t seed)
{
    start(shape, seed);
    for (size_t i = 0; i < shape->picks; i++) {
        check_step(i);
        if (rng_chance(&run.rng, shape->churn))
            change_something();
        if (rng_chance(&run.rng, 30))
            settle_some();
        pick_once();
    }
    model_check_counts(&run.model, run.router);
    lbroute_router_destroy(run.router);
}
