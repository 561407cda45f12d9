/* SPDX-License-Identifier: MIT */
#include "models/kv_index.h"

#include "base/hash.h"
#include "models/kv_index_copies.h"
#include "models/kv_index_room.h"
#include "models/kv_index_waiting.h"

#define OWNER_CHUNK_BITS 4
#define FARTHEST_ANCESTOR 256

/* Part of an entry that a label without copies is. */
#define GHOST (1U << 4 * LBR_KV_GHOST)

static const uint8_t no_copies[LBR_KV_MEDIA] = {0};

void lbr_kv_index_init(struct lbr_kv_index *index, struct lbr_memory *memory,
                       unsigned kind, uint32_t limit, uint64_t secret)
{
    memset(index, 0, sizeof *index);
    index->memory = memory;
    lbr_kv_nodes_init(&index->nodes, memory, limit);
    lbr_kv_labels_init(&index->labels, memory, limit, secret);
    /* One more while a block goes from one set to another. */
    lbr_kv_sets_init(&index->sets, memory, kind, limit + 1, secret);
    lbr_slab_init(&index->owners, memory, kind + 1, sizeof(struct lbr_kv_owner),
                  OWNER_CHUNK_BITS, LBR_KV_OWNERS);
    lbr_kv_waiting_init(index, kind + 2, limit);
}

void lbr_kv_index_destroy(struct lbr_kv_index *index)
{
    lbr_kv_waiting_destroy(index);
    lbr_memory_free(index->memory, index->met, index->met_capacity,
                    sizeof *index->met);
    lbr_slab_destroy(&index->owners);
    lbr_kv_sets_destroy(&index->sets);
    lbr_kv_labels_destroy(&index->labels);
    lbr_kv_nodes_destroy(&index->nodes);
}

size_t lbr_kv_index_estimate(uint32_t limit)
{
    return lbr_kv_nodes_estimate(limit) + lbr_kv_labels_estimate(limit) +
           lbr_kv_sets_estimate(limit) + lbr_kv_waiting_estimate(limit) +
           lbr_slab_estimate(sizeof(struct lbr_kv_owner), OWNER_CHUNK_BITS,
                             LBR_KV_OWNERS) +
           2 * LBR_KV_OWNERS * sizeof(uint32_t);
}

/* ---- owners ---- */

static int reserve_met(struct lbr_kv_index *index)
{
    uint32_t capacity = index->met_capacity ? index->met_capacity * 2 : 16;
    void *met = index->met;

    if (index->owners.used < index->met_capacity)
        return 1;
    if (!lbr_memory_grow(index->memory, &met, index->met_capacity, capacity,
                         sizeof *index->met))
        return 0;
    index->met = met;
    index->met_capacity = capacity;
    return 1;
}

struct lbr_kv_owner *lbr_kv_owner_add(struct lbr_kv_index *index, void *context)
{
    struct lbr_kv_owner *owner;
    struct lbr_slot slot;
    void *object;

    if (!lbr_kv_nodes_prepare(&index->nodes) ||
        !lbr_kv_labels_prepare(&index->labels) || !reserve_met(index))
        return NULL;
    if (lbr_slab_reserve(&index->owners) == LBROUTE_ERR_LIMIT)
        lbr_kv_room_sweep_owner(index);
    if (lbr_slab_take(&index->owners, &object))
        return NULL;
    owner = object;
    slot = owner->slot;
    memset(owner, 0, sizeof *owner);
    owner->slot = slot;
    owner->context = context;
    lbr_list_init(&owner->waiting);
    return owner;
}

void lbr_kv_owner_retire(struct lbr_kv_index *index, struct lbr_kv_owner *owner)
{
    lbr_kv_waiting_forget(index, owner);
    owner->context = NULL;
    if (!owner->labels) {
        lbr_slab_give(&index->owners, owner);
        return;
    }
    owner->retired = 1;
    index->resident -= owner->resident;
    index->retired_labels += owner->labels;
    index->holders--;
}

