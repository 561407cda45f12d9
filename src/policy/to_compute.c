/* SPDX-License-Identifier: MIT */
#include "policy/to_compute.h"

#include "policy/affinity.h"
#include "policy/latency.h"

#include <math.h>

/* A token that is driven out is missed once at most, and what drives out one on
 * the mean is taken to be missed half the time. */
#define MOST_FILL 2.0

static double blocks_at(const struct lbr_pick *pick, uint32_t position)
{
    return (double)lbr_pick_target(pick, position)->prefixes.blocks;
}

static double mean_blocks(const struct lbr_pick *pick)
{
    uint32_t count = pick->group->count;
    double sum = 0;
    uint32_t i;

    for (i = 0; i < count; i++)
        sum += blocks_at(pick, i);
    return sum / count;
}

void lbr_to_compute_look(struct lbr_pick *pick, double lean)
{
    double idle = 1 - pick->group->load_sum / pick->group->count;

    pick->scale.lean = 0;
    if (!(idle > 0) || !pick->scale.known || !pick->scale.affinity.length)
        return;
    pick->scale.mean_blocks = mean_blocks(pick);
    if (pick->scale.mean_blocks > 0)
        pick->scale.lean = lean * idle;
}

static double leaning(const struct lbr_pick *pick, uint32_t position)
{
    double fill = blocks_at(pick, position) / pick->scale.mean_blocks;

    return 1 + pick->scale.lean * (fmin(fill, MOST_FILL) - 1);
}

/* The part of the prompt that is not common to nearly all requests. */
static double own_part(const struct lbr_pick *pick)
{
    const struct lbr_affinity *affinity = &pick->scale.affinity;

    if (!pick->scale.known || !affinity->length)
        return 1;
    return 1 - (double)affinity->common / (double)affinity->length;
}

double lbr_to_compute_at(const struct lbr_pick *pick, uint32_t position)
{
    double part = fmin(lbr_latency_uncached(pick, position), own_part(pick));

    return pick->scale.lean > 0 ? part * leaning(pick, position) : part;
}

static void limit_to_own(const struct lbr_pick *pick, double *uncached)
{
    double own = own_part(pick);
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = 0; i < count && own < 1; i++)
        uncached[i] = fmin(uncached[i], own);
}

static void lean(const struct lbr_pick *pick, double *uncached)
{
    uint32_t count = pick->group->count;
    uint32_t i;

    for (i = 0; i < count && pick->scale.lean > 0; i++)
        uncached[i] *= leaning(pick, i);
}

int lbr_to_compute_fill(const struct lbr_pick *pick, uint32_t many)
{
    double *uncached =
        lbr_forecast_column(&pick->group->forecast, LBR_COLUMN_UNCACHED);
    uint32_t i;

    if (!pick->look) {
        lbr_affinity_spread(pick, &pick->scale.affinity, many, uncached);
        limit_to_own(pick, uncached);
        lean(pick, uncached);
        return many >= pick->group->count;
    }
    for (i = 0; i < pick->group->count; i++)
        uncached[i] = lbr_to_compute_at(pick, i);
    return 1;
}
