/* SPDX-License-Identifier: MIT */
#include "policy/strategy.h"

#include "containers/bits.h"

#include <math.h>

/* In documentation order; the first is the default. */
static const struct lbr_strategy *const strategies[] = {
    &lbr_strategy_weighted,
    &lbr_strategy_round_robin,
    &lbr_strategy_random,
    &lbr_strategy_power_of_two,
    &lbr_strategy_least_connections,
    &lbr_strategy_consistent_hash,
    &lbr_strategy_sticky_session,
    &lbr_strategy_cache_aware,
    &lbr_strategy_kv_aware,
    &lbr_strategy_least_work,
    &lbr_strategy_precise_cache_aware,
    &lbr_strategy_lmcache_aware,
    &lbr_strategy_lora_aware,
    &lbr_strategy_cheapest,
    &lbr_strategy_fastest,
    &lbr_strategy_predicted_latency,
    &lbr_strategy_adaptive,
    &lbr_strategy_pipeline,
};

#define COUNT (sizeof strategies / sizeof strategies[0])

const struct lbr_strategy *lbr_strategy_find(struct lbr_text name)
{
    size_t i;

    if (!name.length)
        return strategies[0];
    for (i = 0; i < COUNT; i++)
        if (lbr_text_equal(
                lbr_text(strategies[i]->name, strlen(strategies[i]->name)),
                name))
            return strategies[i];
    return NULL;
}

const char *lbroute_strategy_name(size_t index)
{
    return index < COUNT ? strategies[index]->name : NULL;
}

unsigned lbr_strategy_uses(const struct lbr_strategy *strategy,
                           const struct lbr_params *params)
{
    return params->kv_fallback == LBR_FALL_BACK_TO_WORK
               ? strategy->uses | strategy->uses_for_work
               : strategy->uses;
}

enum lbr_trie_kind lbr_strategy_trie_kind(const struct lbr_strategy *strategy,
                                          const struct lbr_params *params)
{
    if (strategy->shares_memory)
        return LBR_TRIE_SHARED;
    return params->cache_blocks ? LBR_TRIE_BLOCKS : LBR_TRIE_BYTES;
}

int lbr_strategy_asks_resident(const struct lbr_strategy *strategy,
                               const struct lbr_params *params)
{
    return strategy->asks_resident ||
           (strategy->calls_stages && params->pipeline.resident > 0);
}

double lbr_score_load(const struct lbr_pick *pick, uint32_t position)
{
    return lbr_target_relative_load(lbr_pick_target(pick, position));
}

void lbr_commit_rank(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_load_order_used(&pick->group->order, choice->position,
                        &pick->router->rng);
}

uint32_t lbr_pick_nth(const struct lbr_pick *pick, uint32_t rank)
{
    if (pick->eligible == pick->group->count)
        return rank;
    return lbr_bits_select(pick->mask, rank);
}

uint32_t lbr_pick_pinned(const struct lbr_pick *pick)
{
    const struct lbr_target *target;

    if (!pick->session)
        return LBR_BITS_NONE;
    target = lbr_router_target(pick->router, pick->session->target);
    if (!target || target->by_pool.group != pick->group ||
        !lbr_bits_has(pick->mask, target->by_pool.position))
        return LBR_BITS_NONE;
    return target->by_pool.position;
}

double lbr_pick_lowest_load(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    uint32_t i = lbr_bits_next(pick->mask, count, 0);
    double lowest = lbr_score_load(pick, i);

    if (!pick->filtered && pick->group->uses & LBR_USES_ORDER)
        return lbr_score_load(pick, lbr_load_order_first(&pick->group->order));
    for (; i != LBR_BITS_NONE; i = lbr_bits_next(pick->mask, count, i + 1)) {
        double load = lbr_score_load(pick, i);

        lowest = load < lowest ? load : lowest;
    }
    return lowest;
}

double lbr_pick_mean(const struct lbr_pick *pick,
                     double (*score_of)(const struct lbr_pick *pick,
                                        uint32_t position))
{
    uint32_t members = pick->group->count;
    double lowest = (double)INFINITY;
    double highest = 0;
    double sum = 0;
    uint32_t count = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, members, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, members, i + 1)) {
        double score = score_of(pick, i);

        if (isnan(score))
            continue;
        sum += score;
        count++;
        lowest = score < lowest ? score : lowest;
        highest = score > highest ? score : highest;
    }
    return count ? fmax(lowest, fmin(highest, sum / count)) : (double)NAN;
}
