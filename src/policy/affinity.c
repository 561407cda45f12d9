/* SPDX-License-Identifier: MIT */
#include "policy/affinity.h"

#include "containers/bits.h"

#include <math.h>

/* Less than a twentieth of a prompt is no reason to send it anywhere. */
#define SMALLEST_PART 20

/* The prompt as the group's trie compares it: as it was given, or hashed. */
static struct lbr_affinity compared(const struct lbr_pick *pick)
{
    const struct lbr_ask *ask = pick->ask;
    struct lbr_affinity affinity = {ask->prompt.symbols,
                                    ask->prompt.length,
                                    ask->prompt.unit,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};

    if (pick->group->trie_kind != LBR_TRIE_BYTES &&
        ask->prompt.unit != LBR_BLOCK) {
        size_t block_bytes = pick->block_bytes;

        affinity.symbols = lbr_hashed_blocks(&ask->hashed);
        affinity.length = block_bytes ? ask->hashed.count * LBR_BLOCK : 0;
        affinity.unit = (uint32_t)LBR_BLOCK;
        affinity.total = block_bytes ? ask->prompt.length / block_bytes : 0;
        return affinity;
    }
    affinity.total = affinity.length / affinity.unit;
    return affinity;
}

/* What a match must reach to be the whole prompt: the end of a text that fills
 * no block is out of reach. */
static size_t whole_of(const struct lbr_pick *pick,
                       const struct lbr_affinity *affinity)
{
    size_t block = pick->block_bytes;

    return affinity->length + (block && pick->ask->prompt.length % block);
}

struct lbr_affinity lbr_affinity_look(struct lbr_pick *pick)
{
    struct lbr_affinity affinity = compared(pick);

    pick->match = lbr_trie_find(pick->group->trie, pick->ask->prefix_root,
                                affinity.symbols, affinity.length);
    pick->match_known = 1;
    affinity.common = lbr_trie_common_head(
        pick->group->trie, pick->match, whole_of(pick, &affinity),
        pick->scope.pool->params.common_head);
    affinity.lowest = lbr_pick_lowest_load(pick);
    return affinity;
}

/* The order knows the load of whoever is usable; of others, which are chosen
 * among when benching is ignored, it is worked out. */
double lbr_affinity_load(const struct lbr_pick *pick, uint32_t position)
{
    double load = lbr_load_order_load(&pick->group->order, position);

    return load < (double)INFINITY ? load : lbr_score_load(pick, position);
}

int lbr_affinity_in_window(const struct lbr_pick *pick,
                           const struct lbr_affinity *affinity,
                           uint32_t position)
{
    return lbr_bits_has(pick->mask, position) &&
           lbr_load_in_window(lbr_affinity_load(pick, position),
                              affinity->lowest);
}

int lbr_affinity_less_busy(const struct lbr_pick *pick, uint32_t a, uint32_t b)
{
    double load_a = lbr_affinity_load(pick, a);
    double load_b = lbr_affinity_load(pick, b);

    if (load_a != load_b)
        return load_a < load_b;
    return lbr_load_order_tie(&pick->group->order, a, b);
}

static uint32_t best_holder(const struct lbr_pick *pick,
                            const struct lbr_affinity *affinity,
                            const struct lbr_trie_node *node)
{
    uint32_t best = LBR_BITS_NONE;
    const struct lbr_link *link;

    for (link = node->holders.next; link != &node->holders; link = link->next) {
        const struct lbr_target *target = lbr_target_of(
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner);
        uint32_t position = target->by_pool.position;

        if (lbr_affinity_in_window(pick, affinity, position) &&
            (best == LBR_BITS_NONE ||
             lbr_affinity_less_busy(pick, position, best)))
            best = position;
    }
    return best;
}

/* When nearly everybody holds a node, the least busy of all is quicker to find
 * than the least busy holder, and is the same if it holds it. */
uint32_t lbr_affinity_holder(const struct lbr_pick *pick,
                             const struct lbr_affinity *affinity,
                             const struct lbr_trie_node *node)
{
    if (!pick->filtered && node->holder_count > 8) {
        uint32_t first = lbr_load_order_first(&pick->group->order);

        if (lbr_trie_holds(pick->group->trie, node,
                           &lbr_pick_target(pick, first)->prefixes.owner))
            return first;
    }
    return best_holder(pick, affinity, node);
}

void lbr_affinity_note(const struct lbr_pick *pick,
                       const struct lbr_affinity *affinity,
                       struct lbr_choice *choice)
{
    const struct lbr_target *target = lbr_pick_target(pick, choice->position);
    size_t held =
        lbr_trie_held(pick->group->trie, pick->match, &target->prefixes.owner) /
        affinity->unit;

    choice->prefix_matched = (int64_t)held;
    choice->prefix_total = (int64_t)affinity->total;
    choice->score =
        affinity->total ? (double)held / (double)affinity->total : (double)NAN;
}

/* Other routers are told where the prompt went. */
static void tell(const struct lbr_pick *pick, const struct lbr_target *target,
                 const struct lbr_affinity *affinity)
{
    struct lbr_news_item item = {0};

    item.kind = LBR_NEWS_PROMPT;
    item.comparison = lbr_group_comparison(pick->group);
    item.target = target->slot.handle;
    item.key = pick->ask->prefix_root;
    item.client = pick->ask->client_digest;
    lbr_news_add(&pick->router->sharing.news, &item, affinity->symbols,
                 affinity->length);
}

