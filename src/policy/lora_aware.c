/* SPDX-License-Identifier: MIT */
/* lora_aware: inside the least-busy window, the members that hold the adapter,
 * then those with a free slot for it, then those of which nothing is known,
 * then those that would have to give another one up; equals by load. A request
 * in flight counts as holding: its adapter is there or on its way. Requests
 * without an adapter go by load alone.
 *
 * A preference, never a constraint: an adapter whose home leaves the window is
 * loaded elsewhere, and so gets as many homes as its traffic needs.
 *
 * Source: the adapter affinity of the Gateway API inference extension, 2025,
 * with residency remembered where that takes what engines list as active for
 * all they hold. */
#include "policy/affinity.h"
#include "policy/residency.h"

#include "containers/bits.h"

/* The best member of the window, and how it stands. */
static uint32_t best_standing(const struct lbr_pick *pick,
                              enum lbr_residency *best)
{
    uint32_t count = pick->group->count;
    double lowest = lbr_pick_lowest_load(pick);
    uint32_t found = LBR_BITS_NONE;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        enum lbr_residency standing;

        if (!lbr_load_in_window(lbr_affinity_load(pick, i), lowest))
            continue;
        standing = lbr_residency_of(pick, i);
        if (found != LBR_BITS_NONE &&
            (standing > *best ||
             (standing == *best && !lbr_affinity_less_busy(pick, i, found))))
            continue;
        found = i;
        *best = standing;
    }
    return found;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    static const int32_t rules[] = {
        LBROUTE_RULE_LORA_AWARE, LBROUTE_RULE_LORA_SLOT,
        LBROUTE_RULE_LEAST_CONNECTIONS, LBROUTE_RULE_LEAST_CONNECTIONS};
    enum lbr_residency standing = LBR_RESIDENCY_FULL;

    if (!pick->ask->adapter) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    choice->position = best_standing(pick, &standing);
    choice->rule = rules[standing];
    choice->score = lbr_residency_score(standing);
    choice->commit = lbr_commit_rank;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    if (!pick->ask->adapter)
        return lbr_score_load(pick, position);
    return lbr_residency_score(lbr_residency_of(pick, position));
}

const struct lbr_strategy lbr_strategy_lora_aware = {
    .name = "lora_aware",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .learns_adapters = 1,
    .choose = choose,
    .score = score,
};
