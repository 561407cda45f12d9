/* SPDX-License-Identifier: MIT */
#include "state/group.h"

#include "containers/bits.h"
#include "state/pool.h"

#include <string.h>

static struct lbr_text owner_name(void *user, uint32_t owner)
{
    const struct lbr_target *target = lbr_slab_at(user, owner);

    return target->name;
}

struct lbr_member *lbr_group_member(const struct lbr_group *group,
                                    uint32_t position)
{
    struct lbr_target *target = group->members[position];

    return group->by_pool ? &target->by_pool : &target->by_model;
}

/* Handles of the trie's tables: this kind and the two above. */
enum { KIND_TRIE = 6 };

/* Takes no memory. */
static void init_trie(struct lbr_group *group, struct lbr_memory *memory)
{
    if (group->trie_kind == LBR_TRIE_BYTES)
        lbr_trie_init(group->trie, memory, 1, KIND_TRIE, group->secret);
    else if (group->trie_kind == LBR_TRIE_BLOCKS)
        lbr_trie_init(group->trie, memory, (uint32_t)LBR_BLOCK, KIND_TRIE,
                      group->secret);
    else
        lbr_shared_init(group->prefixes, memory, KIND_TRIE, group->secret);
}

static void clear_trie(struct lbr_group *group)
{
    if (group->trie_kind == LBR_TRIE_SHARED)
        lbr_shared_destroy(group->prefixes);
    else
        lbr_trie_destroy(group->trie);
}

static int start_trie(struct lbr_group *group, struct lbr_memory *memory)
{
    group->prefixes = lbr_memory_new(memory, 1, sizeof *group->prefixes);
    if (!group->prefixes)
        return 0;
    group->trie = &group->prefixes->trie;
    init_trie(group, memory);
    return 1;
}

static void free_trie(struct lbr_group *group, struct lbr_memory *memory)
{
    clear_trie(group);
    lbr_memory_free(memory, group->prefixes, 1, sizeof *group->prefixes);
    group->prefixes = NULL;
    group->trie = NULL;
}

static void purge(struct lbr_group *group, struct lbr_target *target)
{
    if (group->trie_kind == LBR_TRIE_SHARED)
        lbr_shared_purge(group->prefixes, &target->prefixes);
    else
        lbr_trie_purge(group->trie, &target->prefixes.owner);
}

static void purge_all(struct lbr_group *group)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        purge(group, group->members[i]);
}

static void stop_trie(struct lbr_group *group, struct lbr_memory *memory)
{
    purge_all(group);
    free_trie(group, memory);
}

void lbr_group_set_trie_kind(struct lbr_group *group, struct lbr_memory *memory,
                             enum lbr_trie_kind kind)
{
    if (group->trie_kind == kind)
        return;
    if (group->trie) {
        purge_all(group);
        clear_trie(group);
    }
    group->trie_kind = kind;
    if (group->trie)
        init_trie(group, memory);
}

struct lbr_comparison lbr_group_comparison(const struct lbr_group *group)
{
    const struct lbr_params *params = &group->members[0]->pool->params;
    struct lbr_comparison comparison = {(uint8_t)group->trie_kind, 0, 0};

    if (group->trie_kind != LBR_TRIE_BYTES) {
        comparison.block_bytes = params->blocks.bytes;
        comparison.block_tokens = params->blocks.tokens;
    }
    return comparison;
}

int lbr_group_compares(const struct lbr_group *group,
                       const struct lbr_comparison *comparison)
{
    struct lbr_comparison own;

    if (!group || !group->trie)
        return 0;
    own = lbr_group_comparison(group);
    return lbr_comparison_same(&own, comparison);
}

