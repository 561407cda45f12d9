/* SPDX-License-Identifier: MIT */
#include "kv_check.h"

#include <stdlib.h>

#include "base/hash.h"
#include "models/kv_index_waiting.h"
#include "support/test.h"

#define GHOST (1U << 4 * LBR_KV_GHOST)

/* ---- nodes ---- */

/* How often the entries in other buckets than their own must have passed. */
static void pass(uint32_t *passed, uint32_t buckets, uint32_t from, uint32_t to)
{
    for (; from != to; from = (from + 1) % buckets)
        passed[from]++;
}

void kv_check_nodes(const struct lbr_kv_nodes *nodes)
{
    uint32_t buckets = nodes->buckets ? nodes->bucket_count : 0;
    uint32_t *passed = calloc(nodes->bucket_count, sizeof *passed);
    uint32_t count = 0;

    assert_non_null(passed);
    for (uint32_t i = 0; i < buckets; i++)
        for (uint32_t slot = 0; slot < LBR_KV_NODES_IN_BUCKET; slot++) {
            uint64_t key = nodes->buckets[i].keys[slot];

            if (!nodes->buckets[i].sets[slot])
                continue;
            pass(passed, buckets,
                 (uint32_t)(lbr_kv_node_home(nodes, key) - nodes->buckets), i);
            assert_ptr_equal(lbr_kv_node_find(nodes, key),
                             &nodes->buckets[i].sets[slot]);
            count++;
        }
    for (uint32_t i = 0; i < buckets; i++)
        assert_int_equal(nodes->buckets[i].passed, passed[i]);
    assert_int_equal(nodes->count, count);
    free(passed);
}

/* ---- labels ---- */

/* Those that are in no bucket. */
static uint32_t count_nameless(const struct lbr_kv_labels *labels)
{
    uint32_t count = 0;

    for (lbr_kv_label label = 1; label <= labels->used; label++)
        count += lbr_kv_record(labels, label)->live == LBR_KV_NAMELESS;
    return count;
}

/* Each free place is listed once. */
static void check_free(const struct lbr_kv_labels *labels)
{
    uint32_t count = 0;

    for (lbr_kv_label label = labels->free_head; label;
         label = lbr_kv_record(labels, label)->parent) {
        assert_true(label <= labels->used);
        assert_false(lbr_kv_record(labels, label)->live);
        assert_true(++count <= labels->used);
    }
    assert_int_equal(labels->used - labels->live, count);
}

static void check_place(const struct lbr_kv_labels *labels, uint32_t bucket,
                        uint32_t place, uint32_t *passed)
{
    lbr_kv_label label = place & 0xffffff;
    const struct lbr_kv_record *record = lbr_kv_record(labels, label);
    uint64_t name = lbr_kv_word(record->name);
    uint64_t hash = lbr_kv_label_hash(labels, record->owner, name);

    assert_true(label && label <= labels->used && record->live == LBR_KV_NAMED);
    assert_int_equal(place >> 24, hash & 0xff);
    assert_int_equal(lbr_kv_label_find(labels, hash, record->owner, name),
                     label);
    pass(passed, labels->bucket_count,
         (uint32_t)((hash >> 32) * labels->bucket_count >> 32), bucket);
}

void kv_check_labels(const struct lbr_kv_labels *labels)
{
    uint32_t buckets = labels->buckets ? labels->bucket_count : 0;
    uint32_t *passed = calloc(labels->bucket_count, sizeof *passed);
    uint32_t count = 0;

    assert_non_null(passed);
    for (uint32_t i = 0; i < buckets; i++)
        for (uint32_t slot = 0; slot < LBR_KV_LABELS_IN_BUCKET; slot++)
            if (labels->buckets[i].places[slot]) {
                check_place(labels, i, labels->buckets[i].places[slot], passed);
                count++;
            }
    for (uint32_t i = 0; i < buckets; i++)
        assert_int_equal(labels->buckets[i].passed, passed[i]);
    assert_int_equal(labels->live, count + count_nameless(labels));
    assert_true(labels->used <= labels->limit);
    check_free(labels);
    free(passed);
}

/* ---- sets ---- */

/* A label as its block should know it. */
struct mention {
    uint64_t key;
    uint32_t owner;
    uint32_t labels;
};

static int by_key_and_owner(const void *a, const void *b)
{
    const struct mention *x = a;
    const struct mention *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->owner > y->owner) - (x->owner < y->owner);
}

