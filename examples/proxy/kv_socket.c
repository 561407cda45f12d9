/* SPDX-License-Identifier: MIT */
#include "kv_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <zmq.h>

/* What is taken in one turn of the loop. */
enum { TURN_MESSAGES = 64, TURN_BYTES = 1024 * 1024 };

enum {
    MOST_WAITING = 100000, /* Messages; a gap is replayed. */
    MOST_MESSAGE_BYTES = 64 * 1024 * 1024,
    RECONNECT_MS = 100,
    RECONNECT_MOST_MS = 5000,
    HEARTBEAT_MS = 10000,
    HEARTBEAT_TIMEOUT_MS = 30000
};

static uint64_t read_number(const unsigned char bytes[8])
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Keeps the last two frames of a message. Returns how many it had; 0: there is
 * none now. */
static int receive(void *socket, zmq_msg_t *number, zmq_msg_t *payload)
{
    int frames = 0;

    do {
        zmq_msg_move(number, payload);
        while (zmq_msg_recv(payload, socket, ZMQ_DONTWAIT) < 0)
            if (errno != EINTR)
                return 0;
        frames++;
    } while (zmq_msg_more(payload));
    return frames;
}

/* Returns the bytes taken; 0: there was nothing. */
static size_t take_one(struct kv_socket *socket)
{
    zmq_msg_t number, payload;
    size_t bytes = 0;

    zmq_msg_init(&number);
    zmq_msg_init(&payload);
    if (receive(socket->socket, &number, &payload) > 0) {
        bytes = 1 + zmq_msg_size(&payload);
        if (zmq_msg_size(&number) == 8)
            socket->take(socket->context, read_number(zmq_msg_data(&number)),
                         zmq_msg_data(&payload), zmq_msg_size(&payload));
        else
            socket->malformed++;
    }
    zmq_msg_close(&number);
    zmq_msg_close(&payload);
    return bytes;
}

static void take_a_turn(struct kv_socket *socket)
{
    static const struct timeval at_once = {0, 0};
    size_t bytes = 0;

    for (int i = 0; i < TURN_MESSAGES && bytes < TURN_BYTES; i++) {
        size_t taken = take_one(socket);

        if (taken == 0 || socket->socket == NULL || socket->held)
            return;
        bytes += taken;
    }
    event_add(socket->turn, &at_once);
}

/* Also of a socket that is held back the news have to be looked at: its peers
 * come and go, and what was subscribed has to be said again. */
static void on_event(evutil_socket_t fd, short what, void *context)
{
    struct kv_socket *socket = context;
    int events;
    size_t size = sizeof events;

    (void)fd;
    (void)what;
    if (socket->held)
        zmq_getsockopt(socket->socket, ZMQ_EVENTS, &events, &size);
    else
        take_a_turn(socket);
}

static bool set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool tune(void *socket, int type)
{
    int64_t most = MOST_MESSAGE_BYTES;

    return set(socket, ZMQ_LINGER, 0) &&
           set(socket, ZMQ_RCVHWM, MOST_WAITING) && set(socket, ZMQ_IPV6, 1) &&
           set(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
           set(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST_MS) &&
           set(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
           set(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS) &&
           zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0 &&
           (type != ZMQ_SUB ||
            zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0) == 0);
}

static bool watch(struct kv_socket *socket, struct event_base *base)
{
    int fd;
    size_t size = sizeof fd;

    if (zmq_getsockopt(socket->socket, ZMQ_FD, &fd, &size) != 0)
        return false;
    socket->readable =
        event_new(base, fd, EV_READ | EV_PERSIST, on_event, socket);
    socket->turn = evtimer_new(base, on_event, socket);
    return socket->readable != NULL && socket->turn != NULL &&
           event_add(socket->readable, NULL) == 0;
}

bool kv_socket_open(struct kv_socket *socket, struct event_base *base,
                    void *zmq, int type, const char *endpoint,
                    kv_socket_take *take, void *context)
{
    *socket = (struct kv_socket){.take = take, .context = context};
    socket->socket = zmq_socket(zmq, type);
    if (socket->socket == NULL)
        return false;
    if (tune(socket->socket, type) &&
        zmq_connect(socket->socket, endpoint) == 0 && watch(socket, base)) {
        kv_socket_release(socket);
        return true;
    }
    kv_socket_close(socket);
    return false;
}

bool kv_socket_ask(struct kv_socket *socket, uint64_t from)
{
    unsigned char number[8];

    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)(from >> (56 - 8 * i));
    if (zmq_send(socket->socket, "", 0, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0 ||
        zmq_send(socket->socket, number, sizeof number, ZMQ_DONTWAIT) < 0)
        return false;
    kv_socket_release(socket); /* Sending may have swallowed the news. */
    return true;
}

void kv_socket_release(struct kv_socket *socket)
{
    static const struct timeval at_once = {0, 0};

    socket->held = false;
    event_add(socket->turn, &at_once);
}

void kv_socket_close(struct kv_socket *socket)
{
    if (socket->readable != NULL)
        event_free(socket->readable);
    if (socket->turn != NULL)
        event_free(socket->turn);
    if (socket->socket != NULL)
        zmq_close(socket->socket);
    socket->readable = socket->turn = NULL;
    socket->socket = NULL;
}
