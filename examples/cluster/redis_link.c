/* SPDX-License-Identifier: MIT */
#include "redis_link.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/util.h>
#include <hiredis/hiredis.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_WAIT_MS = 100, MOST_WAIT_MS = 5000 };

/* It is asked for a sign of life again and again; after the third silence it
 * counts as gone. */
enum { BEAT_MS = 2000, MOST_SILENT = 3 };

struct redis_link {
    struct redis_link_options options;
    struct bufferevent *bufev; /* NULL: waits for the next attempt. */
    redisReader *reader;
    struct event *timer; /* To the next attempt, or the next beat. */
    unsigned wait_ms;    /* Before the next attempt. */
    unsigned silent;     /* Beats since it was last heard. */
    unsigned due;        /* Answers that are missing until it is up. */
    char told[160];      /* Why it is gone, in the log already. */
};

static void arm(struct redis_link *link, unsigned ms)
{
    const struct timeval wait = {ms / 1000, (suseconds_t)(ms % 1000 * 1000)};

    event_add(link->timer, &wait);
}

static void hang_up(struct redis_link *link)
{
    if (link->bufev != NULL)
        bufferevent_free(link->bufev);
    if (link->reader != NULL)
        redisReaderFree(link->reader);
    link->bufev = NULL;
    link->reader = NULL;
}

/* Each reason once, until it has been up: attempts go on for as long as it
 * takes. */
static void tell(struct redis_link *link, const char *why)
{
    const struct redis_server *server = link->options.server;

    if (strncmp(link->told, why, sizeof link->told - 1) == 0)
        return;
    snprintf(link->told, sizeof link->told, "%s", why);
    link->options.log("redis %s:%u: cannot %s: %s; tries again", server->host,
                      (unsigned)server->port, link->options.purpose,
                      link->told);
}

/* The jitter keeps gateways apart that lost it at the same time. */
static void lose(struct redis_link *link, const char *why)
{
    uint16_t random = 0;

    tell(link, why); /* Which may be a text of the reader's. */
    hang_up(link);
    evutil_secure_rng_get_bytes(&random, sizeof random);
    arm(link, link->wait_ms / 2 + random % (link->wait_ms / 2 + 1));
    link->wait_ms =
        link->wait_ms < MOST_WAIT_MS / 2 ? link->wait_ms * 2 : MOST_WAIT_MS;
}

static bool send_now(struct redis_link *link,
                     const struct redis_command *command)
{
    const char *words[REDIS_WORDS_MAX];
    char *text;
    int len;
    bool sent;

    memcpy(words, command->words, sizeof words);
    len = (int)redisFormatCommandArgv(&text, command->count, words,
                                      command->lens);
    if (len < 0)
        return false;
    sent = bufferevent_write(link->bufev, text, (size_t)len) == 0;
    redisFreeCommand(text);
    return sent;
}

static bool sign_on(struct redis_link *link)
{
    const struct redis_server *server = link->options.server;
    struct redis_command command = {.count = 1, .words = {"AUTH"}};

    link->due = 0;
    if (server->password[0] == '\0')
        return true;
    if (server->user[0] != '\0')
        command.words[command.count++] = server->user;
    command.words[command.count++] = server->password;
    for (int i = 0; i < command.count; i++)
        command.lens[i] = strlen(command.words[i]);
    link->due = 1;
    return send_now(link, &command);
}

static void on_connected(struct redis_link *link)
{
    if (!sign_on(link) || !send_now(link, &link->options.greeting))
        lose(link, "out of memory");
    else
        link->due++;
}

static void on_up(struct redis_link *link)
{
    const struct redis_server *server = link->options.server;

    link->told[0] = '\0';
    link->options.log("redis %s:%u: ready to %s", server->host,
                      (unsigned)server->port, link->options.purpose);
}

/* An answer may repeat what it was asked. That was a secret as long as two are
 * due: then its first word, which says what kind it is, has to do. */
static void on_refused(struct redis_link *link, const redisReply *reply)
{
    bool secret = link->due > 1;
    int shown = (int)strcspn(reply->str, secret ? " " : "");
    char text[sizeof link->told];

    snprintf(text, sizeof text, "%s%.*s", secret ? "AUTH is refused: " : "",
             shown, reply->str);
    for (char *byte = text; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            *byte = '?';
    lose(link, text);
}

/* false: the connection is gone. */
static bool on_reply(struct redis_link *link, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        on_refused(link, reply);
        return false;
    }
    if (link->due > 0 && --link->due == 0)
        on_up(link);
    else if (link->due == 0 && link->options.take != NULL)
        link->options.take(link->options.context, reply);
    return true;
}

