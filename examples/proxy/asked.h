/* SPDX-License-Identifier: MIT */
/*
 * What a client asks for, read from the path and the body of its request.
 *
 *     path ──▶ dialect and kind
 *     body ──json_read──▶ model, prompt, limits
 *
 * The prompt is the text that an engine would see, in the order of chat
 * templates: tools, system, then the messages with roles, tool calls and tool
 * results; images, sounds and files stand as a short mark with a hash of their
 * content, so that it is also the key of the conversation. It is the same for
 * the same conversation however the JSON is spaced, and a longer conversation
 * begins with the shorter one's.
 */
#ifndef LBROUTE_PROXY_ASKED_H
#define LBROUTE_PROXY_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whose rules answers and errors follow. */
enum dialect { DIALECT_OPENAI, DIALECT_ANTHROPIC };

enum asked_kind {
    ASKED_CHAT,       /**< /v1/chat/completions, /v1/messages */
    ASKED_COMPLETION, /**< /v1/completions */
    ASKED_RESPONSE,   /**< /v1/responses */
    ASKED_OTHER       /**< Other POSTs below /v1/ that name a model
                       * (embeddings, rerank, count_tokens, …). */
};

struct asked {
    enum dialect dialect;
    enum asked_kind kind;
    char *model;  /**< Empty: not given. */
    char *prompt; /**< Text, any bytes; not terminated. */
    size_t prompt_len;
    uint32_t *tokens; /**< A completion's prompt as token ids; NULL: text. */
    size_t tokens_len;
    char *salt;            /**< `cache_salt`; empty: none. */
    int64_t output_tokens; /**< max_tokens and its like; -1: not given. */
    int64_t input_tokens;  /**< Estimate where text says too little (images);
                            * -1: the library's. */
    bool stream;
};

/** What is wrong with a request. */
struct asked_error {
    int status;     /**< 400, 404, 405, 413, … */
    char text[256]; /**< For the client: one sentence, never its data. */
    char param[64]; /**< The field, or empty. */
};

/** Tells what a path asks for; false: nothing that is served. A query string
 * is not looked at. */
bool asked_path(const char *path, enum dialect *dialect, enum asked_kind *kind);

/**
 * Reads a body.
 *
 * @param asked receives the parts; release with asked_release() also after an
 *     error.
 * @return false with an error for the client: no JSON, not an object, a field
 *     of a wrong type, nested too deep.
 */
bool asked_read(struct asked *asked, enum dialect dialect, enum asked_kind kind,
                const void *body, size_t len, struct asked_error *error);

void asked_release(struct asked *asked);

#endif
