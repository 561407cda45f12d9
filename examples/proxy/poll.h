/* SPDX-License-Identifier: MIT */
/*
 * A page of an engine, fetched again and again.
 *
 *     tick ──▶ GET ──▶ 200, complete, within time and size ──▶ done(body)
 *      ▲               anything else ────────────────────────▶ done(NULL)
 *      └── interval
 *
 * Another one begins only when the one before is over.
 */
#ifndef LBROUTE_PROXY_POLL_H
#define LBROUTE_PROXY_POLL_H

#include <stddef.h>

struct backend;
struct poll;

/** Told how each fetch went; `body` is NULL where it failed. */
typedef void poll_done(void *context, const void *body, size_t len);

/**
 * Begins to fetch.
 *
 * @param backend to fetch from, over its connections; must outlive the poll.
 * @param path copied; its base path goes before it.
 * @param interval seconds.
 * @param phase when the first fetch is, as a part of the interval, 0 to 1.
 * @return NULL: out of memory.
 */
struct poll *poll_new(struct backend *backend, const char *path,
                      double interval, double phase, poll_done *done,
                      void *context);

/** Takes over another interval. */
void poll_set_interval(struct poll *poll, double interval);

/** Ends it; NULL does nothing. Not from inside `done`. */
void poll_free(struct poll *poll);

#endif
