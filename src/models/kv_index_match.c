/* SPDX-License-Identifier: MIT */
#include "models/kv_index.h"

/* Blocks whose nodes are on their way while one is looked at. */
#define AHEAD 48

/* So many holders are a crowd. */
#define CROWD 4

/* The fastest medium of an entry with a resident label. */
static unsigned fastest(uint32_t labels)
{
    unsigned medium = 0;

    while (!(labels >> 4 * medium & LBR_KV_MOST_LABELS))
        medium++;
    return medium;
}

static int is_met(const struct lbr_kv_index *index,
                  const struct lbr_kv_owner *owner)
{
    return owner->met_by == index->matches;
}

static void list(struct lbr_kv_index *index, struct lbr_kv_owner *owner)
{
    owner->met_by = index->matches;
    owner->run = 0;
    memset(owner->found, 0, sizeof owner->found);
    index->met[index->met_count++] = lbr_kv_owner_index(owner);
}

static void extend(struct lbr_kv_owner *owner,
                   const struct lbr_kv_stretch *stretch, uint32_t labels)
{
    owner->run += stretch->length;
    owner->found[fastest(labels)] += stretch->length;
}

/* Extends the run of an owner by the heads that it has, from |head| on. */
static void extend_by_heads(const struct lbr_kv_index *index,
                            struct lbr_kv_owner *owner, uint32_t head)
{
    for (; head < index->head_count; head++) {
        const struct lbr_kv_stretch *stretch = &index->heads[head];
        uint32_t labels = lbr_kv_set_labels(&index->sets, stretch->set,
                                            lbr_kv_owner_index(owner));

        if (!(labels & LBR_KV_RESIDENT))
            return;
        extend(owner, stretch, labels);
    }
}

uint32_t lbr_kv_index_meet(struct lbr_kv_index *index,
                           struct lbr_kv_owner *owner)
{
    uint32_t labels;

    if (is_met(index, owner))
        return owner->run;
    if (!index->head_count || owner->retired)
        return 0;
    labels = lbr_kv_set_labels(&index->sets, index->heads[0].set,
                               lbr_kv_owner_index(owner));
    if (!(labels & LBR_KV_RESIDENT))
        return 0;
    list(index, owner);
    extend_by_heads(index, owner, 0);
    return owner->run;
}

void lbr_kv_index_meet_all(struct lbr_kv_index *index)
{
    const struct lbr_kv_members *members;
    uint32_t i;

    if (!index->head_count)
        return;
    members = lbr_kv_set_members(&index->sets, index->heads[0].set);
    for (i = 0; i < members->count; i++) {
        uint32_t labels = lbr_kv_entry_labels(members->entries[i]);
        struct lbr_kv_owner *owner = lbr_slab_at(
            &index->owners, lbr_kv_entry_owner(members->entries[i]));

        if (!(labels & LBR_KV_RESIDENT) || owner->retired ||
            is_met(index, owner))
            continue;
        list(index, owner);
        extend(owner, &index->heads[0], labels);
        extend_by_heads(index, owner, 1);
    }
}

uint32_t lbr_kv_index_unmet(const struct lbr_kv_index *index)
{
    const struct lbr_kv_stretch *last;

    if (!index->head_count)
        return 0;
    last = &index->heads[index->head_count - 1];
    return last->begin + last->length;
}

/* Whether an owner has all blocks before a stretch. The first time that this
 * is asked, it may be met. */
static int is_there(struct lbr_kv_index *index, struct lbr_kv_owner *owner,
                    uint32_t begin)
{
    if (is_met(index, owner))
        return owner->run == begin;
    if (lbr_kv_index_unmet(index) != begin)
        return 0;
    list(index, owner);
    extend_by_heads(index, owner, 0);
    if (owner->run == begin)
        return 1;
    index->met_count--;
    owner->met_by = 0;
    return 0;
}

/* Extends the runs of all that hold a stretch and everything before it. Returns
 * their number. */
static uint32_t meet_holders(struct lbr_kv_index *index,
                             const struct lbr_kv_stretch *stretch,
                             const struct lbr_kv_members *members)
{
    uint32_t holders = 0;
    uint32_t i;

    for (i = 0; i < members->count; i++) {
        uint32_t labels = lbr_kv_entry_labels(members->entries[i]);
        struct lbr_kv_owner *owner = lbr_slab_at(
            &index->owners, lbr_kv_entry_owner(members->entries[i]));

        if (!(labels & LBR_KV_RESIDENT) || owner->retired ||
            !is_there(index, owner, stretch->begin))
            continue;
        extend(owner, stretch, labels);
        holders++;
    }
    return holders;
}

/* Takes the next stretch in. Returns 0 when nobody holds it and everything
 * before it. */
static int pass(struct lbr_kv_index *index,
                const struct lbr_kv_stretch *stretch)
{
    const struct lbr_kv_members *members =
        lbr_kv_set_members(&index->sets, stretch->set);

    if (!index->met_count && members->count > CROWD &&
        index->head_count < LBR_KV_HEADS &&
        lbr_kv_index_unmet(index) == stretch->begin) {
        index->heads[index->head_count++] = *stretch;
        return 1;
    }
    return meet_holders(index, stretch, members) > 0;
}

static void fetch(const struct lbr_kv_index *index, const uint64_t *keys,
                  size_t count)
{
    size_t i;

    for (i = 0; i < AHEAD && i < count; i++)
        lbr_kv_node_prefetch(&index->nodes, keys[i]);
}

void lbr_kv_index_match(struct lbr_kv_index *index, const uint64_t *keys,
                        size_t count)
{
    struct lbr_kv_stretch stretch = {0, 0, 0};
    uint32_t i;

    index->matches++;
    index->head_count = 0;
    index->met_count = 0;
    if (!index->nodes.count)
        return;
    fetch(index, keys, count);
    for (i = 0; i < count; i++) {
        const lbr_kv_set *set;

        if (i + AHEAD < count)
            lbr_kv_node_prefetch(&index->nodes, keys[i + AHEAD]);
        set = lbr_kv_node_find(&index->nodes, keys[i]);
        if (!set)
            break;
        if (*set != stretch.set) {
            if (stretch.length && !pass(index, &stretch))
                return;
            stretch.set = *set;
            stretch.begin = i;
            stretch.length = 0;
        }
        stretch.length++;
    }
    if (stretch.length)
        (void)pass(index, &stretch);
}
