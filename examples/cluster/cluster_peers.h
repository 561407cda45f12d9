/* SPDX-License-Identifier: MIT */
/*
 * Who else was heard on the channel, for operators: the router keeps its own
 * account. A table of fixed size; the one that has been silent for longest
 * makes room.
 */
#ifndef LBROUTE_CLUSTER_PEERS_H
#define LBROUTE_CLUSTER_PEERS_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLUSTER_PEERS_MAX = 64 };

struct cluster_peer {
    uint64_t origin; /**< 0: a free place. */
    uint64_t sequence;
    uint64_t heard_ns;        /**< When it was last heard. */
    uint64_t received;        /**< Deltas of it that were news. */
    uint64_t missing;         /**< That were passed over in its sequence. */
    uint32_t targets_unknown; /**< It has them, this router has not. */
    bool same_key;            /**< Its digests are of this router's key. */
    bool silent;              /**< It was said to be. */
};

struct cluster_peers {
    struct cluster_peer rows[CLUSTER_PEERS_MAX];
    uint64_t missing; /**< Of all that were ever heard. */
};

/** Takes note of a delta that was news. Returns whose it is; `fresh` tells
 * whether that is heard for the first time. */
struct cluster_peer *cluster_peers_note(struct cluster_peers *peers,
                                        const lbroute_delta_result *result,
                                        uint64_t now, bool *fresh);

#endif
