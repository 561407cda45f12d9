/* SPDX-License-Identifier: MIT */
/*
 * JSON from clients, with bounds, and fields of it by type. What fails fills in
 * the error for the client and returns NULL or false. A field that is null
 * counts as one that is not there, as engines take it.
 */
#ifndef LBROUTE_PROXY_ASKED_JSON_H
#define LBROUTE_PROXY_ASKED_JSON_H

#include "asked.h"
#include "bytes.h"

#include <jansson.h>

/** Fills in a 400; returns false. `param` names the field, or is empty. */
bool asked_refuse(struct asked_error *error, const char *param,
                  const char *text);

/** Memory ran out; returns false. */
bool asked_starved(struct asked_error *error);

/** An object, nested to a bound, without a key that comes twice: which of the
 * two counts would be for each reader to choose. */
json_t *asked_parse(const void *body, size_t len, struct asked_error *error);

/** A field, or NULL where it is missing or null. */
json_t *asked_field(const json_t *object, const char *name);

/** A copy of a string without NUL; an empty one where there is none. */
bool asked_name(const json_t *object, const char *name, char **copy,
                struct asked_error *error);

bool asked_flag(const json_t *object, const char *name, bool *flag,
                struct asked_error *error);

/** A whole number; left alone where there is none, or a negative one. */
bool asked_count(const json_t *object, const char *name, int64_t *count,
                 struct asked_error *error);

/** Adds token ids, uint32_t each; false: no array of them. */
bool asked_tokens(const json_t *array, struct bytes *ids);

#endif
