/* SPDX-License-Identifier: MIT */
/* precise_cache_aware: inside the least-busy window, the member where most of
 * the prompt is resident by its engine's KV events, blocks in slower memory
 * counting less; equals by load. Of a source that has missed something, or is
 * silent while it should not be, nothing is known: its member is neither
 * preferred nor avoided. Without a useful match load alone decides.
 *
 * The idea is that of the precise prefix cache scorer of llm-d and of the
 * KV-aware router of NVIDIA Dynamo, 2025, without their sum of scores: affinity
 * decides inside the window only. */
#include "policy/resident.h"

#include "containers/bits.h"

#include <math.h>

static void commit(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    lbr_commit_rank(pick, choice);
    lbr_resident_guess(pick, choice);
}

/* What the chosen member holds, which is not the one that holds most. */
static void note_fallback(struct lbr_pick *pick, struct lbr_choice *choice)
{
    lbr_least_connections_choose(pick, choice);
    if (pick->ask->explains)
        lbr_resident_spread(pick);
    else
        lbr_resident_look(pick, lbr_pick_target(pick, choice->position));
    lbr_resident_note(pick, choice);
}

static void choose(struct lbr_pick *pick, struct lbr_choice *choice)
{
    double threshold = pick->scope.pool->params.precise.threshold;

    choice->looked = 1;
    choice->position = lbr_resident_best(pick, lbr_pick_lowest_load(pick),
                                         threshold, &choice->residence);
    choice->rule = LBROUTE_RULE_PRECISE_CACHE_AWARE;
    if (choice->position == LBR_BITS_NONE)
        note_fallback(pick, choice);
    else if (pick->ask->explains)
        lbr_resident_spread(pick);
    choice->score = choice->residence.known && choice->residence.total
                        ? choice->residence.worth
                        : (double)NAN;
    choice->commit = commit;
}

const struct lbr_strategy lbr_strategy_precise_cache_aware = {
    .name = "precise_cache_aware",
    .uses = LBR_USES_ORDER,
    .promise = LBR_PROMISE_NONE,
    .asks_resident = 1,
    .choose = choose,
    .score = lbr_resident_worth,
};
