/* SPDX-License-Identifier: MIT */
/*
 * One way to ask for an answer and to tell it: a path of the API.
 *
 *     body ──render──▶ prompt          begin │ piece piece … │ end    a stream
 *                                      whole                          JSON
 */
#ifndef LBROUTE_MOCK_DIALECT_H
#define LBROUTE_MOCK_DIALECT_H

#include "prompt.h"

#include <event2/buffer.h>
#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/** An error as the client gets it. */
struct refusal {
    int status;
    const char *type;  /**< In the words of OpenAI's API. */
    const char *param; /**< The field, or NULL. */
    char text[320];
};

/** Fills a refusal; returns false, for the caller to pass on. */
bool refuse(struct refusal *refusal, int status, const char *type,
            const char *param, const char *format, ...);

/** Refuses with 400. */
bool refuse_field(struct refusal *refusal, const char *param,
                  const char *format, ...);

/** What is told of an answer. */
struct told {
    uint64_t id;
    int64_t created;   /**< Seconds. */
    const char *model; /**< As asked for; plain. */
    const char *text;  /**< All of the answer. */
    int text_length;
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    bool limited;      /**< By the request, not by its own length. */
    bool usage;        /**< A stream ends with the usage. */
    uint32_t sequence; /**< Number of the next event, where they have one. */
};

struct dialect {
    const char *path;
    bool anthropic; /**< Errors are as in Anthropic's API. */
    /** Fields that limit the answer, the first one given counts; NULL ends. */
    const char *limits[3];

    /** Makes the prompt of a body, an object. */
    bool (*render)(const json_t *body, struct prompt *prompt,
                   struct refusal *refusal);

    /** Write the parts of a stream. */
    void (*begin)(struct evbuffer *out, struct told *told);
    void (*piece)(struct evbuffer *out, struct told *told, const char *text,
                  int length);
    void (*end)(struct evbuffer *out, struct told *told);

    /** Writes the answer in one. */
    void (*whole)(struct evbuffer *out, struct told *told);
};

extern const struct dialect dialect_chat;
extern const struct dialect dialect_completion;
extern const struct dialect dialect_message;
extern const struct dialect dialect_response;

/** Why an answer ended, in the words of OpenAI's API. */
const char *told_reason(const struct told *told);

/** Writes a number of prompt tokens and the like as OpenAI's API does. */
void told_usage(struct evbuffer *out, const struct told *told);

#endif
