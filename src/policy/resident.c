/* SPDX-License-Identifier: MIT */
#include "policy/resident.h"

#include "containers/bits.h"
#include "policy/affinity.h"

#include <math.h>

static const struct lbr_params *params_of(const struct lbr_pick *pick)
{
    return &pick->scope.pool->params;
}

static int has_source(const struct lbr_pick *pick)
{
    return pick->router->kv.sources.live || pick->router->guesses.slab.live;
}

/* The side that an owner belongs to; of a source only if it is fresh. */
static struct lbr_kv_side *side_of(const struct lbr_pick *pick,
                                   const struct lbr_kv_owner *owner)
{
    struct lbr_kv_source *source = owner->context;

    if (owner->guessing)
        return owner->context;
    if (lbr_kv_source_state(source, &source->target->kv,
                            params_of(pick)->precise.ttl) !=
        LBROUTE_KV_SOURCE_FRESH)
        return NULL;
    return &source->target->kv;
}

static double worth_of(const struct lbr_pick *pick,
                       const struct lbr_kv_owner *owner,
                       const struct lbr_chain *row)
{
    const double *worth = params_of(pick)->precise.worth;
    double sum = 0;
    unsigned medium;

    for (medium = 0; medium < LBR_KV_MEDIA; medium++)
        sum += owner->found[medium] * worth[medium];
    return sum / row->total;
}

static struct lbr_kv_index *index_of(const struct lbr_pick *pick)
{
    return &pick->router->kv.index;
}

static struct lbr_kv_owner *met(const struct lbr_pick *pick, uint32_t which)
{
    const struct lbr_kv_index *index = index_of(pick);

    return lbr_slab_at(&index->owners, index->met[which]);
}

static void match(const struct lbr_pick *pick, const struct lbr_chain *row)
{
    lbr_kv_index_match(index_of(pick), row->keys, row->count);
}

/* ---- the best ---- */

struct contest {
    double lowest; /* load */
    double worth;  /* of the best */
    uint32_t best;
    const struct lbr_kv_owner *owner; /* that speaks for it */
};

/* The member that an owner speaks for, if it may be chosen. */
static uint32_t contender(const struct lbr_pick *pick,
                          const struct contest *contest,
                          const struct lbr_kv_owner *owner)
{
    const struct lbr_kv_side *side = side_of(pick, owner);
    const struct lbr_target *target;

    if (!side)
        return LBR_BITS_NONE;
    target = LBR_OWNER(side, struct lbr_target, kv);
    if (target->by_pool.group != pick->group ||
        !lbr_bits_has(pick->mask, target->by_pool.position) ||
        !lbr_load_in_window(lbr_affinity_load(pick, target->by_pool.position),
                            contest->lowest))
        return LBR_BITS_NONE;
    return target->by_pool.position;
}

static void enter(const struct lbr_pick *pick, struct contest *contest,
                  const struct lbr_kv_owner *owner, double worth)
{
    uint32_t position = contender(pick, contest, owner);

    if (position == LBR_BITS_NONE ||
        (worth == contest->worth && contest->best != LBR_BITS_NONE &&
         !lbr_affinity_less_busy(pick, position, contest->best)))
        return;
    contest->best = position;
    contest->worth = worth;
    contest->owner = owner;
}

/* A guess may speak for a member whose own sources say nothing. */
static void hold(const struct lbr_pick *pick, const struct contest *contest,
                 uint32_t total, struct lbr_residence *residence)
{
    residence->state =
        lbr_kv_side_state(&lbr_pick_target(pick, contest->best)->kv,
                          params_of(pick)->precise.ttl);
    residence->known = 1;
    residence->worth = contest->worth;
    memcpy(residence->found, contest->owner->found, sizeof residence->found);
    residence->total = total;
}

/* Lets all enter whom the latest match met, from |first| on. */
static void enter_met(const struct lbr_pick *pick, const struct lbr_chain *row,
                      uint32_t first, struct contest *contest)
{
    uint32_t i;

    for (i = first; i < index_of(pick)->met_count; i++) {
        const struct lbr_kv_owner *owner = met(pick, i);
        double worth = worth_of(pick, owner, row);

        if (worth > 0 && worth >= contest->worth)
            enter(pick, contest, owner, worth);
    }
}

/* What is worth most of those whom it did not meet. */
static double most_unmet(const struct lbr_pick *pick,
                         const struct lbr_chain *row)
{
    const double *worth = params_of(pick)->precise.worth;
    double most = worth[0];
    unsigned medium;

    for (medium = 1; medium < LBR_KV_MEDIA; medium++)
        if (worth[medium] > most)
            most = worth[medium];
    return lbr_kv_index_unmet(index_of(pick)) * most / row->total;
}

/* Lets a target enter, which the latest match may not have met. Returns the
 * worth of what it holds. */
static double enter_target(const struct lbr_pick *pick,
                           const struct lbr_chain *row,
                           const struct lbr_kv_side *side,
                           struct contest *contest)
{
    const struct lbr_link *link = side->sources.next;
    uint32_t first = index_of(pick)->met_count;
    double most = 0;

    for (; link != &side->sources; link = link->next) {
        struct lbr_kv_owner *owner =
            LBR_OWNER(link, struct lbr_kv_source, siblings)->owner;

        if (owner && side_of(pick, owner) &&
            lbr_kv_index_meet(index_of(pick), owner))
            most = fmax(most, worth_of(pick, owner, row));
    }
    enter_met(pick, row, first, contest);
    return most;
}

/* Those who hold no more than many do. When the least busy target of all holds
 * as much as any of them, it is the one. */