static uint32_t part_of(const struct lbr_kv_record *record)
{
    uint32_t part = 0;

    for (unsigned medium = 0; medium < LBR_KV_MEDIA; medium++)
        part += (uint32_t)(record->copies[medium] != 0) << 4 * medium;
    return part ? part : GHOST;
}

/* All labels, by block and owner, those of an owner added up. */
static uint32_t gather(const struct lbr_kv_labels *labels,
                       struct mention *mentions)
{
    uint32_t count = 0;
    uint32_t kept = 0;

    for (lbr_kv_label label = 1; label <= labels->used; label++) {
        const struct lbr_kv_record *record = lbr_kv_record(labels, label);
        struct mention mention = {lbr_kv_word(record->key), record->owner,
                                  part_of(record)};

        if (record->live)
            mentions[count++] = mention;
    }
    qsort(mentions, count, sizeof *mentions, by_key_and_owner);
    for (uint32_t i = 0; i < count; i++)
        if (kept && !by_key_and_owner(&mentions[kept - 1], &mentions[i]))
            mentions[kept - 1].labels += mentions[i].labels;
        else
            mentions[kept++] = mentions[i];
    return kept;
}

static void check_set(const struct lbr_kv_sets *sets,
                      const struct lbr_kv_members *members,
                      const struct mention *mentions, uint32_t count)
{
    uint64_t hash = 0;

    assert_int_equal(members->count, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = lbr_kv_entry(mentions[i].owner, mentions[i].labels);

        assert_int_equal(members->entries[i], entry);
        hash += lbr_hash_pair(sets->secret, entry);
    }
    assert_true(members->hash == hash);
}

/* The sets that nodes have are all that there are, each kept once. */
static void check_references(const struct lbr_kv_sets *sets,
                             const uint32_t *references)
{
    size_t used = 0;
    uint32_t live = 0;

    for (uint32_t i = 0; i < sets->slab.used; i++) {
        const struct lbr_kv_members *members = lbr_kv_set_members(sets, i + 1);

        if (!references[i])
            continue;
        assert_int_equal(members->slot.next_free, LBR_SLOT_LIVE);
        assert_int_equal(members->references, references[i]);
        used += lbr_arena_cost(members->count * sizeof *members->entries);
        live++;
    }
    assert_int_equal(sets->slab.live, live);
    assert_int_equal(sets->by_hash.count, live);
    assert_int_equal(lbr_arena_used(&sets->arena), used);
}

static void check_sets(const struct lbr_kv_index *index)
{
    struct mention *mentions = calloc(index->labels.live + 1, sizeof *mentions);
    uint32_t *references =
        calloc(index->sets.slab.used + 1, sizeof *references);
    uint32_t count;
    uint32_t nodes = 0;

    assert_true(mentions && references);
    count = gather(&index->labels, mentions);
    for (uint32_t i = 0; i < count; nodes++) {
        lbr_kv_set *set = lbr_kv_node_find(&index->nodes, mentions[i].key);
        uint32_t end = i;

        while (end < count && mentions[end].key == mentions[i].key)
            end++;
        assert_non_null(set);
        check_set(&index->sets, lbr_kv_set_members(&index->sets, *set),
                  &mentions[i], end - i);
        references[*set - 1]++;
        i = end;
    }
    assert_int_equal(index->nodes.count, nodes);
    check_references(&index->sets, references);
    free(references);
    free(mentions);
}

/* ---- children ---- */

static const struct lbr_kv_owner *owner_of(const struct lbr_kv_index *index,
                                           const struct lbr_kv_record *record)
{
    return lbr_slab_at(&index->owners, record->owner);
}

/* Links of what retired owners have left mean nothing. */
static void check_children(const struct lbr_kv_index *index, int spare_ghosts)
{
    const struct lbr_kv_labels *labels = &index->labels;
    uint32_t *children = calloc(labels->used + 1, sizeof *children);

    assert_non_null(children);
    for (lbr_kv_label label = 1; label <= labels->used; label++) {
        const struct lbr_kv_record *record = lbr_kv_record(labels, label);
        const struct lbr_kv_record *parent;

        if (!record->live || owner_of(index, record)->retired ||
            !record->parent)
            continue;
        parent = lbr_kv_record(labels, record->parent);
        assert_true(parent->live);
        assert_int_equal(parent->owner, record->owner);
        children[record->parent]++;
    }
    for (lbr_kv_label label = 1; label <= labels->used; label++) {
        const struct lbr_kv_record *record = lbr_kv_record(labels, label);

        if (!record->live || owner_of(index, record)->retired)
            continue;
        if (record->children < UINT16_MAX || labels->limit < UINT16_MAX)
            assert_int_equal(record->children, children[label]);
        if (part_of(record) == GHOST && !spare_ghosts)
            assert_true(record->children > 0);
    }
    free(children);
}

