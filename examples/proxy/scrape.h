/* SPDX-License-Identifier: MIT */
/*
 * What a target says over HTTP: its metrics, and how full its offloaded cache
 * is. Whether it works is written to the log when that changes.
 */
#ifndef LBROUTE_PROXY_SCRAPE_H
#define LBROUTE_PROXY_SCRAPE_H

struct backend;
struct scrape;

/** Begins; `phase` as for poll_new(). NULL: out of memory. */
struct scrape *scrape_metrics(struct backend *backend, const char *path,
                              double interval, double phase);

/** `place` is a path, or a URL of its own; `capacity` is in tokens, 0: the
 * answer tells a part. */
struct scrape *scrape_occupancy(struct backend *backend, const char *place,
                                double capacity, double interval, double phase);

void scrape_set_interval(struct scrape *scrape, double interval);

/** NULL does nothing. */
void scrape_free(struct scrape *scrape);

#endif
