/* SPDX-License-Identifier: MIT */
/*
 * The prompt of a request as one run of bytes:
 *
 *     FF role FD content [FE label FD value]…  FF role FD content …
 *     └──── message ─────────────────────────┘
 *
 * These three bytes occur in no UTF-8, so that no text can pass for another
 * message. A message ends where the next one begins: whoever goes on with a
 * conversation only adds to its prompt.
 */
#ifndef LBROUTE_PROXY_PROMPT_H
#define LBROUTE_PROXY_PROMPT_H

#include "asked_json.h"
#include "bytes.h"

struct prompt {
    struct bytes text;
    struct bytes tokens;       /**< uint32_t each. */
    int64_t marked;            /**< Tokens that marks stand for, about. */
    struct asked_error *error; /**< Filled in by what returns false. */
};

/** Begins a message. */
void prompt_message(struct prompt *prompt, const char *role);

/** Begins a part of a message, and a further value of it, which may be an
 * empty one that only closes what was before. */
void prompt_part(struct prompt *prompt, const char *label);
void prompt_next_value(struct prompt *prompt);

/** Adds a string as it is; anything else as a mark with a hash of its content.
 * NULL adds nothing. */
void prompt_value(struct prompt *prompt, const json_t *value);

/** A part with a value, if there is one. */
void prompt_labelled(struct prompt *prompt, const char *label,
                     const json_t *value);

/** Adds JSON as text: what chat templates do with tools and calls. */
void prompt_json(struct prompt *prompt, const json_t *value);

/** Content of a message: a string, or parts (text, images, calls, results, …)
 * of either dialect. `param` is the field to name in an error. */
bool prompt_content(struct prompt *prompt, const json_t *content,
                    const char *param);

/** Tools, system, messages, of either dialect. */
bool prompt_chat(struct prompt *prompt, const json_t *body);

/** Tools, instructions and items of the Responses API. */
bool prompt_response(struct prompt *prompt, const json_t *body);

/** What has no messages: a field that is a text, texts, token ids, or several
 * prompts of these. */
bool prompt_raw(struct prompt *prompt, const json_t *body, const char *name);

/** Definitions of tools or functions. */
void prompt_tools(struct prompt *prompt, const json_t *tools);

/** A call of a function, as it is in a message. */
void prompt_call(struct prompt *prompt, const json_t *name,
                 const json_t *arguments);

#endif
