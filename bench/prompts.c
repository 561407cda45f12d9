/* SPDX-License-Identifier: MIT */
#include "prompts.h"

#include <stdlib.h>
#include <string.h>

enum {
    SYSTEM_PROMPTS = 4,
    SYSTEM_BYTES = 2048,
    TURN_BYTES = 400,
    TURNS = 5,
    FIRST_BYTES = SYSTEM_BYTES + TURN_BYTES,
    CHAT_BYTES = SYSTEM_BYTES + TURNS * TURN_BYTES,
    CHATS = 2048,
    HOT_BYTES = 128 * 1024,
    HOT_PROMPTS = 64
};

static void fill(unsigned char *bytes, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)('a' + bench_random(&seed, 26));
}

static bench_prompt *add(bench_prompts *self, size_t length)
{
    bench_prompt *prompt = &self->all[self->count++];

    prompt->bytes = bench_alloc(length, 1);
    prompt->length = length;
    return prompt;
}

static void add_random(bench_prompts *self, size_t count, size_t bytes)
{
    self->all = bench_alloc(count, sizeof *self->all);
    for (size_t i = 0; i < count; i++)
        fill(add(self, bytes)->bytes, bytes, (self->random << 32) + i);
}

/* Conversations in every stage. */
static void add_chats(bench_prompts *self)
{
    add_random(self, CHATS, CHAT_BYTES);
    for (size_t i = 0; i < CHATS; i++) {
        fill(self->all[i].bytes, SYSTEM_BYTES, i % SYSTEM_PROMPTS);
        self->all[i].length = SYSTEM_BYTES + (1 + i % TURNS) * TURN_BYTES;
    }
}

static void add_lines(bench_prompts *self, const bench_text *text)
{
    self->all = bench_alloc(text->count, sizeof *self->all);
    for (size_t i = 0; i < text->count; i++) {
        const bench_line *line = &text->lines[i];
        bench_prompt *prompt = add(self, sizeof self->pass + line->length);

        memcpy(prompt->bytes + sizeof self->pass, line->bytes, line->length);
    }
}

bench_prompts *bench_prompts_open(const bench_case *test, unsigned number)
{
    bench_prompts *self = bench_alloc(1, sizeof *self);

    self->kind = test->prompts;
    self->random = number;
    self->pass = (uint64_t)number << 32;
    if (self->kind == BENCH_PROMPTS_HOT)
        add_random(self, HOT_PROMPTS, HOT_BYTES);
    else if (self->kind == BENCH_PROMPTS_TEXT)
        add_lines(self, test->text);
    else
        add_chats(self);
    return self;
}

void bench_prompts_close(bench_prompts *self)
{
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++)
        free(self->all[i].bytes);
    free(self->all);
    free(self);
}

bench_prompt *bench_prompts_any(bench_prompts *self)
{
    return &self->all[bench_random(&self->random, self->count)];
}

/* Another conversation takes the place of one. */
static void begin_chat(bench_prompts *self, bench_prompt *chat)
{
    uint64_t number = bench_random(&self->random, UINT32_MAX) << 32 |
                      bench_random(&self->random, UINT32_MAX);

    chat->length = FIRST_BYTES;
    memcpy(chat->bytes + SYSTEM_BYTES, &number, sizeof number);
}

static bench_prompt *next_turn(bench_prompts *self)
{
    bench_prompt *chat = bench_prompts_any(self);

    chat->length += TURN_BYTES;
    if (chat->length > CHAT_BYTES || self->kind == BENCH_PROMPTS_FRESH)
        begin_chat(self, chat);
    return chat;
}

static bench_prompt *next_line(bench_prompts *self)
{
    bench_prompt *prompt = &self->all[self->next++];

    memcpy(prompt->bytes, &self->pass, sizeof self->pass);
    if (self->next == self->count) {
        self->next = 0;
        self->pass++;
    }
    return prompt;
}

bench_prompt *bench_prompts_next(bench_prompts *self)
{
    if (self->kind == BENCH_PROMPTS_HOT)
        return bench_prompts_any(self);
    if (self->kind == BENCH_PROMPTS_TEXT)
        return next_line(self);
    return next_turn(self);
}
