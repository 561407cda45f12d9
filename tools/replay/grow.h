/* SPDX-License-Identifier: MIT */
/*
 * Memory of a command-line tool: running out of it ends the program with a
 * message, so callers need no error path.
 */
#ifndef LBROUTE_REPLAY_GROW_H
#define LBROUTE_REPLAY_GROW_H

#include <stddef.h>

/** Returns `count` zeroed elements of `size` bytes (a valid pointer for 0). */
void *grow_zeroed(size_t count, size_t size);

/** Makes room for `needed` elements of `size` bytes in `array`, at least
 * doubling `*capacity`; returns the possibly moved array. */
void *grow_array(void *array, size_t *capacity, size_t needed, size_t size);

#endif
