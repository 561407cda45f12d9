/* SPDX-License-Identifier: MIT */
#include "models/kv_index.h"

/* Blocks whose nodes are fetched before the first of them is looked at. */
#define AHEAD 16

/* Blocks in a row with the same holders. */
struct stretch {
    lbr_kv_set set;
    uint32_t begin, length;
};

/* The fastest medium of an entry with a resident label. */
static unsigned fastest(uint32_t labels)
{
    unsigned medium = 0;

    while (!(labels >> 4 * medium & LBR_KV_MOST_LABELS))
        medium++;
    return medium;
}

static void meet(struct lbr_kv_index *index, struct lbr_kv_owner *owner)
{
    owner->met_by = index->matches;
    owner->run = 0;
    memset(owner->found, 0, sizeof owner->found);
    index->met[index->met_count++] = lbr_kv_owner_index(owner);
}

/* Adds a stretch to the runs of all that hold it, and everything before it.
 * Returns their number. */
static uint32_t extend(struct lbr_kv_index *index,
                       const struct stretch *stretch)
{
    const struct lbr_kv_members *members =
        lbr_kv_set_members(&index->sets, stretch->set);
    uint32_t holders = 0;
    uint32_t i;

    for (i = 0; i < members->count; i++) {
        uint32_t labels = lbr_kv_entry_labels(members->entries[i]);
        struct lbr_kv_owner *owner = lbr_slab_at(
            &index->owners, lbr_kv_entry_owner(members->entries[i]));

        if (!(labels & LBR_KV_RESIDENT) || owner->retired)
            continue;
        if (!stretch->begin)
            meet(index, owner);
        else if (owner->met_by != index->matches ||
                 owner->run != stretch->begin)
            continue;
        owner->run += stretch->length;
        owner->found[fastest(labels)] += stretch->length;
        holders++;
    }
    return holders;
}

static void fetch(const struct lbr_kv_index *index, const uint64_t *keys,
                  size_t count, size_t from)
{
    size_t end = from + AHEAD < count ? from + AHEAD : count;

    for (; from < end; from++)
        lbr_kv_node_prefetch(&index->nodes, keys[from]);
}

void lbr_kv_index_match(struct lbr_kv_index *index, const uint64_t *keys,
                        size_t count)
{
    struct stretch stretch = {0, 0, 0};
    uint32_t i;

    index->matches++;
    index->met_count = 0;
    if (!index->nodes.count)
        return;
    fetch(index, keys, count, 0);
    for (i = 0; i < count; i++) {
        const lbr_kv_set *set;

        if (i % AHEAD == 0)
            fetch(index, keys, count, i + AHEAD);
        set = lbr_kv_node_find(&index->nodes, keys[i]);
        if (!set)
            break;
        if (*set != stretch.set) {
            if (stretch.length && !extend(index, &stretch))
                return;
            stretch.set = *set;
            stretch.begin = i;
            stretch.length = 0;
        }
        stretch.length++;
    }
    if (stretch.length)
        (void)extend(index, &stretch);
}
