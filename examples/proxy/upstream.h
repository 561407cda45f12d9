/* SPDX-License-Identifier: MIT */
/*
 * Connections to engines, by libevent's HTTP client.
 *
 *     upstream_pool (of a backend) ── idle ── idle ── …
 *        upstream_send ──▶ takes an idle one or opens one ──▶ call
 *        call ends well ──▶ idle again; else closed
 *
 * An idle connection that the engine closed just as it was used again is
 * replaced once, silently: nothing of the request was answered yet.
 */
#ifndef LBROUTE_PROXY_UPSTREAM_H
#define LBROUTE_PROXY_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct evbuffer;
struct evkeyvalq;
struct upstream_call;
struct upstream_pool;

/** Why a call failed. */
enum upstream_failure {
    UPSTREAM_CONNECT,  /**< Refused, unreachable, no such name, bad TLS. */
    UPSTREAM_TIMEOUT,  /**< No byte, or no end, for too long. */
    UPSTREAM_BROKEN,   /**< Closed before the end of the answer. */
    UPSTREAM_MALFORMED /**< No HTTP. */
};

/** Told how a call goes: head, pieces of the body, then end or failure, once.
 * Any of them may cancel the call. */
struct upstream_listener {
    void (*head)(void *context, int status, struct evkeyvalq *headers);
    /** The listener may drain `bytes`; what it leaves is dropped. */
    void (*body)(void *context, struct evbuffer *bytes);
    void (*end)(void *context);
    void (*failed)(void *context, enum upstream_failure failure);
};

struct upstream_pool *upstream_pool_new(struct backend *backend);

/** Closes the idle ones; calls under way go on. */
void upstream_pool_free(struct upstream_pool *pool);

/** Idle connections now. */
uint32_t upstream_idle(const struct upstream_pool *pool);

/** What to send. Headers are complete but for Host and Content-Length. */
struct upstream_request {
    const char *method; /**< "GET" or "POST". */
    const char *path;   /**< With the query; the base path goes before it. */
    struct evkeyvalq *headers; /**< Taken over: empty afterwards. */
    struct evbuffer *body;     /**< Not drained: a retry needs it again. It
                                * stays until the call is over. */
    double connect_timeout, first_byte_timeout, idle_timeout; /**< Seconds. */
    double total_timeout; /**< Up to the end of the answer; 0: as long as bytes
                           * come. */
};

/** Sends a request; NULL: out of memory. Never calls the listener before it
 * returns. */
struct upstream_call *upstream_send(struct upstream_pool *pool,
                                    const struct upstream_request *request,
                                    const struct upstream_listener *listener,
                                    void *context);

/** Stops or goes on reading, for slow readers. */
void upstream_pause(struct upstream_call *call, bool pause);

/** Ends a call; the listener hears nothing more of it. */
void upstream_cancel(struct upstream_call *call);

#endif
