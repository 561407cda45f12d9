/* SPDX-License-Identifier: MIT */
/*
 * One connection to a Redis server in the event loop, made again whenever it
 * is gone.
 *
 *     wait ──▶ connect ──▶ AUTH ──▶ greeting ──▶ up ──▶ answers to `take`
 *      ▲          └──────────┴─────────┴──────────┴── lost
 *      └── 0.1 s, twice as long each time, 5 s at most ┘
 *
 * hiredis reads and writes the protocol. Sockets, names and TLS are libevent's,
 * so that neither a name server nor a silent Redis ever holds the loop up.
 */
#ifndef LBROUTE_CLUSTER_REDIS_LINK_H
#define LBROUTE_CLUSTER_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bufferevent;
struct evdns_base;
struct event_base;
struct redisReply;
struct ssl_ctx_st;

/** Where it is, and who wants in. The strings outlive the links. */
struct redis_server {
    const char *host; /**< An IPv6 address without brackets. */
    uint16_t port;
    const char *user;       /**< Empty: the default one. */
    const char *password;   /**< Empty: none is told. */
    struct ssl_ctx_st *tls; /**< NULL: in the clear. */
    /** With TLS: a connection to be, which accepts that host only; NULL: out of
     * memory. */
    struct bufferevent *(*open)(struct event_base *base, struct ssl_ctx_st *tls,
                                const char *host);
};

enum { REDIS_WORDS_MAX = 3 };

/** A command, such as PUBLISH with channel and bytes. */
struct redis_command {
    int count;
    const char *words[REDIS_WORDS_MAX];
    size_t lens[REDIS_WORDS_MAX];
};

struct redis_link_options {
    struct event_base *base;
    struct evdns_base *dns;
    const struct redis_server *server;
    const char *purpose;           /**< What it is for, in the log. */
    struct redis_command greeting; /**< Said first; it is up once it was not
                                    * refused. */
    /** Told each answer from then on that is no error: an error ends the
     * connection. NULL: nobody. Must not free the link. */
    void (*take)(void *context, const struct redisReply *reply);
    void *context;
    size_t most_bytes; /**< Of an answer; a longer one ends the connection. */
    void (*log)(const char *format, ...);
};

struct redis_link;

/** Begins to connect; NULL: out of memory. */
struct redis_link *redis_link_new(const struct redis_link_options *options);

bool redis_link_is_up(const struct redis_link *link);

/** Bytes that the server has not taken yet. */
size_t redis_link_backlog(const struct redis_link *link);

/** Sends a command while it is up; false: out of memory. */
bool redis_link_send(struct redis_link *link,
                     const struct redis_command *command);

/** NULL does nothing. */
void redis_link_free(struct redis_link *link);

#endif