static void enter_unmet(const struct lbr_pick *pick,
                        const struct lbr_chain *row, struct contest *contest)
{
    double most = most_unmet(pick, row);
    uint32_t first;

    /* But for rounding. */
    if (!(most > 0) || most * (1 + 1e-9) < contest->worth)
        return;
    if (!pick->filtered) {
        uint32_t position = lbr_load_order_first(&pick->group->order);

        if (enter_target(pick, row, &lbr_pick_target(pick, position)->kv,
                         contest) >= most)
            return;
    }
    first = index_of(pick)->met_count;
    lbr_kv_index_meet_all(index_of(pick));
    enter_met(pick, row, first, contest);
}

uint32_t lbr_resident_best(const struct lbr_pick *pick, double lowest,
                           double least, struct lbr_residence *residence)
{
    const struct lbr_chains *chains = &pick->ask->chains;
    struct contest contest = {lowest, least, LBR_BITS_NONE, NULL};
    unsigned row;

    for (row = 0; row < chains->count && has_source(pick); row++) {
        match(pick, &chains->rows[row]);
        enter_met(pick, &chains->rows[row], 0, &contest);
        enter_unmet(pick, &chains->rows[row], &contest);
        if (contest.owner && contest.owner->met_by == index_of(pick)->matches)
            hold(pick, &contest, chains->rows[row].total, residence);
    }
    return contest.best;
}

/* ---- all ---- */

static void note(const struct lbr_pick *pick, const struct lbr_kv_owner *owner,
                 const struct lbr_chain *row)
{
    struct lbr_kv_side *side = side_of(pick, owner);
    double worth = worth_of(pick, owner, row);

    if (!side || (side->looked_by == pick->look && side->worth >= worth))
        return;
    side->looked_by = pick->look;
    side->worth = worth;
    memcpy(side->found, owner->found, sizeof side->found);
    side->total = row->total;
}

void lbr_resident_spread(struct lbr_pick *pick)
{
    const struct lbr_chains *chains = &pick->ask->chains;
    unsigned row;
    uint32_t i;

    pick->look = ++pick->router->kv.looks;
    for (row = 0; row < chains->count && has_source(pick); row++) {
        match(pick, &chains->rows[row]);
        lbr_kv_index_meet_all(index_of(pick));
        for (i = 0; i < index_of(pick)->met_count; i++)
            note(pick, met(pick, i), &chains->rows[row]);
    }
}

static void note_side(const struct lbr_pick *pick, struct lbr_kv_side *side,
                      const struct lbr_chain *row)
{
    const struct lbr_link *link = side->sources.next;

    for (; link != &side->sources; link = link->next) {
        struct lbr_kv_owner *owner =
            LBR_OWNER(link, struct lbr_kv_source, siblings)->owner;

        if (owner && lbr_kv_index_meet(index_of(pick), owner))
            note(pick, owner, row);
    }
    if (side->speculation &&
        lbr_kv_index_meet(index_of(pick), side->speculation))
        note(pick, side->speculation, row);
}

void lbr_resident_look(struct lbr_pick *pick, struct lbr_target *target)
{
    const struct lbr_chains *chains = &pick->ask->chains;
    unsigned row;

    pick->look = ++pick->router->kv.looks;
    for (row = 0; row < chains->count && has_source(pick); row++) {
        match(pick, &chains->rows[row]);
        note_side(pick, &target->kv, &chains->rows[row]);
    }
}

/* Complete blocks of the prompt as a target's engine cuts it. */
static uint32_t total_for(const struct lbr_pick *pick,
                          const struct lbr_kv_side *side)
{
    const struct lbr_chains *chains = &pick->ask->chains;
    uint32_t size = 0;
    unsigned row = 0;

    if (!lbr_list_empty(&side->sources))
        size = LBR_OWNER(side->sources.next, struct lbr_kv_source, siblings)
                   ->block_size;
    while (row + 1 < chains->count && chains->rows[row].block_size != size)
        row++;
    return chains->count ? chains->rows[row].total : 0;
}

struct lbr_residence lbr_resident_of(const struct lbr_pick *pick,
                                     const struct lbr_target *target)
{
    const struct lbr_kv_side *side = &target->kv;
    struct lbr_residence residence = {0, 0, 0, {0}, 0};

    residence.state = lbr_kv_side_state(side, params_of(pick)->precise.ttl);
    if (pick->look && side->looked_by == pick->look) {
        residence.known = 1;
        residence.worth = side->worth;
        memcpy(residence.found, side->found, sizeof side->found);
        residence.total = side->total;
    } else if (residence.state == LBROUTE_KV_SOURCE_FRESH) {
        residence.total = total_for(pick, side);
        residence.known = pick->ask->chains.count > 0;
    }
    return residence;
}

double lbr_resident_worth(const struct lbr_pick *pick, uint32_t position)
{
    struct lbr_residence residence =
        lbr_resident_of(pick, lbr_pick_target(pick, position));

    return residence.known && residence.total ? residence.worth : (double)NAN;
}

void lbr_resident_note(const struct lbr_pick *pick, struct lbr_choice *choice)
{
    if (!pick->look)
        return;
    choice->looked = 1;
    choice->residence =
        lbr_resident_of(pick, lbr_pick_target(pick, choice->position));
}

void lbr_resident_guess(struct lbr_pick *pick, const struct lbr_choice *choice)
{
    uint64_t life = params_of(pick)->precise.speculation;
    struct lbr_kv_side *side = &lbr_pick_target(pick, choice->position)->kv;
    const struct lbr_chains *chains = &pick->ask->chains;
    unsigned row;

    for (row = 0; life && row < chains->count; row++)
        lbr_kv_guess(&pick->router->guesses, &pick->router->kv, side,
                     chains->rows[row].keys, chains->rows[row].count,
                     lbr_time_add(pick->now, life));
}