/* What a reader holds that is no whole answer yet. */
static bool is_too_long(const struct redis_link *link)
{
    return link->reader->len - link->reader->pos > link->options.most_bytes;
}

static void take_replies(struct redis_link *link)
{
    void *reply = NULL;
    bool stays = true;

    while (stays) {
        if (redisReaderGetReply(link->reader, &reply) != REDIS_OK) {
            lose(link, link->reader->errstr);
            return;
        }
        if (reply == NULL)
            break;
        stays = on_reply(link, reply);
        freeReplyObject(reply);
    }
    if (stays && is_too_long(link))
        lose(link, "a message is too long");
}

static void on_read(struct bufferevent *bufev, void *context)
{
    struct redis_link *link = context;
    struct evbuffer *in = bufferevent_get_input(bufev);
    size_t len = evbuffer_get_length(in);
    const char *bytes = (const char *)evbuffer_pullup(in, -1);

    link->silent = 0;
    if (bytes == NULL && len > 0) {
        lose(link, "out of memory");
        return;
    }
    redisReaderFeed(link->reader, bytes, len);
    evbuffer_drain(in, len);
    take_replies(link);
}

static const char *problem_of(struct bufferevent *bufev)
{
    unsigned long error = bufferevent_get_openssl_error(bufev);
    int name_error = bufferevent_socket_get_dns_error(bufev);
    const char *text = ERR_reason_error_string(error);

    if (name_error != 0)
        return evutil_gai_strerror(name_error);
    if (error != 0 && text != NULL)
        return text;
    return EVUTIL_SOCKET_ERROR() != 0
               ? evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())
               : "the connection broke off";
}

static void on_event(struct bufferevent *bufev, short what, void *context)
{
    struct redis_link *link = context;

    if (what & BEV_EVENT_CONNECTED)
        on_connected(link);
    else if (what & BEV_EVENT_EOF)
        lose(link, "it closed the connection");
    else
        lose(link, problem_of(bufev));
}

static struct bufferevent *new_socket(struct redis_link *link)
{
    const struct redis_server *server = link->options.server;

    return server->tls != NULL
               ? server->open(link->options.base, server->tls, server->host)
               : bufferevent_socket_new(link->options.base, -1,
                                        BEV_OPT_CLOSE_ON_FREE);
}

/* It may have failed, and been told so, before this returns. */
static void connect_now(struct redis_link *link)
{
    const struct redis_server *server = link->options.server;

    link->silent = 0;
    link->due = 1;
    link->bufev = new_socket(link);
    link->reader = redisReaderCreate();
    if (link->bufev == NULL || link->reader == NULL) {
        lose(link, "out of memory");
        return;
    }
    arm(link, BEAT_MS);
    bufferevent_setcb(link->bufev, on_read, NULL, on_event, link);
    bufferevent_enable(link->bufev, EV_READ | EV_WRITE);
    if (bufferevent_socket_connect_hostname(link->bufev, link->options.dns,
                                            AF_UNSPEC, server->host,
                                            server->port) != 0 &&
        link->bufev != NULL)
        lose(link, "it cannot be reached");
}

/* A connection that lasted for a beat was a good one. */
static void beat(struct redis_link *link)
{
    static const struct redis_command ping = {1, {"PING"}, {4}};

    if (++link->silent > MOST_SILENT) {
        lose(link, "no answer");
        return;
    }
    if (redis_link_is_up(link)) {
        link->wait_ms = FIRST_WAIT_MS;
        send_now(link, &ping);
    }
    arm(link, BEAT_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    struct redis_link *link = context;

    (void)fd;
    (void)what;
    if (link->bufev != NULL)
        beat(link);
    else
        connect_now(link);
}

struct redis_link *redis_link_new(const struct redis_link_options *options)
{
    struct redis_link *link = calloc(1, sizeof *link);

    if (link == NULL)
        return NULL;
    link->options = *options;
    link->wait_ms = FIRST_WAIT_MS;
    link->timer = evtimer_new(options->base, on_timer, link);
    if (link->timer == NULL) {
        redis_link_free(link);
        return NULL;
    }
    arm(link, 0);
    return link;
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link->bufev != NULL && link->due == 0;
}

size_t redis_link_backlog(const struct redis_link *link)
{
    return link->bufev != NULL
               ? evbuffer_get_length(bufferevent_get_output(link->bufev))
               : 0;
}

bool redis_link_send(struct redis_link *link,
                     const struct redis_command *command)
{
    return redis_link_is_up(link) && send_now(link, command);
}

void redis_link_free(struct redis_link *link)
{
    if (link == NULL)
        return;
    hang_up(link);
    if (link->timer != NULL)
        event_free(link->timer);
    free(link);
}
