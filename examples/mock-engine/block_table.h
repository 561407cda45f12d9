/* SPDX-License-Identifier: MIT */
/*
 * Numbers for the blocks of prompts and answers. The engine model knows a block
 * by a dense number, which stands for its tokens and all before them; here is
 * which number that is, for as long as anybody needs it.
 *
 *     key (hash of adapter and all tokens up to here) ──▶ number
 *     number ──▶ key, tokens, requests that use it, copies in the cache
 *
 * A number is free again when no request uses it and the cache holds no copy,
 * so the table does not grow with time.
 */
#ifndef LBROUTE_MOCK_BLOCK_TABLE_H
#define LBROUTE_MOCK_BLOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_table;

/** Creates an empty table for numbers below `limit`. */
struct block_table *block_table_create(uint32_t limit, uint32_t block_tokens);

void block_table_destroy(struct block_table *table);

/** Numbers the full blocks of a row of tokens, and uses each of them. Returns
 * false, and uses none, if there are not enough numbers. */
bool block_table_use(struct block_table *table, uint32_t adapter,
                     const uint32_t *tokens, size_t blocks, uint32_t *numbers);

/** Uses them no more, from the next block_table_settle() on: until then, what
 * is noted of them in a log still has a meaning. */
void block_table_drop(struct block_table *table, const uint32_t *numbers,
                      size_t count);

/** The cache holds one copy more, or one less. */
void block_table_stored(struct block_table *table, uint32_t number);
void block_table_removed(struct block_table *table, uint32_t number);

/** Frees numbers that nobody needs. */
void block_table_settle(struct block_table *table);

uint64_t block_table_key(const struct block_table *table, uint32_t number);

const uint32_t *block_table_tokens(const struct block_table *table,
                                   uint32_t number);

/** How many numbers are in use. */
uint32_t block_table_count(const struct block_table *table);

#endif