/* ---- labels and what they mean for their blocks ---- */

uint64_t lbr_kv_key_after(uint64_t key, uint64_t content)
{
    return lbr_hash_pair(key, content);
}

/* Only the existing copies and the ghost count, once each. */
static uint32_t part_of(const uint8_t copies[LBR_KV_MEDIA])
{
    uint32_t part = (uint32_t)(copies[0] != 0) |
                    (uint32_t)(copies[1] != 0) << 4 |
                    (uint32_t)(copies[2] != 0) << 8;

    return part ? part : GHOST;
}

/* Whether adding |part| would exceed what an entry can count. */
static int exceeds(uint32_t labels, uint32_t part)
{
    uint32_t kind;

    for (kind = 0; kind < LBR_KV_KINDS; kind++)
        if (part >> 4 * kind & 1 &&
            (labels >> 4 * kind & LBR_KV_MOST_LABELS) == LBR_KV_MOST_LABELS)
            return 1;
    return 0;
}

/* Lets a label of |owner| count as |to| instead of |from| for the block with
 * |key|. Returns 0 without memory. */
static int count_as(struct lbr_kv_index *index, uint32_t owner, uint64_t key,
                    uint32_t from, uint32_t to)
{
    lbr_kv_set *place = lbr_kv_node_find(&index->nodes, key);
    lbr_kv_set set = place ? *place : 0;
    uint32_t labels = lbr_kv_set_labels(&index->sets, set, owner) - from;

    if (exceeds(labels, to))
        return 0;
    set = lbr_kv_set_change(&index->sets, set, owner, labels + to);
    if (set == LBR_KV_NO_SET)
        return 0;
    if (!place)
        lbr_kv_node_add(&index->nodes, key, set);
    else if (set)
        *place = set;
    else
        lbr_kv_node_remove(&index->nodes, key);
    return 1;
}

static struct lbr_kv_owner *owner_of(const struct lbr_kv_index *index,
                                     const struct lbr_kv_record *record)
{
    return lbr_slab_at(&index->owners, record->owner);
}

/* Counts a label of |owner| that had |before| and has |after|. */
static void count_copies(struct lbr_kv_index *index, struct lbr_kv_owner *owner,
                         const uint8_t before[LBR_KV_MEDIA],
                         const uint8_t after[LBR_KV_MEDIA])
{
    uint32_t more = (uint32_t)lbr_kv_copies_any(after) -
                    (uint32_t)lbr_kv_copies_any(before);
    unsigned medium;

    owner->resident += more;
    if (!owner->retired)
        index->resident += more;
    for (medium = 0; medium < LBR_KV_MEDIA; medium++)
        owner->blocks[medium] +=
            (uint32_t)(after[medium] != 0) - (uint32_t)(before[medium] != 0);
}

/* Gives a label other copies. Returns 0 without memory. */
static int set_copies(struct lbr_kv_index *index, struct lbr_kv_record *record,
                      const uint8_t copies[LBR_KV_MEDIA])
{
    uint32_t from = part_of(record->copies);
    uint32_t to = part_of(copies);

    if (from != to &&
        !count_as(index, record->owner, lbr_kv_word(record->key), from, to))
        return 0;
    count_copies(index, owner_of(index, record), record->copies, copies);
    memcpy(record->copies, copies, LBR_KV_MEDIA);
    return 1;
}

static void count_label(struct lbr_kv_index *index, struct lbr_kv_owner *owner)
{
    index->holders += (uint32_t)(owner->labels == 0);
    owner->labels++;
}

static void uncount_label(struct lbr_kv_index *index,
                          struct lbr_kv_owner *owner)
{
    owner->labels--;
    if (owner->retired)
        index->retired_labels--;
    else
        index->holders -= (uint32_t)(owner->labels == 0);
    if (owner->retired && !owner->labels)
        lbr_slab_give(&index->owners, owner);
}

