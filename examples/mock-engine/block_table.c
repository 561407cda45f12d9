/* SPDX-License-Identifier: MIT */
#include "block_table.h"

#include "replay/block_ids.h"
#include "replay/grow.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FREED UINT32_MAX

enum { FIRST_KEY = 2 };

struct entry {
    uint64_t key;
    uint32_t next; /* In the bucket, or in the list of free ones. */
    uint32_t used; /* By requests. */
    uint32_t copies;
};

struct block_table {
    uint32_t limit;
    uint32_t block_tokens;
    uint32_t *buckets;
    uint32_t bucket_count; /* A power of two. */
    struct entry *entries; /* By number. */
    uint32_t *tokens;      /* By number, block_tokens each. */
    uint32_t made;         /* Numbers ever given out. */
    uint32_t count;
    uint32_t free; /* First free number, or NONE. */
    size_t entry_capacity;
    size_t token_capacity;

    uint32_t *doubtful; /* Numbers that may be free at the next settling. */
    size_t doubtful_count;
    size_t doubtful_capacity;
};

struct block_table *block_table_create(uint32_t limit, uint32_t block_tokens)
{
    struct block_table *table = grow_zeroed(1, sizeof *table);

    table->limit = limit;
    table->block_tokens = block_tokens;
    table->free = NONE;
    table->bucket_count = 1024;
    while (table->bucket_count < limit && table->bucket_count < 1u << 20)
        table->bucket_count *= 2;
    table->buckets = grow_zeroed(table->bucket_count, sizeof *table->buckets);
    for (uint32_t i = 0; i < table->bucket_count; i++)
        table->buckets[i] = NONE;
    return table;
}

void block_table_destroy(struct block_table *table)
{
    if (table == NULL)
        return;
    free(table->buckets);
    free(table->entries);
    free(table->tokens);
    free(table->doubtful);
    free(table);
}

static uint32_t *bucket(struct block_table *table, uint64_t key)
{
    return &table->buckets[key & (table->bucket_count - 1)];
}

static uint32_t find(struct block_table *table, uint64_t key)
{
    uint32_t number = *bucket(table, key);

    while (number != NONE && table->entries[number].key != key)
        number = table->entries[number].next;
    return number;
}

/* A number that is free; there is one. */
static uint32_t take_number(struct block_table *table)
{
    uint32_t number = table->free;

    if (number != NONE) {
        table->free = table->entries[number].next;
        return number;
    }
    number = table->made++;
    table->entries = grow_array(table->entries, &table->entry_capacity,
                                table->made, sizeof *table->entries);
    table->tokens = grow_array(table->tokens, &table->token_capacity,
                               (size_t)table->made * table->block_tokens,
                               sizeof *table->tokens);
    return number;
}

static uint32_t add(struct block_table *table, uint64_t key,
                    const uint32_t *tokens)
{
    uint32_t number = take_number(table);
    uint32_t *first = bucket(table, key);

    table->entries[number] = (struct entry){.key = key, .next = *first};
    *first = number;
    memcpy(table->tokens + (size_t)number * table->block_tokens, tokens,
           table->block_tokens * sizeof *tokens);
    table->count++;
    return number;
}

static void remove_entry(struct block_table *table, uint32_t number)
{
    struct entry *entry = &table->entries[number];
    uint32_t *link = bucket(table, entry->key);

    while (*link != number)
        link = &table->entries[*link].next;
    *link = entry->next;
    entry->next = table->free;
    table->free = number;
    table->count--;
}

/* The key of a block that follows another one. */
static uint64_t key_after(uint64_t key, const uint32_t *tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        key = block_key_mix(key, tokens[i]);
    return key;
}

bool block_table_use(struct block_table *table, uint32_t adapter,
                     const uint32_t *tokens, size_t blocks, uint32_t *numbers)
{
    uint64_t key = block_key_mix(FIRST_KEY, adapter);

    if (blocks > table->limit - table->count)
        return false;
    for (size_t i = 0; i < blocks; i++, tokens += table->block_tokens) {
        key = key_after(key, tokens, table->block_tokens);
        numbers[i] = find(table, key);
        if (numbers[i] == NONE)
            numbers[i] = add(table, key, tokens);
        table->entries[numbers[i]].used++;
    }
    return true;
}

static void doubt(struct block_table *table, const uint32_t *numbers,
                  size_t count)
{
    table->doubtful =
        grow_array(table->doubtful, &table->doubtful_capacity,
                   table->doubtful_count + count, sizeof *table->doubtful);
    memcpy(table->doubtful + table->doubtful_count, numbers,
           count * sizeof *numbers);
    table->doubtful_count += count;
}

void block_table_drop(struct block_table *table, const uint32_t *numbers,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        table->entries[numbers[i]].used--;
    if (count > 0)
        doubt(table, numbers, count);
}

void block_table_stored(struct block_table *table, uint32_t number)
{
    table->entries[number].copies++;
}

void block_table_removed(struct block_table *table, uint32_t number)
{
    table->entries[number].copies--;
    doubt(table, &number, 1);
}

/* A number may be in doubt twice: freed once, it looks used. Whoever takes it
 * later begins anew. */
void block_table_settle(struct block_table *table)
{
    for (size_t i = 0; i < table->doubtful_count; i++) {
        struct entry *entry = &table->entries[table->doubtful[i]];

        if (entry->used > 0 || entry->copies > 0)
            continue;
        remove_entry(table, table->doubtful[i]);
        entry->used = FREED;
    }
    table->doubtful_count = 0;
}

uint64_t block_table_key(const struct block_table *table, uint32_t number)
{
    return table->entries[number].key;
}

const uint32_t *block_table_tokens(const struct block_table *table,
                                   uint32_t number)
{
    return table->tokens + (size_t)number * table->block_tokens;
}

uint32_t block_table_count(const struct block_table *table)
{
    return table->count;
}
