/* SPDX-License-Identifier: MIT */
#include "models/load_order.h"

#include <math.h>
#include <string.h>

/* A rank: round number, then random bits. */
#define RANDOM_BITS 24
#define LAST_ROUND ((UINT64_C(1) << (64 - RANDOM_BITS)) - 2)

static uint32_t capacity_for(uint32_t count)
{
    uint32_t capacity = 8;

    while (capacity < count)
        capacity *= 2;
    return capacity;
}

/* The winner of two positions. Without branches: which one it is cannot be
 * foreseen. */
static uint32_t winner(const struct lbr_load_order *order, uint32_t a,
                       uint32_t b)
{
    double load_a = order->load[a];
    double load_b = order->load[b];
    int first = (load_a < load_b) |
                ((load_a == load_b) & (order->tie[a] < order->tie[b]));

    return first ? a : b;
}

static void play_all(struct lbr_load_order *order)
{
    uint32_t i;

    for (i = 0; i < order->capacity; i++)
        order->tree[order->capacity + i] = i;
    for (i = order->capacity - 1; i; i--)
        order->tree[i] =
            winner(order, order->tree[2 * i], order->tree[2 * i + 1]);
}

/* Plays the matches from a changed leaf upward. Where another position won
 * before and still does, nothing above can change. */
static void play_up(struct lbr_load_order *order, uint32_t position)
{
    uint32_t node = order->capacity + position;
    uint32_t best = position;

    while (node > 1) {
        best = winner(order, best, order->tree[node ^ 1]);
        node /= 2;
        if (order->tree[node] == best && best != position)
            return;
        order->tree[node] = best;
    }
}

/* Places beyond the last position lose every match. */
static void close_places(struct lbr_load_order *order, uint32_t from)
{
    for (; from < order->capacity; from++) {
        order->load[from] = (double)INFINITY;
        order->tie[from] = UINT64_MAX;
    }
}

int lbr_load_order_reserve(struct lbr_load_order *order,
                           struct lbr_memory *memory, uint32_t count)
{
    struct lbr_load_order grown = *order;

    if (count <= order->capacity)
        return 1;
    grown.capacity = capacity_for(count);
    grown.load = lbr_memory_new(memory, grown.capacity, sizeof *grown.load);
    grown.tie = lbr_memory_new(memory, grown.capacity, sizeof *grown.tie);
    grown.tree =
        lbr_memory_new(memory, (size_t)grown.capacity * 2, sizeof *grown.tree);
    if (!grown.load || !grown.tie || !grown.tree) {
        lbr_load_order_destroy(&grown, memory);
        return 0;
    }
    if (order->count) {
        memcpy(grown.load, order->load, order->count * sizeof *grown.load);
        memcpy(grown.tie, order->tie, order->count * sizeof *grown.tie);
    }
    lbr_load_order_destroy(order, memory);
    *order = grown;
    close_places(order, order->count);
    play_all(order);
    return 1;
}

void lbr_load_order_destroy(struct lbr_load_order *order,
                            struct lbr_memory *memory)
{
    size_t capacity = order->capacity;

    lbr_memory_free(memory, order->load, capacity, sizeof *order->load);
    lbr_memory_free(memory, order->tie, capacity, sizeof *order->tie);
    lbr_memory_free(memory, order->tree, capacity * 2, sizeof *order->tree);
}

static void draw_rank(struct lbr_load_order *order, uint32_t position,
                      struct lbr_rng *rng)
{
    order->tie[position] =
        order->round << RANDOM_BITS | lbr_rng_next(rng) >> (32 - RANDOM_BITS);
}

void lbr_load_order_append(struct lbr_load_order *order, struct lbr_rng *rng)
{
    uint32_t position = order->count++;

    order->load[position] = (double)INFINITY;
    draw_rank(order, position, rng);
    play_up(order, position);
}

void lbr_load_order_delete(struct lbr_load_order *order, uint32_t position)
{
    size_t moved = order->count - 1 - position;

    memmove(order->load + position, order->load + position + 1,
            moved * sizeof *order->load);
    memmove(order->tie + position, order->tie + position + 1,
            moved * sizeof *order->tie);
    order->count--;
    close_places(order, order->count);
    play_all(order);
}

void lbr_load_order_set(struct lbr_load_order *order, uint32_t position,
                        double load)
{
    if (order->load[position] == load)
        return;
    order->load[position] = load;
    play_up(order, position);
}

/* Forgets the rounds once in a life of 10^12 picks. */
static void restart_rounds(struct lbr_load_order *order)
{
    uint64_t keep = (UINT64_C(1) << RANDOM_BITS) - 1;
    uint32_t i;

    order->round = 0;
    for (i = 0; i < order->count; i++)
        order->tie[i] &= keep;
    play_all(order);
}

/* The round of a position is never behind the current one when it is redrawn:
 * one that was away joins the current round instead of catching up. */
void lbr_load_order_used(struct lbr_load_order *order, uint32_t position,
                         struct lbr_rng *rng)
{
    uint64_t own = order->tie[position] >> RANDOM_BITS;
    uint64_t current = order->round;

    if (own > current)
        current = own;
    order->round = current + 1;
    draw_rank(order, position, rng);
    order->round = current;
    if (current >= LAST_ROUND)
        restart_rounds(order);
}

size_t lbr_load_order_estimate(uint32_t count)
{
    return (size_t)capacity_for(count) *
           (sizeof(double) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
}
