/* SPDX-License-Identifier: MIT */
#include "models/load_order.h"

#include <math.h>

#define FIRST_CAPACITY 8
#define LARGEST_WITHOUT_TREE 16

/* A rank: round number, then random bits. */
#define RANDOM_BITS 24
#define LAST_ROUND ((UINT64_C(1) << (64 - RANDOM_BITS)) - 2)

/* Inlined, the search takes the registers of those who have a tree. */
#if defined(__GNUC__)
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

static uint64_t bits_of(double load)
{
    uint64_t bits;

    memcpy(&bits, &load, sizeof bits);
    return bits;
}

/* Whether |a| wins against |b|: a lower load, or the same and a lower tie. The
 * carry of the tie decides equal loads; loads are below 2^63. */
static int beats(struct lbr_order_key a, struct lbr_order_key b)
{
    return a.load_bits < b.load_bits + (a.tie < b.tie);
}

/* All ones if |condition| holds, else 0. */
static uint64_t mask_if(int condition)
{
    return 0 - (uint64_t)condition;
}

/* The best so far, and who it is. */
struct leader {
    struct lbr_order_key key;
    uint32_t position;
};

/* Lets |rival| challenge the leader. Who wins cannot be foreseen, so masks
 * choose instead of branches. */
static void challenge(struct leader *leader, const struct lbr_order_key *keys,
                      uint32_t rival)
{
    struct lbr_order_key key = keys[rival];
    uint64_t lost = mask_if(beats(key, leader->key));

    leader->position ^= (leader->position ^ rival) & (uint32_t)lost;
    leader->key.load_bits ^= (leader->key.load_bits ^ key.load_bits) & lost;
    leader->key.tie ^= (leader->key.tie ^ key.tie) & lost;
}

static void play_all(struct lbr_load_order *order)
{
    uint32_t *tree = order->tree;
    uint32_t i;

    order->fallen = LBR_ORDER_NONE;
    if (!tree)
        return;
    for (i = 0; i < order->capacity; i++)
        tree[order->capacity + i] = i;
    for (i = order->capacity - 1; i; i--)
        tree[i] = beats(order->keys[tree[2 * i]], order->keys[tree[2 * i + 1]])
                      ? tree[2 * i]
                      : tree[2 * i + 1];
}

/* Plays the matches from a changed leaf upward. Where another position won
 * before and still does, nothing above can change. */
static void play_up(struct lbr_load_order *order, uint32_t position)
{
    uint32_t node = order->capacity + position;
    struct leader leader = {order->keys[position], position};

    if (!order->tree)
        return;
    while (node > 1) {
        challenge(&leader, order->keys, order->tree[node ^ 1]);
        node /= 2;
        if (order->tree[node] == leader.position && leader.position != position)
            return;
        order->tree[node] = leader.position;
    }
}

/* First the lowest load, then the lowest tie among those who have it: two short
 * chains instead of a long one. */
OUT_OF_LINE static uint32_t search(const struct lbr_load_order *order)
{
    const struct lbr_order_key *keys = order->keys;
    uint64_t lowest = keys[0].load_bits;
    uint64_t first = UINT64_MAX;
    uint32_t best = 0;
    uint32_t i;

    for (i = 1; i < order->count; i++)
        lowest = keys[i].load_bits < lowest ? keys[i].load_bits : lowest;
    for (i = 0; i < order->count; i++) {
        uint64_t tie = keys[i].tie | mask_if(keys[i].load_bits != lowest);
        uint64_t earlier = mask_if(tie < first);

        best ^= (best ^ i) & (uint32_t)earlier;
        first ^= (first ^ tie) & earlier;
    }
    return best;
}

uint32_t lbr_load_order_first(const struct lbr_load_order *order)
{
    uint32_t best;

    if (!order->tree)
        return search(order);
    best = order->tree[1];
    if (order->fallen != LBR_ORDER_NONE &&
        beats(order->keys[order->fallen], order->keys[best]))
        best = order->fallen;
    return best;
}

/* Places beyond the last position lose every match. */
static void close_places(struct lbr_load_order *order, uint32_t from)
{
    for (; from < order->capacity; from++) {
        order->keys[from].load_bits = bits_of((double)INFINITY);
        order->keys[from].tie = UINT64_MAX;
    }
}