struct lbr_group *lbr_group_create(struct lbr_memory *memory,
                                   const struct lbr_slab *targets,
                                   struct lbr_text tier, unsigned uses,
                                   int by_pool, uint64_t secret)
{
    struct lbr_group *group = lbr_memory_new(memory, 1, sizeof *group);

    if (!group)
        return NULL;
    if (!lbr_text_copy(memory, tier, &group->tier)) {
        lbr_memory_free(memory, group, 1, sizeof *group);
        return NULL;
    }
    group->uses = uses;
    group->by_pool = by_pool;
    group->secret = secret;
    group->stale = 1;
    lbr_ring_init(&group->ring, memory, 32, owner_name, (void *)targets);
    group->spare_ring = group->ring;
    if (uses & LBR_USES_TRIE && !start_trie(group, memory)) {
        lbr_group_destroy(group, memory);
        return NULL;
    }
    return group;
}

void lbr_group_destroy(struct lbr_group *group, struct lbr_memory *memory)
{
    size_t words = lbr_bits_words(group->capacity);

    if (group->trie)
        stop_trie(group, memory);
    lbr_memory_free(memory, group->members, group->capacity,
                    sizeof *group->members);
    lbr_memory_free(memory, group->usable, words, sizeof *group->usable);
    lbr_memory_free(memory, group->mask, words, sizeof *group->mask);
    lbr_load_order_destroy(&group->order, memory);
    lbr_schedule_destroy(&group->schedule, memory);
    lbr_forecast_destroy(&group->forecast, memory);
    lbr_ring_destroy(&group->ring);
    lbr_text_free(memory, group->tier);
    lbr_memory_free(memory, group, 1, sizeof *group);
}

static int grow_members(struct lbr_group *group, struct lbr_memory *memory)
{
    uint32_t capacity = group->capacity ? group->capacity * 2 : 8;
    size_t words = lbr_bits_words(capacity);
    size_t old_words = lbr_bits_words(group->capacity);
    struct lbr_target **members =
        lbr_memory_new(memory, capacity, sizeof *members);
    uint64_t *usable = lbr_memory_new(memory, words, sizeof *usable);
    uint64_t *mask = lbr_memory_new(memory, words, sizeof *mask);

    if (!members || !usable || !mask) {
        lbr_memory_free(memory, members, capacity, sizeof *members);
        lbr_memory_free(memory, usable, words, sizeof *usable);
        lbr_memory_free(memory, mask, words, sizeof *mask);
        return 0;
    }
    if (group->count) {
        memcpy(members, group->members, group->count * sizeof *members);
        memcpy(usable, group->usable, old_words * sizeof *usable);
    }
    lbr_memory_free(memory, group->members, group->capacity,
                    sizeof *group->members);
    lbr_memory_free(memory, group->usable, old_words, sizeof *group->usable);
    lbr_memory_free(memory, group->mask, old_words, sizeof *group->mask);
    group->members = members;
    group->usable = usable;
    group->mask = mask;
    group->capacity = capacity;
    return 1;
}

/* Makes room for |count| members in whatever |uses| keeps. */
static int reserve(struct lbr_group *group, struct lbr_memory *memory,
                   uint32_t count, unsigned uses)
{
    if (count > group->capacity && !grow_members(group, memory))
        return 0;
    if (uses & LBR_USES_ORDER &&
        !lbr_load_order_reserve(&group->order, memory, count))
        return 0;
    if (uses & LBR_USES_FORECAST &&
        !lbr_forecast_reserve(&group->forecast, memory, count))
        return 0;
    return !(uses & LBR_USES_SCHEDULE) ||
           lbr_schedule_reserve(&group->schedule, memory, count);
}

static uint32_t points_for(int weighted, double weight)
{
    return weighted ? lbr_ring_points_for(weight) : LBR_RING_POINTS;
}

static uint32_t owner_of(const struct lbr_target *target)
{
    return lbr_slab_index(target->slot.handle);
}

/* Gives the member at |position| its turn behind the one before it in the
 * list. */
static void add_to_rotation(struct lbr_group *group, uint32_t position)
{
    struct lbr_rotation_place *place =
        &lbr_group_member(group, position)->place;
    const struct lbr_rotation_place *front = NULL;
    uint32_t i;

    for (i = 0; i < position; i++) {
        const struct lbr_rotation_place *each =
            &lbr_group_member(group, i)->place;

        if (!front || lbr_rotation_before(each, front))
            front = each;
    }
    lbr_rotation_add(
        &group->rotation, place,
        position ? &lbr_group_member(group, position - 1)->place : NULL, front);
}

