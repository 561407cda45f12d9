/* SPDX-License-Identifier: MIT */
/*
 * Keeps what the router has learned over restarts:
 *
 *     start ──▶ file ──▶ key ──▶ router ──▶ targets ──▶ restored ──▶ requests
 *                ▲                                                       │
 *                └── every `interval`, and when all is answered ◀────────┘
 *
 * A file that cannot be used is reported, and the router begins cold.
 */
#ifndef LBROUTE_PROXY_STATE_KEEP_H
#define LBROUTE_PROXY_STATE_KEEP_H

#include "state_file.h"

#include <stdbool.h>

struct config;
struct event;
struct gateway;

struct state_keep {
    char *path;
    double interval; /**< Seconds. */
    uint8_t key[STATE_KEY_BYTES];
    char *found; /**< The file at the start, until it is restored. */
    size_t found_len;
    uint64_t found_ns; /**< When it was written. */
    struct event *timer;
    bool failing;       /**< The last attempt failed. */
    uint64_t saved_ns;  /**< When it was last saved, by the wall clock; 0:
                         * not yet. */
    size_t saved_bytes; /**< How long it was. */
    double save_s;      /**< For how long that held the loop. */
};

/** Looks at the file, for the key. NULL: out of memory, or the system gives no
 * random numbers for a new key. */
struct state_keep *state_keep_open(const struct config *config);

/** Restores what was found, and saves from now on. The router has the key and
 * all targets. */
void state_keep_begin(struct gateway *gateway);

/** Saves now. Does nothing where no file is configured. */
void state_keep_save(struct gateway *gateway);

/** NULL does nothing. */
void state_keep_free(struct state_keep *keep);

#endif
