/* SPDX-License-Identifier: MIT */
/*
 * A socket of ZeroMQ in the event loop. Its descriptor only tells that
 * something may have changed, and tells it once: what is there is taken until
 * nothing is left, a bounded part in each turn of the loop.
 *
 *     descriptor readable ─▶ take … take ─▶ nothing left: wait
 *                    ▲            └─▶ bound reached: timer of 0 s ─┐
 *                    └─────────────────────────────────────────────┘
 */
#ifndef LBROUTE_PROXY_KV_SOCKET_H
#define LBROUTE_PROXY_KV_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct event_base;

/** Told of each message: the last two of its frames. May close the socket. */
typedef void kv_socket_take(void *context, uint64_t seq, const void *payload,
                            size_t len);

/** All zero: closed. */
struct kv_socket {
    void *socket;
    struct event *readable, *turn;
    kv_socket_take *take;
    void *context;
    bool held;          /**< Messages wait until kv_socket_release(). */
    uint64_t malformed; /**< Messages of another form. */
};

/**
 * Opens a socket; it connects again by itself whenever its peer is gone.
 *
 * @param zmq context of ZeroMQ.
 * @param type ZMQ_SUB, which subscribes to everything, or ZMQ_DEALER.
 * @return false: bad endpoint, or out of memory or descriptors.
 */
bool kv_socket_open(struct kv_socket *socket, struct event_base *base,
                    void *zmq, int type, const char *endpoint,
                    kv_socket_take *take, void *context);

/** Asks for a replay: an empty frame, and where to begin. */
bool kv_socket_ask(struct kv_socket *socket, uint64_t from);

/** Takes what has come while it was held, from the event loop. */
void kv_socket_release(struct kv_socket *socket);

/** Does nothing to one that is closed. */
void kv_socket_close(struct kv_socket *socket);

#endif
