/* SPDX-License-Identifier: MIT */
#include "models/kv_index_nodes.h"

#include <string.h>

#define SLOTS LBR_KV_NODES_IN_BUCKET
#define LINE sizeof(struct lbr_kv_node_bucket)

/* At most 17 of 20 places are taken. */
static uint32_t buckets_for(uint32_t limit)
{
    return (uint32_t)((uint64_t)limit * 4 / 17) + 1;
}

static size_t bytes_of(const struct lbr_kv_nodes *nodes)
{
    return (nodes->bucket_count + (size_t)1) * LINE;
}

void lbr_kv_nodes_init(struct lbr_kv_nodes *nodes, struct lbr_memory *memory,
                       uint32_t limit)
{
    memset(nodes, 0, sizeof *nodes);
    nodes->memory = memory;
    nodes->bucket_count = buckets_for(limit);
}

int lbr_kv_nodes_prepare(struct lbr_kv_nodes *nodes)
{
    uintptr_t first;

    if (nodes->space)
        return 1;
    nodes->space = lbr_memory_new(nodes->memory, 1, bytes_of(nodes));
    if (!nodes->space)
        return 0;
    first = ((uintptr_t)nodes->space + LINE - 1) / LINE * LINE;
    nodes->buckets = (struct lbr_kv_node_bucket *)first;
    return 1;
}

void lbr_kv_nodes_destroy(struct lbr_kv_nodes *nodes)
{
    lbr_memory_free(nodes->memory, nodes->space, 1, bytes_of(nodes));
}

static struct lbr_kv_node_bucket *next_of(const struct lbr_kv_nodes *nodes,
                                          struct lbr_kv_node_bucket *bucket)
{
    bucket++;
    return bucket == nodes->buckets + nodes->bucket_count ? nodes->buckets
                                                          : bucket;
}

static uint32_t search(const struct lbr_kv_node_bucket *bucket, uint64_t key)
{
    uint32_t i = 0;

    while (i < SLOTS && (bucket->keys[i] != key || !bucket->sets[i]))
        i++;
    return i;
}

/* Looks at all keys first: which one it is cannot be foretold, and to guess
 * wrong costs a processor more than that. */
static uint32_t slot_of(const struct lbr_kv_node_bucket *bucket, uint64_t key)
{
    uint32_t found = 0;
    uint32_t slot = 0;
    uint32_t i;

    for (i = 0; i < SLOTS; i++)
        found |= (uint32_t)(bucket->keys[i] == key) << i;
    if (!found)
        return SLOTS;
    for (i = 1; i < SLOTS; i++)
        slot += (uint32_t)(found >> i != 0);
    /* A slot that is free may have kept the key. */
    return bucket->sets[slot] ? slot : search(bucket, key);
}

/* Of few buckets every one may have been passed: the search ends at home. */
lbr_kv_set *lbr_kv_node_find(const struct lbr_kv_nodes *nodes, uint64_t key)
{
    struct lbr_kv_node_bucket *home = lbr_kv_node_home(nodes, key);
    struct lbr_kv_node_bucket *bucket = home;
    uint32_t slot = slot_of(bucket, key);
    uint32_t left = nodes->bucket_count;

    while (slot == SLOTS) {
        if (!bucket->passed || !--left)
            return NULL;
        bucket = next_of(nodes, bucket);
        if (bucket == home)
            return NULL;
        slot = slot_of(bucket, key);
    }
    return &bucket->sets[slot];
}

static uint32_t free_slot(const struct lbr_kv_node_bucket *bucket)
{
    uint32_t i = 0;

    while (i < SLOTS && bucket->sets[i])
        i++;
    return i;
}

void lbr_kv_node_add(struct lbr_kv_nodes *nodes, uint64_t key, lbr_kv_set set)
{
    struct lbr_kv_node_bucket *bucket = lbr_kv_node_home(nodes, key);
    uint32_t slot = free_slot(bucket);

    while (slot == SLOTS) {
        bucket->passed++;
        bucket = next_of(nodes, bucket);
        slot = free_slot(bucket);
    }
    bucket->keys[slot] = key;
    bucket->sets[slot] = set;
    nodes->count++;
}

void lbr_kv_node_remove(struct lbr_kv_nodes *nodes, uint64_t key)
{
    struct lbr_kv_node_bucket *bucket = lbr_kv_node_home(nodes, key);
    uint32_t slot = slot_of(bucket, key);

    while (slot == SLOTS) {
        bucket->passed--;
        bucket = next_of(nodes, bucket);
        slot = slot_of(bucket, key);
    }
    bucket->sets[slot] = 0;
    nodes->count--;
}

size_t lbr_kv_nodes_estimate(uint32_t limit)
{
    return (buckets_for(limit) + (size_t)1) * LINE;
}
