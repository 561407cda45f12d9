/* SPDX-License-Identifier: MIT */
/* pipeline: whoever the filters leave is scored; the highest weighted sum
 * inside the least-busy window is served, ties by rank.
 *
 *     pin       a session's pin, against all other weights together
 *     weight    effective weight / heaviest
 *     load      (lowest load + 1) / (load + 1): equal loads are 1, and one
 *               request on an idle target counts already
 *     prefix    known part of the prompt; without a prompt nothing
 *     cost      lowest cost / cost, where unknown their mean
 *     latency   lowest average / own, likewise of the predicted latency; where
 *               unknown their mean
 *     adapter   how the target stands to the request's adapter, as under
 *               lora_aware; without an adapter nothing
 *     occupancy what the request's lookup found of the prompt, or else the free
 *               part of the offloaded cache; where unknown their mean
 *     resident  what of the prompt is resident by KV events; where unknown
 * their mean stages    the pool's own scorers, where unknown their mean */
#include "policy/affinity.h"
#include "policy/cost.h"
#include "policy/judge.h"
#include "policy/latency_scorers.h"
#include "policy/lookup.h"
#include "policy/offload.h"
#include "policy/residency.h"
#include "policy/resident.h"

#include "containers/bits.h"

#include <math.h>

static const struct lbr_params *params_of(const struct lbr_pick *pick)
{
    return &pick->scope.pool->params;
}

/* What the pool's own scorers give a member, NaN if they have not seen it. */
static double judged(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    return lbr_judge_seen(pick, target) ? target->judged : (double)NAN;
}

/* What its cost gives a member, NaN if that is unknown. */
static double thrift(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    if (!target->cost_known)
        return (double)NAN;
    return lbr_cost_ratio(&pick->scale.costs, target);
}

/* What its offloaded cache gives a member, NaN if that is unknown. */
static double offloaded(const struct lbr_pick *pick, uint32_t position)
{
    if (!pick->longest_match)
        return lbr_offload_free(pick, position);
    if (lbr_offload_lost(pick, position))
        return (double)NAN;
    return lbr_offload_part(pick, position);
}

/* The longest match that the lookup found for an eligible member. */
static uint64_t longest_match(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    uint64_t longest = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        uint64_t matched = lbr_offload_matched(pick, i);

        longest = matched > longest ? matched : longest;
    }
    return longest;
}

static double heaviest(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    double most = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        double weight = lbr_pick_target(pick, i)->weight_now;

        most = weight > most ? weight : most;
    }
    return most;
}

/* All weights but that of the pin. */
static double weights(const struct lbr_pick *pick)
{
    const struct lbr_params *params = params_of(pick);

    return params->pipeline.weight + params->pipeline.load +
           params->pipeline.prefix + params->pipeline.cost +
           params->pipeline.latency + params->pipeline.predicted +
           params->pipeline.adapter + params->pipeline.occupancy +
           params->pipeline.resident + (pick->run ? pick->run->weights : 0);
}

/* What the scores that may be unknown are relative to. */
static void set_means(struct lbr_pick *pick)
{
    const struct lbr_params *params = params_of(pick);
    struct lbr_scale *scale = &pick->scale;

    scale->costs.known = 0;
    if (params->pipeline.cost > 0) {
        scale->costs = lbr_cost_survey(pick);
        scale->cost_mean = lbr_pick_mean(pick, thrift);
    }
    scale->cache_mean = (double)NAN;
    if (params->pipeline.occupancy > 0) {
        lbr_lookup_spread(pick);
        pick->longest_match = longest_match(pick);
        scale->cache_mean = lbr_pick_mean(pick, offloaded);
    }
    scale->resident_mean = (double)NAN;
    if (params->pipeline.resident > 0) {
        lbr_resident_spread(pick);
        scale->resident_mean = lbr_pick_mean(pick, lbr_resident_worth);
    }
    scale->stage_mean = (double)NAN;
    if (pick->run)
        scale->stage_mean = lbr_pick_mean(pick, judged);
}

static void set_scale(struct lbr_pick *pick)
{
    const struct lbr_params *params = params_of(pick);
    struct lbr_scale *scale = &pick->scale;

    scale->known = 1;
    scale->affinity = lbr_affinity_look(pick);
    if (params->pipeline.prefix > 0)
        lbr_affinity_survey(pick, &scale->affinity);
    scale->heaviest = heaviest(pick);
    lbr_latency_scorers_begin(pick);
    set_means(pick);
    scale->pinned = lbr_pick_pinned(pick);
    scale->pin = params->pipeline.session * (1 + weights(pick));
}

