/* SPDX-License-Identifier: MIT */
/*
 * Messages and their parts, as all APIs have them, added to a prompt.
 */
#ifndef LBROUTE_MOCK_CONTENT_H
#define LBROUTE_MOCK_CONTENT_H

#include "dialect.h"

/** Adds a message with a role and a content: text, parts, or none. */
bool content_message(struct prompt *prompt, const char *role,
                     const json_t *content, struct refusal *refusal);

/** Adds the descriptions of tools, as JSON without blanks and with sorted keys,
 * in a message of the role "tools"; NULL or an empty list adds nothing. */
void content_tools(struct prompt *prompt, const json_t *tools);

/** Adds a list of messages: objects with "role" and "content", and perhaps
 * "tool_calls". */
bool content_messages(struct prompt *prompt, const json_t *messages,
                      const char *param, struct refusal *refusal);

#endif
