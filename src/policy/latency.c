/* SPDX-License-Identifier: MIT */
#include "policy/latency.h"

#include "containers/bits.h"
#include "policy/affinity.h"
#include "policy/resident.h"

#include <math.h>

/* Tokens of the whole input, and whether they were told. */
static uint64_t tokens_of(const struct lbr_pick *pick, int *told)
{
    uint64_t tokens = pick->ask->input_tokens;

    *told = tokens != LBR_TOKENS_UNKNOWN;
    if (!*told)
        return lbr_latency_usual_tokens(&pick->group->latency_mean);
    return tokens < LBR_MOST_TOKENS ? tokens : LBR_MOST_TOKENS;
}

/* Part of the prompt that is resident there by KV events; NaN: unknown. */
static double resident_part(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_residence residence =
        lbr_resident_of(pick, lbr_pick_target(pick, position));
    double found = 0;
    unsigned medium;

    if (!residence.known || !residence.total)
        return (double)NAN;
    for (medium = 0; medium < LBR_KV_MEDIA; medium++)
        found += residence.found[medium];
    return found / residence.total;
}

/* Part of the prompt that was sent there before; 0: nothing is known. */
static double remembered_part(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_affinity *affinity = &pick->scale.affinity;

    if (!pick->scale.known || !affinity->length)
        return 0;
    return (double)lbr_affinity_held(pick, affinity, position) /
           (double)affinity->length;
}

/* Of a source that is known in part the memory may know more. */
static double cached_part(const struct lbr_pick *pick, uint32_t position)
{
    double resident = pick->look ? resident_part(pick, position) : (double)NAN;

    if (!isnan(resident) &&
        !lbr_kv_side_partial(&pick->router->kv,
                             &lbr_pick_target(pick, position)->kv))
        return resident;
    return fmax(resident, remembered_part(pick, position));
}

double lbr_latency_uncached(const struct lbr_pick *pick, uint32_t position)
{
    return 1 - cached_part(pick, position);
}

struct lbr_forecast_request lbr_latency_request(const struct lbr_pick *pick)
{
    int told;
    struct lbr_forecast_request request = {
        (double)pick->now, pick->group->latency_mean.input,
        (double)tokens_of(pick, &told) / LBR_TOKENS_PER_UNIT};

    return request;
}

/* What a member needs by the planes that all have in common; NaN: unknown. */
static double paced(const struct lbr_pick *pick, uint32_t position,
                    enum lbr_pace_kind kind, double work)
{
    const struct lbr_work_times *times = &pick->group->latency_mean.times;
    const struct lbr_target *target = lbr_pick_target(pick, position);

    if (!lbr_work_times_known(times, kind))
        return (double)NAN;
    return target->latency.pace.rate[kind].slowness *
           lbr_least_squares_at(&times->plane[kind], lbr_target_load(target),
                                work);
}

/* The same as others are expected where pace is kept: whoever's oldest request
 * is late will be late by as much again. */
static double expected_pace(const struct lbr_pick *pick, uint32_t position,
                            enum lbr_latency_kind kind, double work)
{
    const struct lbr_work_times *times = &pick->group->latency_mean.times;
    double first =
        paced(pick, position, LBR_PACE_FIRST, work) +
        lbr_forecast_late(&pick->group->forecast, position, (double)pick->now);

    if (kind == LBR_FIRST_TOKEN)
        return first;
    return first +
           times->pace.output.value * paced(pick, position, LBR_PACE_EACH, 0);
}

static double expected(const struct lbr_pick *pick, uint32_t position,
                       enum lbr_latency_kind kind, double uncached)
{
    const struct lbr_forecast *forecast = &pick->group->forecast;
    struct lbr_forecast_request request = lbr_latency_request(pick);

