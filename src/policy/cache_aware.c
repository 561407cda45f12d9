/* SPDX-License-Identifier: MIT */
/* cache_aware: the session's pin; else the member that knows the largest
 * leading part of the prompt, if that is at least the threshold; else the one
 * that has been warmed least. All of it inside the least-busy window, and every
 * pick is remembered.
 *
 * Source: SGLang's router, "cache-aware load balancing", 2024; the window is
 * per member, so a busy one costs nobody else the affinity. */
#include "policy/affinity.h"

/* Whether |a| goes before |b| among equally good members. */
static int less_busy(const struct lbr_pick *pick, uint32_t a, uint32_t b)
{
    double load_a = lbr_affinity_load(pick, a);
    double load_b = lbr_affinity_load(pick, b);

    if (load_a != load_b)
        return load_a < load_b;
    return lbr_load_order_tie(&pick->group->order, a, b);
}

/* The least busy of a node's holders that may be chosen, or LBR_BITS_NONE. */
static uint32_t best_holder(const struct lbr_pick *pick,
                            const struct lbr_affinity *view,
                            const struct lbr_trie_node *node)
{
    uint32_t best = LBR_BITS_NONE;
    const struct lbr_link *link;

    for (link = node->holders.next; link != &node->holders; link = link->next) {
        const struct lbr_trie_owner *owner =
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner;
        const struct lbr_target *target =
            LBR_OWNER(owner, struct lbr_target, prefixes);
        uint32_t position = target->by_pool.position;

        if (lbr_affinity_in_window(pick, view, position) &&
            (best == LBR_BITS_NONE || less_busy(pick, position, best)))
            best = position;
    }
    return best;
}

/* When nearly everybody holds a node, the least busy of all is quicker to find
 * than the least busy holder, and is the same if it holds it. */
static uint32_t least_busy_holder(const struct lbr_pick *pick,
                                  const struct lbr_affinity *view,
                                  const struct lbr_trie_node *node)
{
    if (!pick->filtered && node->holder_count > 8) {
        uint32_t first = lbr_load_order_first(&pick->group->order);

        if (lbr_trie_holds(pick->group->trie, node,
                           &lbr_pick_target(pick, first)->prefixes))
            return first;
    }
    return best_holder(pick, view, node);
}

/* The member with the longest part of the prompt, or LBR_BITS_NONE when nobody
 * suitable has enough of it. */
static uint32_t warmest(const struct lbr_pick *pick,
                        const struct lbr_affinity *view)
{
    double enough =
        pick->scope.pool->params.cache_threshold * (double)view->length;
    const struct lbr_trie_node *node = view->match.node;

    for (; node; node = node->parent) {
        uint32_t position;

        if ((double)lbr_trie_depth(view->match, node) < enough)
            break;
        position = least_busy_holder(pick, view, node);
        if (position != LBR_BITS_NONE)
            return position;
    }
    return LBR_BITS_NONE;
}

/* The member in the window that remembers least; ties by load. */
static uint32_t least_warmed(const struct lbr_pick *pick,
                             const struct lbr_affinity *view)
{
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    size_t least = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        size_t charged = lbr_pick_target(pick, i)->prefixes.charged;

        if (!lbr_affinity_in_window(pick, view, i))
            continue;
        if (best != LBR_BITS_NONE &&
            (charged > least ||
             (charged == least && !less_busy(pick, i, best))))
            continue;
        best = i;
        least = charged;
    }
    return best;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint32_t position = lbr_pick_pinned(pick);
    struct lbr_affinity view;

    lbr_affinity_read(pick, &view);
    choice->rule = LBROUTE_RULE_STICKY_SESSION;
    if (position == LBR_BITS_NONE ||
        !lbr_affinity_in_window(pick, &view, position)) {
        choice->rule = LBROUTE_RULE_CACHE_AWARE;
        position = warmest(pick, &view);
    }
    if (position == LBR_BITS_NONE) {
        choice->rule = LBROUTE_RULE_LEAST_WARMED;
        position = least_warmed(pick, &view);
    }
    lbr_affinity_decide(pick, &view, position, choice);
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_affinity view;

    lbr_affinity_find(pick, &view);
    return lbr_affinity_score(pick, &view, position);
}

const struct lbr_strategy lbr_strategy_cache_aware = {
    .name = "cache_aware",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS,
    .choose = choose,
    .score = score,
};
