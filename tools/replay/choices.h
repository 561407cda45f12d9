/* SPDX-License-Identifier: MIT */
/*
 * Choosing by name, where the name may be a part of a text, and errors that say
 * what can be chosen: "unknown engine "x"; there are: a b c".
 */
#ifndef LBROUTE_REPLAY_CHOICES_H
#define LBROUTE_REPLAY_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

/** Whether the first `length` bytes of a text are this name. */
bool choices_is(const char *text, size_t length, const char *name);

/** Gives the index-th name of a kind, or NULL past the last. */
typedef const char *(*choices_name)(size_t index);

/** Writes that `text` (its first `length` bytes) is no `kind`, and which there
 * are. Returns false, for the caller to pass on. */
bool choices_unknown(char *error, size_t size, const char *kind,
                     const char *text, size_t length, choices_name name_at);

/** The same in parts, for names that no function of an index gives: the text up
 * to the first name, then name after name. */
void choices_begin(char *error, size_t size, const char *kind, const char *text,
                   size_t length);
void choices_add(char *error, size_t size, const char *name);

#endif
