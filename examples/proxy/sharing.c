/* SPDX-License-Identifier: MIT */
#include "sharing.h"

#include "cluster.h"
#include "config.h"
#include "gateway.h"
#include "log.h"
#include "times.h"
#include "tls_files.h"
#include "upstream_tls.h"

#include <event2/event.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_PEER_TTL = 5;

/* A load has gone with its gateway after ten messages that did not come. */
static uint64_t peer_ttl(const struct config_cluster *cluster)
{
    double seconds = 10 * cluster->interval;

    return (uint64_t)((seconds > LEAST_PEER_TTL ? seconds : LEAST_PEER_TTL) *
                      1e9);
}

/* Not from the seed: gateways of one file are different ones. */
bool sharing_prepare(const struct config *config,
                     lbroute_router_options *options)
{
    const struct config_cluster *cluster = &config->cluster;

    if (cluster->redis[0] == '\0')
        return true;
    options->max_delta_bytes = cluster->delta_bytes;
    options->max_peers = CLUSTER_PEERS_MAX;
    options->peer_ttl = peer_ttl(cluster);
    return RAND_bytes((unsigned char *)&options->origin,
                      sizeof options->origin) == 1;
}

static bool open_tls(struct gateway *gateway,
                     const struct config_cluster *cluster, char *error,
                     size_t error_size)
{
    if (!cluster->tls)
        return true;
    gateway->cluster_tls =
        upstream_tls_context(cluster->ca_file, error, error_size);
    return gateway->cluster_tls != NULL &&
           (cluster->certificate[0] == '\0' ||
            tls_use_files(gateway->cluster_tls, cluster->certificate,
                          cluster->key, error, error_size));
}

static const char *password_of(const struct config_cluster *cluster)
{
    const char *text = cluster->password_env[0] != '\0'
                           ? getenv(cluster->password_env)
                           : cluster->password;

    return text != NULL ? text : "";
}

bool sharing_open(struct gateway *gateway, const struct config *config,
                  char *error, size_t error_size)
{
    const struct config_cluster *cluster = &config->cluster;
    struct cluster_options options = {
        .base = gateway->base,
        .dns = gateway->dns,
        .router = gateway->router,
        .server = {.host = cluster->host,
                   .port = cluster->port,
                   .user = cluster->user,
                   .open = upstream_tls_new},
        .channel = cluster->channel,
        .interval = to_timeval(cluster->interval),
        .peer_ttl = peer_ttl(cluster),
        .now = gateway_now,
        .wall_ns = wall_clock_ns,
        .log = log_line,
    };

    if (cluster->redis[0] == '\0')
        return true;
    if (!open_tls(gateway, cluster, error, error_size))
        return false;
    options.server.tls = gateway->cluster_tls;
    options.server.password = password_of(cluster);
    gateway->cluster = cluster_open(&options);
    if (gateway->cluster == NULL)
        snprintf(error, error_size, "out of memory");
    return gateway->cluster != NULL;
}

/* One turn of the loop is enough for the socket to take it. */
void sharing_finish(struct gateway *gateway)
{
    if (gateway->cluster == NULL)
        return;
    cluster_send(gateway->cluster);
    event_base_loop(gateway->base, EVLOOP_NONBLOCK);
}

void sharing_close(struct gateway *gateway)
{
    cluster_close(gateway->cluster);
    gateway->cluster = NULL;
    SSL_CTX_free(gateway->cluster_tls);
    gateway->cluster_tls = NULL;
}

static bool texts_differ(const struct config *a, const struct config *b)
{
    return strcmp(a->digest_key_env, b->digest_key_env) != 0 ||
           strcmp(a->cluster.redis, b->cluster.redis) != 0 ||
           strcmp(a->cluster.password_env, b->cluster.password_env) != 0 ||
           strcmp(a->cluster.channel, b->cluster.channel) != 0 ||
           strcmp(a->cluster.ca_file, b->cluster.ca_file) != 0 ||
           strcmp(a->cluster.certificate, b->cluster.certificate) != 0 ||
           strcmp(a->cluster.key, b->cluster.key) != 0;
}

bool sharing_differs(const struct config *a, const struct config *b)
{
    return a->cluster.delta_bytes != b->cluster.delta_bytes ||
           a->cluster.interval < b->cluster.interval ||
           a->cluster.interval > b->cluster.interval || texts_differ(a, b);
}
