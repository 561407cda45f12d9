/* SPDX-License-Identifier: MIT */
#include "state/kv_aside.h"

#define PART 8
#define LEAST 32U
#define FIRST_CAPACITY 4U
/* What a batch counts for besides its operations. */
#define OVERHEAD 4U
/* Steps from either end of a source's batches to where one belongs: a stranger
 * may send them in any order. */
#define FARTHEST 1024U

_Static_assert(sizeof(struct lbr_kv_aside) <=
                   OVERHEAD * sizeof(struct lbr_kv_op),
               "that is enough");

uint32_t lbr_kv_aside_limit(uint32_t blocks)
{
    return blocks / PART + LEAST;
}

size_t lbr_kv_aside_estimate(uint32_t blocks)
{
    /* Rows double, so that half of them may be empty; old and new live side by
     * side. What a batch counts for pays for what it is kept in. */
    return (size_t)lbr_kv_aside_limit(blocks) * 3 * sizeof(struct lbr_kv_op);
}

static struct lbr_kv_aside *aside_of(struct lbr_link *link)
{
    return LBR_OWNER(link, struct lbr_kv_aside, link);
}

struct lbr_kv_aside *lbr_kv_aside_first(const struct lbr_kv_source *source)
{
    if (lbr_list_empty(&source->aside))
        return NULL;
    return aside_of(source->aside.next);
}

/* The last one whose number is not above |number|, or the head. Batches come in
 * order, or fill a hole from its beginning: then that is near an end. NULL: it
 * is farther from both than anybody should look. */
static struct lbr_link *place_of(const struct lbr_kv_source *source,
                                 uint64_t number)
{
    struct lbr_link *back = source->aside.previous;
    struct lbr_link *front = source->aside.next;
    uint32_t steps = FARTHEST;

    while (steps--) {
        if (back == &source->aside || aside_of(back)->stamp.number <= number)
            return back;
        if (aside_of(front)->stamp.number > number)
            return front->previous;
        back = back->previous;
        front = front->next;
    }
    return NULL;
}

int lbr_kv_aside_has(const struct lbr_kv_source *source, uint64_t number)
{
    struct lbr_link *link = place_of(source, number);

    return link && link != &source->aside &&
           aside_of(link)->stamp.number == number;
}

uint64_t lbr_kv_aside_ops(const struct lbr_kv_source *source)
{
    const struct lbr_link *link;
    uint64_t count = 0;

    for (link = source->aside.next; link != &source->aside; link = link->next)
        count += LBR_OWNER(link, struct lbr_kv_aside, link)->count;
    return count;
}

struct lbr_kv_aside *lbr_kv_aside_begin(struct lbr_kv_store *store,
                                        struct lbr_kv_source *source,
                                        const struct lbr_kv_stamp *stamp)
{
    struct lbr_link *place = place_of(source, stamp->number);
    struct lbr_kv_aside *aside;

    if (!place || store->aside_ops + OVERHEAD > store->most_aside)
        return NULL;
    aside = lbr_memory_new(store->memory, 1, sizeof *aside);
    if (!aside)
        return NULL;
    aside->stamp = *stamp;
    lbr_list_prepend(place, &aside->link);
    store->aside_ops += OVERHEAD;
    return aside;
}

static int reserve(struct lbr_kv_store *store, struct lbr_kv_aside *aside,
                   size_t count)
{
    uint32_t capacity = aside->capacity ? aside->capacity : FIRST_CAPACITY;
    void *ops = aside->ops;

    while (capacity < aside->count + count)
        capacity *= 2;
    if (capacity == aside->capacity)
        return 1;
    if (!lbr_memory_grow(store->memory, &ops, aside->capacity, capacity,
                         sizeof *aside->ops))
        return 0;
    aside->ops = ops;
    aside->capacity = capacity;
    return 1;
}

int lbr_kv_aside_append(struct lbr_kv_store *store, struct lbr_kv_aside *aside,
                        const struct lbr_kv_op *ops, size_t count)
{
    if (!count)
        return 1;
    if (count > store->most_aside - store->aside_ops ||
        !reserve(store, aside, count))
        return 0;
    memcpy(aside->ops + aside->count, ops, count * sizeof *ops);
    aside->count += (uint32_t)count;
    store->aside_ops += (uint32_t)count;
    return 1;
}

void lbr_kv_aside_drop(struct lbr_kv_store *store, struct lbr_kv_aside *aside)
{
    store->aside_ops -= aside->count + OVERHEAD;
    lbr_list_remove(&aside->link);
    lbr_memory_free(store->memory, aside->ops, aside->capacity,
                    sizeof *aside->ops);
    lbr_memory_free(store->memory, aside, 1, sizeof *aside);
}

void lbr_kv_aside_drop_until(struct lbr_kv_store *store,
                             struct lbr_kv_source *source, uint64_t number)
{
    struct lbr_kv_aside *aside;

    while ((aside = lbr_kv_aside_first(source)) != NULL &&
           aside->stamp.number <= number)
        lbr_kv_aside_drop(store, aside);
}

void lbr_kv_aside_drop_all(struct lbr_kv_store *store,
                           struct lbr_kv_source *source)
{
    lbr_kv_aside_drop_until(store, source, UINT64_MAX);
}
