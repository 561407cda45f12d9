/* SPDX-License-Identifier: MIT */
#include "policy/cost.h"

#include "containers/bits.h"

/* Input that a target has seen before, as far as the pool's memory of prompts
 * says: as large a part of the input as of the prompt. */
static uint64_t remembered(const struct lbr_pick *pick,
                           const struct lbr_target *target, uint64_t input)
{
    const struct lbr_prompt *prompt = &pick->ask->prompt;
    size_t held;

    if (!pick->match_known || !prompt->length ||
        target->by_pool.group != pick->group)
        return 0;
    held =
        lbr_trie_held(pick->group->trie, pick->match, &target->prefixes.owner);
    if (pick->group->trie_kind != LBR_TRIE_BYTES && prompt->unit != LBR_BLOCK)
        held = held / LBR_BLOCK * pick->block_bytes;
    return (uint64_t)((double)held * (double)input / (double)prompt->length);
}

static uint64_t cached(const struct lbr_pick *pick,
                       const struct lbr_target *target, uint64_t input)
{
    int64_t given = pick->ask->request->cached_tokens;
    uint64_t tokens =
        given >= 0 ? (uint64_t)given : remembered(pick, target, input);

    return tokens < input ? tokens : input;
}

int lbr_cost_of(const struct lbr_pick *pick, struct lbr_target *target,
                struct lbr_wide *cost)
{
    const struct lbr_price *price = lbr_router_price(pick->router, target);
    const struct lbr_params *params = &target->pool->params;
    const struct lbr_ask *ask = pick->ask;
    struct lbr_usage usage = {params->input_tokens, 0, params->output_tokens};

    if (!price)
        return 0;
    if (ask->input_tokens != LBR_TOKENS_UNKNOWN)
        usage.input = ask->input_tokens;
    if (ask->request->output_tokens >= 0)
        usage.output = (uint64_t)ask->request->output_tokens;
    usage.cached = cached(pick, target, usage.input);
    return lbr_price_cost(&price->value, &usage, cost);
}

int64_t lbr_cost_expected(const struct lbr_pick *pick,
                          struct lbr_target *target)
{
    struct lbr_wide cost;

    if (!lbr_cost_of(pick, target, &cost))
        return -1;
    if (cost.high || cost.low > (uint64_t)INT64_MAX)
        return INT64_MAX;
    return (int64_t)cost.low;
}

struct lbr_costs lbr_cost_survey(const struct lbr_pick *pick)
{
    struct lbr_costs costs = {0, {0, 0}};
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        struct lbr_target *target = lbr_pick_target(pick, i);

        target->cost_known = lbr_cost_of(pick, target, &target->cost);
        if (!target->cost_known)
            continue;
        if (!costs.known || lbr_wide_less(target->cost, costs.lowest))
            costs.lowest = target->cost;
        costs.known++;
    }
    return costs;
}

double lbr_cost_ratio(const struct lbr_costs *costs,
                      const struct lbr_target *target)
{
    if (lbr_wide_equal(target->cost, costs->lowest))
        return 1;
    return lbr_wide_to_double(costs->lowest) / lbr_wide_to_double(target->cost);
}
