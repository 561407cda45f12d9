/* SPDX-License-Identifier: MIT */
/* cache_aware: the session's pin; else the member that knows the largest
 * leading part of the prompt, if that is at least the threshold; else the one
 * that has been warmed least. All of it inside the least-busy window, and every
 * pick is remembered. A head that nearly all requests share counts neither as
 * known nor as part of the prompt.
 *
 * Source: SGLang's router, "cache-aware load balancing", 2024; the window is
 * per member, so a busy one costs nobody else the affinity. */
#include "policy/affinity.h"

#include "containers/bits.h"

/* The member with the longest part of the prompt, or LBR_BITS_NONE when nobody
 * suitable has enough of it. */
static uint32_t warmest(const struct lbr_pick *pick,
                        const struct lbr_affinity *affinity)
{
    double enough = (double)affinity->common +
                    pick->scope.pool->params.cache_threshold *
                        (double)(affinity->length - affinity->common);
    const struct lbr_trie_node *node = pick->match.node;

    for (; node; node = node->parent) {
        size_t depth = lbr_trie_depth(pick->match, node);
        uint32_t position;

        if ((double)depth < enough || depth <= affinity->common)
            break;
        position = lbr_affinity_holder(pick, affinity, node);
        if (position != LBR_BITS_NONE)
            return position;
    }
    return LBR_BITS_NONE;
}

/* The member in the window that remembers least; ties by load. */
static uint32_t least_warmed(const struct lbr_pick *pick,
                             const struct lbr_affinity *affinity)
{
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    size_t least = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        size_t charged = lbr_pick_target(pick, i)->prefixes.owner.charged;

        if (!lbr_affinity_in_window(pick, affinity, i))
            continue;
        if (best != LBR_BITS_NONE &&
            (charged > least ||
             (charged == least && !lbr_affinity_less_busy(pick, i, best))))
            continue;
        best = i;
        least = charged;
    }
    return best;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_affinity affinity = lbr_affinity_look(pick);
    uint32_t position = lbr_pick_pinned(pick);

    choice->rule = LBROUTE_RULE_STICKY_SESSION;
    if (position == LBR_BITS_NONE ||
        !lbr_affinity_in_window(pick, &affinity, position)) {
        choice->rule = LBROUTE_RULE_CACHE_AWARE;
        position = warmest(pick, &affinity);
    }
    if (position == LBR_BITS_NONE) {
        choice->rule = LBROUTE_RULE_LEAST_WARMED;
        position = least_warmed(pick, &affinity);
    }
    choice->position = position;
    choice->commit = lbr_affinity_commit;
    lbr_affinity_note(pick, &affinity, choice);
}

const struct lbr_strategy lbr_strategy_cache_aware = {
    .name = "cache_aware",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS,
    .choose = choose,
    .score = lbr_affinity_score,
};