void lbr_affinity_record(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    struct lbr_target *target = lbr_pick_target(pick, choice->position);
    const struct lbr_params *params = &pick->scope.pool->params;
    const struct lbr_ask *ask = pick->ask;
    struct lbr_affinity affinity = compared(pick);

    if (pick->group->trie_kind != LBR_TRIE_SHARED)
        lbr_trie_record(pick->group->trie, pick->match, ask->prefix_root,
                        affinity.symbols, affinity.length,
                        &target->prefixes.owner, params->cache_budget);
    else if (affinity.length)
        lbr_shared_record(pick->group->prefixes, pick->match, ask->prefix_root,
                          affinity.symbols, affinity.length, &target->prefixes,
                          ask->client_digest, pick->now, &params->kv);
    if (affinity.length && pick->router->sharing.news.bytes)
        tell(pick, target, &affinity);
}

void lbr_affinity_commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_load_order_used(&pick->group->order, choice->position,
                        &pick->router->rng);
    lbr_affinity_record(pick, choice);
}

static double missing(const struct lbr_affinity *affinity, size_t held)
{
    return affinity->length ? 1 - (double)held / (double)affinity->length : 1;
}

/* |uncached| is by position; NULL: nobody asks. */
static void visit_holders(const struct lbr_pick *pick,
                          const struct lbr_affinity *affinity,
                          const struct lbr_trie_node *node, double *uncached)
{
    size_t depth = lbr_trie_depth(pick->match, node);
    double part = missing(affinity, depth);
    const struct lbr_link *link;

    for (link = node->holders.next; link != &node->holders; link = link->next) {
        struct lbr_target *target = lbr_target_of(
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner);

        if (target->surveyed_by == affinity->survey)
            continue;
        target->surveyed_by = affinity->survey;
        target->surveyed = depth;
        if (uncached)
            uncached[target->by_pool.position] = part;
    }
}

/* From the deepest node up to |end|, which is not visited: whoever holds a node
 * holds those above it, and has been visited for the deepest it holds. */
static void visit(const struct lbr_pick *pick, struct lbr_affinity *affinity,
                  const struct lbr_trie_node *end, double *uncached)
{
    const struct lbr_trie_node *node = pick->match.node;

    affinity->survey = ++pick->router->surveys;
    for (; node != end; node = node->parent)
        visit_holders(pick, affinity, node, uncached);
}

/* The deepest node of the match that so many members hold, or NULL. */
static const struct lbr_trie_node *held_by(const struct lbr_pick *pick,
                                           uint32_t members)
{
    const struct lbr_trie_node *node = pick->match.node;

    while (node && node->holder_count < members)
        node = node->parent;
    return node;
}

static size_t depth_of(const struct lbr_pick *pick,
                       const struct lbr_trie_node *node)
{
    return node ? lbr_trie_depth(pick->match, node) : 0;
}

void lbr_affinity_survey(const struct lbr_pick *pick,
                         struct lbr_affinity *affinity)
{
    const struct lbr_trie_node *all = held_by(pick, pick->group->count);

    affinity->known_to_all = depth_of(pick, all);
    visit(pick, affinity, all, NULL);
}

void lbr_affinity_spread(const struct lbr_pick *pick,
                         const struct lbr_affinity *affinity, uint32_t many,
                         double *uncached)
{
    uint32_t count = pick->group->count;
    const struct lbr_trie_node *end =
        held_by(pick, many < count ? many : count);
    double common = missing(affinity, depth_of(pick, end));
    struct lbr_affinity visited = *affinity;
    uint32_t i;

    for (i = 0; i < count; i++)
        uncached[i] = common;
    visit(pick, &visited, end, uncached);
}

size_t lbr_affinity_held(const struct lbr_pick *pick,
                         const struct lbr_affinity *affinity, uint32_t position)
{
    const struct lbr_target *target = lbr_pick_target(pick, position);

    if (!affinity->survey)
        return lbr_trie_held(pick->group->trie, pick->match,
                             &target->prefixes.owner);
    return target->surveyed_by == affinity->survey ? target->surveyed
                                                   : affinity->known_to_all;
}

double lbr_affinity_part(const struct lbr_pick *pick,
                         const struct lbr_affinity *affinity, uint32_t position)
{
    size_t held;

    if (!affinity->length)
        return (double)NAN;
    held = lbr_affinity_held(pick, affinity, position);
    if (held <= affinity->common || held * SMALLEST_PART < affinity->length)
        return 0;
    return (double)(held - affinity->common) /
           (double)(affinity->length - affinity->common);
}

double lbr_affinity_score(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_affinity affinity = compared(pick);
    const struct lbr_target *target = lbr_pick_target(pick, position);
    struct lbr_trie_match match =
        lbr_trie_find(pick->group->trie, pick->ask->prefix_root,
                      affinity.symbols, affinity.length);
    size_t held =
        lbr_trie_held(pick->group->trie, match, &target->prefixes.owner) /
        affinity.unit;

    return affinity.total ? (double)held / (double)affinity.total : (double)NAN;
}
