/* SPDX-License-Identifier: MIT */
/* kv_aware: among the least busy, the member that holds the longest part of the
 * prompt, in blocks. A part that every candidate holds, or nearly every request
 * begins with, or that is next to nothing of the prompt, is no reason to prefer
 * anybody: without a longer one the pick is
 * what weighted (or, by parameter, least_connections or least_work) would do.
 * Every pick is remembered, on behalf of its client.
 *
 * A head that carries much of the traffic is given more homes than one by
 * falling back until it has them.
 *
 * Sources: the square root is that of the staffing rule of Halfin and Whitt,
 * "Heavy-Traffic Limits for Queues with Many Exponential Servers", 1981. The
 * idea is that of the KV-aware routing of NVIDIA Dynamo and llm-d, 2025,
 * without their sum of scores: affinity decides inside the least-busy window
 * only. */
#include "policy/affinity.h"

#include "containers/bits.h"
#include "policy/least_work.h"

#include <math.h>

/* A head is spread when it fills at least half a target and takes at most a
 * 32nd of what one remembers. */
#define LEAST_FILLED 0.5
#define SMALL_PART 32

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    if (choice->commit_fallback)
        choice->commit_fallback(pick, choice);
    else
        lbr_load_order_used(&pick->group->order, choice->position,
                            &pick->router->rng);
    lbr_affinity_record(pick, choice);
}

/* Whether all eligible members hold a node. */
static int held_by_all(const struct lbr_pick *pick,
                       const struct lbr_trie_node *node)
{
    uint32_t eligible = 0;
    const struct lbr_link *link;

    if (node->holder_count < pick->eligible)
        return 0;
    for (link = node->holders.next; link != &node->holders; link = link->next) {
        const struct lbr_target *target = lbr_target_of(
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner);

        eligible +=
            (uint32_t)lbr_bits_has(pick->mask, target->by_pool.position);
    }
    return eligible == pick->eligible;
}

/* Whether a head that prompts share, and of which another copy costs little,
 * should be known in more places: a multiple of the square root of the targets
 * that its traffic fills lets it go where there is room. What more it needs,
 * the window gives it. */
static int wants_more_homes(const struct lbr_pick *pick,
                            const struct lbr_affinity *affinity,
                            const struct lbr_trie_node *node)
{
    const struct lbr_params *params = &pick->scope.pool->params;
    size_t depth = lbr_trie_depth(pick->match, node);
    double filled =
        lbr_trie_traffic(pick->group->trie, node) * (double)pick->eligible;

    return depth < affinity->length && node->children >= 2 &&
           filled >= LEAST_FILLED && params->kv_spread > 0 &&
           depth / LBR_BLOCK * SMALL_PART <= params->kv.capacity &&
           node->holder_count < params->kv_spread * sqrt(filled);
}

/* The member with the longest useful part of the prompt, or LBR_BITS_NONE. */
static uint32_t longest_match(const struct lbr_pick *pick,
                              const struct lbr_affinity *affinity)
{
    const struct lbr_trie_node *node = pick->match.node;
    double enough =
        pick->scope.pool->params.kv_threshold * (double)affinity->length;

    for (; node; node = node->parent) {
        size_t depth = lbr_trie_depth(pick->match, node);
        uint32_t position;

        if (depth <= affinity->common || (double)depth < enough ||
            held_by_all(pick, node) || wants_more_homes(pick, affinity, node))
            break;
        position = lbr_affinity_holder(pick, affinity, node);
        if (position != LBR_BITS_NONE)
            return position;
    }
    return LBR_BITS_NONE;
}

static void fall_back(struct lbr_pick *pick, struct lbr_choice *choice)
{
    switch (pick->scope.pool->params.kv_fallback) {
    case LBR_FALL_BACK_TO_WORK:
        lbr_least_work_choose(pick, choice);
        break;
    case LBR_FALL_BACK_TO_LOAD:
        lbr_least_connections_choose(pick, choice);
        break;
    default:
        lbr_strategy_weighted.choose(pick, choice);
    }
    choice->commit_fallback = choice->commit;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_affinity affinity = lbr_affinity_look(pick);

    pick->scale.affinity = affinity; /* what work and latency go by */
    pick->scale.known = 1;
    choice->position = longest_match(pick, &affinity);
    choice->rule = LBROUTE_RULE_KV_AWARE;
    choice->commit_fallback = NULL;
    if (choice->position == LBR_BITS_NONE)
        fall_back(pick, choice);
    choice->commit = commit;
    lbr_affinity_note(pick, &affinity, choice);
}

const struct lbr_strategy lbr_strategy_kv_aware = {
    .name = "kv_aware",
    .uses = LBR_USES_ORDER | LBR_USES_SCHEDULE | LBR_USES_TRIE,
    .uses_for_work = LBR_USES_FORECAST | LBR_USES_PACE,
    .promise = LBR_PROMISE_NONE,
    .shares_memory = 1,
    .choose = choose,
    .score = lbr_affinity_score,
};