/* Forgets a label of which its block does not know any more. */
static void drop(struct lbr_kv_index *index, lbr_kv_label label)
{
    struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
    struct lbr_kv_owner *owner = owner_of(index, record);

    count_copies(index, owner, record->copies, no_copies);
    lbr_kv_label_remove(&index->labels, label);
    uncount_label(index, owner);
}

int lbr_kv_label_forget(struct lbr_kv_index *index, lbr_kv_label label)
{
    const struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);

    if (!count_as(index, record->owner, lbr_kv_word(record->key),
                  part_of(record->copies), 0))
        return 0;
    drop(index, label);
    return 1;
}

static int is_ghost(const struct lbr_kv_record *record)
{
    return part_of(record->copies) == GHOST;
}

/* A label has one child less. Ghosts without children go, and so on upward. */
static void lose_child(struct lbr_kv_index *index, lbr_kv_label label)
{
    while (label) {
        struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
        lbr_kv_label parent = record->parent;

        if (record->children < UINT16_MAX)
            record->children--;
        if (record->children || !is_ghost(record) ||
            !lbr_kv_label_forget(index, label))
            return;
        label = parent;
    }
}

int lbr_kv_label_end(struct lbr_kv_index *index, lbr_kv_label label)
{
    lbr_kv_label parent = lbr_kv_record(&index->labels, label)->parent;

    if (!lbr_kv_label_forget(index, label))
        return 0;
    lose_child(index, parent);
    return 1;
}

static void gain_child(struct lbr_kv_index *index, lbr_kv_label label)
{
    struct lbr_kv_record *record;

    if (!label)
        return;
    record = lbr_kv_record(&index->labels, label);
    if (record->children < UINT16_MAX)
        record->children++;
}

/* ---- what owners say ---- */

static lbr_kv_label find(const struct lbr_kv_index *index,
                         struct lbr_kv_name name)
{
    uint32_t owner = lbr_kv_owner_index(name.owner);

    return lbr_kv_label_find(
        &index->labels, lbr_kv_label_hash(&index->labels, owner, name.name),
        owner, name.name);
}

int lbr_kv_index_find(const struct lbr_kv_index *index, struct lbr_kv_name name,
                      struct lbr_kv_spot *spot)
{
    lbr_kv_label label = find(index, name);

    if (!label)
        return 0;
    spot->label = label;
    spot->key = lbr_kv_word(lbr_kv_record(&index->labels, label)->key);
    return 1;
}

static uint64_t hash_of(const struct lbr_kv_index *index,
                        struct lbr_kv_name name)
{
    return lbr_kv_label_hash(&index->labels, lbr_kv_owner_index(name.owner),
                             name.name);
}

void lbr_kv_index_expect(const struct lbr_kv_index *index,
                         struct lbr_kv_name name)
{
    lbr_kv_label_prefetch(&index->labels, hash_of(index, name));
}

void lbr_kv_index_expect_record(const struct lbr_kv_index *index,
                                struct lbr_kv_name name)
{
    lbr_kv_label_prefetch_record(&index->labels, hash_of(index, name));
}

void lbr_kv_index_expect_block(const struct lbr_kv_index *index,
                               struct lbr_kv_name name)
{
    struct lbr_kv_spot spot;

    if (lbr_kv_index_find(index, name, &spot))
        lbr_kv_node_prefetch(&index->nodes, spot.key);
}

static enum lbr_kv_fate add_copy(struct lbr_kv_index *index, lbr_kv_label label,
                                 unsigned medium, int counted)
{
    struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
    int there = record->copies[medium] != 0;
    uint8_t copies[LBR_KV_MEDIA];

    memcpy(copies, record->copies, LBR_KV_MEDIA);
    lbr_kv_copies_add(copies, medium, counted);
    if (!set_copies(index, record, copies))
        return LBR_KV_FATE_NO_ROOM;
    return there ? LBR_KV_FATE_NOTHING : LBR_KV_FATE_DONE;
}

/* A label that was not known, in |medium|. Its parent, which has it as a child
 * already, makes no room for it. */