/* ---- owners ---- */

static void recount(const struct lbr_kv_index *index, uint32_t owner,
                    struct lbr_kv_owner *counts)
{
    for (lbr_kv_label label = 1; label <= index->labels.used; label++) {
        const struct lbr_kv_record *record =
            lbr_kv_record(&index->labels, label);

        if (!record->live || record->owner != owner)
            continue;
        counts->labels++;
        counts->resident += part_of(record) != GHOST;
        for (unsigned medium = 0; medium < LBR_KV_MEDIA; medium++)
            counts->blocks[medium] += record->copies[medium] != 0;
    }
}

static void check_owner(const struct lbr_kv_index *index,
                        const struct lbr_kv_owner *owner)
{
    struct lbr_kv_owner counts = {0};
    uint32_t waiting = 0;

    recount(index, lbr_kv_owner_index(owner), &counts);
    assert_int_equal(owner->labels, counts.labels);
    assert_int_equal(owner->resident, counts.resident);
    for (unsigned medium = 0; medium < LBR_KV_MEDIA; medium++)
        assert_int_equal(owner->blocks[medium], counts.blocks[medium]);
    for (const struct lbr_link *link = owner->waiting.next;
         link != &owner->waiting; link = link->next) {
        assert_int_equal(LBR_OWNER(link, struct lbr_kv_waiting, link)->owner,
                         lbr_kv_owner_index(owner));
        waiting++;
    }
    assert_int_equal(owner->waiting_count, waiting);
    if (owner->retired)
        assert_true(owner->labels > 0 && !waiting);
}

/* Blocks that wait for the same one are a ring, of which the table has one. */
static void check_siblings(const struct lbr_kv_index *index)
{
    const struct lbr_kv_waiting *waiting = NULL;
    uint32_t first = 0;

    while ((waiting = lbr_slab_next(
                &index->waiting, waiting ? waiting->slot.handle : 0)) != NULL) {
        const struct lbr_kv_waiting *next = LBR_OWNER(
            waiting->siblings.next, const struct lbr_kv_waiting, siblings);
        uint32_t firsts = waiting->first;

        for (; next != waiting;
             next = LBR_OWNER(next->siblings.next, const struct lbr_kv_waiting,
                              siblings)) {
            assert_true(next->owner == waiting->owner &&
                        next->parent == waiting->parent);
            firsts += next->first;
        }
        assert_int_equal(firsts, 1);
        first += waiting->first;
    }
    assert_int_equal(index->waiting_parents.count, first);
}

static void check_owners(const struct lbr_kv_index *index)
{
    const struct lbr_kv_owner *owner = NULL;
    uint32_t holders = 0, retired = 0, resident = 0, labels = 0, waiting = 0;

    while ((owner = lbr_slab_next(&index->owners,
                                  owner ? owner->slot.handle : 0)) != NULL) {
        check_owner(index, owner);
        holders += !owner->retired && owner->labels;
        retired += owner->retired ? owner->labels : 0;
        resident += owner->retired ? 0 : owner->resident;
        labels += owner->labels;
        waiting += owner->waiting_count;
    }
    assert_int_equal(index->holders, holders);
    assert_int_equal(index->retired_labels, retired);
    assert_int_equal(index->resident, resident);
    assert_int_equal(index->labels.live, labels);
    assert_int_equal(index->waiting.live, waiting);
    assert_int_equal(index->waiting_names.count, waiting);
    check_siblings(index);
}

void kv_check_index(struct lbr_kv_index *index, int spare_ghosts)
{
    kv_check_nodes(&index->nodes);
    kv_check_labels(&index->labels);
    check_sets(index);
    check_owners(index);
    check_children(index, spare_ghosts);
    assert_true(index->met_capacity >= index->owners.used);
}

void kv_sweep_all(struct lbr_kv_index *index)
{
    uint32_t most = index->labels.used + 1;

    while (index->retired_labels && most--)
        lbr_kv_index_sweep(index);
    assert_int_equal(index->retired_labels, 0);
}
