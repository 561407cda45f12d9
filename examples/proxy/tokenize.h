/* SPDX-License-Identifier: MIT */
/*
 * The token ids of a prompt, asked of an engine before the pick: KV events name
 * blocks by them, and only the model's own tokenizer and chat template know
 * them.
 *
 *     exchange ──▶ POST tokenize path, the client's body ──▶ {"tokens": […]}
 *        │            (a target that serves the request, in turn)
 *        └──────────▶ pick, with ids if they came in time, else by text
 *
 * Only of requests that engines take there: OpenAI's chats and completions.
 */
#ifndef LBROUTE_PROXY_TOKENIZE_H
#define LBROUTE_PROXY_TOKENIZE_H

#include <stdbool.h>

struct exchange;

/** Whether the ids of this request should be asked for; then they are, and
 * exchange_choose() follows, whatever comes of it. */
bool tokenize_begin(struct exchange *exchange);

#endif
