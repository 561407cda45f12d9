/* SPDX-License-Identifier: MIT */
#include "cluster.h"

#include "cluster_message.h"
#include "secret.h"

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A message is a piece of what is pending: Redis and the others' loops do
 * other things between two. */
enum { PIECE_BYTES = 1024 * 1024, MOST_BACKLOG = 4 * PIECE_BYTES };

/* What Redis wraps around a message. */
enum { WRAPPING_BYTES = 1024 };

static const uint64_t COMPLAIN_NS = UINT64_C(60) * 1000000000;
static const uint64_t FORGET_NS = UINT64_C(60) * 1000000000;

struct cluster {
    struct cluster_options options;
    char *host, *user, *password, *channel;
    struct redis_link *speaker, *listener;
    struct event *timer;
    char *bytes; /* Room for a message. */
    size_t room;
    uint64_t complained_at; /* About a message; 0: never. */
    struct cluster_counts counts;
    struct cluster_peers peers;
};

static struct redis_command command_of(const char *name, const char *channel,
                                       const char *bytes, size_t len)
{
    return (struct redis_command){
        .count = bytes != NULL ? 3 : 2,
        .words = {name, channel, bytes},
        .lens = {strlen(name), strlen(channel), len},
    };
}

static bool make_room(struct cluster *cluster, size_t room)
{
    char *bytes;

    if (room > CLUSTER_MESSAGE_MAX)
        return false;
    bytes = realloc(cluster->bytes, room);
    if (bytes == NULL)
        return false;
    cluster->bytes = bytes;
    cluster->room = room;
    return true;
}

/* Writes a message; its length, 0: there is none. */
static size_t write_message(struct cluster *cluster)
{
    lbroute_router *router = cluster->options.router;
    uint64_t now = cluster->options.now();
    size_t len = 0;
    int code;

    do {
        code = lbroute_delta_export(router, now,
                                    cluster->bytes + CLUSTER_HEADER_BYTES,
                                    cluster->room - CLUSTER_HEADER_BYTES, &len);
    } while (code == LBROUTE_ERR_BUFFER &&
             make_room(cluster, CLUSTER_HEADER_BYTES + len));
    if (code != LBROUTE_OK || len == 0)
        return 0;
    cluster_header_write(cluster->options.wall_ns(), cluster->bytes);
    return CLUSTER_HEADER_BYTES + len;
}

static bool send_piece(struct cluster *cluster)
{
    size_t len = write_message(cluster);
    struct redis_command command =
        command_of("PUBLISH", cluster->channel, cluster->bytes, len);

    if (len == 0 || !redis_link_send(cluster->speaker, &command))
        return false;
    cluster->counts.sent++;
    cluster->counts.sent_bytes += len;
    return true;
}

static bool has_more(struct cluster *cluster)
{
    lbroute_delta_stats stats;

    lbroute_delta_stats_init(&stats, sizeof stats);
    return lbroute_get_delta_stats(cluster->options.router,
                                   cluster->options.now(),
                                   &stats) == LBROUTE_OK &&
           stats.pending > 0;
}

/* To a Redis that is slow nothing is sent on top: what is new waits in the
 * router, which knows how much it may keep. */
void cluster_send(struct cluster *cluster)
{
    if (!redis_link_is_up(cluster->speaker) ||
        redis_link_backlog(cluster->speaker) > 0) {
        cluster->counts.held++;
        return;
    }
    while (send_piece(cluster) && has_more(cluster) &&
           redis_link_backlog(cluster->speaker) < MOST_BACKLOG) {
    }
}

static void complain(struct cluster *cluster, const char *problem)
{
    uint64_t now = cluster->options.now();

    cluster->counts.failed++;
    if (cluster->complained_at != 0 &&
        now - cluster->complained_at < COMPLAIN_NS)
        return;
    cluster->complained_at = now;
    cluster->options.log("cluster: a message on channel %s is of no use: %s",
                         cluster->channel, problem);
}

static void note_peer(struct cluster *cluster,
                      const lbroute_delta_result *result, uint64_t now)
{
    bool fresh;
    struct cluster_peer *peer =
        cluster_peers_note(&cluster->peers, result, now, &fresh);

    if (fresh || peer->silent)
        cluster->options.log("cluster: gateway %016" PRIx64 " is heard%s",
                             peer->origin,
                             peer->same_key ? ""
                                            : "; it has another digest key, so "
                                              "sessions are not shared with "
                                              "it");
    peer->silent = false;
}

static void on_result(struct cluster *cluster,
                      const lbroute_delta_result *result, size_t len,
                      uint64_t now)
{
    if (result->own)
        return;
    cluster->counts.received++;
    cluster->counts.received_bytes += len;
    if (result->repeated)
        cluster->counts.repeated++;
    else
        note_peer(cluster, result, now);
    cluster->counts.missing = cluster->peers.missing;
}

