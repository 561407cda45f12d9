/* SPDX-License-Identifier: MIT */
#include "policy/route.h"

#include "base/hash.h"
#include "policy/filter.h"
#include "policy/judge.h"
#include "policy/latency.h"
#include "policy/queueing.h"
#include "policy/request.h"
#include "policy/strategy.h"

#include <math.h>

/* Whether the conversation is pinned, for want of a session. */
static int pins_conversation(const struct lbr_pick *pick)
{
    return pick->scope.strategy->pins == LBR_PINS_SESSIONS_OR_CLIENTS &&
           !pick->ask->request->session_len &&
           pick->ask->request->conversation_len;
}

/* What session or client is pinned by in this pool, and to whom. */
static void find_pin(struct lbr_pick *pick)
{
    const struct lbr_pool *pool = pick->scope.pool;
    enum lbr_pins pins = pick->scope.strategy->pins;

    uint64_t key = pick->ask->sticky_digest;

    if (pins == LBR_PINS_NOTHING || !pool)
        return;
    if (pins == LBR_PINS_SESSIONS && !pick->ask->request->session_len)
        return;
    if (pins_conversation(pick))
        key = lbr_hash_pair(pick->router->table_secret, pick->ask->ring_key);
    if (!key)
        return;
    pick->pin_key = lbr_hash_pair(key, pool->pin_key);
    pick->session = lbr_sessions_find(&pick->router->sessions, pick->pin_key,
                                      pick->now, pool->params.session_ttl);
}

/* The loads of a target in a mixed set are its own pool's matter. */
static void renew_for_report(const struct lbr_pick *pick,
                             const struct lbr_choice *choice)
{
    struct lbr_group *own =
        lbr_pick_target(pick, choice->position)->by_pool.group;

    if (own)
        lbr_group_ensure(own, pick->now);
}

static int lacks_key(const struct lbr_pick *pick)
{
    return (pick->scope.strategy->needs_ring_key || pins_conversation(pick)) &&
           !pick->ask->ring_key_known && pick->ask->key_source.length;
}

/* Bytes of the blocks that the pool compares and that must be hashed, or 0. */
static size_t wanted_blocks(const struct lbr_pick *pick)
{
    const struct lbr_pool *pool = pick->scope.pool;

    if (!pool || !(pool->uses & LBR_USES_TRIE) ||
        pool->trie_kind == LBR_TRIE_BYTES)
        return 0;
    return lbr_request_block_bytes(pick->ask, pool->params.blocks);
}

/* Whether the pool asks what is resident, of a prompt cut in another way. */
static int lacks_chains(const struct lbr_pick *pick, struct lbr_ask *ask)
{
    if (!(ask->request->tokens_len | ask->request->blocks_len) ||
        !pick->scope.pool)
        return 0;
    ask->chains.wanted = lbr_chains_wanted(pick->scope.pool);
    return ask->chains.wanted && ask->chains.wanted != ask->chains.sizes;
}

static int find_eligible(struct lbr_pick *pick)
{
    pick->group = pick->scope.group;
    lbr_filter_exclude(pick);
    if (!pick->group)
        return 0;
    lbr_group_ensure(pick->group, pick->now);
    lbr_filter_apply(pick);
    if (!pick->eligible)
        lbr_filter_ignore_benching(pick);
    return pick->eligible > 0;
}

/* Field by field: the compiler would clear so large a struct by a slow string
 * instruction. */
static void start(struct lbr_pick *pick, struct lbroute_router *router,
                  const struct lbr_ask *ask, uint64_t now)
{
    pick->router = router;
    pick->ask = ask;
    pick->group = NULL;
    pick->now = now;
    pick->rng = router->rng;
    pick->mask = NULL;
    pick->eligible = 0;
    pick->filtered = 0;
    pick->exclusion = 0;
    pick->bench_ignored = 0;
    pick->run = NULL;
    pick->judgement = 0;
    pick->pin_key = 0;
    pick->session = NULL;
    pick->block_bytes = 0;
    pick->match_known = 0;
    pick->scale.known = 0;
    pick->lookup = pick->longest_match = 0;
    pick->free_mean = (double)NAN;
    pick->look = 0;
    pick->blend.known = 0;
}

/* Lets a hybrid pool know of the request, once. */
static void admit(struct lbr_pick *pick, struct lbr_ask *ask)
{
    struct lbr_pool *pool = pick->scope.pool;

    pick->admission = pool->admission;
    pick->admitted = 1;
    if (lbr_pool_admit(pool, pick->now, !ask->arrived) && !ask->explains)
        lbr_pool_wake(pool);
    ask->arrived = !ask->explains;
}

/* Everybody whom the filters let pass, those of the pool's own included, once
 * they have been asked. */
