/* SPDX-License-Identifier: MIT */
/*
 * What the files of an exchange share, in the order of its life:
 *
 *     exchange.c   begin, end, the client is gone
 *     describe.c   what the router is told of a request
 *     tokenize.c   token ids of the prompt, where an engine tells them
 *     choose.c     pick, wait, hand out
 *     send.c       the request to an engine, and what it says
 *     stream.c     its answer to the client, with back-pressure
 *     retry.c      an engine failed: another one, or the answer to give
 *     outcome.c    ticket, journal and counters are settled
 */
#ifndef LBROUTE_PROXY_EXCHANGE_PARTS_H
#define LBROUTE_PROXY_EXCHANGE_PARTS_H

#include "exchange.h"

#include <stddef.h>

struct backend;
struct client;
struct evbuffer;
struct upstream_call;
struct usage_reader;

enum {
    EXCHANGE_TRIES = 16, /* Targets at most, whatever the configuration says. */
    KEPT_MAX = 65536     /* Bytes of an error answer that is kept. */
};

/* An engine's answer that is an error, kept until it is known whether another
 * engine answers better. */
struct kept_answer {
    int status; /* 0: none. */
    char content_type[128];
    char retry_after[64];
    struct evbuffer *body;     /* NULL: too long, or none. */
    lbroute_decision decision; /* That led to it. */
};

struct exchange {
    struct exchange *next, *previous;
    struct gateway *gateway;
    struct client *client;
    struct evhttp_request *request;
    struct asked asked;
    struct exchange_identity identity;
    lbroute_request wanted; /* Points into asked, identity and request. */
    lbroute_decision decision;
    lbroute_target tried[EXCHANGE_TRIES];
    uint32_t attempts;       /* Targets that it was sent to. */
    uint64_t began, sent_at; /* Time, ns. */
    uint64_t record;         /* Its latest one in the journal. */
    struct evbuffer *ids;    /* Answer with the ids of its prompt, so far. */

    /* Of the attempt under way. */
    bool open_ticket, waiting;
    struct backend *backend; /* Held. */
    struct upstream_call *call;
    int status;             /* Of the engine's answer; 0: not yet. */
    int64_t retry_after_ns; /* -1: it says nothing. */
    bool keeping;           /* The answer is an error, and is kept. */
    struct kept_answer kept;
    int failure_status; /* For the client, if nobody is left. */

    /* Of the answer. */
    struct usage_reader *usage; /* NULL: nothing to read. */
    bool started;               /* Its head went to the client. */
    bool events;                /* Server-sent events. */
    bool open_end; /* Neither length nor chunks: it ends with the engine's
                    * connection. */
    bool token_seen, paused;
};

/* exchange.c */

/* Frees it. Ticket, place and call are settled, the request is answered. */
void exchange_end(struct exchange *exchange);

/* The client's connection is about to be freed. */
void exchange_client_gone(struct exchange *exchange);

/* An error of the gateway's own, with the headers of the decision, and the
 * end. */
void exchange_answer_error(struct exchange *exchange, int result,
                           const struct asked_error *error);

/* choose.c */

/* Picks a target, and acts on what the router says. */
void exchange_choose(struct exchange *exchange);

/* send.c */

/* Sends it to the target of its decision, whose ticket it holds. */
void exchange_send(struct exchange *exchange);

/* Gives up the call and the backend of the attempt, if there are any. */
void exchange_drop_call(struct exchange *exchange);

/* stream.c */

/* Sends the head of an engine's answer on. */
void exchange_start(struct exchange *exchange, int status,
                    struct evkeyvalq *headers);

/* Sends a piece of the body on. */
void exchange_pass(struct exchange *exchange, struct evbuffer *bytes);

/* The answer is complete. */
void exchange_finish(struct exchange *exchange);

/* The answer will never be complete: the client gets to know by the end of its
 * connection. */
void exchange_cut(struct exchange *exchange, int event);

/* The headers of the decision, and how many targets were tried. */
void exchange_add_headers(struct exchange *exchange,
                          const lbroute_decision *decision, int result);

/* retry.c */

bool exchange_may_retry(const struct exchange *exchange);

/* The attempt failed before anything went to the client. `status`: what it gets
 * if nobody is left and no engine's answer was kept. */
void exchange_failed(struct exchange *exchange, int event, int status);

/* Nobody is left: the answer that an engine gave, or an error of its own. The
 * decision is the one that found nobody. */
void exchange_give_up(struct exchange *exchange, int result,
                      const lbroute_decision *decision);

/* Begins to keep an error answer. */
void exchange_keep(struct exchange *exchange, int status,
                   struct evkeyvalq *headers);
void exchange_keep_more(struct exchange *exchange, struct evbuffer *bytes);

/* Keeps its status alone: half a body is none. */
void exchange_keep_no_body(struct exchange *exchange);

/* outcome.c */

/* Settles the ticket with a kind of `LBROUTE_EVENT_`. */
void exchange_settle(struct exchange *exchange, int event);

/* The first token came. */
void exchange_note_token(struct exchange *exchange);

/* Notes a decision in the journal and the counters. */
void exchange_note_decision(struct exchange *exchange, int result,
                            const lbroute_decision *decision, double took_s);

/* Notes the status of an answer of the gateway's own. */
void exchange_note_status(struct exchange *exchange, int status);

/* What an answer's status says of the target. */
int exchange_event_of(const struct exchange *exchange, int status);

#endif
