/* SPDX-License-Identifier: MIT */
/*
 * One request of a client, from its last byte to the end of its answer.
 *
 *     read ──▶ pick ──┬─▶ sent ──▶ streaming ──▶ over
 *               ▲ ▲   │     │          │
 *               │ │   ▼     │          └─ engine broke off: answer cut short
 *               │ └─ waiting│
 *               └───────────┘ failed before the first byte: another target
 *
 * Each way out settles the ticket, or cancels the place, exactly once.
 */
#ifndef LBROUTE_PROXY_EXCHANGE_H
#define LBROUTE_PROXY_EXCHANGE_H

#include "asked.h"

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stdint.h>

struct evhttp_request;
struct evkeyvalq;
struct exchange;
struct gateway;

/** Begins with a request that is complete and well-formed, to a path of that
 * dialect and kind. */
void exchange_begin(struct gateway *gateway, struct evhttp_request *request,
                    enum dialect dialect, enum asked_kind kind);

/** Hands out what waits and can go now. Called after whatever may free a
 * slot; never from inside a callback of the router. */
void exchanges_serve_waiting(struct gateway *gateway);

/** Ends all that are under way: their clients get an error or a broken
 * connection. */
void exchanges_abort(struct gateway *gateway);

/** What identifies a request, for exchange.c and for explanations of samples:
 * fills in the router's request from what was asked and from headers. The
 * strings live as long as `asked`, `headers` and `identity`. */
struct exchange_identity {
    uint64_t client; /**< Digest of what tells the client; 0: unknown. */
    /** Copies: a reload may change who serves what while a request waits, and
     * frees the names. */
    char model[LBROUTE_NAME_MAX + 1];
    char adapter[LBROUTE_NAME_MAX + 1];
};

/** @return false with an error for the client: nobody serves the model, a
 * header is malformed. */
bool exchange_describe(struct gateway *gateway, const struct asked *asked,
                       struct evkeyvalq *headers, uint64_t now,
                       struct exchange_identity *identity,
                       lbroute_request *request, struct asked_error *error);

#endif