static double known_or(double score, double mean)
{
    return isnan(score) ? mean : score;
}

/* All but the pin. */
static double score_without_pin(const struct lbr_pick *pick, uint32_t position)
{
    const struct lbr_params *params = params_of(pick);
    const struct lbr_scale *scale = &pick->scale;
    double weight = lbr_pick_target(pick, position)->weight_now;
    double load = lbr_affinity_load(pick, position);
    double score =
        params->pipeline.weight * (weight / scale->heaviest) +
        params->pipeline.load * ((scale->affinity.lowest + 1) / (load + 1));

    if (scale->affinity.length && params->pipeline.prefix > 0)
        score += params->pipeline.prefix *
                 lbr_affinity_part(pick, &scale->affinity, position);
    score += lbr_latency_scorers_sum(pick, position);
    if (pick->ask->adapter && params->pipeline.adapter > 0)
        score += params->pipeline.adapter *
                 lbr_residency_score(lbr_residency_of(pick, position));
    if (scale->costs.known)
        score += params->pipeline.cost *
                 known_or(thrift(pick, position), scale->cost_mean);
    if (!isnan(scale->cache_mean))
        score += params->pipeline.occupancy *
                 known_or(offloaded(pick, position), scale->cache_mean);
    if (!isnan(scale->resident_mean))
        score +=
            params->pipeline.resident *
            known_or(lbr_resident_worth(pick, position), scale->resident_mean);
    if (!isnan(scale->stage_mean))
        score += known_or(judged(pick, position), scale->stage_mean);
    return score;
}

/* The best of the members in the window but |left_out|, or LBR_BITS_NONE. */
static uint32_t best_without_pin(const struct lbr_pick *pick, uint32_t left_out,
                                 double *highest)
{
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        double score;

        if (i == left_out ||
            !lbr_affinity_in_window(pick, &pick->scale.affinity, i))
            continue;
        score = score_without_pin(pick, i);
        if (best != LBR_BITS_NONE &&
            (score < *highest ||
             (score == *highest &&
              !lbr_load_order_tie(&pick->group->order, i, best))))
            continue;
        best = i;
        *highest = score;
    }
    return best;
}

/* Whether the pinned member wins against the best of the others, and by what
 * rule: that of the pin, where it would not have been ahead without it. */
static int pin_wins(const struct lbr_pick *pick, uint32_t rival, double rivals,
                    struct lbr_choice *choice)
{
    uint32_t pinned = pick->scale.pinned;
    double own = score_without_pin(pick, pinned);

    choice->score = own + pick->scale.pin;
    if (rival != LBR_BITS_NONE && rivals > choice->score)
        return 0;
    if (rival != LBR_BITS_NONE && rivals == choice->score &&
        lbr_load_order_tie(&pick->group->order, rival, pinned))
        return 0;
    if (rival != LBR_BITS_NONE && rivals >= own && pick->scale.pin > 0)
        choice->rule = LBROUTE_RULE_STICKY_SESSION;
    return 1;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint32_t pinned = LBR_BITS_NONE;
    double highest = 0;
    uint32_t best;

    set_scale(pick);
    if (pick->scale.pinned != LBR_BITS_NONE &&
        lbr_affinity_in_window(pick, &pick->scale.affinity, pick->scale.pinned))
        pinned = pick->scale.pinned;
    best = best_without_pin(pick, pinned, &highest);
    choice->rule = LBROUTE_RULE_PIPELINE;
    if (pinned != LBR_BITS_NONE && pin_wins(pick, best, highest, choice)) {
        best = pinned;
        highest = choice->score;
    }
    choice->position = best;
    choice->commit = lbr_affinity_commit;
    lbr_affinity_note(pick, &pick->scale.affinity, choice);
    lbr_resident_note(pick, choice);
    choice->score = highest;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    double pin = 0;

    if (!pick->scale.known || !lbr_bits_has(pick->mask, position))
        return (double)NAN;
    if (position == pick->scale.pinned)
        pin = pick->scale.pin;
    return score_without_pin(pick, position) + pin;
}

const struct lbr_strategy lbr_strategy_pipeline = {
    .name = "pipeline",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE | LBR_USES_FORECAST,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS,
    .calls_stages = 1,
    .learns_adapters = 1,
    .choose = choose,
    .score = score,
};