static lbr_kv_label add_label(struct lbr_kv_index *index,
                              struct lbr_kv_name name, lbr_kv_label parent,
                              uint64_t key, unsigned medium)
{
    uint32_t owner = lbr_kv_owner_index(name.owner);
    struct lbr_kv_record *record;
    lbr_kv_label label;

    if (!lbr_kv_room_make(index, name.owner) ||
        !count_as(index, owner, key, 0, 1U << 4 * medium))
        return 0;
    label = lbr_kv_label_add(
        &index->labels, lbr_kv_label_hash(&index->labels, owner, name.name),
        owner, name.name);
    record = lbr_kv_record(&index->labels, label);
    lbr_kv_set_word(record->key, key);
    record->parent = parent;
    record->copies[medium] = 1;
    count_copies(index, name.owner, no_copies, record->copies);
    count_label(index, name.owner);
    return label;
}

static lbr_kv_label store_new(struct lbr_kv_index *index,
                              struct lbr_kv_name name, lbr_kv_label parent,
                              uint64_t key, unsigned medium)
{
    lbr_kv_label label;

    gain_child(index, parent);
    label = add_label(index, name, parent, key, medium);
    if (!label)
        lose_child(index, parent);
    return label;
}

/* Whether |label| can have |parent|: not where it would come after itself. Of a
 * long row nobody looks at the beginning; then it has none, and only the order
 * in which room is made suffers. */
static int may_follow(const struct lbr_kv_index *index, lbr_kv_label label,
                      lbr_kv_label parent)
{
    int steps = 0;

    while (parent && parent != label && ++steps < FARTHEST_ANCESTOR)
        parent = lbr_kv_record(&index->labels, parent)->parent;
    return !parent;
}

/* Moves a label to where its owner says that it is now, without copies. Returns
 * 0 without memory. Then it may be gone, while others say that it is their
 * parent: its owner has to go, too. */
static int rename_label(struct lbr_kv_index *index, lbr_kv_label label,
                        lbr_kv_label parent, uint64_t key)
{
    struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
    lbr_kv_label before = record->parent;

    if (!count_as(index, record->owner, lbr_kv_word(record->key),
                  part_of(record->copies), 0))
        return 0;
    if (!count_as(index, record->owner, key, 0, GHOST)) {
        drop(index, label);
        return 0;
    }
    count_copies(index, owner_of(index, record), record->copies, no_copies);
    memcpy(record->copies, no_copies, LBR_KV_MEDIA);
    lbr_kv_set_word(record->key, key);
    record->parent = may_follow(index, label, parent) ? parent : 0;
    gain_child(index, record->parent);
    lose_child(index, before);
    return 1;
}

enum lbr_kv_fate lbr_kv_index_put(struct lbr_kv_index *index,
                                  struct lbr_kv_name name, lbr_kv_label *last,
                                  uint64_t key, unsigned medium, int counted,
                                  int *renamed)
{
    lbr_kv_label label = find(index, name);
    enum lbr_kv_fate fate = LBR_KV_FATE_DONE;

    *renamed = 0;
    if (!label) {
        label = store_new(index, name, *last, key, medium);
        if (!label)
            return LBR_KV_FATE_NO_ROOM;
    } else {
        *renamed =
            lbr_kv_word(lbr_kv_record(&index->labels, label)->key) != key;
        if (*renamed && !rename_label(index, label, *last, key))
            return LBR_KV_FATE_LOST;
        fate = add_copy(index, label, medium, counted);
    }
    *last = label;
    return fate;
}

enum lbr_kv_fate lbr_kv_index_store(struct lbr_kv_index *index,
                                    struct lbr_kv_name name,
                                    struct lbr_kv_spot *spot, uint64_t content,
                                    unsigned medium, int counted, int *renamed)
{
    spot->key = lbr_kv_key_after(spot->key, content);
    return lbr_kv_index_put(index, name, &spot->label, spot->key, medium,
                            counted, renamed);
}

