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

static unsigned char *add_body(bench_prompts *self, size_t length)
{
    unsigned char *body = bench_alloc(length, 1);
    uint64_t seed = self->body_count;

    for (size_t i = 0; i < length; i++)
        body[i] = (unsigned char)('a' + bench_random(&seed, 26));
    self->bodies[self->body_count++] = body;
    return body;
}

/* Numbers are spread over all values, as beginnings of texts are. */
static uint64_t new_number(bench_prompts *self)
{
    uint64_t state = self->numbers++;

    return bench_random(&state, UINT32_MAX) << 32 |
           bench_random(&state, UINT32_MAX);
}

static void add_prompts(bench_prompts *self, size_t prompts, size_t bodies)
{
    self->count = prompts;
    self->all = bench_alloc(prompts, sizeof *self->all);
    self->bodies = bench_alloc(bodies, sizeof *self->bodies);
    for (size_t i = 0; i < prompts; i++)
        self->all[i].number = new_number(self);
}

/* Conversations in every stage. */
static void add_chats(bench_prompts *self)
{
    add_prompts(self, CHATS, SYSTEM_PROMPTS);
    self->number_at = SYSTEM_BYTES;
    for (size_t i = 0; i < SYSTEM_PROMPTS; i++)
        add_body(self, CHAT_BYTES);
    for (size_t i = 0; i < CHATS; i++) {
        self->all[i].bytes = self->bodies[i % SYSTEM_PROMPTS];
        self->all[i].length = SYSTEM_BYTES + (1 + i % TURNS) * TURN_BYTES;
    }
}

static void add_hot(bench_prompts *self)
{
    add_prompts(self, HOT_PROMPTS, 1);
    add_body(self, HOT_BYTES);
    for (size_t i = 0; i < HOT_PROMPTS; i++) {
        self->all[i].bytes = self->bodies[0];
        self->all[i].length = HOT_BYTES;
    }
}

static void add_lines(bench_prompts *self, const bench_text *text)
{
    add_prompts(self, text->count, text->count);
    for (size_t i = 0; i < text->count; i++) {
        const bench_line *line = &text->lines[i];
        bench_prompt *prompt = &self->all[i];

        prompt->length = sizeof prompt->number + line->length;
        prompt->bytes = add_body(self, prompt->length);
        memcpy(prompt->bytes + sizeof prompt->number, line->bytes,
               line->length);
    }
}

bench_prompts *bench_prompts_open(const bench_case *test, unsigned number)
{
    bench_prompts *self = bench_alloc(1, sizeof *self);

    self->kind = test->prompts;
    self->random = number;
    self->numbers = (uint64_t)number << 32;
    if (self->kind == BENCH_PROMPTS_HOT)
        add_hot(self);
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
    for (size_t i = 0; i < self->body_count; i++)
        free(self->bodies[i]);
    free(self->bodies);
    free(self->all);
    free(self);
}

bench_prompt *bench_prompts_get(bench_prompts *self, size_t index)
{
    bench_prompt *prompt = &self->all[index];

    memcpy(prompt->bytes + self->number_at, &prompt->number,
           sizeof prompt->number);
    return prompt;
}

static size_t any(bench_prompts *self)
{
    return bench_random(&self->random, self->count);
}

bench_prompt *bench_prompts_any(bench_prompts *self)
{
    return bench_prompts_get(self, any(self));
}

static bench_prompt *next_turn(bench_prompts *self)
{
    size_t index = any(self);
    bench_prompt *chat = &self->all[index];

    chat->length += TURN_BYTES;
    if (chat->length > CHAT_BYTES || self->kind == BENCH_PROMPTS_FRESH) {
        chat->length = FIRST_BYTES;
        chat->number = new_number(self);
    }
    return bench_prompts_get(self, index);
}

static bench_prompt *next_line(bench_prompts *self)
{
    size_t index = self->next++;

    if (index == 0)
        self->numbers++;
    self->all[index].number = self->numbers;
    self->next %= self->count;
    return bench_prompts_get(self, index);
}

bench_prompt *bench_prompts_next(bench_prompts *self)
{
    if (self->kind == BENCH_PROMPTS_HOT)
        return bench_prompts_any(self);
    if (self->kind == BENCH_PROMPTS_TEXT)
        return next_line(self);
    return next_turn(self);
}
