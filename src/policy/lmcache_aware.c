/* SPDX-License-Identifier: MIT */
/* lmcache_aware: inside the least-busy window, the member for which the
 * request's lookup found the longest leading part of the prompt; without one,
 * the member with the most free cache for its load. A cache that is reported
 * as unavailable, or was reported too long ago, has neither: its matches do not
 * count, and its room is taken for the mean of the others. When no report
 * counts, load alone decides.
 *
 * Free cache halves at most: a full one makes a member count as twice as busy,
 * so that caches which are all nearly full, as they are once warm, do not
 * decide by their last percent. */
#include "policy/affinity.h"
#include "policy/lookup.h"
#include "policy/offload.h"

#include "containers/bits.h"

#include <math.h>

/* 0 … 1: half for an empty target, the other half for its free cache. */
static double room(const struct lbr_pick *pick, uint32_t position)
{
    double part = lbr_offload_free(pick, position);

    if (isnan(part))
        part = pick->free_mean;
    return (0.5 + 0.5 * part) / (1 + lbr_affinity_load(pick, position));
}

/* What a member is chosen by. */
struct standing {
    uint32_t position;
    uint64_t matched;
    double room; /* NaN for all when nothing is known of any cache */
};

static int better(const struct lbr_pick *pick, const struct standing *a,
                  const struct standing *b)
{
    if (a->matched != b->matched)
        return a->matched > b->matched;
    if (a->room > b->room || a->room < b->room)
        return a->room > b->room;
    return lbr_affinity_less_busy(pick, a->position, b->position);
}

static struct standing best_member(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    double lowest = lbr_pick_lowest_load(pick);
    struct standing best = {LBR_BITS_NONE, 0, 0};
    uint32_t i;

    for (i = lbr_bits_next(pick->mask, count, 0); i != LBR_BITS_NONE;
         i = lbr_bits_next(pick->mask, count, i + 1)) {
        struct standing each = {i, 0, 0};

        if (!lbr_load_in_window(lbr_affinity_load(pick, i), lowest))
            continue;
        each.matched = lbr_offload_matched(pick, i);
        each.room = room(pick, i);
        if (best.position == LBR_BITS_NONE || better(pick, &each, &best))
            best = each;
    }
    return best;
}

static void note_match(const struct lbr_pick *pick, struct lbr_choice *choice)
{
    uint64_t total = pick->ask->input_tokens;
    uint64_t tokens = lbr_offload_matched(pick, choice->position);

    if (!pick->lookup)
        return;
    choice->prefix_matched =
        tokens > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)tokens;
    if (total != LBR_TOKENS_UNKNOWN)
        choice->prefix_total = (int64_t)total;
}

static double score(const struct lbr_pick *pick, uint32_t position)
{
    if (pick->longest_match)
        return lbr_offload_part(pick, position);
    if (isnan(pick->free_mean))
        return lbr_score_load(pick, position);
    return room(pick, position);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    struct standing best;

    lbr_lookup_spread(pick);
    pick->free_mean = lbr_pick_mean(pick, lbr_offload_free);
    if (!pick->lookup && isnan(pick->free_mean)) {
        lbr_least_connections_choose(pick, choice);
        return;
    }
    best = best_member(pick);
    pick->longest_match = best.matched;
    choice->position = best.position;
    choice->rule = LBROUTE_RULE_LEAST_CONNECTIONS;
    if (!isnan(pick->free_mean))
        choice->rule = LBROUTE_RULE_LMCACHE_ROOM;
    if (best.matched)
        choice->rule = LBROUTE_RULE_LMCACHE_AWARE;
    choice->score = score(pick, choice->position);
    choice->commit = lbr_commit_rank;
    note_match(pick, choice);
}

const struct lbr_strategy lbr_strategy_lmcache_aware = {
    .name = "lmcache_aware",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .choose = choose,
    .score = score,
};