static int find_candidates(struct lbr_pick *pick, struct lbr_ask *ask)
{
    int result = ask->run ? lbr_judge_apply(pick) : LBROUTE_OK;

    if (result)
        return result;
    if (!find_eligible(pick))
        return lbr_judge_missed(pick) ? LBR_ROUTE_AGAIN : LBROUTE_ERR_NO_TARGET;
    if (!pick->scope.strategy->calls_stages || ask->run ||
        lbr_list_empty(&pick->scope.pool->stages))
        return LBROUTE_OK;
    return lbr_judge_start(pick, ask);
}

int lbr_route(struct lbroute_router *router, struct lbr_ask *ask, uint64_t now,
              struct lbr_pick *pick, struct lbr_choice *choice)
{
    int result;

    start(pick, router, ask, now);
    result = lbr_scope_resolve(router, ask->request, &pick->scope);
    if (result)
        return result;
    if (pick->scope.pool &&
        pick->scope.pool->params.admission.mode == LBR_ADMIT_HYBRID)
        admit(pick, ask);
    if (lacks_key(pick))
        return LBR_ROUTE_NEEDS_KEY;
    pick->block_bytes = wanted_blocks(pick);
    if (pick->block_bytes != ask->hashed.block_bytes && pick->block_bytes)
        return LBR_ROUTE_NEEDS_BLOCKS;
    if (lacks_chains(pick, ask))
        return LBR_ROUTE_NEEDS_CHAINS;
    result = find_candidates(pick, ask);
    if (result)
        return result;
    find_pin(pick);
    choice->prefix_matched = choice->prefix_total = -1;
    choice->looked = 0;
    pick->scope.strategy->choose(pick, choice);
    if (!pick->group->by_pool)
        renew_for_report(pick, choice);
    if (lbr_latency_learns(pick))
        lbr_latency_note(pick, choice);
    return LBROUTE_OK;
}

int lbr_route_act(struct lbroute_router *router, struct lbr_ask *ask,
                  int result, size_t block_bytes)
{
    switch (result) {
    case LBR_ROUTE_NEEDS_KEY:
        lbr_request_hash_key(ask);
        return 1;
    case LBR_ROUTE_NEEDS_BLOCKS:
        lbr_request_hash_blocks(router, ask, block_bytes);
        return 1;
    case LBR_ROUTE_NEEDS_CHAINS:
        lbr_chains_make(router, ask);
        return 1;
    case LBR_ROUTE_NEEDS_COPY:
        lbr_queueing_copy(router, ask);
        return 1;
    case LBR_ROUTE_NEEDS_STAGES:
        lbr_judge_call(ask);
        return 1;
    case LBR_ROUTE_AGAIN:
        lbr_judge_finish(router, ask);
        ask->rounds++;
        return 1;
    default:
        if (ask->run)
            lbr_judge_finish(router, ask);
        lbr_request_release(router, ask);
        lbr_chains_release(router, ask);
        lbr_queueing_release(router, ask);
        return 0;
    }
}

static void count_share(const struct lbr_pick *pick, struct lbr_target *target)
{
    struct lbr_group *group = target->by_pool.group;

    if (group)
        lbr_share_count(
            &target->shares,
            lbr_group_share_bucket(group, pick->now,
                                   target->pool->params.share_bucket));
}

/* Whether an engine has something to say after a request: not where it holds
 * the whole prompt. */
static int leads_to_events(const struct lbr_residence *residence)
{
    return !residence->known ||
           residence->found[0] + residence->found[1] + residence->found[2] <
               residence->total;
}

void lbr_route_commit(struct lbr_pick *pick, const struct lbr_choice *choice,
                      struct lbr_ticket *ticket)
{
    struct lbr_target *target = lbr_pick_target(pick, choice->position);

    pick->router->rng = pick->rng;
    if (choice->commit)
        choice->commit(pick, choice);
    if (pick->session)
        lbr_sessions_touch(&pick->router->sessions, pick->session, pick->now);
    ticket->target = target->slot.handle;
    ticket->pin_key = pick->pin_key;
    ticket->task.state = LBR_TASK_UNTOLD;
    if (lbr_latency_learns(pick))
        lbr_latency_send(pick, choice, &ticket->task);
    ticket->slot.spare = lbr_health_sent(&target->health, pick->now);
    target->in_flight++;
    if (!choice->looked || leads_to_events(&choice->residence))
        lbr_kv_side_asked(&target->kv, pick->now);
    if (pick->scope.strategy->learns_adapters && pick->ask->adapter &&
        lbr_adapters_sent(&target->adapters, &pick->router->memory,
                          pick->ask->adapter))
        ticket->adapter = pick->ask->adapter;
    target->picks++;
    target->pool->picks++;
    pick->router->picks++;
    if (lbr_target_full(target))
        target->full_at = pick->now;
    count_share(pick, target);
    lbr_target_moved(target, 1);
}
