/* SPDX-License-Identifier: MIT */
#include "state/kv_guess.h"

#define KIND_GUESS 13
#define CHUNK_BITS 6
#define PART 8

static uint32_t limit_of(uint32_t blocks)
{
    return blocks / PART + 1;
}

void lbr_kv_guesses_init(struct lbr_kv_guesses *guesses,
                         struct lbr_memory *memory, uint32_t blocks)
{
    lbr_slab_init(&guesses->slab, memory, KIND_GUESS,
                  sizeof(struct lbr_kv_guess), CHUNK_BITS, limit_of(blocks));
    guesses->soonest = NULL;
    guesses->until = LBR_NEVER;
}

void lbr_kv_guesses_destroy(struct lbr_kv_guesses *guesses)
{
    lbr_slab_destroy(&guesses->slab);
}

size_t lbr_kv_guesses_estimate(uint32_t blocks)
{
    return lbr_slab_estimate(sizeof(struct lbr_kv_guess), CHUNK_BITS,
                             limit_of(blocks));
}

static void note_soonest(struct lbr_kv_guesses *guesses)
{
    guesses->until = LBR_NEVER;
    if (guesses->soonest)
        guesses->until =
            LBR_OWNER(guesses->soonest, struct lbr_kv_guess, node)->until;
}

static struct lbr_kv_owner *owner_for(struct lbr_kv_store *store,
                                      struct lbr_kv_side *side)
{
    if (!side->speculation)
        side->speculation = lbr_kv_owner_add(&store->index, side);
    if (side->speculation)
        side->speculation->guessing = 1;
    return side->speculation;
}

/* The heap has the highest value on top. */
static void enter(struct lbr_kv_guesses *guesses, struct lbr_kv_guess *guess)
{
    guess->node.value.high = 0;
    guess->node.value.low = UINT64_MAX - guess->until;
    guess->node.order = guess->slot.handle;
    guess->node.child = guess->node.next = guess->node.previous = NULL;
    lbr_heap_insert(&guesses->soonest, &guess->node);
}

/* Takes the owner to hold one more block. */
static int add(struct lbr_kv_guesses *guesses, struct lbr_kv_store *store,
               struct lbr_kv_name name, lbr_kv_label *last, uint64_t until)
{
    struct lbr_kv_guess *guess;
    enum lbr_kv_fate fate;
    void *object;
    int renamed;

    if (lbr_slab_reserve(&guesses->slab))
        return 0;
    fate = lbr_kv_index_put(&store->index, name, last, name.name,
                            LBROUTE_MEDIUM_GPU, 1, &renamed);
    if (fate != LBR_KV_FATE_DONE && fate != LBR_KV_FATE_NOTHING)
        return 0;
    (void)lbr_slab_take(&guesses->slab, &object);
    guess = object;
    guess->until = until;
    guess->owner = name.owner->slot.handle;
    guess->key = name.name;
    enter(guesses, guess);
    return 1;
}

void lbr_kv_guess(struct lbr_kv_guesses *guesses, struct lbr_kv_store *store,
                  struct lbr_kv_side *side, const uint64_t *keys, size_t count,
                  uint64_t until)
{
    struct lbr_kv_name name = {owner_for(store, side), 0};
    lbr_kv_label last = 0;
    size_t i;

    for (i = 0; name.owner && i < count; i++) {
        name.name = keys[i];
        if (!add(guesses, store, name, &last, until))
            break;
    }
    note_soonest(guesses);
}

/* Without memory to take a block out, all guesses about a target end. */
static void take_out(struct lbr_kv_store *store, struct lbr_kv_name name)
{
    struct lbr_kv_side *side = name.owner->context;
    uint32_t left = 0;

    if (lbr_kv_index_remove(&store->index, name, LBROUTE_MEDIUM_GPU, 1,
                            &left) != LBR_KV_FATE_LOST)
        return;
    side->speculation = NULL;
    lbr_kv_owner_retire(&store->index, name.owner);
}

/* The block of a guess; its owner is NULL if that is gone. */
static struct lbr_kv_name name_of(const struct lbr_kv_store *store,
                                  const struct lbr_kv_guess *guess)
{
    struct lbr_kv_name name = {
        lbr_slab_find(&store->index.owners, guess->owner), guess->key};

    if (name.owner && name.owner->retired)
        name.owner = NULL;
    return name;
}

/* Takes the next one to end out of heap and index. */
static struct lbr_kv_guess *take_soonest(struct lbr_kv_guesses *guesses,
                                         struct lbr_kv_store *store)
{
    struct lbr_kv_guess *guess =
        LBR_OWNER(guesses->soonest, struct lbr_kv_guess, node);
    struct lbr_kv_name name = name_of(store, guess);

    if (name.owner)
        take_out(store, name);
    lbr_heap_remove(&guesses->soonest, &guess->node);
    note_soonest(guesses);
    return guess;
}

void lbr_kv_guesses_end(struct lbr_kv_guesses *guesses,
                        struct lbr_kv_store *store, uint64_t now)
{
    while (guesses->soonest && now >= guesses->until)
        lbr_slab_give(&guesses->slab, take_soonest(guesses, store));
}

struct lbr_heap_node *lbr_kv_guesses_suspend(struct lbr_kv_guesses *guesses,
                                             struct lbr_kv_store *store,
                                             uint64_t at)
{
    struct lbr_heap_node *suspended = NULL;

    while (guesses->soonest && at >= guesses->until) {
        struct lbr_kv_guess *guess = take_soonest(guesses, store);

        guess->node.next = suspended;
        suspended = &guess->node;
    }
    return suspended;
}

static void put_back(struct lbr_kv_guesses *guesses, struct lbr_kv_store *store,
                     struct lbr_kv_guess *guess)
{
    struct lbr_kv_name name = name_of(store, guess);
    lbr_kv_label last = 0;
    int renamed;
    enum lbr_kv_fate fate = LBR_KV_FATE_NO_ROOM;

    if (name.owner)
        fate = lbr_kv_index_put(&store->index, name, &last, name.name,
                                LBROUTE_MEDIUM_GPU, 1, &renamed);
    if (fate == LBR_KV_FATE_DONE || fate == LBR_KV_FATE_NOTHING)
        enter(guesses, guess);
    else
        lbr_slab_give(&guesses->slab, guess);
}

void lbr_kv_guesses_resume(struct lbr_kv_guesses *guesses,
                           struct lbr_kv_store *store,
                           struct lbr_heap_node *suspended)
{
    while (suspended) {
        struct lbr_kv_guess *guess =
            LBR_OWNER(suspended, struct lbr_kv_guess, node);

        suspended = suspended->next;
        put_back(guesses, store, guess);
    }
    note_soonest(guesses);
}
