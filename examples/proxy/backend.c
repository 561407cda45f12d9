/* SPDX-License-Identifier: MIT */
#include "fleet_plan.h"

#include "secret.h"
#include "upstream.h"

#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool backend_read_key(const struct config_target *settings, char **key)
{
    const char *value = NULL;

    *key = NULL;
    if (settings->api_key_env[0] != '\0')
        value = getenv(settings->api_key_env);
    if (value == NULL)
        return true;
    *key = strdup(value);
    return *key != NULL;
}

static void backend_free(struct backend *backend)
{
    if (backend->connections != NULL)
        upstream_pool_free(backend->connections);
    secret_free(backend->api_key);
    free(backend->name);
    free(backend->host);
    free(backend->base_path);
    free(backend);
}

static struct backend *blank(struct gateway *gateway, uint16_t port)
{
    struct backend *backend = calloc(1, sizeof *backend);

    if (backend == NULL)
        return NULL;
    backend->gateway = gateway;
    backend->port = port;
    backend->references = 1;
    backend->scraped_at = -1;
    return backend;
}

/* The last thing that a backend needs; it looks at all the others. */
static struct backend *connectable(struct backend *backend, bool complete)
{
    if (complete)
        backend->connections = upstream_pool_new(backend);
    if (backend->connections != NULL)
        return backend;
    backend_free(backend);
    return NULL;
}

struct backend *backend_new(struct gateway *gateway,
                            const struct config_target *settings)
{
    struct backend *backend = blank(gateway, settings->port);

    if (backend == NULL)
        return NULL;
    backend->settings = settings;
    backend->tls = settings->tls;
    backend->name = strdup(settings->name);
    backend->host = strdup(settings->host);
    backend->base_path = strdup(settings->base_path);
    return connectable(backend,
                       backend->name != NULL && backend->host != NULL &&
                           backend->base_path != NULL &&
                           backend_read_key(settings, &backend->api_key));
}

struct backend *backend_new_address(struct gateway *gateway, const char *host,
                                    uint16_t port)
{
    struct backend *backend = blank(gateway, port);

    if (backend == NULL)
        return NULL;
    backend->name = strdup(host);
    backend->host = config_host(host);
    backend->base_path = strdup("");
    return connectable(backend, backend->name != NULL &&
                                    backend->host != NULL &&
                                    backend->base_path != NULL);
}

bool backend_is_at(const struct backend *backend,
                   const struct config_target *settings)
{
    return backend->port == settings->port && backend->tls == settings->tls &&
           strcmp(backend->host, settings->host) == 0 &&
           strcmp(backend->base_path, settings->base_path) == 0;
}

void backend_hold(struct backend *backend)
{
    backend->references++;
}

void backend_drop(struct backend *backend)
{
    if (--backend->references == 0)
        backend_free(backend);
}

bool backend_add_key(const struct backend *backend, struct evkeyvalq *headers)
{
    static const char scheme[] = "Bearer ";
    size_t size;
    char *value;
    bool added;

    if (backend->api_key == NULL)
        return true;
    size = strlen(backend->api_key) + sizeof scheme;
    value = malloc(size);
    if (value == NULL)
        return false;
    snprintf(value, size, "%s%s", scheme, backend->api_key);
    added = evhttp_add_header(headers, "Authorization", value) == 0;
    free(value);
    return added;
}
