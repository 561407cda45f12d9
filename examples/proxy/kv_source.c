/* SPDX-License-Identifier: MIT */
#include "kv_source.h"

#include "fleet.h"
#include "gateway.h"
#include "kv_socket.h"
#include "log.h"
#include "times.h"

#include <lbroute/ingest.h>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    REPLAY_SILENCE_S = 5, /* Nobody answers. */
    REPLAY_S = 60,        /* Somebody answers without end. */
    BETWEEN_REPLAYS_S = 1
};

static const uint64_t second = UINT64_C(1000000000);

enum state { KV_JOINING, KV_LIVE, KV_WAITING, KV_REPLAYING };

struct kv_source {
    struct backend *backend;
    uint32_t number;
    char *events, *replay;
    void *zmq;
    struct kv_socket live, replies;
    struct event timer; /* Of waiting, and of silence. */
    enum state state;
    uint64_t from;       /* First batch that was asked for. */
    uint64_t started_at; /* The latest replay, ns. */
    bool refused;        /* The router had no room for it: was logged. */
};

static void set_timer(struct kv_source *source, double seconds)
{
    const struct timeval time = to_timeval(seconds);

    event_add(&source->timer, &time);
}

static lbroute_router *router_of(const struct kv_source *source)
{
    return source->backend->gateway->router;
}

static bool first_missing(const struct kv_source *source, uint64_t *first)
{
    uint64_t last;

    return lbroute_kv_missing(router_of(source), source->backend->target,
                              source->number, first, &last) == LBROUTE_OK;
}

/* Begins anew with an empty memory: better cold than wrong. */
static void forget(struct kv_source *source)
{
    lbroute_kv_clear(router_of(source), source->backend->target, source->number,
                     gateway_now());
}

static void go_live(struct kv_source *source)
{
    kv_socket_close(&source->replies);
    event_del(&source->timer);
    source->state = KV_LIVE;
    if (source->live.held)
        kv_socket_release(&source->live);
}

static void take_reply(void *context, uint64_t seq, const void *payload,
                       size_t len);

static bool ask(struct kv_source *source, enum state state, uint64_t from)
{
    struct gateway *gateway = source->backend->gateway;

    if (!kv_socket_open(&source->replies, gateway->base, source->zmq,
                        ZMQ_DEALER, source->replay, take_reply, source) ||
        !kv_socket_ask(&source->replies, from)) {
        kv_socket_close(&source->replies);
        return false;
    }
    source->state = state;
    source->from = from;
    source->started_at = gateway_now();
    source->backend->kv_replays++;
    set_timer(source, REPLAY_SILENCE_S);
    return true;
}

/* Asks for what is missing, unless it was asked for a moment ago: an engine
 * whose batches are all broken must not be flooded. */
static void recover(struct kv_source *source)
{
    uint64_t since = gateway_now() - source->started_at;
    uint64_t first;

    if (!first_missing(source, &first)) {
        go_live(source);
    } else if (source->replay[0] == '\0') {
        forget(source);
        go_live(source);
    } else if (since < BETWEEN_REPLAYS_S * second) {
        source->state = KV_WAITING;
        set_timer(source, BETWEEN_REPLAYS_S - (double)since / 1e9);
    } else if (!ask(source, KV_REPLAYING, first)) {
        forget(source);
        go_live(source);
    }
}

/* A replay is over. If what was asked for did not come it is gone; what went
 * missing since is another matter. */
static void end_replay(struct kv_source *source)
{
    bool joining = source->state == KV_JOINING;
    uint64_t first;

    kv_socket_close(&source->replies);
    if (joining || !first_missing(source, &first)) {
        go_live(source);
        return;
    }
    if (first > source->from) {
        recover(source);
        return;
    }
    forget(source);
    go_live(source);
}

static void note_refusal(struct kv_source *source, int code)
{
    if (!source->refused)
        log_line("%s: KV events %u: %s", source->backend->name,
                 (unsigned)source->number, lbroute_strerror(code));
    source->refused = true;
}

/* Hands a batch over. Returns whether something is missing now. */
static bool ingest(struct kv_source *source, uint64_t seq, const void *payload,
                   size_t len)
{
    struct backend *backend = source->backend;
    lbroute_kv_result result;
    int code;

    lbroute_kv_result_init(&result, sizeof result);
    code = lbroute_ingest_kv_events(router_of(source), backend->target,
                                    source->number, seq, payload, len,
                                    gateway_now(), &result, NULL);
    if (code == LBROUTE_OK && result.outcome == LBROUTE_KV_REPLAY_END)
        return result.missing > 0;
    backend->kv_batches++;
    if (code == LBROUTE_OK)
        source->refused = false;
    else if (code != LBROUTE_ERR_FORMAT)
        note_refusal(source, code);
    return code == LBROUTE_OK ? result.missing > 0 : code == LBROUTE_ERR_FORMAT;
}

static void take_live(void *context, uint64_t seq, const void *payload,
                      size_t len)
{
    struct kv_source *source = context;

    if (ingest(source, seq, payload, len) && source->state == KV_LIVE) {
        source->backend->kv_gaps++;
        recover(source);
    }
}

static void take_reply(void *context, uint64_t seq, const void *payload,
                       size_t len)
{
    struct kv_source *source = context;
    bool last = seq == UINT64_MAX && len == 0;
    bool missing = ingest(source, seq, payload, len);
    bool filled = source->state == KV_REPLAYING && !missing;
    uint64_t since = gateway_now() - source->started_at;

    if (last || filled || since > REPLAY_S * second)
        end_replay(source);
    else
        set_timer(source, REPLAY_SILENCE_S);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    struct kv_source *source = context;

    (void)fd;
    (void)what;
    if (source->state == KV_WAITING)
        recover(source);
    else
        end_replay(source);
}

/* Whoever joins late asks for all that the engine still has; what it says
 * meanwhile waits. */
static bool begin(struct kv_source *source)
{
    struct gateway *gateway = source->backend->gateway;

    if (!kv_socket_open(&source->live, gateway->base, source->zmq, ZMQ_SUB,
                        source->events, take_live, source))
        return false;
    source->state = KV_LIVE;
    if (source->replay[0] != '\0' && ask(source, KV_JOINING, 0))
        source->live.held = true;
    return true;
}

struct kv_source *kv_source_new(struct backend *backend, uint32_t number,
                                const struct config_kv_source *settings,
                                void *zmq)
{
    struct kv_source *source = calloc(1, sizeof *source);

    if (source == NULL)
        return NULL;
    source->backend = backend;
    source->number = number;
    source->zmq = zmq;
    source->events = strdup(settings->events);
    source->replay = strdup(settings->replay);
    evtimer_assign(&source->timer, backend->gateway->base, on_timer, source);
    if (source->events != NULL && source->replay != NULL && begin(source))
        return source;
    kv_source_free(source);
    return NULL;
}

bool kv_source_is(const struct kv_source *source,
                  const struct config_kv_source *settings)
{
    return strcmp(source->events, settings->events) == 0 &&
           strcmp(source->replay, settings->replay) == 0;
}

void kv_source_free(struct kv_source *source)
{
    if (source == NULL)
        return;
    event_del(&source->timer);
    kv_socket_close(&source->live);
    kv_socket_close(&source->replies);
    forget(source);
    free(source->events);
    free(source->replay);
    free(source);
}
