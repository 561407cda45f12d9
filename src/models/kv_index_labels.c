/* SPDX-License-Identifier: MIT */
#include "models/kv_index_labels.h"

#include "base/hash.h"

#define SLOTS LBR_KV_LABELS_IN_BUCKET
#define LINE sizeof(struct lbr_kv_label_bucket)
#define CHUNK ((size_t)1 << LBR_KV_CHUNK_BITS)
#define PLACE_BITS 24
#define PLACE ((1U << PLACE_BITS) - 1)

/* At most 17 of 20 places are taken. */
static uint32_t buckets_for(uint32_t limit)
{
    return (uint32_t)((uint64_t)limit * 4 / 51) + 1;
}

static size_t bytes_of(const struct lbr_kv_labels *labels)
{
    return (labels->bucket_count + (size_t)1) * LINE;
}

void lbr_kv_labels_init(struct lbr_kv_labels *labels, struct lbr_memory *memory,
                        uint32_t limit, uint64_t secret)
{
    memset(labels, 0, sizeof *labels);
    labels->secret = secret;
    labels->memory = memory;
    labels->limit = limit;
    labels->bucket_count = buckets_for(limit);
}

int lbr_kv_labels_prepare(struct lbr_kv_labels *labels)
{
    uintptr_t first;

    if (labels->space)
        return 1;
    labels->space = lbr_memory_new(labels->memory, 1, bytes_of(labels));
    if (!labels->space)
        return 0;
    first = ((uintptr_t)labels->space + LINE - 1) / LINE * LINE;
    labels->buckets = (struct lbr_kv_label_bucket *)first;
    return 1;
}

void lbr_kv_labels_destroy(struct lbr_kv_labels *labels)
{
    uint32_t i;

    for (i = 0; i < labels->chunk_count; i++)
        lbr_memory_free(labels->memory, labels->chunks[i], CHUNK,
                        sizeof(struct lbr_kv_record));
    lbr_memory_free(labels->memory, labels->chunks, labels->chunk_capacity,
                    sizeof *labels->chunks);
    lbr_memory_free(labels->memory, labels->space, 1, bytes_of(labels));
}

uint64_t lbr_kv_label_hash(const struct lbr_kv_labels *labels, uint32_t owner,
                           uint64_t name)
{
    return lbr_hash_pair(lbr_hash_pair(labels->secret, name), owner);
}

/* Low bits: the high ones say which bucket. */
static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)hash << PLACE_BITS;
}

static struct lbr_kv_label_bucket *home_of(const struct lbr_kv_labels *labels,
                                           uint64_t hash)
{
    return &labels->buckets[(hash >> 32) * labels->bucket_count >> 32];
}

static struct lbr_kv_label_bucket *next_of(const struct lbr_kv_labels *labels,
                                           struct lbr_kv_label_bucket *bucket)
{
    bucket++;
    return bucket == labels->buckets + labels->bucket_count ? labels->buckets
                                                            : bucket;
}

static int is_called(const struct lbr_kv_record *record, uint32_t owner,
                     uint64_t name)
{
    return record->owner == owner && lbr_kv_word(record->name) == name;
}

static void prefetch(const struct lbr_kv_record *record)
{
#if defined(__GNUC__)
    __builtin_prefetch(record);
#else
    (void)record;
#endif
}

/* Whether some place has the tag; all are looked at in one go. */
static int has_tag(const struct lbr_kv_label_bucket *bucket, uint32_t tag)
{
    uint32_t count = 0;
    uint32_t i;

    for (i = 0; i < SLOTS; i++)
        count += (uint32_t)((bucket->places[i] & ~PLACE) == tag);
    return count != 0;
}

void lbr_kv_label_prefetch_record(const struct lbr_kv_labels *labels,
                                  uint64_t hash)
{
    const struct lbr_kv_label_bucket *bucket = home_of(labels, hash);
    uint32_t tag = tag_of(hash);
    uint32_t i;

    if (!has_tag(bucket, tag))
        return;
    for (i = 0; i < SLOTS; i++)
        if ((bucket->places[i] & ~PLACE) == tag && bucket->places[i] & PLACE)
            prefetch(lbr_kv_record(labels, bucket->places[i] & PLACE));
}

static lbr_kv_label find_in(const struct lbr_kv_labels *labels,
                            const struct lbr_kv_label_bucket *bucket,
                            uint64_t hash, uint32_t owner, uint64_t name)
{
    uint32_t tag = tag_of(hash);
    uint32_t i;

    if (!has_tag(bucket, tag))
        return 0;
    for (i = 0; i < SLOTS; i++) {
        lbr_kv_label label = bucket->places[i] & PLACE;

        if ((bucket->places[i] & ~PLACE) == tag && label &&
            is_called(lbr_kv_record(labels, label), owner, name))
            return label;
    }
    return 0;
}

