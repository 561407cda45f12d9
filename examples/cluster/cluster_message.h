/* SPDX-License-Identifier: MIT */
/*
 * What goes over the channel: a header of 16 bytes, then a delta as the router
 * wrote it.
 *
 *     0        7         8                     16
 *     "lbrclus" version 1  time of writing, ns   delta …
 *
 * The time is the writer's wall clock's, since 1970, lowest byte first.
 */
#ifndef LBROUTE_CLUSTER_MESSAGE_H
#define LBROUTE_CLUSTER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum { CLUSTER_HEADER_BYTES = 16, CLUSTER_MESSAGE_MAX = 16 * 1024 * 1024 };

void cluster_header_write(uint64_t written_ns, void *bytes);

/** Returns what is wrong, a static text; NULL: nothing. */
const char *cluster_header_read(const void *bytes, size_t len,
                                uint64_t *written_ns);

/**
 * How old a message is by the wall clocks of two machines; 0 (not known) where
 * they cannot both be right: if it comes from the future or is older than
 * `most`. So clocks that differ never make news old enough to be no news.
 */
uint64_t cluster_message_age(uint64_t written_ns, uint64_t now_ns,
                             uint64_t most);

#endif