static void on_message(struct cluster *cluster, const char *bytes, size_t len)
{
    const struct cluster_options *options = &cluster->options;
    uint64_t now = options->now(), written = 0;
    const char *problem = cluster_header_read(bytes, len, &written);
    lbroute_delta_result result;
    int code;

    if (problem != NULL) {
        complain(cluster, problem);
        return;
    }
    lbroute_delta_result_init(&result, sizeof result);
    code = lbroute_delta_apply(
        options->router, bytes + CLUSTER_HEADER_BYTES,
        len - CLUSTER_HEADER_BYTES, now,
        cluster_message_age(written, options->wall_ns(), options->peer_ttl / 2),
        &result);
    if (code == LBROUTE_OK)
        on_result(cluster, &result, len, now);
    else
        complain(cluster, lbroute_strerror(code));
}

/* ["message", channel, bytes]; the greetings of speakers are empty. */
static void take(void *context, const redisReply *reply)
{
    const redisReply *bytes;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        strcmp(reply->element[0]->str, "message") != 0)
        return;
    bytes = reply->element[2];
    if (bytes->type == REDIS_REPLY_STRING && bytes->len > 0)
        on_message(context, bytes->str, (size_t)bytes->len);
}

/* In the log once, when its load begins to count no more. */
static void look_for_silent(struct cluster *cluster)
{
    uint64_t now = cluster->options.now();

    for (int i = 0; i < CLUSTER_PEERS_MAX; i++) {
        struct cluster_peer *peer = &cluster->peers.rows[i];

        if (peer->origin == 0 || peer->silent ||
            now - peer->heard_ns < cluster->options.peer_ttl)
            continue;
        peer->silent = true;
        cluster->options.log("cluster: gateway %016" PRIx64
                             " is silent; its load counts no more",
                             peer->origin);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    cluster_send(context);
    look_for_silent(context);
}

static bool begin_timer(struct cluster *cluster)
{
    cluster->timer =
        event_new(cluster->options.base, -1, EV_PERSIST, on_timer, cluster);
    return cluster->timer != NULL &&
           event_add(cluster->timer, &cluster->options.interval) == 0;
}

/* A speaker's first word is an empty message: whether it may speak shows then,
 * not only later. */
static bool begin_links(struct cluster *cluster)
{
    struct redis_link_options options = {
        .base = cluster->options.base,
        .dns = cluster->options.dns,
        .server = &cluster->options.server,
        .purpose = "publish",
        .greeting = command_of("PUBLISH", cluster->channel, "", 0),
        .most_bytes = WRAPPING_BYTES,
        .log = cluster->options.log,
    };

    cluster->speaker = redis_link_new(&options);
    options.purpose = "listen";
    options.greeting = command_of("SUBSCRIBE", cluster->channel, NULL, 0);
    options.most_bytes = CLUSTER_MESSAGE_MAX + WRAPPING_BYTES;
    options.take = take;
    options.context = cluster;
    cluster->listener = redis_link_new(&options);
    return cluster->speaker != NULL && cluster->listener != NULL;
}

static bool copy_words(struct cluster *cluster)
{
    struct redis_server *server = &cluster->options.server;

    server->host = cluster->host = strdup(server->host);
    server->user = cluster->user = strdup(server->user);
    server->password = cluster->password = strdup(server->password);
    cluster->options.channel = cluster->channel =
        strdup(cluster->options.channel);
    return cluster->host != NULL && cluster->user != NULL &&
           cluster->password != NULL && cluster->channel != NULL;
}

struct cluster *cluster_open(const struct cluster_options *options)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);

    if (cluster == NULL)
        return NULL;
    cluster->options = *options;
    if (copy_words(cluster) && make_room(cluster, PIECE_BYTES) &&
        begin_links(cluster) && begin_timer(cluster))
        return cluster;
    cluster_close(cluster);
    return NULL;
}

bool cluster_connected(const struct cluster *cluster)
{
    return redis_link_is_up(cluster->speaker) &&
           redis_link_is_up(cluster->listener);
}

const char *cluster_channel(const struct cluster *cluster)
{
    return cluster->channel;
}

const struct cluster_counts *cluster_counts(const struct cluster *cluster)
{
    return &cluster->counts;
}

const struct cluster_peer *cluster_peer(const struct cluster *cluster,
                                        size_t index)
{
    uint64_t now = cluster->options.now();

    for (int i = 0; i < CLUSTER_PEERS_MAX; i++) {
        const struct cluster_peer *peer = &cluster->peers.rows[i];

        if (peer->origin != 0 && now - peer->heard_ns < FORGET_NS &&
            index-- == 0)
            return peer;
    }
    return NULL;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    if (cluster->timer != NULL)
        event_free(cluster->timer);
    redis_link_free(cluster->speaker);
    redis_link_free(cluster->listener);
    free(cluster->host);
    free(cluster->user);
    secret_free(cluster->password);
    free(cluster->channel);
    free(cluster->bytes);
    free(cluster);
}
