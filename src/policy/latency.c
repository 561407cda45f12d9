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

double lbr_latency_uncached(const struct lbr_pick *pick, uint32_t position)
{
    double resident = pick->look ? resident_part(pick, position) : (double)NAN;

    return 1 - (isnan(resident) ? remembered_part(pick, position) : resident);
}

static uint64_t uncached_tokens(const struct lbr_pick *pick, uint32_t position,
                                int *told)
{
    double tokens = (double)tokens_of(pick, told);

    return (uint64_t)(tokens * lbr_latency_uncached(pick, position) + 0.5);
}

struct lbr_forecast_request lbr_latency_request(const struct lbr_pick *pick)
{
    int told;
    struct lbr_forecast_request request = {
        (double)pick->now, pick->group->latency_mean.input,
        (double)tokens_of(pick, &told) / LBR_TOKENS_PER_UNIT};

    return request;
}

double lbr_latency_expected(const struct lbr_pick *pick, uint32_t position,
                            enum lbr_latency_kind kind)
{
    struct lbr_forecast_request request = lbr_latency_request(pick);

    request.input *= lbr_latency_uncached(pick, position);
    return lbr_forecast_one(&pick->group->forecast, kind, position, &request);
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
    int kind;

    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++)
        choice->expected[kind] = lbr_latency_expected(
            pick, choice->position, (enum lbr_latency_kind)kind);
    choice->tokens =
        uncached_tokens(pick, choice->position, &choice->tokens_told);
}

void lbr_latency_send(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_task *task)
{
    const struct lbr_forecast *forecast = &pick->group->forecast;
    double first = choice->expected[LBR_FIRST_TOKEN];
    struct lbr_target *target = lbr_pick_target(pick, choice->position);
    int told;

    task->measured = choice->tokens_told;
    task->tokens = choice->tokens;
    task->matched = tokens_of(pick, &told) - choice->tokens;
    task->running = target->in_flight + target->extra;
    task->queue = lbr_forecast_queue(forecast, choice->position,
                                     pick->group->latency_mean.input);
    task->expected = isnan(first) ? choice->expected[LBR_TOTAL] : first;
    lbr_task_start(target, task, pick->now);
}
