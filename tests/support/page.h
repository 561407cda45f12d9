/* SPDX-License-Identifier: MIT */
/* Metrics pages for a fleet under test. */
#ifndef TESTS_SUPPORT_PAGE_H
#define TESTS_SUPPORT_PAGE_H

#include <lbroute/ingest.h>

#include "support/fleet.h"

/* What became of the page that was fed last. */
extern lbroute_diag page_diag;

/* Feeds |length| bytes of a page about the target with |index|, from memory of
 * exactly that size. Gives the result. */
int page_feed_bytes(struct fleet *fleet, size_t index, const void *bytes,
                    size_t length);

/* The same with a string; fails the test unless it is taken. */
void page_feed(struct fleet *fleet, size_t index, const char *text);

/* The same with a string that is no news. */
void page_no_news(struct fleet *fleet, size_t index, const char *text);

/* A gauge of a target now. */
double page_gauge(struct fleet *fleet, size_t index, int gauge);

#endif
