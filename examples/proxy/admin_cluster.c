/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"

#include "cluster.h"
#include "gateway.h"
#include "json_parts.h"

static json_t *peer_json(const struct cluster_peer *peer, uint64_t now)
{
    json_t *object = json_object();

    json_put(object, "origin", json_digest(peer->origin));
    json_put(object, "heard_ms", json_ms((int64_t)(now - peer->heard_ns)));
    json_put(object, "silent", json_boolean(peer->silent));
    json_put(object, "received", json_count(peer->received));
    json_put(object, "missing", json_count(peer->missing));
    json_put(object, "targets_unknown", json_count(peer->targets_unknown));
    json_put(object, "same_key", json_boolean(peer->same_key));
    return object;
}

static json_t *peers_json(const struct cluster *cluster, uint64_t now)
{
    json_t *array = json_array();
    const struct cluster_peer *peer;

    for (size_t i = 0; (peer = cluster_peer(cluster, i)) != NULL; i++)
        json_array_append_new(array, peer_json(peer, now));
    return array;
}

static void put_counts(json_t *object, const struct cluster_counts *counts)
{
    json_put(object, "sent", json_count(counts->sent));
    json_put(object, "sent_bytes", json_count(counts->sent_bytes));
    json_put(object, "held", json_count(counts->held));
    json_put(object, "received", json_count(counts->received));
    json_put(object, "received_bytes", json_count(counts->received_bytes));
    json_put(object, "repeated", json_count(counts->repeated));
    json_put(object, "missing", json_count(counts->missing));
    json_put(object, "failed", json_count(counts->failed));
}

json_t *admin_cluster_json(const struct gateway *gateway, uint64_t now)
{
    const struct cluster *cluster = gateway->cluster;
    json_t *object;
    lbroute_delta_stats stats;

    if (cluster == NULL)
        return json_null();
    object = json_object();
    lbroute_delta_stats_init(&stats, sizeof stats);
    lbroute_get_delta_stats(gateway->router, now, &stats);
    json_put(object, "origin", json_digest(stats.origin));
    json_put(object, "connected", json_boolean(cluster_connected(cluster)));
    json_put(object, "channel", json_words(cluster_channel(cluster)));
    put_counts(object, cluster_counts(cluster));
    json_put(object, "pending", json_count(stats.pending));
    json_put(object, "dropped", json_count(stats.dropped));
    json_put(object, "peers", peers_json(cluster, now));
    return object;
}
