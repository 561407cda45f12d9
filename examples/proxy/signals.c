/* SPDX-License-Identifier: MIT */
/*
 * One watch for each backend, in an array sorted by the backend's address:
 *
 *     watch ─▶ metrics, occupancy (scrapes), KV sources by number
 */
#include "signals.h"

#include "fleet.h"
#include "gateway.h"
#include "kv_source.h"
#include "log.h"
#include "scrape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

struct watch {
    struct backend *backend; /* Held. */
    char *metrics_path, *occupancy_place;
    double capacity;
    struct scrape *metrics, *occupancy;
    struct kv_source **kv; /* NULL where it could not be opened. */
    size_t kv_count;
};

struct signals {
    struct gateway *gateway;
    void *zmq;
    struct watch *watches;
    size_t count;
    double phase; /* Of the next scrape. */
};

/* Steps of the golden ratio fill the interval evenly, however many they are. */
static double next_phase(struct signals *signals)
{
    signals->phase += 0.6180339887498949;
    if (signals->phase >= 1)
        signals->phase -= 1;
    return signals->phase;
}

static void release_watch(struct watch *watch)
{
    scrape_free(watch->metrics);
    scrape_free(watch->occupancy);
    for (size_t i = 0; i < watch->kv_count; i++)
        kv_source_free(watch->kv[i]);
    free(watch->kv);
    free(watch->metrics_path);
    free(watch->occupancy_place);
    backend_drop(watch->backend);
}

static void starved(const struct watch *watch, const char *what)
{
    log_line("%s: no %s: out of memory or descriptors", watch->backend->name,
             what);
}

/* Takes over another text; false: it is the same. */
static bool replace(char **old, const char *text)
{
    if (*old != NULL && strcmp(*old, text) == 0)
        return false;
    free(*old);
    *old = strdup(text);
    return true;
}

static void follow_metrics(struct signals *signals, struct watch *watch,
                           const struct config *config)
{
    const char *path = watch->backend->settings->metrics_path;

    if (replace(&watch->metrics_path, path)) {
        scrape_free(watch->metrics);
        watch->metrics = NULL;
    }
    if (watch->metrics != NULL) {
        scrape_set_interval(watch->metrics, config->metrics_interval);
    } else if (path[0] != '\0') {
        watch->metrics =
            scrape_metrics(watch->backend, path, config->metrics_interval,
                           next_phase(signals));
        if (watch->metrics == NULL)
            starved(watch, "metrics");
    }
}

static void follow_occupancy(struct signals *signals, struct watch *watch,
                             const struct config *config)
{
    const struct config_target *settings = watch->backend->settings;
    const char *place = settings->occupancy_path;
    bool other = settings->occupancy_capacity < watch->capacity ||
                 settings->occupancy_capacity > watch->capacity;

    if (replace(&watch->occupancy_place, place) || other) {
        scrape_free(watch->occupancy);
        watch->occupancy = NULL;
    }
    watch->capacity = settings->occupancy_capacity;
    if (watch->occupancy != NULL) {
        scrape_set_interval(watch->occupancy, config->occupancy_interval);
    } else if (place[0] != '\0') {
        watch->occupancy =
            scrape_occupancy(watch->backend, place, watch->capacity,
                             config->occupancy_interval, next_phase(signals));
        if (watch->occupancy == NULL)
            starved(watch, "occupancy");
    }
}

static void follow_kv_source(struct signals *signals, struct watch *watch,
                             size_t i)
{
    const struct config_kv_source *settings = &watch->backend->settings->kv[i];

    if (watch->kv[i] != NULL && kv_source_is(watch->kv[i], settings))
        return;
    kv_source_free(watch->kv[i]);
    watch->kv[i] =
        kv_source_new(watch->backend, (uint32_t)i, settings, signals->zmq);
    if (watch->kv[i] == NULL)
        starved(watch, "KV events");
}

static void follow_kv(struct signals *signals, struct watch *watch)
{
    size_t count = watch->backend->settings->kv_count;
    struct kv_source **kv;

    while (watch->kv_count > count)
        kv_source_free(watch->kv[--watch->kv_count]);
    if (watch->kv_count < count) {
        kv = realloc(watch->kv, count * sizeof(*kv));
        if (kv == NULL) {
            starved(watch, "KV events");
            return;
        }
        watch->kv = kv;
        while (watch->kv_count < count)
            kv[watch->kv_count++] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        follow_kv_source(signals, watch, i);
}

static int by_backend(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)((const struct watch *)left)->backend;
    uintptr_t b = (uintptr_t)((const struct watch *)right)->backend;

    return (a > b) - (a < b);
}

/* Takes the watch of a backend out of the old array, or begins one. */
static struct watch take_over(struct signals *signals, struct backend *backend)
{
    struct watch wanted = {.backend = backend}, found = wanted;
    struct watch *old = signals->count == 0
                            ? NULL
                            : bsearch(&wanted, signals->watches, signals->count,
                                      sizeof wanted, by_backend);

    if (old != NULL) {
        found = *old;
        *old = wanted;
    }
    backend_hold(backend);
    return found;
}

/* Those that were taken over hold their backend only. */
static void replace_watches(struct signals *signals, struct watch *watches,
                            size_t count)
{
    for (size_t i = 0; i < signals->count; i++)
        release_watch(&signals->watches[i]);
    free(signals->watches);
    qsort(watches, count, sizeof *watches, by_backend);
    signals->watches = watches;
    signals->count = count;
}

void signals_apply(struct signals *signals, const struct config *config)
{
    const struct fleet *fleet = signals->gateway->fleet;
    struct watch *watches = calloc(fleet->count + 1, sizeof *watches);
    size_t count = 0;

    if (watches == NULL) {
        log_line("signals: out of memory; all as before");
        return;
    }
    for (struct backend *b = fleet->backends; b != NULL; b = b->next)
        watches[count++] = take_over(signals, b);
    replace_watches(signals, watches, count);
    for (size_t i = 0; i < count; i++) {
        follow_metrics(signals, &watches[i], config);
        follow_occupancy(signals, &watches[i], config);
        follow_kv(signals, &watches[i]);
    }
}

struct signals *signals_create(struct gateway *gateway)
{
    struct signals *signals = calloc(1, sizeof *signals);

    if (signals == NULL)
        return NULL;
    signals->gateway = gateway;
    signals->zmq = zmq_ctx_new();
    if (signals->zmq == NULL) {
        free(signals);
        return NULL;
    }
    zmq_ctx_set(signals->zmq, ZMQ_MAX_SOCKETS,
                zmq_ctx_get(signals->zmq, ZMQ_SOCKET_LIMIT));
    return signals;
}

void signals_destroy(struct signals *signals)
{
    if (signals == NULL)
        return;
    for (size_t i = 0; i < signals->count; i++)
        release_watch(&signals->watches[i]);
    free(signals->watches);
    zmq_ctx_term(signals->zmq);
    free(signals);
}
