/* SPDX-License-Identifier: MIT */
/*
 * The prefix trie by itself, N being the number of owners (targets); prompts.h
 * describes the prompts:
 *
 *     trie.find.chat.N     what one owner holds of a conversation
 *     trie.record.chat.N   find, and record the conversation's next turn
 *     trie.find.128k.N     likewise, 64 hot prompts of 128 kB
 *     trie.record.128k.N
 *     trie.evict.N         record a new conversation; the oldest goes for it
 *     trie.purge           forget all that an owner holds; for each hold
 *     trie.memory.chat.N   bytes held for each byte of distinct text
 *     trie.memory.128k.N
 */
#include "prompts.h"

#include "models/prefix_trie.h"

#include <stdlib.h>

/* Of an owner: never filled, and filled at once. */
static const size_t AMPLE = (size_t)64 << 20;
static const size_t SCANT = (size_t)256 << 10;
static const size_t ENDLESS = (size_t)64 << 30;

typedef struct forest {
    struct lbr_memory memory;
    struct lbr_trie trie;
    struct lbr_trie_owner *owners;
    size_t owner_count;
    size_t budget; /* of each owner */
    bench_prompts *prompts;
} forest;

static struct lbr_trie_match find(const forest *self,
                                  const bench_prompt *prompt)
{
    return lbr_trie_find(&self->trie, 0, prompt->bytes, prompt->length);
}

/* Each prompt is one owner's. */
static struct lbr_trie_owner *owner_of(const forest *self,
                                       const bench_prompt *prompt)
{
    size_t number = (size_t)(prompt - self->prompts->all);

    return &self->owners[number % self->owner_count];
}

static void record(forest *self, const bench_prompt *prompt)
{
    lbr_trie_record(&self->trie, find(self, prompt), 0, prompt->bytes,
                    prompt->length, owner_of(self, prompt), self->budget);
}

static forest *open_forest(const bench_case *test, size_t budget)
{
    forest *self = bench_alloc(1, sizeof *self);
    lbroute_allocator heap = {0};

    lbr_memory_init(&self->memory, &heap);
    lbr_trie_init(&self->trie, &self->memory, 1, 1, 1);
    self->budget = budget;
    self->owner_count = test->targets;
    self->owners = bench_alloc(self->owner_count, sizeof *self->owners);
    for (uint32_t i = 0; i < self->owner_count; i++)
        lbr_trie_owner_init(&self->owners[i], i);
    self->prompts = bench_prompts_open(test, 0);
    return self;
}

static void close_forest(void *fixture)
{
    forest *self = fixture;

    lbr_trie_destroy(&self->trie);
    bench_prompts_close(self->prompts);
    free(self->owners);
    free(self);
}

static void record_next(void *fixture, unsigned lane, uint64_t operations)
{
    forest *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        record(self, bench_prompts_next(self->prompts));
}

/* Each prompt once, then some turns of conversations. */
static void *open_ample(const bench_case *test)
{
    forest *self = open_forest(test, AMPLE);

    for (size_t i = 0; i < self->prompts->count; i++)
        record(self, bench_prompts_get(self->prompts, i));
    record_next(self, 0, 4 * self->prompts->count);
    return self;
}

/* More than fits. */
static void *open_full(const bench_case *test)
{
    forest *self = open_forest(test, SCANT);

    record_next(self, 0, 2 * self->owner_count * SCANT / 400);
    return self;
}

static void *open_empty(const bench_case *test)
{
    return open_forest(test, ENDLESS);
}

static void find_any(void *fixture, unsigned lane, uint64_t operations)
{
    forest *self = fixture;
    uint64_t sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        const bench_prompt *prompt = bench_prompts_any(self->prompts);

        sum += lbr_trie_held(&self->trie, find(self, prompt),
                             owner_of(self, prompt));
    }
    bench_keep(sum);
}

static void hold(void *fixture, uint64_t holds)
{
    forest *self = fixture;

    while (self->trie.holds.live < holds)
        record_next(self, 0, 1);
}

static void purge(void *fixture, unsigned lane, uint64_t holds)
{
    forest *self = fixture;

    (void)lane;
    (void)holds;
    lbr_trie_purge(&self->trie, &self->owners[0]);
}

static double memory_share(void *fixture)
{
    const forest *self = fixture;
    const struct lbr_trie_node *node = lbr_slab_next(&self->trie.nodes, 0);
    size_t bytes = 0;

    for (; node; node = lbr_slab_next(&self->trie.nodes, node->slot.handle))
        bytes += node->length;
    return (double)self->memory.held / (double)bytes;
}

static const bench_kind finding = {
    .open = open_ample, .work = find_any, .close = close_forest};
static const bench_kind recording = {
    .open = open_ample, .work = record_next, .close = close_forest};
static const bench_kind evicting = {
    .open = open_full, .work = record_next, .close = close_forest};
static const bench_kind purging = {
    .open = open_empty, .prepare = hold, .work = purge, .close = close_forest};
static const bench_kind memory = {.open = open_ample,
                                  .read = memory_share,
                                  .close = close_forest,
                                  .unit = "bytes held for each of text"};

static void add_sizes(bench_list *list, const bench_kind *kind,
                      const char *name, bench_prompt_kind prompts)
{
    for (size_t i = 0; i < BENCH_PROMPT_SIZES; i++)
        bench_list_add_sized(list, kind, name, bench_prompt_sizes[i])->prompts =
            prompts;
}

static void add_purge(bench_list *list)
{
    bench_case *test = bench_list_add(list, &purging, "trie.purge");

    test->targets = 1;
    test->prompts = BENCH_PROMPTS_FRESH;
    test->most_operations = 20000; /* fill a target's default budget */
}

void bench_suite_trie(bench_list *list)
{
    add_sizes(list, &finding, "trie.find.chat", BENCH_PROMPTS_CHAT);
    add_sizes(list, &recording, "trie.record.chat", BENCH_PROMPTS_CHAT);
    add_sizes(list, &finding, "trie.find.128k", BENCH_PROMPTS_HOT);
    add_sizes(list, &recording, "trie.record.128k", BENCH_PROMPTS_HOT);
    add_sizes(list, &evicting, "trie.evict", BENCH_PROMPTS_FRESH);
    add_purge(list);
    add_sizes(list, &memory, "trie.memory.chat", BENCH_PROMPTS_CHAT);
    add_sizes(list, &memory, "trie.memory.128k", BENCH_PROMPTS_HOT);
}