    request.input *= uncached;
    if (pick->group->uses & LBR_USES_PACE)
        return expected_pace(
            pick, position, kind,
            request.input +
                lbr_forecast_queue(forecast, position, request.mean_input));
    return lbr_forecast_one(forecast, kind, position, &request);
}

double lbr_latency_expected(const struct lbr_pick *pick, uint32_t position,
                            enum lbr_latency_kind kind)
{
    return expected(pick, position, kind, lbr_latency_uncached(pick, position));
}

/* Whether at least half of the eligible members are known. */
static int enough_known(const struct lbr_pick *pick, enum lbr_latency_kind kind)
{
    const double *base =
        lbr_forecast_plane(&pick->group->forecast, kind, LBR_PLANE_BASE);
    uint32_t known = 0;
    uint32_t i;

    for (i = 0; i < pick->group->count; i++)
        known += lbr_bits_has(pick->mask, i) && !isnan(base[i]);
    return known > 0 && known >= pick->eligible - known;
}

enum lbr_latency_kind lbr_latency_rank(const struct lbr_pick *pick)
{
    if (!pick->scope.pool->params.rank_by_total &&
        enough_known(pick, LBR_FIRST_TOKEN))
        return LBR_FIRST_TOKEN;
    return enough_known(pick, LBR_TOTAL) ? LBR_TOTAL : LBR_LATENCY_KINDS;
}

int lbr_latency_stale(const struct lbr_pick *pick, uint32_t position)
{
    double taught =
        *lbr_forecast_cell(&pick->group->forecast, LBR_COLUMN_TAUGHT, position);

    return !(taught >= lbr_latency_fresh_since(pick));
}

/* Without a filter the order knows them, +inf of those that are not usable. */
const double *lbr_latency_loads(const struct lbr_pick *pick)
{
    double *load = lbr_forecast_column(&pick->group->forecast, LBR_COLUMN_LOAD);
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = 0; i < count && !pick->filtered; i++)
        load[i] = lbr_load_order_load(&pick->group->order, i);
    for (; i < count; i++)
        load[i] = lbr_bits_has(pick->mask, i) ? lbr_affinity_load(pick, i)
                                              : (double)INFINITY;
    return load;
}

int lbr_latency_idle(const struct lbr_pick *pick, uint32_t position)
{
    return !lbr_pick_target(pick, position)->in_flight;
}

void lbr_latency_commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_load_order_used(&pick->group->order, choice->position,
                        &pick->router->rng);
}

void lbr_latency_try(struct lbr_choice *choice, uint32_t position)
{
    choice->position = position;
    choice->rule = LBROUTE_RULE_TRIAL;
    choice->score = (double)NAN;
    choice->commit = lbr_latency_commit;
}

void lbr_latency_note(const struct lbr_pick *pick, struct lbr_choice *choice)
{
    double uncached = lbr_latency_uncached(pick, choice->position);
    uint64_t tokens = tokens_of(pick, &choice->tokens_told);
    int kind;

    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++)
        choice->expected[kind] = expected(
            pick, choice->position, (enum lbr_latency_kind)kind, uncached);
    choice->tokens = (uint64_t)((double)tokens * uncached + 0.5);
    choice->matched = tokens - choice->tokens;
}

void lbr_latency_send(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_task *task)
{
    const struct lbr_forecast *forecast = &pick->group->forecast;
    double first = choice->expected[LBR_FIRST_TOKEN];
    struct lbr_target *target = lbr_pick_target(pick, choice->position);

    task->measured = choice->tokens_told;
    task->counted = pick->ask->request->input_tokens >= 0 ||
                    pick->ask->request->tokens_len > 0;
    task->tokens = choice->tokens;
    task->matched = choice->matched;
    task->running = lbr_target_load(target);
    task->queue = lbr_forecast_queue(forecast, choice->position,
                                     pick->group->latency_mean.input);
    task->expected = isnan(first) ? choice->expected[LBR_TOTAL] : first;
    lbr_task_start(target, task, pick->now);
}
