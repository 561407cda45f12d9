/* SPDX-License-Identifier: MIT */
/*
 * Whole answers.
 */
#ifndef LBROUTE_MOCK_REPLY_H
#define LBROUTE_MOCK_REPLY_H

#include "dialect.h"

#include <event2/http.h>

/** Sends a body. */
void reply_body(struct evhttp_request *request, int status, const char *type,
                struct evbuffer *body);

/** Sends a text. */
void reply_text(struct evhttp_request *request, int status, const char *type,
                const char *text);

/** Sends a value, which it takes over. */
void reply_json(struct evhttp_request *request, int status, json_t *value);

/** Sends an error in the form of OpenAI's API, or of Anthropic's. */
void reply_refusal(struct evhttp_request *request, bool anthropic,
                   const struct refusal *refusal);

/** Reads the body of a request as JSON, an object. Returns NULL with a refusal
 * if it is none. */
json_t *reply_read(struct evhttp_request *request, struct refusal *refusal);

#endif
