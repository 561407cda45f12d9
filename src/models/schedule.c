/* SPDX-License-Identifier: MIT */
#include "models/schedule.h"

#include "containers/list.h"

#include <math.h>
#include <string.h>

/* One weight of 1 is 10^9 * 2^46 units. */
#define DECIMALS 1000000000U
#define FRACTION_BITS 46

struct lbr_wide lbr_schedule_weight(double weight)
{
    double decimals = floor(weight * DECIMALS + 0.5);
    int exponent;
    double mantissa;

    if (decimals / DECIMALS == weight)
        return lbr_wide_scaled((uint64_t)decimals, 1U << 23,
                               FRACTION_BITS - 23);
    mantissa = frexp(weight, &exponent);
    return lbr_wide_scaled((uint64_t)ldexp(mantissa, 53), DECIMALS,
                           exponent - 53 + FRACTION_BITS);
}

double lbr_schedule_score(struct lbr_wide sum)
{
    return ldexp(lbr_wide_to_double(sum) / DECIMALS, -FRACTION_BITS);
}

int lbr_schedule_reserve(struct lbr_schedule *schedule,
                         struct lbr_memory *memory, uint32_t turns)
{
    uint32_t capacity = schedule->capacity ? schedule->capacity : 8;
    struct lbr_schedule grown = *schedule;

    if (turns <= schedule->capacity)
        return 1;
    while (capacity < turns)
        capacity *= 2;
    grown.capacity = capacity;
    grown.classes = lbr_memory_new(memory, capacity, sizeof *grown.classes);
    grown.live = lbr_memory_new(memory, capacity, sizeof *grown.live);
    if (!grown.classes || !grown.live) {
        lbr_schedule_destroy(&grown, memory);
        return 0;
    }
    if (schedule->used) {
        memcpy(grown.classes, schedule->classes,
               schedule->used * sizeof *grown.classes);
        memcpy(grown.live, schedule->live,
               schedule->live_count * sizeof *grown.live);
    }
    lbr_schedule_destroy(schedule, memory);
    *schedule = grown;
    return 1;
}

void lbr_schedule_destroy(struct lbr_schedule *schedule,
                          struct lbr_memory *memory)
{
    lbr_memory_free(memory, schedule->classes, schedule->capacity,
                    sizeof *schedule->classes);
    lbr_memory_free(memory, schedule->live, schedule->capacity,
                    sizeof *schedule->live);
}

static struct lbr_weight_class *class_of(const struct lbr_schedule *schedule,
                                         const struct lbr_turn *turn)
{
    return &schedule->classes[turn->class_index];
}

/* The class of a weight, made if there is none. There is always room: no more
 * classes than turns. */
static uint32_t enter_class(struct lbr_schedule *schedule,
                            struct lbr_wide weight)
{
    struct lbr_weight_class *fresh;
    uint32_t index;
    uint32_t i;

    for (i = 0; i < schedule->live_count; i++) {
        index = schedule->live[i];
        if (lbr_wide_equal(schedule->classes[index].weight, weight)) {
            schedule->classes[index].turns++;
            return index;
        }
    }
    index = schedule->free_head ? schedule->free_head - 1 : schedule->used++;
    fresh = &schedule->classes[index];
    schedule->free_head = schedule->free_head ? fresh->next_free : 0;
    memset(fresh, 0, sizeof *fresh);
    fresh->weight = weight;
    fresh->turns = 1;
    schedule->live[schedule->live_count++] = index;
    return index;
}

static void leave_class(struct lbr_schedule *schedule, uint32_t index)
{
    struct lbr_weight_class *left = &schedule->classes[index];
    uint32_t i = 0;

    if (--left->turns)
        return;
    while (schedule->live[i] != index)
        i++;
    schedule->live[i] = schedule->live[--schedule->live_count];
    left->next_free = schedule->free_head;
    schedule->free_head = index + 1;
}

void lbr_schedule_add(struct lbr_schedule *schedule, struct lbr_turn *turn,
                      uint64_t order, double weight)
{
    memset(turn, 0, sizeof *turn);
    turn->node.order = order;
    turn->class_index = enter_class(schedule, lbr_schedule_weight(weight));
}

void lbr_schedule_remove(struct lbr_schedule *schedule, struct lbr_turn *turn)
{
    lbr_schedule_set_active(schedule, turn, 0);
    leave_class(schedule, turn->class_index);
}

void lbr_schedule_set_active(struct lbr_schedule *schedule,
                             struct lbr_turn *turn, int active)
{
    struct lbr_weight_class *own = class_of(schedule, turn);

    if (active == turn->active)
        return;
    turn->active = active;
    if (active) {
        turn->node.value = lbr_wide_sub(turn->node.value, own->gained);
        lbr_heap_insert(&own->top, &turn->node);
        schedule->total = lbr_wide_add(schedule->total, own->weight);
    } else {
        lbr_heap_remove(&own->top, &turn->node);
        turn->node.value = lbr_wide_add(turn->node.value, own->gained);
        schedule->total = lbr_wide_sub(schedule->total, own->weight);
    }
}

