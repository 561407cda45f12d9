/* SPDX-License-Identifier: MIT */
#include "cluster_peers.h"

/* Its place, a free one, or that of the one who has been silent for longest;
 * a free one has been so for ever. */
static struct cluster_peer *find(struct cluster_peers *peers, uint64_t origin)
{
    struct cluster_peer *found = &peers->rows[0];

    for (int i = 0; i < CLUSTER_PEERS_MAX; i++) {
        struct cluster_peer *peer = &peers->rows[i];

        if (peer->origin == origin)
            return peer;
        if (peer->heard_ns < found->heard_ns)
            found = peer;
    }
    return found;
}

/* Those that come late were counted as missing when they did not come. */
static uint64_t passed_over(struct cluster_peer *peer, uint64_t sequence)
{
    uint64_t missing;

    if (sequence <= peer->sequence)
        return 0;
    missing = sequence - peer->sequence - 1;
    peer->sequence = sequence;
    return missing;
}

struct cluster_peer *cluster_peers_note(struct cluster_peers *peers,
                                        const lbroute_delta_result *result,
                                        uint64_t now, bool *fresh)
{
    struct cluster_peer *peer = find(peers, result->origin);
    uint64_t missing;

    *fresh = peer->origin != result->origin;
    if (*fresh)
        *peer = (struct cluster_peer){.origin = result->origin,
                                      .sequence = result->sequence - 1};
    missing = passed_over(peer, result->sequence);
    peer->missing += missing;
    peers->missing += missing;
    peer->received++;
    peer->heard_ns = now;
    peer->targets_unknown = result->targets_unknown;
    peer->same_key = result->same_key != 0;
    return peer;
}
