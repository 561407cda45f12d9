/* SPDX-License-Identifier: MIT */
/* What is known of each target alone. */
#include "state/snapshot.h"

/* The target to be restored to, if nothing was sent to it yet; NULL: none, or
 * not in this stage. */
static struct lbr_target *target_to_set(const struct lbr_loading *loading,
                                        uint32_t number)
{
    struct lbr_restored restored = lbr_load_target(loading, number);

    return loading->stage == LBR_LOAD_SET && restored.fresh ? restored.target
                                                            : NULL;
}

/* ---- health ---- */

void lbr_save_health(struct lbr_saving *saving)
{
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_HEALTH);
    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];

        lbr_health_save(&target->health, saving->writer);
        lbr_put_rest(saving->writer, target->closed_until);
        lbr_put_age(saving->writer, target->ramp_since);
    }
    lbr_section_end(saving);
}

/* What the host has said of its health by now holds. */
static void set_health(struct lbr_target *target,
                       const struct lbr_health *health)
{
    uint32_t epoch = target->health.epoch;

    if (!lbr_health_is_spotless(&target->health))
        return;
    target->health = *health;
    target->health.epoch = epoch;
}

void lbr_load_health(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t i;

    for (i = 0; i < loading->target_count && !reader->broken; i++) {
        struct lbr_target *target = target_to_set(loading, i);
        struct lbr_health health;
        uint64_t closed_until;
        uint64_t ramp_since;

        lbr_health_load(&health, reader);
        closed_until = lbr_get_rest(reader);
        ramp_since = lbr_get_age(reader);
        if (!target)
            continue;
        set_health(target, &health);
        target->closed_until = closed_until;
        target->ramp_since = ramp_since;
    }
}

/* ---- turns ---- */

/* Which turns a target has. */
enum {
    TURN_IN_POOL = 1,
    TURN_IN_MODEL = 2,
    PLACE_IN_POOL = 4,
    PLACE_IN_MODEL = 8,
    SERVED_LAST = 16, /* in the pool */
    ALL_TURNS = 31
};

static int keeps(const struct lbr_member *member, unsigned uses)
{
    return member->group && member->group->uses & uses;
}

static unsigned turns_of(const struct lbr_target *target)
{
    const struct lbr_member *pool = &target->by_pool;
    const struct lbr_member *model = &target->by_model;
    unsigned turns = 0;

    turns |= keeps(pool, LBR_USES_SCHEDULE) ? TURN_IN_POOL : 0;
    turns |= keeps(model, LBR_USES_SCHEDULE) ? TURN_IN_MODEL : 0;
    turns |= keeps(pool, LBR_USES_ROTATION) ? PLACE_IN_POOL : 0;
    turns |= keeps(model, LBR_USES_ROTATION) ? PLACE_IN_MODEL : 0;
    if (turns & PLACE_IN_POOL && pool->group->rotation.last == &pool->place)
        turns |= SERVED_LAST;
    return turns;
}

static void put_sum(struct lbr_saving *saving, const struct lbr_member *member)
{
    lbr_wide_save(lbr_schedule_sum(&member->group->schedule, &member->turn),
                  saving->writer);
}

static void put_lead(struct lbr_saving *saving, const struct lbr_member *member)
{
    lbr_wide_save(lbr_rotation_lead(&member->group->rotation, &member->place),
                  saving->writer);
}

void lbr_save_turns(struct lbr_saving *saving)
{
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_TURNS);
    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];
        unsigned turns = turns_of(target);

        lbr_put_u8(saving->writer, (uint8_t)turns);
        if (turns & TURN_IN_POOL)
            put_sum(saving, &target->by_pool);
        if (turns & TURN_IN_MODEL)
            put_sum(saving, &target->by_model);
        if (turns & PLACE_IN_POOL)
            put_lead(saving, &target->by_pool);
        if (turns & PLACE_IN_MODEL)
            put_lead(saving, &target->by_model);
    }
    lbr_section_end(saving);
}

static void load_sum(struct lbr_member *member, struct lbr_reader *reader)
{
    struct lbr_wide sum = lbr_wide_load(reader);

    if (member && keeps(member, LBR_USES_SCHEDULE))
        lbr_schedule_set_sum(&member->group->schedule, &member->turn, sum);
}

static void load_lead(struct lbr_member *member, struct lbr_reader *reader)
{
    struct lbr_wide lead = lbr_wide_load(reader);

    if (member && keeps(member, LBR_USES_ROTATION))
        lbr_rotation_set_lead(&member->group->rotation, &member->place, lead);
}

