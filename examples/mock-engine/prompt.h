/* SPDX-License-Identifier: MIT */
/*
 * A prompt as the engine sees it: text, and its tokens.
 *
 *     text    <|system|>\nBe brief.\n<|user|>\nHello\n<|assistant|>\n
 *     tokens  ■          Be b|rief|. ◆■        Hell|o◆■
 *
 * Of a conversation, each message is its role in marks (■, one token), its text
 * in tokens of its own, and an end (◆, the token of "\n"); the role of the
 * answer stands at the end. An image is "<|image|>" and its reference: 64
 * tokens. So the prompt of the next turn begins with all tokens of this one,
 * and those of the answer follow. A plain prompt is its text and nothing else;
 * one of token ids is these, and as text "ID " of each.
 */
#ifndef LBROUTE_MOCK_PROMPT_H
#define LBROUTE_MOCK_PROMPT_H

#include <stddef.h>
#include <stdint.h>

/** Zeroed, it is empty. */
struct prompt {
    char *text;
    size_t length;
    uint32_t *tokens;
    size_t count;

    size_t done; /* Text that is in tokens. */
    size_t text_capacity;
    size_t token_capacity;
};

void prompt_release(struct prompt *prompt);

/** Begins a message, or the answer. */
void prompt_open(struct prompt *prompt, const char *role);

/** Adds text. */
void prompt_text(struct prompt *prompt, const char *text, size_t length);

/** Adds an image by its address or its data. */
void prompt_image(struct prompt *prompt, const char *image, size_t length);

/** Ends a message. */
void prompt_close(struct prompt *prompt);

/** Adds a token by its number. */
void prompt_token(struct prompt *prompt, uint32_t token);

/** Makes tokens of what was added as text. */
void prompt_flush(struct prompt *prompt);

#endif
