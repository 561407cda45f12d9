/* SPDX-License-Identifier: MIT */
#include "scrape.h"

#include "fleet.h"
#include "gateway.h"
#include "log.h"
#include "occupancy.h"
#include "poll.h"
#include "upstream.h"

#include <lbroute/ingest.h>

#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

struct scrape {
    struct backend *backend; /* Whose signal it is. */
    struct backend *other;   /* Where it is fetched, if not from there. */
    struct poll *poll;
    double capacity;
    const char *what; /* For the log. */
    bool failed;      /* The last one did. */
};

/* Once when it begins to fail, and once when that is over. */
static void note(struct scrape *scrape, bool good, const char *why)
{
    if (good && scrape->failed)
        log_line("%s: %s again", scrape->backend->name, scrape->what);
    if (!good && !scrape->failed)
        log_line("%s: no %s: %s", scrape->backend->name, scrape->what, why);
    scrape->failed = !good;
}

static void on_metrics(void *context, const void *body, size_t len)
{
    struct scrape *scrape = context;
    struct backend *backend = scrape->backend;
    uint64_t now = gateway_now();
    int code = LBROUTE_ERR_NO_NEWS;

    if (body != NULL)
        code = lbroute_ingest_metrics(backend->gateway->router, backend->target,
                                      body, len, now, NULL);
    backend->scrapes++;
    if (code == LBROUTE_OK)
        backend->scraped_at = (int64_t)now;
    else
        backend->scrape_failures++;
    note(scrape, code == LBROUTE_OK,
         body == NULL ? "no answer, or not 200" : lbroute_strerror(code));
}

static void on_occupancy(void *context, const void *body, size_t len)
{
    struct scrape *scrape = context;
    struct backend *backend = scrape->backend;
    struct occupancy occupancy;
    bool good =
        body != NULL && occupancy_read(body, len, scrape->capacity, &occupancy);

    if (good)
        lbroute_set_occupancy(backend->gateway->router, backend->target,
                              occupancy.part, occupancy.available,
                              gateway_now());
    note(scrape, good,
         body == NULL ? "no answer, or not 200" : "an answer without it");
}

static struct scrape *scrape_new(struct backend *backend, const char *what)
{
    struct scrape *scrape = calloc(1, sizeof *scrape);

    if (scrape != NULL) {
        scrape->backend = backend;
        scrape->what = what;
    }
    return scrape;
}

static struct scrape *begin(struct scrape *scrape, const char *path,
                            double interval, double phase, poll_done *done)
{
    struct backend *from =
        scrape->other != NULL ? scrape->other : scrape->backend;

    scrape->poll = poll_new(from, path, interval, phase, done, scrape);
    if (scrape->poll != NULL)
        return scrape;
    scrape_free(scrape);
    return NULL;
}

struct scrape *scrape_metrics(struct backend *backend, const char *path,
                              double interval, double phase)
{
    struct scrape *scrape = scrape_new(backend, "metrics");

    return scrape != NULL ? begin(scrape, path, interval, phase, on_metrics)
                          : NULL;
}

/* Path and query of a URL, or "/". */
static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host != NULL ? strchr(host + 3, '/') : NULL;

    return path != NULL ? path : "/";
}

/* As if the other server were a target, for its connections only. */
static struct backend *server_of(struct gateway *gateway, const char *url)
{
    struct evhttp_uri *uri = evhttp_uri_parse_with_flags(url, 0);
    struct backend *server = NULL;

    if (uri != NULL && evhttp_uri_get_host(uri) != NULL) {
        int port = evhttp_uri_get_port(uri);

        server = backend_new_address(gateway, evhttp_uri_get_host(uri),
                                     (uint16_t)(port > 0 ? port : 80));
    }
    if (uri != NULL)
        evhttp_uri_free(uri);
    return server;
}

struct scrape *scrape_occupancy(struct backend *backend, const char *place,
                                double capacity, double interval, double phase)
{
    struct scrape *scrape = scrape_new(backend, "occupancy");

    if (scrape == NULL)
        return NULL;
    scrape->capacity = capacity;
    if (place[0] == '/')
        return begin(scrape, place, interval, phase, on_occupancy);
    scrape->other = server_of(backend->gateway, place);
    if (scrape->other != NULL)
        return begin(scrape, path_of(place), interval, phase, on_occupancy);
    scrape_free(scrape);
    return NULL;
}

void scrape_set_interval(struct scrape *scrape, double interval)
{
    poll_set_interval(scrape->poll, interval);
}

void scrape_free(struct scrape *scrape)
{
    if (scrape == NULL)
        return;
    poll_free(scrape->poll);
    if (scrape->other != NULL)
        backend_drop(scrape->other);
    free(scrape);
}