/* What one round of the weights as they are configured amounts to. */
static struct lbr_wide round_of(const struct lbr_group *group)
{
    struct lbr_wide total = {0, 0};
    uint32_t i;

    for (i = 0; i < group->count; i++)
        total =
            lbr_wide_add(total, lbr_schedule_weight(group->members[i]->weight));
    return total;
}

static void clamp_turns(struct lbr_group *group, struct lbr_wide bound)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        lbr_schedule_clamp(&group->schedule, &lbr_group_member(group, i)->turn,
                           bound);
}

void lbr_group_clamp_turns(struct lbr_group *group)
{
    if (group->uses & LBR_USES_SCHEDULE)
        clamp_turns(group, round_of(group));
}

static struct lbr_wide sum_of(const struct lbr_group *group, uint32_t position)
{
    return lbr_schedule_sum(&group->schedule,
                            &lbr_group_member(group, position)->turn);
}

/* Whether the |sum| of all turns is at most |most| away from 0. */
static int is_even(struct lbr_wide sum, struct lbr_wide most)
{
    return !lbr_wide_less(most, sum) &&
           !lbr_wide_less(lbr_wide_add(sum, most), (struct lbr_wide){0, 0});
}

/* Serving leaves the sum of all as it is, so that as long as it is at most a
 * round each, on average, nobody is ever further off than another round. */
void lbr_group_accept_turns(struct lbr_group *group)
{
    struct lbr_wide nothing = {0, 0};
    struct lbr_wide round = round_of(group);
    struct lbr_wide sum = nothing;
    struct lbr_wide most = nothing;
    uint32_t i;

    if (!(group->uses & LBR_USES_SCHEDULE))
        return;
    clamp_turns(group, lbr_wide_add(round, round));
    for (i = 0; i < group->count; i++) {
        sum = lbr_wide_add(sum, sum_of(group, i));
        most = lbr_wide_add(most, round);
    }
    for (i = 0; i < group->count && !is_even(sum, most); i++) {
        sum = lbr_wide_sub(sum, sum_of(group, i));
        lbr_schedule_set_sum(&group->schedule,
                             &lbr_group_member(group, i)->turn, nothing);
    }
}

int lbr_group_admit(struct lbr_group *group, struct lbr_memory *memory,
                    const struct lbr_target *target)
{
    return reserve(group, memory, group->count + 1, group->uses) &&
           (!(group->uses & LBR_USES_RING) ||
            lbr_ring_add(&group->ring, owner_of(target),
                         points_for(group->weighted_points, target->weight)));
}

void lbr_group_dismiss(struct lbr_group *group, const struct lbr_target *target)
{
    if (group->uses & LBR_USES_RING)
        lbr_ring_remove(&group->ring, owner_of(target),
                        points_for(group->weighted_points, target->weight));
}

void lbr_group_join(struct lbr_group *group, struct lbr_rng *rng,
                    struct lbr_target *target)
{
    struct lbr_member *member =
        group->by_pool ? &target->by_pool : &target->by_model;

    member->ring_points = 0;
    if (group->uses & LBR_USES_RING)
        member->ring_points =
            points_for(group->weighted_points, target->weight);
    if (group->uses & LBR_USES_ORDER)
        lbr_load_order_append(&group->order, rng);
    if (group->uses & LBR_USES_SCHEDULE)
        lbr_schedule_add(&group->schedule, &member->turn, target->arrival,
                         target->weight_now);
    lbr_bits_clear(group->usable, group->count);
    group->members[group->count] = target;
    member->position = group->count++;
    member->group = group;
    group->stale = 1;
    if (group->uses & LBR_USES_ROTATION)
        add_to_rotation(group, member->position);
    if (group->by_pool) /* how it compared with others says nothing of these */
        lbr_pace_member_init(&target->latency.pace);
    if (group->uses & LBR_USES_FORECAST) {
        lbr_forecast_append(&group->forecast);
        lbr_latency_publish(target);
    }
}

