/* SPDX-License-Identifier: MIT */
/* kv_aware: among the least busy, the member that holds the longest part of the
 * prompt, in blocks. A part that every candidate holds, or nearly every request
 * begins with, is no reason to prefer anybody: without a longer one the pick is
 * what weighted (or, by parameter, least_connections) would do. Every pick is
 * remembered, on behalf of its client.
 *
 * Source: the KV-aware routing of NVIDIA Dynamo and llm-d, 2025, without their
 * sum of scores: affinity decides inside the least-busy window only. */
#include "policy/affinity.h"

#include "containers/bits.h"

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

/* The member with the longest useful part of the prompt, or LBR_BITS_NONE. */
static uint32_t longest_match(const struct lbr_pick *pick,
                              const struct lbr_affinity *affinity)
{
    const struct lbr_trie_node *node = pick->match.node;

    for (; node; node = node->parent) {
        uint32_t position;

        if (lbr_trie_depth(pick->match, node) <= affinity->common ||
            held_by_all(pick, node))
            break;
        position = lbr_affinity_holder(pick, affinity, node);
        if (position != LBR_BITS_NONE)
            return position;
    }
    return LBR_BITS_NONE;
}

static void fall_back(struct lbr_pick *pick, struct lbr_choice *choice)
{
    if (pick->scope.pool->params.kv_by_load)
        lbr_least_connections_choose(pick, choice);
    else
        lbr_strategy_weighted.choose(pick, choice);
    choice->commit_fallback = choice->commit;
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct lbr_affinity affinity = lbr_affinity_look(pick);

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
    .promise = LBR_PROMISE_NONE,
    .shares_memory = 1,
    .choose = choose,
    .score = lbr_affinity_score,
};