/* Of few buckets every one may have been passed: the search ends at home. */
lbr_kv_label lbr_kv_label_find(const struct lbr_kv_labels *labels,
                               uint64_t hash, uint32_t owner, uint64_t name)
{
    struct lbr_kv_label_bucket *home = home_of(labels, hash);
    struct lbr_kv_label_bucket *bucket = home;
    lbr_kv_label label = find_in(labels, bucket, hash, owner, name);
    uint32_t left = labels->bucket_count;

    while (!label && bucket->passed && --left) {
        bucket = next_of(labels, bucket);
        if (bucket == home)
            return 0;
        label = find_in(labels, bucket, hash, owner, name);
    }
    return label;
}

static int grow_directory(struct lbr_kv_labels *labels)
{
    uint32_t capacity = labels->chunk_capacity ? labels->chunk_capacity * 2 : 8;
    void *chunks = labels->chunks;

    if (labels->chunk_count < labels->chunk_capacity)
        return 1;
    if (!lbr_memory_grow(labels->memory, &chunks, labels->chunk_capacity,
                         capacity, sizeof *labels->chunks))
        return 0;
    labels->chunks = chunks;
    labels->chunk_capacity = capacity;
    return 1;
}

static int add_chunk(struct lbr_kv_labels *labels)
{
    void *chunk;

    if (!grow_directory(labels))
        return 0;
    chunk = lbr_memory_new(labels->memory, CHUNK, sizeof(struct lbr_kv_record));
    if (!chunk)
        return 0;
    labels->chunks[labels->chunk_count++] = chunk;
    return 1;
}

int lbr_kv_label_reserve(struct lbr_kv_labels *labels)
{
    if (labels->free_head)
        return 1;
    if (labels->used >= labels->limit)
        return 0;
    return labels->used >> LBR_KV_CHUNK_BITS < labels->chunk_count ||
           add_chunk(labels);
}

static lbr_kv_label take(struct lbr_kv_labels *labels)
{
    lbr_kv_label label = labels->free_head;

    if (label)
        labels->free_head = lbr_kv_record(labels, label)->parent;
    else
        label = ++labels->used;
    if (labels->free_head)
        prefetch(lbr_kv_record(labels, labels->free_head));
    labels->live++;
    return label;
}

static void enter(struct lbr_kv_labels *labels, uint64_t hash,
                  lbr_kv_label label)
{
    struct lbr_kv_label_bucket *bucket = home_of(labels, hash);

    for (;;) {
        uint32_t i = 0;

        while (i < SLOTS && bucket->places[i])
            i++;
        if (i < SLOTS) {
            bucket->places[i] = tag_of(hash) | label;
            return;
        }
        bucket->passed++;
        bucket = next_of(labels, bucket);
    }
}

lbr_kv_label lbr_kv_label_add(struct lbr_kv_labels *labels, uint64_t hash,
                              uint32_t owner, uint64_t name)
{
    lbr_kv_label label = take(labels);
    struct lbr_kv_record *record = lbr_kv_record(labels, label);

    memset(record, 0, sizeof *record);
    lbr_kv_set_word(record->name, name);
    record->owner = (uint16_t)owner;
    record->live = LBR_KV_NAMED;
    enter(labels, hash, label);
    return label;
}

static uint32_t slot_in(const struct lbr_kv_label_bucket *bucket,
                        uint32_t place)
{
    uint32_t i = 0;

    while (i < SLOTS && bucket->places[i] != place)
        i++;
    return i;
}

static void leave(struct lbr_kv_labels *labels, uint64_t hash,
                  lbr_kv_label label)
{
    struct lbr_kv_label_bucket *bucket = home_of(labels, hash);
    uint32_t place = tag_of(hash) | label;
    uint32_t slot = slot_in(bucket, place);

    while (slot == SLOTS) {
        bucket->passed--;
        bucket = next_of(labels, bucket);
        slot = slot_in(bucket, place);
    }
    bucket->places[slot] = 0;
}

void lbr_kv_label_unname(struct lbr_kv_labels *labels, lbr_kv_label label)
{
    struct lbr_kv_record *record = lbr_kv_record(labels, label);

    if (record->live == LBR_KV_NAMED)
        leave(
            labels,
            lbr_kv_label_hash(labels, record->owner, lbr_kv_word(record->name)),
            label);
    record->live = LBR_KV_NAMELESS;
}

void lbr_kv_label_remove(struct lbr_kv_labels *labels, lbr_kv_label label)
{
    struct lbr_kv_record *record = lbr_kv_record(labels, label);

    lbr_kv_label_unname(labels, label);
    record->live = 0;
    record->parent = labels->free_head;
    labels->free_head = label;
    labels->live--;
}

size_t lbr_kv_labels_estimate(uint32_t limit)
{
    size_t chunks = ((size_t)limit >> LBR_KV_CHUNK_BITS) + 1;

    return (buckets_for(limit) + (size_t)1) * LINE +
           chunks * CHUNK * sizeof(struct lbr_kv_record) +
           (4 * chunks + 16) * sizeof(struct lbr_kv_record *);
}