static void load_turns(struct lbr_target *target, struct lbr_reader *reader)
{
    unsigned turns = lbr_get_u8(reader);

    lbr_demand(reader, turns <= ALL_TURNS);
    if (turns & TURN_IN_POOL)
        load_sum(target ? &target->by_pool : NULL, reader);
    if (turns & TURN_IN_MODEL)
        load_sum(target ? &target->by_model : NULL, reader);
    if (turns & PLACE_IN_POOL)
        load_lead(target ? &target->by_pool : NULL, reader);
    if (turns & PLACE_IN_MODEL)
        load_lead(target ? &target->by_model : NULL, reader);
    if (target && turns & SERVED_LAST &&
        keeps(&target->by_pool, LBR_USES_ROTATION) &&
        !target->by_pool.group->rotation.served)
        target->by_pool.group->rotation.last = &target->by_pool.place;
}

static void accept(struct lbr_group *groups)
{
    for (; groups; groups = groups->next)
        lbr_group_accept_turns(groups);
}

/* Other weights or other members than there were make other bounds. */
static void accept_all(struct lbroute_router *router)
{
    struct lbr_model *model = NULL;
    struct lbr_pool *pool = NULL;

    while ((pool = lbr_slab_next(&router->pools,
                                 pool ? pool->slot.handle : 0)) != NULL)
        accept(pool->groups);
    while ((model = lbr_slab_next(&router->models,
                                  model ? model->slot.handle : 0)) != NULL)
        accept(model->groups);
}

void lbr_load_turns(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t i;

    for (i = 0; i < loading->target_count && !reader->broken; i++)
        load_turns(target_to_set(loading, i), reader);
    if (loading->stage == LBR_LOAD_SET)
        accept_all(loading->router);
}

/* ---- shares of the traffic ---- */

void lbr_save_shares(struct lbr_saving *saving)
{
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_SHARES);
    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];
        uint64_t length = target->pool->params.share_bucket;
        uint64_t bucket = saving->writer->now / length;
        int sent = lbr_share_sum(&target->shares, bucket) != 0;

        lbr_put_count(saving->writer, sent ? length : 0);
        if (sent)
            lbr_share_save(&target->shares, bucket, saving->writer);
    }
    lbr_section_end(saving);
}

void lbr_load_shares(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t i;

    for (i = 0; i < loading->target_count && !reader->broken; i++) {
        struct lbr_target *target = target_to_set(loading, i);
        uint64_t length = lbr_get_count(reader, UINT64_MAX);
        struct lbr_share_log log;

        if (!length)
            continue;
        lbr_share_load(&log, reader->now / length, reader->elapsed / length,
                       reader);
        if (target && length == target->pool->params.share_bucket)
            target->shares = log;
    }
}

/* ---- adapters ---- */

void lbr_save_adapters(struct lbr_saving *saving)
{
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_ADAPTERS);
    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];

        lbr_adapters_save(&target->adapters, saving->writer);
    }
    lbr_section_end(saving);
}

static void load_adapters(const struct lbr_loading *loading,
                          struct lbr_target *target, struct lbr_reader *reader)
{
    int empty = target && lbr_adapters_unknown(&target->adapters);
    int set = empty && loading->stage == LBR_LOAD_SET;
    uint32_t count = lbr_adapters_load(set ? &target->adapters : NULL, reader);

    if (empty && !set && count)
        (void)lbr_adapters_reserve(&target->adapters, &loading->router->memory,
                                   count);
}

void lbr_load_adapters(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t i;

    for (i = 0; i < loading->target_count && !reader->broken; i++)
        load_adapters(loading, lbr_load_target(loading, i).target, reader);
}

/* ---- latency ---- */

/* More input than any request has, in kilotokens. */
#define MOST_INPUT 1e9

/* Whether a group has learned how long work takes. */
static int times_are_told(const struct lbr_work_times *times)
{
    return times->plane[LBR_PACE_FIRST].samples ||
           times->plane[LBR_PACE_EACH].samples ||
           times->pace.output.samples > 0 || times->pace.gone.samples > 0;
}

static int has_learned(const struct lbr_target *target)
{
    const struct lbr_ewma *average = target->latency.average;
    const struct lbr_group *group = target->by_pool.group;

    return average[LBR_FIRST_TOKEN].samples || average[LBR_TOTAL].samples ||
           (group && times_are_told(&group->latency_mean.times));
}

static void put_times(struct lbr_writer *writer,
                      const struct lbr_work_times *times)
{
    int told = times_are_told(times);
    int kind;

    lbr_put_u8(writer, (uint8_t)told);
    for (kind = 0; told && kind < LBR_PACE_KINDS; kind++)
        lbr_least_squares_save(&times->plane[kind], writer);
    if (told)
        lbr_pace_save(&times->pace, writer);
}

