/* SPDX-License-Identifier: MIT */
/*
 * "unknown engine "x"; there are: a b c": errors that name what can be chosen.
 */
#ifndef LBROUTE_REPLAY_CHOICES_H
#define LBROUTE_REPLAY_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

/** Gives the index-th name of a kind, or NULL past the last. */
typedef const char *(*choices_name)(size_t index);

/** Writes that `text` (its first `length` bytes) is no `kind`, and which there
 * are. Returns false, for the caller to pass on. */
bool choices_unknown(char *error, size_t size, const char *kind,
                     const char *text, size_t length, choices_name name_at);

#endif