void lbr_group_leave(struct lbr_group *group, struct lbr_target *target)
{
    struct lbr_member *member =
        group->by_pool ? &target->by_pool : &target->by_model;
    uint32_t position = member->position;
    uint32_t i;

    group->usable_count -= (uint32_t)lbr_bits_has(group->usable, position);
    if (group->uses & LBR_USES_RING)
        lbr_ring_remove(&group->ring, owner_of(target), member->ring_points);
    if (group->uses & LBR_USES_ORDER)
        lbr_load_order_delete(&group->order, position);
    if (group->uses & LBR_USES_FORECAST)
        lbr_forecast_delete(&group->forecast, position);
    if (group->uses & LBR_USES_SCHEDULE)
        lbr_schedule_remove(&group->schedule, &member->turn);
    if (group->uses & LBR_USES_ROTATION)
        lbr_rotation_remove(&group->rotation, &member->place);
    if (group->trie)
        purge(group, target);
    lbr_bits_delete(group->usable, group->count, position);
    for (i = position + 1; i < group->count; i++) {
        lbr_group_member(group, i)->position = i - 1;
        group->members[i - 1] = group->members[i];
    }
    group->count--;
    group->stale = 1;
    lbr_group_wake(group);
    member->group = NULL;
    lbr_group_clamp_turns(group);
}

static void reset_ring(const struct lbr_group *group, struct lbr_ring *ring)
{
    lbr_ring_init(ring, group->ring.memory, group->ring.hash_bits,
                  group->ring.name_of, group->ring.user);
}

void lbr_group_drop_spare(struct lbr_group *group)
{
    lbr_ring_destroy(&group->spare_ring);
    reset_ring(group, &group->spare_ring);
}

int lbr_group_prepare_ring(struct lbr_group *group, int weighted)
{
    uint32_t i;

    if (!(group->uses & LBR_USES_RING) || group->weighted_points == weighted)
        return 1;
    for (i = 0; i < group->count; i++) {
        const struct lbr_target *target = group->members[i];

        if (!lbr_ring_add(&group->spare_ring, owner_of(target),
                          points_for(weighted, target->weight))) {
            lbr_group_drop_spare(group);
            return 0;
        }
    }
    return 1;
}

void lbr_group_adopt_ring(struct lbr_group *group, int weighted)
{
    uint32_t i;

    if (group->uses & LBR_USES_RING && group->weighted_points != weighted) {
        lbr_ring_destroy(&group->ring);
        group->ring = group->spare_ring;
        reset_ring(group, &group->spare_ring);
        for (i = 0; i < group->count; i++)
            lbr_group_member(group, i)->ring_points =
                points_for(weighted, group->members[i]->weight);
    }
    group->weighted_points = weighted;
}

/* The new points are the first of the old ones and some more, or the reverse:
 * only the difference moves. */
int lbr_group_place(struct lbr_group *group, struct lbr_member *member,
                    double weight)
{
    uint32_t owner = owner_of(group->members[member->position]);
    uint32_t points = points_for(group->weighted_points, weight);

    if (!(group->uses & LBR_USES_RING))
        return 1;
    if (!lbr_ring_resize(&group->ring, owner, member->ring_points, points))
        return 0;
    member->ring_points = points;
    return 1;
}

static int start_ring(struct lbr_group *group)
{
    uint32_t i;

    for (i = 0; i < group->count; i++) {
        struct lbr_target *target = group->members[i];
        uint32_t points = points_for(group->weighted_points, target->weight);

        if (!lbr_ring_add(&group->ring, owner_of(target), points)) {
            lbr_ring_destroy(&group->ring);
            reset_ring(group, &group->ring);
            return 0;
        }
        lbr_group_member(group, i)->ring_points = points;
    }
    return 1;
}

static void start_order(struct lbr_group *group, struct lbr_rng *rng)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        lbr_load_order_append(&group->order, rng);
}

