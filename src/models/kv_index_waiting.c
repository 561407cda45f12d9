/* SPDX-License-Identifier: MIT */
#include "models/kv_index_waiting.h"

#include "models/kv_index_copies.h"

#define CHUNK_BITS 6
#define PART 8

static uint32_t limit_of(uint32_t labels)
{
    return labels / PART + 1;
}

void lbr_kv_waiting_init(struct lbr_kv_index *index, unsigned kind,
                         uint32_t limit)
{
    lbr_slab_init(&index->waiting, index->memory, kind,
                  sizeof(struct lbr_kv_waiting), CHUNK_BITS, limit_of(limit));
    lbr_map_init(&index->waiting_names, index->memory);
    lbr_map_init(&index->waiting_parents, index->memory);
}

void lbr_kv_waiting_destroy(struct lbr_kv_index *index)
{
    lbr_map_destroy(&index->waiting_parents);
    lbr_map_destroy(&index->waiting_names);
    lbr_slab_destroy(&index->waiting);
}

size_t lbr_kv_waiting_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_kv_waiting), CHUNK_BITS,
                             limit_of(limit)) +
           2 * lbr_map_estimate(limit_of(limit));
}

static uint32_t place_of(const struct lbr_kv_waiting *waiting)
{
    return lbr_slab_index(waiting->slot.handle);
}

static struct lbr_kv_waiting *find(const struct lbr_kv_index *index,
                                   struct lbr_kv_name name)
{
    uint32_t owner = lbr_kv_owner_index(name.owner);
    uint64_t hash = lbr_kv_label_hash(&index->labels, owner, name.name);
    uint32_t cursor = 0;
    uint32_t place;

