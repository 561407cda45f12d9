/* SPDX-License-Identifier: MIT */
#include "kv_publisher.h"

#include "replay/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { NUMBER_BYTES = 8, ENDPOINT_MAX = 128 };

struct batch {
    unsigned char *bytes;
    size_t length;
};

struct kv_publisher {
    struct kv_publisher_options options;
    void *context;
    void *events;
    void *replay;
    struct event *readable;
    struct batch *ring; /* By number modulo options.kept. */
    uint64_t next;
    uint64_t to_lose;
    uint64_t lost;
    uint64_t replays;
    char events_endpoint[ENDPOINT_MAX];
    char replay_endpoint[ENDPOINT_MAX];
};

static void write_number(uint64_t number, unsigned char bytes[NUMBER_BYTES])
{
    for (int i = NUMBER_BYTES; i > 0; number >>= 8)
        bytes[--i] = (unsigned char)number;
}

static uint64_t read_number(const unsigned char bytes[NUMBER_BYTES])
{
    uint64_t number = 0;

    for (int i = 0; i < NUMBER_BYTES; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Number and batch, the last two parts of each message. */
static void send_batch(void *socket, uint64_t number, const struct batch *batch)
{
    unsigned char bytes[NUMBER_BYTES];

    write_number(number, bytes);
    zmq_send(socket, bytes, sizeof bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(socket, batch->bytes, batch->length, ZMQ_DONTWAIT);
}

static void replay_batch(struct kv_publisher *publisher, zmq_msg_t *client,
                         uint64_t number, const struct batch *batch)
{
    zmq_send(publisher->replay, zmq_msg_data(client), zmq_msg_size(client),
             ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(publisher->replay, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    send_batch(publisher->replay, number, batch);
}

static void replay_from(struct kv_publisher *publisher, zmq_msg_t *client,
                        uint64_t number)
{
    static const struct batch empty = {NULL, 0};
    uint64_t kept = publisher->options.kept;

    publisher->replays++;
    if (publisher->next > kept && number < publisher->next - kept)
        number = publisher->next - kept;
    for (; number < publisher->next; number++)
        replay_batch(publisher, client, number,
                     &publisher->ring[number % kept]);
    replay_batch(publisher, client, UINT64_MAX, &empty);
}

/* Passes over the parts of a message that are still to come. */
static void skip_rest(void *socket)
{
    int more = 0;
    size_t size = sizeof more;

    while (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more)
        zmq_recv(socket, NULL, 0, ZMQ_DONTWAIT);
}

/* Whether another part of the message under way was received. */
static bool receive_part(void *socket, zmq_msg_t *part)
{
    int more = 0;
    size_t size = sizeof more;

    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
    return more && zmq_msg_recv(part, socket, ZMQ_DONTWAIT) >= 0;
}

/* Serves a request. Returns false if there is none. */
static bool serve_replay(struct kv_publisher *publisher)
{
    zmq_msg_t client;
    zmq_msg_t part;
    bool received;

    zmq_msg_init(&client);
    zmq_msg_init(&part);
    received = zmq_msg_recv(&client, publisher->replay, ZMQ_DONTWAIT) >= 0;
    if (received && receive_part(publisher->replay, &part) &&
        receive_part(publisher->replay, &part) &&
        zmq_msg_size(&part) == NUMBER_BYTES) {
        skip_rest(publisher->replay);
        replay_from(publisher, &client, read_number(zmq_msg_data(&part)));
    } else if (received) {
        skip_rest(publisher->replay);
    }
    zmq_msg_close(&client);
    zmq_msg_close(&part);
    return received;
}

/* The descriptor tells only of changes: go on until there is nothing left. */
static void on_readable(evutil_socket_t fd, short what, void *context)
{
    struct kv_publisher *publisher = context;

    (void)fd;
    (void)what;
    while (serve_replay(publisher))
        ;
}

static void *bind_socket(struct kv_publisher *publisher, int type, int port,
                         char endpoint[ENDPOINT_MAX])
{
    void *socket = zmq_socket(publisher->context, type);
    int none = 0;
    size_t size = ENDPOINT_MAX;
    char number[16] = "*";

    if (socket == NULL)
        return NULL;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    if (port > 0)
        snprintf(number, sizeof number, "%d", port);
    snprintf(endpoint, ENDPOINT_MAX, "tcp://%s:%s", publisher->options.host,
             number);
    if (zmq_bind(socket, endpoint) != 0) {
        fprintf(stderr, "cannot bind %s: %s\n", endpoint,
                zmq_strerror(zmq_errno()));
        zmq_close(socket);
        return NULL;
    }
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
    return socket;
}

static void watch_replay(struct kv_publisher *publisher,
                         struct event_base *base)
{
    int fd = -1;
    size_t size = sizeof fd;

    zmq_getsockopt(publisher->replay, ZMQ_FD, &fd, &size);
    publisher->readable =
        event_new(base, fd, EV_READ | EV_PERSIST, on_readable, publisher);
    event_add(publisher->readable, NULL);
}

struct kv_publisher *kv_publisher_create(
    struct event_base *base, const struct kv_publisher_options *options)
{
    struct kv_publisher *publisher = grow_zeroed(1, sizeof *publisher);

    publisher->options = *options;
    publisher->ring = grow_zeroed(options->kept, sizeof *publisher->ring);
    publisher->context = zmq_ctx_new();
    publisher->events = bind_socket(publisher, ZMQ_PUB, options->events_port,
                                    publisher->events_endpoint);
    publisher->replay = bind_socket(publisher, ZMQ_ROUTER, options->replay_port,
                                    publisher->replay_endpoint);
    if (publisher->events == NULL || publisher->replay == NULL) {
        kv_publisher_destroy(publisher);
        return NULL;
    }
    watch_replay(publisher, base);
    return publisher;
}

void kv_publisher_destroy(struct kv_publisher *publisher)
{
    if (publisher == NULL)
        return;
    if (publisher->readable != NULL)
        event_free(publisher->readable);
    if (publisher->events != NULL)
        zmq_close(publisher->events);
    if (publisher->replay != NULL)
        zmq_close(publisher->replay);
    zmq_ctx_term(publisher->context);
    for (size_t i = 0; i < publisher->options.kept; i++)
        free(publisher->ring[i].bytes);
    free(publisher->ring);
    free(publisher);
}

static struct batch *keep(struct kv_publisher *publisher, const void *bytes,
                          size_t length)
{
    struct batch *batch =
        &publisher->ring[publisher->next % publisher->options.kept];

    free(batch->bytes);
    batch->bytes = memcpy(grow_zeroed(length, 1), bytes, length);
    batch->length = length;
    return batch;
}

void kv_publisher_send(struct kv_publisher *publisher, const void *batch,
                       size_t length)
{
    const struct batch *kept = keep(publisher, batch, length);
    const char *topic = publisher->options.topic;

    if (publisher->to_lose > 0) {
        publisher->to_lose--;
        publisher->lost++;
    } else {
        zmq_send(publisher->events, topic, strlen(topic),
                 ZMQ_SNDMORE | ZMQ_DONTWAIT);
        send_batch(publisher->events, publisher->next, kept);
    }
    publisher->next++;
}

void kv_publisher_lose(struct kv_publisher *publisher, uint64_t batches)
{
    publisher->to_lose = batches;
}

const char *kv_publisher_events(const struct kv_publisher *publisher)
{
    return publisher->events_endpoint;
}

const char *kv_publisher_replay(const struct kv_publisher *publisher)
{
    return publisher->replay_endpoint;
}

uint64_t kv_publisher_next(const struct kv_publisher *publisher)
{
    return publisher->next;
}

uint64_t kv_publisher_lost(const struct kv_publisher *publisher)
{
    return publisher->lost;
}

uint64_t kv_publisher_replays(const struct kv_publisher *publisher)
{
    return publisher->replays;
}