static void start_schedule(struct lbr_group *group)
{
    uint32_t i;

    for (i = 0; i < group->count; i++) {
        struct lbr_turn *turn = &lbr_group_member(group, i)->turn;

        lbr_schedule_add(&group->schedule, turn, group->members[i]->arrival,
                         group->members[i]->weight_now);
        lbr_schedule_set_active(&group->schedule, turn,
                                lbr_bits_has(group->usable, i));
    }
}

static void start_rotation(struct lbr_group *group)
{
    uint32_t i;

    memset(&group->rotation, 0, sizeof group->rotation);
    for (i = 0; i < group->count; i++) {
        struct lbr_rotation_place *place = &lbr_group_member(group, i)->place;

        add_to_rotation(group, i);
        lbr_rotation_set_active(&group->rotation, place,
                                lbr_bits_has(group->usable, i));
    }
}

static void start_forecast(struct lbr_group *group)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        lbr_forecast_append(&group->forecast);
}

/* What members have learned, to a forecast that is new or shows more. */
static void publish_all(const struct lbr_group *group)
{
    uint32_t i;

    for (i = 0; i < group->count; i++)
        lbr_latency_publish(group->members[i]);
}

int lbr_group_extend(struct lbr_group *group, struct lbr_memory *memory,
                     struct lbr_rng *rng, unsigned uses)
{
    unsigned added = uses & ~group->uses;

    if (!reserve(group, memory, group->count, added))
        return 0;
    if (added & LBR_USES_TRIE && !start_trie(group, memory))
        return 0;
    if (added & LBR_USES_RING && !start_ring(group)) {
        if (added & LBR_USES_TRIE)
            free_trie(group, memory);
        return 0;
    }
    if (added & LBR_USES_ORDER)
        start_order(group, rng);
    if (added & LBR_USES_SCHEDULE)
        start_schedule(group);
    if (added & LBR_USES_ROTATION)
        start_rotation(group);
    if (added & LBR_USES_FORECAST)
        start_forecast(group);
    group->uses |= added;
    if (added & (LBR_USES_FORECAST | LBR_USES_PACE))
        publish_all(group);
    group->stale = 1;
    return 1;
}

void lbr_group_keep_only(struct lbr_group *group, struct lbr_memory *memory,
                         unsigned uses)
{
    unsigned dropped = group->uses & ~uses;

    if (dropped & LBR_USES_RING) {
        lbr_ring_destroy(&group->ring);
        reset_ring(group, &group->ring);
    }
    if (dropped & LBR_USES_ORDER) {
        lbr_load_order_destroy(&group->order, memory);
        memset(&group->order, 0, sizeof group->order);
    }
    if (dropped & LBR_USES_SCHEDULE) {
        lbr_schedule_destroy(&group->schedule, memory);
        memset(&group->schedule, 0, sizeof group->schedule);
    }
    if (dropped & LBR_USES_FORECAST) {
        lbr_forecast_destroy(&group->forecast, memory);
        memset(&group->forecast, 0, sizeof group->forecast);
    }
    if (dropped & LBR_USES_TRIE)
        stop_trie(group, memory);
    group->uses = uses;
}

/* A group's tables start at 8 places and double, the old ones living until the
 * new are filled: 1.5 times twice the members, or 12 places. There are at most
 * two groups for each target, one of them with a ring. */
size_t lbr_groups_estimate(size_t targets)
{
    size_t groups = 2 * targets;
    size_t places = 12 * groups + 6 * targets;
    size_t per_place = sizeof(struct lbr_target *) + sizeof(uint64_t) +
                       sizeof(struct lbr_weight_class) + sizeof(uint32_t) +
                       lbr_load_order_estimate() + lbr_forecast_estimate();

    return groups * (sizeof(struct lbr_group) + LBR_TEXT_LONGEST +
                     4 * sizeof(uint64_t)) +
           places * per_place + targets * lbr_ring_estimate(1) +
           2 * lbr_ring_estimate(targets * LBR_RING_POINTS);
}
