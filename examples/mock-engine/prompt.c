/* SPDX-License-Identifier: MIT */
#include "prompt.h"

#include "replay/grow.h"
#include "tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_TOKENS = 64 };

void prompt_release(struct prompt *prompt)
{
    free(prompt->text);
    free(prompt->tokens);
    *prompt = (struct prompt){0};
}

static uint32_t *add_tokens(struct prompt *prompt, size_t count)
{
    uint32_t *first;

    prompt->tokens = grow_array(prompt->tokens, &prompt->token_capacity,
                                prompt->count + count, sizeof *prompt->tokens);
    first = prompt->tokens + prompt->count;
    prompt->count += count;
    return first;
}

void prompt_text(struct prompt *prompt, const char *text, size_t length)
{
    prompt->text = grow_array(prompt->text, &prompt->text_capacity,
                              prompt->length + length, 1);
    memcpy(prompt->text + prompt->length, text, length);
    prompt->length += length;
}

void prompt_flush(struct prompt *prompt)
{
    size_t length = prompt->length - prompt->done;
    const char *text;

    if (length == 0)
        return;
    text = prompt->text + prompt->done;
    tokens_write(text, length, add_tokens(prompt, tokens_count(length)));
    prompt->done = prompt->length;
}

/* Text that is one token, whatever its length. */
static void add_mark(struct prompt *prompt, const char *mark, size_t length)
{
    prompt_flush(prompt);
    prompt_text(prompt, mark, length);
    *add_tokens(prompt, 1) = token_of(mark, length);
    prompt->done = prompt->length;
}

void prompt_open(struct prompt *prompt, const char *role)
{
    char mark[64];
    int length = snprintf(mark, sizeof mark, "<|%.50s|>\n", role);

    add_mark(prompt, mark, (size_t)length);
}

void prompt_close(struct prompt *prompt)
{
    add_mark(prompt, "\n", 1);
}

void prompt_image(struct prompt *prompt, const char *image, size_t length)
{
    static const char mark[] = "<|image|>";
    uint32_t token = token_of(image, length);
    uint32_t *tokens;

    prompt_flush(prompt);
    prompt_text(prompt, mark, sizeof mark - 1);
    prompt_text(prompt, image, length);
    tokens = add_tokens(prompt, IMAGE_TOKENS);
    for (uint32_t i = 0; i < IMAGE_TOKENS; i++)
        tokens[i] = (token + i) % TOKEN_VOCABULARY;
    prompt->done = prompt->length;
}

void prompt_token(struct prompt *prompt, uint32_t token)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%" PRIu32 " ", token);

    prompt_text(prompt, text, (size_t)length);
    *add_tokens(prompt, 1) = token;
    prompt->done = prompt->length;
}