enum lbr_kv_fate lbr_kv_index_add_copy(struct lbr_kv_index *index,
                                       struct lbr_kv_name name, unsigned medium,
                                       int counted)
{
    lbr_kv_label label = find(index, name);

    if (label)
        return add_copy(index, label, medium, counted);
    return lbr_kv_waiting_add_copy(index, name, medium, counted)
               ? LBR_KV_FATE_NOTHING
               : LBR_KV_FATE_UNKNOWN;
}

static enum lbr_kv_fate remove_copy(struct lbr_kv_index *index,
                                    lbr_kv_label label, unsigned medium,
                                    int counted, uint32_t *left)
{
    struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
    uint8_t copies[LBR_KV_MEDIA];
    uint32_t count;

    if (is_ghost(record))
        return LBR_KV_FATE_UNKNOWN;
    memcpy(copies, record->copies, LBR_KV_MEDIA);
    count = lbr_kv_copies_remove(copies, medium, counted);
    if (part_of(copies) == GHOST && !record->children) {
        if (!lbr_kv_label_end(index, label))
            return LBR_KV_FATE_LOST;
    } else if (!set_copies(index, record, copies)) {
        return LBR_KV_FATE_LOST;
    }
    *left += count;
    return count ? LBR_KV_FATE_DONE : LBR_KV_FATE_NOTHING;
}

enum lbr_kv_fate lbr_kv_index_remove(struct lbr_kv_index *index,
                                     struct lbr_kv_name name, unsigned medium,
                                     int counted, uint32_t *left)
{
    lbr_kv_label label = find(index, name);

    if (label)
        return remove_copy(index, label, medium, counted, left);
    return lbr_kv_waiting_remove(index, name, medium, counted)
               ? LBR_KV_FATE_NOTHING
               : LBR_KV_FATE_UNKNOWN;
}

enum lbr_kv_fate lbr_kv_index_unname(struct lbr_kv_index *index,
                                     struct lbr_kv_name name)
{
    lbr_kv_label label = find(index, name);
    struct lbr_kv_record *record;
    enum lbr_kv_fate fate;

    if (!label)
        return LBR_KV_FATE_UNKNOWN;
    record = lbr_kv_record(&index->labels, label);
    fate = is_ghost(record) ? LBR_KV_FATE_NOTHING : LBR_KV_FATE_DONE;
    if (!record->children)
        return lbr_kv_label_end(index, label) ? fate : LBR_KV_FATE_LOST;
    if (!set_copies(index, record, no_copies))
        return LBR_KV_FATE_LOST;
    lbr_kv_label_unname(&index->labels, label);
    return fate;
}

/* ---- what was saved ---- */

static int may_restore(struct lbr_kv_index *index, struct lbr_kv_name name,
                       const struct lbr_kv_saved *saved)
{
    if (saved->named && find(index, name))
        return 0;
    return lbr_kv_label_reserve(&index->labels) &&
           count_as(index, lbr_kv_owner_index(name.owner), saved->key, 0,
                    part_of(saved->copies));
}

lbr_kv_label lbr_kv_label_restore(struct lbr_kv_index *index,
                                  struct lbr_kv_owner *owner,
                                  const struct lbr_kv_saved *saved,
                                  lbr_kv_label parent)
{
    struct lbr_kv_name name = {owner, saved->name};
    struct lbr_kv_record *record;
    lbr_kv_label label;

    if (!may_restore(index, name, saved))
        return 0;
    label = lbr_kv_label_add(&index->labels, hash_of(index, name),
                             lbr_kv_owner_index(owner), saved->name);
    record = lbr_kv_record(&index->labels, label);
    lbr_kv_set_word(record->key, saved->key);
    if (parent && lbr_kv_record(&index->labels, parent)->owner == record->owner)
        record->parent = parent;
    gain_child(index, record->parent);
    memcpy(record->copies, saved->copies, LBR_KV_MEDIA);
    count_copies(index, owner, no_copies, record->copies);
    count_label(index, owner);
    if (!saved->named)
        lbr_kv_label_unname(&index->labels, label);
    return label;
}
