/* SPDX-License-Identifier: MIT */
/*
 * The prefix trie by itself, N being the number of owners (targets), each with
 * a budget of 64 MiB:
 *
 *     trie.find.chat.N     what one owner holds of a conversation
 *     trie.record.chat.N   find, and record the conversation's next turn
 *     trie.find.128k.N     likewise, 64 hot prompts of 128 kB
 *     trie.record.128k.N
 *
 * Conversations begin with one of few system prompts of 2 kB and grow to about
 * 4 kB by turns of 400 bytes; then another takes the place. When a fixture
 * closes it prints the memory held for each byte of distinct text.
 */
#include "bench.h"

#include "models/prefix_trie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYSTEM_PROMPTS = 4,
    SYSTEM_BYTES = 2048,
    TURN_BYTES = 400,
    TURNS = 5,
    CHAT_BYTES = SYSTEM_BYTES + TURNS * TURN_BYTES,
    CHATS = 2048, /* side by side */
    HOT_BYTES = 128 * 1024,
    HOT_PROMPTS = 64,
    OWNER_COUNTS = 3
};

static const size_t owner_counts[OWNER_COUNTS] = {8, 64, 512};
static const size_t BUDGET = (size_t)64 << 20;

typedef struct text {
    unsigned char *bytes;
    size_t length; /* so far */
} text;

typedef struct forest {
    const char *name;
    struct lbr_memory memory;
    struct lbr_trie trie;
    struct lbr_trie_owner *owners;
    size_t owner_count;
    text *texts;
    size_t text_count;
    uint64_t random;
} forest;

static void fill(unsigned char *bytes, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)('a' + bench_random(&seed, 26));
}

static struct lbr_trie_match find(const forest *self, const text *prompt)
{
    return lbr_trie_find(&self->trie, 0, prompt->bytes, prompt->length);
}

/* Each prompt is one owner's. */
static struct lbr_trie_owner *owner_of(const forest *self, const text *prompt)
{
    return &self->owners[(size_t)(prompt - self->texts) % self->owner_count];
}

static void record(forest *self, const text *prompt)
{
    lbr_trie_record(&self->trie, find(self, prompt), 0, prompt->bytes,
                    prompt->length, owner_of(self, prompt), BUDGET);
}

static forest *open_forest(const bench_case *test, size_t texts, size_t bytes)
{
    forest *self = bench_alloc(1, sizeof *self);
    lbroute_allocator heap = {0};

    self->name = test->name;
    lbr_memory_init(&self->memory, &heap);
    lbr_trie_init(&self->trie, &self->memory, 1, 1);
    self->owner_count = test->targets;
    self->owners = bench_alloc(self->owner_count, sizeof *self->owners);
    for (uint32_t i = 0; i < self->owner_count; i++)
        lbr_trie_owner_init(&self->owners[i], i);
    self->text_count = texts;
    self->texts = bench_alloc(texts, sizeof *self->texts);
    for (size_t i = 0; i < texts; i++) {
        self->texts[i].bytes = bench_alloc(bytes, 1);
        fill(self->texts[i].bytes, bytes, i);
    }
    return self;
}

static void print_memory(const forest *self)
{
    const struct lbr_trie_node *node = lbr_slab_next(&self->trie.nodes, 0);
    size_t bytes = 0;

    for (; node; node = lbr_slab_next(&self->trie.nodes, node->slot.handle))
        bytes += node->length;
    fprintf(stderr, "%s: %.2f bytes held for each of %zu\n", self->name,
            (double)self->memory.held / (double)bytes, bytes);
}

static void close_forest(void *fixture)
{
    forest *self = fixture;

    print_memory(self);
    lbr_trie_destroy(&self->trie);
    for (size_t i = 0; i < self->text_count; i++)
        free(self->texts[i].bytes);
    free(self->texts);
    free(self->owners);
    free(self);
}

/* The next turn of a conversation, or the first of another. */
static void go_on(forest *self, text *chat)
{
    uint64_t number = bench_random(&self->random, UINT64_MAX);

    chat->length += TURN_BYTES;
    if (chat->length <= CHAT_BYTES)
        return;
    chat->length = SYSTEM_BYTES + TURN_BYTES;
    memcpy(chat->bytes + SYSTEM_BYTES, &number, sizeof number);
}

static text *any_text(forest *self)
{
    return &self->texts[bench_random(&self->random, self->text_count)];
}

static void *open_chat(const bench_case *test)
{
    forest *self = open_forest(test, CHATS, CHAT_BYTES);

    for (size_t i = 0; i < CHATS; i++) {
        text *chat = &self->texts[i];

        fill(chat->bytes, SYSTEM_BYTES, i % SYSTEM_PROMPTS);
        chat->length = SYSTEM_BYTES + (1 + i % TURNS) * TURN_BYTES;
        record(self, chat);
    }
    for (size_t i = 0; i < 4 * CHATS; i++) {
        text *chat = any_text(self);

        go_on(self, chat);
        record(self, chat);
    }
    return self;
}

static void *open_hot(const bench_case *test)
{
    forest *self = open_forest(test, HOT_PROMPTS, HOT_BYTES);

    for (size_t i = 0; i < HOT_PROMPTS; i++) {
        self->texts[i].length = HOT_BYTES;
        record(self, &self->texts[i]);
    }
    return self;
}

static void work_find(void *fixture, unsigned lane, uint64_t operations)
{
    forest *self = fixture;
    uint64_t sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        const text *prompt = any_text(self);

        sum += lbr_trie_held(&self->trie, find(self, prompt),
                             owner_of(self, prompt));
    }
    bench_keep(sum);
}

static void work_record_chat(void *fixture, unsigned lane, uint64_t operations)
{
    forest *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        text *chat = any_text(self);

        go_on(self, chat);
        record(self, chat);
    }
}

static void work_record_hot(void *fixture, unsigned lane, uint64_t operations)
{
    forest *self = fixture;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        record(self, any_text(self));
}

static const bench_kind find_chat = {open_chat, work_find, close_forest};
static const bench_kind record_chat = {open_chat, work_record_chat,
                                       close_forest};
static const bench_kind find_hot = {open_hot, work_find, close_forest};
static const bench_kind record_hot = {open_hot, work_record_hot, close_forest};

static void add_sizes(bench_list *list, const bench_kind *kind,
                      const char *name)
{
    for (size_t i = 0; i < OWNER_COUNTS; i++)
        bench_list_add_sized(list, kind, name, owner_counts[i]);
}

void bench_suite_trie(bench_list *list)
{
    add_sizes(list, &find_chat, "trie.find.chat");
    add_sizes(list, &record_chat, "trie.record.chat");
    add_sizes(list, &find_hot, "trie.find.128k");
    add_sizes(list, &record_hot, "trie.record.128k");
}
