/* SPDX-License-Identifier: MIT */
/* cache_aware: the session's pin; else the member that knows the largest
 * leading part of the prompt, if that is at least the threshold; else the one
 * that has been warmed least. All of it inside the least-busy window, and every
 * pick is remembered.
 *
 * Source: SGLang's router, "cache-aware load balancing", 2024; the window is
 * per member, so a busy one costs nobody else the affinity. */
#include "policy/strategy.h"

#include "base/hash.h"
#include "containers/bits.h"

#include <math.h>

/* What is known about a pick's prompt. */
struct view {
    struct lbr_trie_match match;
    double lowest; /* load */
    size_t length;
};

/* The order knows the load of whoever is usable; of others, which are chosen
 * among when benching is ignored, it is worked out. */
static double load_of(const struct lbr_pick *pick, uint32_t position)
{
    double load = lbr_load_order_load(&pick->group->order, position);

    return load < (double)INFINITY ? load : lbr_score_load(pick, position);
}

static int in_window(const struct lbr_pick *pick, const struct view *view,
                     uint32_t position)
{
    return lbr_bits_has(pick->mask, position) &&
           lbr_load_in_window(load_of(pick, position), view->lowest);
}

/* Whether |a| goes before |b| among equally good members. */
static int less_busy(const struct lbr_pick *pick, uint32_t a, uint32_t b)
{
    double load_a = load_of(pick, a);
    double load_b = load_of(pick, b);

    if (load_a != load_b)
        return load_a < load_b;
    return lbr_load_order_tie(&pick->group->order, a, b);
}

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    const lbroute_request *request = pick->ask->request;
    struct lbr_target *target = lbr_pick_target(pick, choice->position);

    lbr_load_order_used(&pick->group->order, choice->position,
                        &pick->router->rng);
    lbr_trie_record(pick->group->trie, pick->match, pick->prefix_root,
                    request->prompt, request->prompt_len, &target->prefixes,
                    target->pool->params.cache_budget);
}

static void decide(const struct lbr_pick *pick, const struct view *view,
                   uint32_t position, int32_t rule, struct lbr_choice *choice)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    choice->position = position;
    choice->rule = rule;
    choice->commit = commit;
    choice->prefix_total = (int64_t)view->length;
    choice->prefix_matched = (int64_t)lbr_trie_held(
        pick->group->trie, view->match, &target->prefixes);
    choice->score = view->length
                        ? (double)choice->prefix_matched / (double)view->length
                        : (double)NAN;
}

/* The least busy of a node's holders that may be chosen, or LBR_BITS_NONE. */
static uint32_t best_holder(const struct lbr_pick *pick,
                            const struct view *view,
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

        if (in_window(pick, view, position) &&
            (best == LBR_BITS_NONE || less_busy(pick, position, best)))
            best = position;
    }
    return best;
}

/* When nearly everybody holds a node, the least busy of all is quicker to find
 * than the least busy holder, and is the same if it holds it. */
static uint32_t least_busy_holder(const struct lbr_pick *pick,
                                  const struct view *view,
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
static uint32_t warmest(const struct lbr_pick *pick, const struct view *view)
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
                             const struct view *view)
{
    uint32_t count = pick->group->count;
    uint32_t best = LBR_BITS_NONE;
    size_t least = 0;
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        size_t charged = lbr_pick_target(pick, i)->prefixes.charged;

        if (!in_window(pick, view, i))
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

/* Prompts of different models have nothing in common. */
static uint64_t root_of(const lbroute_request *request)
{
    return lbr_hash(request->model, request->model_len);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    const lbroute_request *request = pick->ask->request;
    uint32_t position = lbr_pick_pinned(pick);
    int32_t rule = LBROUTE_RULE_STICKY_SESSION;
    struct view view;

    pick->prefix_root = root_of(request);
    pick->match = lbr_trie_find(pick->group->trie, pick->prefix_root,
                                request->prompt, request->prompt_len);
    view.match = pick->match;
    view.length = request->prompt_len;
    view.lowest = lbr_pick_lowest_load(pick);
    if (position == LBR_BITS_NONE || !in_window(pick, &view, position)) {
        rule = LBROUTE_RULE_CACHE_AWARE;
        position = warmest(pick, &view);
    }
    if (position == LBR_BITS_NONE) {
        rule = LBROUTE_RULE_LEAST_WARMED;
        position = least_warmed(pick, &view);
    }
    decide(pick, &view, position, rule, choice);
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    const lbroute_request *request = pick->ask->request;
    struct lbr_trie_match match =
        lbr_trie_find(pick->group->trie, root_of(request), request->prompt,
                      request->prompt_len);

    if (!request->prompt_len)
        return (double)NAN;
    return (double)lbr_trie_held(pick->group->trie, match,
                                 &lbr_pick_target(pick, position)->prefixes) /
           (double)request->prompt_len;
}

const struct lbr_strategy lbr_strategy_cache_aware = {
    .name = "cache_aware",
    .uses = LBR_USES_ORDER | LBR_USES_TRIE,
    .promise = LBR_PROMISE_NONE,
    .pins = LBR_PINS_SESSIONS,
    .choose = choose,
    .score = score,
};