    if (!name.owner->waiting_count)
        return NULL;
    while ((place = lbr_map_next(&index->waiting_names, hash, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_kv_waiting *waiting = lbr_slab_at(&index->waiting, place);

        if (waiting->owner == owner && waiting->name == name.name)
            return waiting;
    }
    return NULL;
}

static uint64_t parent_hash(const struct lbr_kv_index *index,
                            const struct lbr_kv_waiting *waiting)
{
    return lbr_kv_label_hash(&index->labels, waiting->owner, waiting->parent);
}

/* The first of those after |parent|, or NULL. */
static struct lbr_kv_waiting *first_after(const struct lbr_kv_index *index,
                                          uint32_t owner, uint64_t parent)
{
    uint64_t hash = lbr_kv_label_hash(&index->labels, owner, parent);
    uint32_t cursor = 0;
    uint32_t place;

    while ((place = lbr_map_next(&index->waiting_parents, hash, &cursor)) !=
           LBR_MAP_NONE) {
        struct lbr_kv_waiting *waiting = lbr_slab_at(&index->waiting, place);

        if (waiting->owner == owner && waiting->parent == parent)
            return waiting;
    }
    return NULL;
}

static void make_first(struct lbr_kv_index *index,
                       struct lbr_kv_waiting *waiting)
{
    waiting->first = 1;
    lbr_map_add(&index->waiting_parents, parent_hash(index, waiting),
                place_of(waiting));
}

static void join_siblings(struct lbr_kv_index *index,
                          struct lbr_kv_waiting *waiting)
{
    struct lbr_kv_waiting *first =
        first_after(index, waiting->owner, waiting->parent);

    lbr_list_init(&waiting->siblings);
    waiting->first = 0;
    if (first)
        lbr_list_append(&first->siblings, &waiting->siblings);
    else
        make_first(index, waiting);
}

static void leave_siblings(struct lbr_kv_index *index,
                           struct lbr_kv_waiting *waiting)
{
    struct lbr_link *next = waiting->siblings.next;

    lbr_list_remove(&waiting->siblings);
    if (!waiting->first)
        return;
    lbr_map_remove(&index->waiting_parents, parent_hash(index, waiting),
                   place_of(waiting));
    if (next != &waiting->siblings)
        make_first(index, LBR_OWNER(next, struct lbr_kv_waiting, siblings));
}

static void drop(struct lbr_kv_index *index, struct lbr_kv_waiting *waiting)
{
    struct lbr_kv_owner *owner = lbr_slab_at(&index->owners, waiting->owner);

    lbr_map_remove(
        &index->waiting_names,
        lbr_kv_label_hash(&index->labels, waiting->owner, waiting->name),
        place_of(waiting));
    leave_siblings(index, waiting);
    lbr_list_remove(&waiting->link);
    lbr_slab_give(&index->waiting, waiting);
    owner->waiting_count--;
}

static struct lbr_kv_waiting *oldest_of(const struct lbr_kv_owner *owner)
{
    return LBR_OWNER(owner->waiting.next, struct lbr_kv_waiting, link);
}

/* A place for one more; at the limit that of the owner's oldest. */
static struct lbr_kv_waiting *take(struct lbr_kv_index *index,
                                   struct lbr_kv_owner *owner)
{
    void *object;

    if (!lbr_map_reserve(&index->waiting_names) ||
        !lbr_map_reserve(&index->waiting_parents))
        return NULL;
    if (lbr_slab_reserve(&index->waiting) && owner->waiting_count)
        drop(index, oldest_of(owner));
    return lbr_slab_take(&index->waiting, &object) ? NULL : object;
}

static struct lbr_kv_waiting *enter(struct lbr_kv_index *index,
                                    struct lbr_kv_name name, uint64_t parent,
                                    uint64_t content)
{
    struct lbr_kv_waiting *waiting = take(index, name.owner);
    uint32_t owner = lbr_kv_owner_index(name.owner);

    if (!waiting)
        return NULL;
    waiting->name = name.name;
    waiting->parent = parent;
    waiting->content = content;
    waiting->owner = owner;
    memset(waiting->copies, 0, sizeof waiting->copies);
    lbr_list_append(&name.owner->waiting, &waiting->link);
    lbr_map_add(&index->waiting_names,
                lbr_kv_label_hash(&index->labels, owner, name.name),
                place_of(waiting));
    join_siblings(index, waiting);
    name.owner->waiting_count++;
    return waiting;
}

int lbr_kv_waiting_add(struct lbr_kv_index *index, struct lbr_kv_name name,
                       uint64_t parent, uint64_t content, unsigned medium,
                       int counted)
{
    struct lbr_kv_waiting *waiting = find(index, name);

    if (waiting && (waiting->parent != parent || waiting->content != content)) {
        drop(index, waiting);
        waiting = NULL;
    }
    if (!waiting)
        waiting = enter(index, name, parent, content);
    if (!waiting)
        return 0;
    lbr_kv_copies_add(waiting->copies, medium, counted);
    return 1;
}

int lbr_kv_waiting_add_copy(struct lbr_kv_index *index, struct lbr_kv_name name,
                            unsigned medium, int counted)
{
    struct lbr_kv_waiting *waiting = find(index, name);

    if (!waiting)
        return 0;
    lbr_kv_copies_add(waiting->copies, medium, counted);
    return 1;
}

int lbr_kv_waiting_remove(struct lbr_kv_index *index, struct lbr_kv_name name,
                          unsigned medium, int counted)
{
    struct lbr_kv_waiting *waiting = find(index, name);

    if (!waiting)
        return 0;
    (void)lbr_kv_copies_remove(waiting->copies, medium, counted);
    if (!lbr_kv_copies_any(waiting->copies))
        drop(index, waiting);
    return 1;
}

/* Moves all that wait for |parent| to the end of |ready|. */
static void make_ready(struct lbr_kv_index *index, struct lbr_kv_name parent,
                       struct lbr_link *ready)
{
    struct lbr_kv_waiting *first =
        first_after(index, lbr_kv_owner_index(parent.owner), parent.name);
    struct lbr_kv_waiting *waiting = first;

    if (!first)
        return;
    do {
        lbr_list_remove(&waiting->link);
        lbr_list_append(ready, &waiting->link);
        waiting =
            LBR_OWNER(waiting->siblings.next, struct lbr_kv_waiting, siblings);
    } while (waiting != first);
}

/* Stores a block with all its copies after its parent. */
static uint32_t place(struct lbr_kv_index *index,
                      const struct lbr_kv_waiting *waiting,
                      struct lbr_kv_name name)
{
    struct lbr_kv_name parent = {name.owner, waiting->parent};
    uint32_t media = 0;
    struct lbr_kv_spot spot;
    unsigned medium;
    uint32_t copy;
    int renamed;

    for (medium = 0; medium < LBR_KV_MEDIA; medium++)
        for (copy = 0; copy < waiting->copies[medium]; copy++)
            if (lbr_kv_index_find(index, parent, &spot))
                media += (uint32_t)(lbr_kv_index_store(index, name, &spot,
                                                       waiting->content, medium,
                                                       1, &renamed) ==
                                    LBR_KV_FATE_DONE);
    return media;
}

uint32_t lbr_kv_waiting_follow(struct lbr_kv_index *index,
                               struct lbr_kv_name name)
{
    struct lbr_link ready;
    uint32_t media = 0;

    lbr_list_init(&ready);
    make_ready(index, name, &ready);
    while (!lbr_list_empty(&ready)) {
        struct lbr_kv_waiting *waiting =
            LBR_OWNER(ready.next, struct lbr_kv_waiting, link);
        struct lbr_kv_name follower = {name.owner, waiting->name};

        media += place(index, waiting, follower);
        drop(index, waiting);
        make_ready(index, follower, &ready);
    }
    return media;
}

void lbr_kv_waiting_forget(struct lbr_kv_index *index,
                           struct lbr_kv_owner *owner)
{
    while (owner->waiting_count)
        drop(index, oldest_of(owner));
}