void lbr_schedule_reweigh(struct lbr_schedule *schedule, struct lbr_turn *turn,
                          double weight)
{
    struct lbr_wide wanted = lbr_schedule_weight(weight);
    int active = turn->active;

    if (lbr_wide_equal(class_of(schedule, turn)->weight, wanted))
        return;
    lbr_schedule_set_active(schedule, turn, 0);
    leave_class(schedule, turn->class_index);
    turn->class_index = enter_class(schedule, wanted);
    lbr_schedule_set_active(schedule, turn, active);
}

struct lbr_turn *lbr_schedule_peek(const struct lbr_schedule *schedule,
                                   struct lbr_wide *score)
{
    struct lbr_heap_node *best = NULL;
    uint32_t i;

    for (i = 0; i < schedule->live_count; i++) {
        struct lbr_weight_class *each = &schedule->classes[schedule->live[i]];
        struct lbr_wide bid;

        if (!each->top)
            continue;
        bid = lbr_wide_add(lbr_wide_add(each->top->value, each->gained),
                           each->weight);
        if (best && !lbr_heap_above(bid, each->top->order, *score, best->order))
            continue;
        best = each->top;
        *score = bid;
    }
    return best ? LBR_OWNER(best, struct lbr_turn, node) : NULL;
}

/* Takes a turn out and puts it back where its new value belongs. */
static void charge(struct lbr_weight_class *own, struct lbr_turn *turn,
                   struct lbr_wide amount)
{
    lbr_heap_remove(&own->top, &turn->node);
    turn->node.value = lbr_wide_sub(turn->node.value, amount);
    lbr_heap_insert(&own->top, &turn->node);
}

/* Everybody active gains. */
static void gain_all(struct lbr_schedule *schedule)
{
    uint32_t i;

    for (i = 0; i < schedule->live_count; i++) {
        struct lbr_weight_class *each = &schedule->classes[schedule->live[i]];

        each->gained = lbr_wide_add(each->gained, each->weight);
    }
}

void lbr_schedule_serve(struct lbr_schedule *schedule, struct lbr_turn *turn)
{
    gain_all(schedule);
    charge(class_of(schedule, turn), turn, schedule->total);
    turn->served++;
}

void lbr_schedule_serve_elsewhere(struct lbr_schedule *schedule,
                                  struct lbr_turn *turn)
{
    gain_all(schedule);
    lbr_schedule_pay(schedule, turn, schedule->total);
}

struct lbr_wide lbr_schedule_bid(const struct lbr_schedule *schedule,
                                 const struct lbr_turn *turn)
{
    const struct lbr_weight_class *own = class_of(schedule, turn);
    struct lbr_wide bid = lbr_wide_add(turn->node.value, own->weight);

    return turn->active ? lbr_wide_add(bid, own->gained) : bid;
}

void lbr_schedule_pay(struct lbr_schedule *schedule, struct lbr_turn *turn,
                      struct lbr_wide total)
{
    if (turn->active)
        charge(class_of(schedule, turn), turn, total);
    else
        turn->node.value = lbr_wide_sub(turn->node.value, total);
}

void lbr_schedule_gain(struct lbr_schedule *schedule, struct lbr_turn *turn)
{
    struct lbr_wide nothing = {0, 0};

    lbr_schedule_pay(
        schedule, turn,
        lbr_wide_sub(nothing, lbr_schedule_weight_of(schedule, turn)));
}

struct lbr_wide lbr_schedule_sum(const struct lbr_schedule *schedule,
                                 const struct lbr_turn *turn)
{
    return lbr_wide_sub(lbr_schedule_bid(schedule, turn),
                        lbr_schedule_weight_of(schedule, turn));
}

void lbr_schedule_set_sum(struct lbr_schedule *schedule, struct lbr_turn *turn,
                          struct lbr_wide sum)
{
    lbr_schedule_pay(schedule, turn,
                     lbr_wide_sub(lbr_schedule_sum(schedule, turn), sum));
}

void lbr_schedule_clamp(struct lbr_schedule *schedule, struct lbr_turn *turn,
                        struct lbr_wide total)
{
    struct lbr_wide nothing = {0, 0};
    struct lbr_wide lowest = lbr_wide_sub(nothing, total);
    struct lbr_wide sum = lbr_schedule_sum(schedule, turn);

    if (lbr_wide_less(total, sum))
        lbr_schedule_pay(schedule, turn, lbr_wide_sub(sum, total));
    else if (lbr_wide_less(sum, lowest))
        lbr_schedule_pay(schedule, turn, lbr_wide_sub(sum, lowest));
}