static void get_times(struct lbr_reader *reader, struct lbr_work_times *times)
{
    uint8_t told = lbr_get_u8(reader);
    int kind;

    lbr_demand(reader, told <= 1);
    for (kind = 0; told && kind < LBR_PACE_KINDS; kind++)
        lbr_least_squares_load(&times->plane[kind], reader);
    if (told)
        lbr_pace_load(&times->pace, reader);
}

/* What its group has in common stands with every target, so that it is not
 * lost with one. */
static void put_mean(struct lbr_writer *writer,
                     const struct lbr_latency_mean *mean)
{
    int kind;

    lbr_put_times(writer, mean->samples);
    lbr_put_real(writer, mean->input);
    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++) {
        int known =
            mean->plane_known[kind] && lbr_plane_is_sound(&mean->plane[kind]);

        lbr_put_u8(writer, (uint8_t)known);
        if (known)
            lbr_plane_save(&mean->plane[kind], writer);
    }
    put_times(writer, &mean->times);
}

static void get_mean(struct lbr_reader *reader, struct lbr_latency_mean *mean)
{
    int kind;

    memset(mean, 0, sizeof *mean);
    mean->samples = lbr_get_times(reader);
    mean->input = lbr_get_real_in(reader, 0, MOST_INPUT);
    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++) {
        mean->plane_known[kind] = lbr_get_u8(reader);
        lbr_demand(reader, mean->plane_known[kind] <= 1);
        if (mean->plane_known[kind])
            lbr_plane_load(&mean->plane[kind], reader);
    }
    get_times(reader, &mean->times);
}

static void put_latency(struct lbr_writer *writer,
                        const struct lbr_target *target)
{
    static const struct lbr_latency_mean nothing = {0};
    const struct lbr_latency *latency = &target->latency;
    const struct lbr_group *group = target->by_pool.group;
    int kind;

    put_mean(writer, group ? &group->latency_mean : &nothing);
    lbr_pace_member_save(&latency->pace, writer);
    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++) {
        lbr_ewma_save(&latency->average[kind], writer);
        lbr_least_squares_save(&latency->model[kind], writer);
    }
}

void lbr_save_latency(struct lbr_saving *saving)
{
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_LATENCY);
    for (i = 0; i < saving->target_count; i++) {
        const struct lbr_target *target = saving->targets[i];
        int learned = has_learned(target);

        lbr_put_u8(saving->writer, (uint8_t)learned);
        if (learned)
            put_latency(saving->writer, target);
    }
    lbr_section_end(saving);
}

static void set_mean(struct lbr_target *target,
                     const struct lbr_latency_mean *mean)
{
    struct lbr_group *group = target->by_pool.group;

    if (group && !group->latency_mean.samples &&
        !group->latency_mean.plane_known[LBR_FIRST_TOKEN] &&
        !group->latency_mean.plane_known[LBR_TOTAL] &&
        !times_are_told(&group->latency_mean.times))
        group->latency_mean = *mean;
}

/* Whether how a target compares is relative to the times that its group has: no
 * two groups learn the same. */
static int are_its_times(const struct lbr_target *target,
                         const struct lbr_latency_mean *mean)
{
    const struct lbr_group *group = target->by_pool.group;
    int same = group != NULL;
    int kind;

    for (kind = 0; same && kind < LBR_PACE_KINDS; kind++) {
        const struct lbr_least_squares *own =
            &group->latency_mean.times.plane[kind];
        const struct lbr_least_squares *saved = &mean->times.plane[kind];

        same = own->samples == saved->samples && own->level == saved->level;
    }
    return same;
}

static void load_latency(struct lbr_target *target, struct lbr_reader *reader)
{
    struct lbr_ewma average[LBR_LATENCY_KINDS];
    struct lbr_least_squares model[LBR_LATENCY_KINDS];
    struct lbr_latency_mean mean;
    struct lbr_pace_member pace;
    int kind;

    get_mean(reader, &mean);
    lbr_pace_member_load(&pace, reader);
    for (kind = 0; kind < LBR_LATENCY_KINDS; kind++) {
        lbr_ewma_load(&average[kind], reader);
        lbr_least_squares_load(&model[kind], reader);
    }
    if (!target)
        return;
    set_mean(target, &mean);
    memcpy(target->latency.average, average, sizeof average);
    memcpy(target->latency.model, model, sizeof model);
    if (are_its_times(target, &mean))
        target->latency.pace = pace;
    lbr_latency_publish(target);
}

void lbr_load_latency(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t i;

    for (i = 0; i < loading->target_count && !reader->broken; i++) {
        uint8_t learned = lbr_get_u8(reader);

        lbr_demand(reader, learned <= 1);
        if (learned)
            load_latency(target_to_set(loading, i), reader);
    }
}