static size_t tree_size(const struct lbr_load_order *order)
{
    return order->capacity > LARGEST_WITHOUT_TREE ? (size_t)order->capacity * 2
                                                  : 0;
}

int lbr_load_order_reserve(struct lbr_load_order *order,
                           struct lbr_memory *memory, uint32_t count)
{
    struct lbr_load_order grown = *order;

    if (count <= order->capacity)
        return 1;
    if (!grown.capacity)
        grown.capacity = FIRST_CAPACITY;
    while (grown.capacity < count)
        grown.capacity *= 2;
    grown.keys = lbr_memory_new(memory, grown.capacity, sizeof *grown.keys);
    grown.tree = NULL;
    if (tree_size(&grown))
        grown.tree =
            lbr_memory_new(memory, tree_size(&grown), sizeof *grown.tree);
    if (!grown.keys || (tree_size(&grown) && !grown.tree)) {
        lbr_load_order_destroy(&grown, memory);
        return 0;
    }
    if (order->count)
        memcpy(grown.keys, order->keys, order->count * sizeof *grown.keys);
    lbr_load_order_destroy(order, memory);
    *order = grown;
    close_places(order, order->count);
    play_all(order);
    return 1;
}

void lbr_load_order_destroy(struct lbr_load_order *order,
                            struct lbr_memory *memory)
{
    lbr_memory_free(memory, order->keys, order->capacity, sizeof *order->keys);
    lbr_memory_free(memory, order->tree, tree_size(order), sizeof *order->tree);
}

static void draw_rank(struct lbr_load_order *order, uint32_t position,
                      uint64_t round, struct lbr_rng *rng)
{
    order->keys[position].tie =
        round << RANDOM_BITS | lbr_rng_next(rng) >> (32 - RANDOM_BITS);
}

void lbr_load_order_append(struct lbr_load_order *order, struct lbr_rng *rng)
{
    uint32_t position = order->count++;

    draw_rank(order, position, order->round, rng);
    play_up(order, position);
}

void lbr_load_order_delete(struct lbr_load_order *order, uint32_t position)
{
    size_t moved = order->count - 1 - position;

    memmove(order->keys + position, order->keys + position + 1,
            moved * sizeof *order->keys);
    order->count--;
    close_places(order, order->count);
    play_all(order);
}

/* The fallen position, if any, has its matches played before another takes its
 * place: the tree knows all loads but one, and of that one a higher load. */
static void note_fallen(struct lbr_load_order *order, uint32_t position)
{
    uint32_t former = order->fallen;

    order->fallen = position;
    if (former != LBR_ORDER_NONE && former != position)
        play_up(order, former);
}

void lbr_load_order_set(struct lbr_load_order *order, uint32_t position,
                        double load)
{
    uint64_t bits = bits_of(load);
    uint64_t before = order->keys[position].load_bits;

    order->keys[position].load_bits = bits;
    if (bits == before || !order->tree)
        return;
    if (bits < before) {
        note_fallen(order, position);
        return;
    }
    if (order->fallen == position)
        order->fallen = LBR_ORDER_NONE;
    play_up(order, position);
}

/* Forgets the rounds once in a life of 10^12 picks. */
static void restart_rounds(struct lbr_load_order *order)
{
    uint64_t keep = (UINT64_C(1) << RANDOM_BITS) - 1;
    uint32_t i;

    order->round = 0;
    for (i = 0; i < order->count; i++)
        order->keys[i].tie &= keep;
    play_all(order);
}

/* A position's round is never behind the current one when it is redrawn: one
 * that was away joins the current round instead of catching up. */
void lbr_load_order_used(struct lbr_load_order *order, uint32_t position,
                         struct lbr_rng *rng)
{
    uint64_t own = order->keys[position].tie >> RANDOM_BITS;

    if (own > order->round)
        order->round = own;
    draw_rank(order, position, order->round + 1, rng);
    if (order->round >= LAST_ROUND)
        restart_rounds(order);
}

size_t lbr_load_order_estimate(void)
{
    return sizeof(struct lbr_order_key) + 2 * sizeof(uint32_t);
}
