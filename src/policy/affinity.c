/* SPDX-License-Identifier: MIT */
#include "policy/affinity.h"

#include "base/hash.h"

/* Prompts of different models have nothing in common. */
static uint64_t root_of(const lbroute_request *request)
{
    return lbr_hash(request->model, request->model_len);
}

void lbr_affinity_find(const struct lbr_pick *pick, struct lbr_affinity *view)
{
    const lbroute_request *request = pick->ask->request;

    view->match = lbr_trie_find(pick->group->trie, root_of(request),
                                request->prompt, request->prompt_len);
    view->length = request->prompt_len;
}

void lbr_affinity_read(struct lbr_pick *pick, struct lbr_affinity *view)
{
    lbr_affinity_find(pick, view);
    view->lowest = lbr_pick_lowest_load(pick);
    pick->match = view->match;
}

size_t lbr_affinity_known(const struct lbr_pick *pick,
                          const struct lbr_affinity *view, uint32_t position)
{
    return lbr_trie_held(pick->group->trie, view->match,
                         &lbr_pick_target(pick, position)->prefixes);
}

static void visit_holders(const struct lbr_affinity *view,
                          const struct lbr_trie_node *node)
{
    size_t depth = lbr_trie_depth(view->match, node);
    const struct lbr_link *link;

    for (link = node->holders.next; link != &node->holders; link = link->next) {
        struct lbr_trie_owner *owner =
            LBR_OWNER(link, struct lbr_trie_hold, siblings)->owner;
        struct lbr_target *target =
            LBR_OWNER(owner, struct lbr_target, prefixes);

        if (target->surveyed_by == view->survey)
            continue;
        target->surveyed_by = view->survey;
        target->surveyed = depth;
    }
}

/* Whoever holds a node holds those above it, and has been visited for the
 * deepest it holds; above a node that all hold nothing is new. */
void lbr_affinity_survey(const struct lbr_pick *pick, struct lbr_affinity *view)
{
    const struct lbr_trie_node *node = view->match.node;

    view->survey = ++pick->router->surveys;
    for (; node && node->holder_count < pick->group->count; node = node->parent)
        visit_holders(view, node);
    view->common = node ? lbr_trie_depth(view->match, node) : 0;
}

static double part(size_t known, size_t length)
{
    return length ? (double)known / (double)length : (double)NAN;
}

double lbr_affinity_score(const struct lbr_pick *pick,
                          const struct lbr_affinity *view, uint32_t position)
{
    return part(lbr_affinity_known(pick, view, position), view->length);
}

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    const lbroute_request *request = pick->ask->request;
    struct lbr_target *target = lbr_pick_target(pick, choice->position);

    lbr_load_order_used(&pick->group->order, choice->position,
                        &pick->router->rng);
    lbr_trie_record(pick->group->trie, pick->match, root_of(request),
                    request->prompt, request->prompt_len, &target->prefixes,
                    target->pool->params.cache_budget);
}

void lbr_affinity_decide(const struct lbr_pick *pick,
                         const struct lbr_affinity *view, uint32_t position,
                         struct lbr_choice *choice)
{
    size_t known = lbr_affinity_known(pick, view, position);

    choice->position = position;
    choice->commit = commit;
    choice->prefix_matched = (int64_t)known;
    choice->prefix_total = (int64_t)view->length;
    choice->score = part(known, view->length);
}
