/* SPDX-License-Identifier: MIT */
#include "config_reader.h"

#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

/* The URL itself is in no message: a password may stand in it. */
static const char *find_problem(const struct evhttp_uri *uri)
{
    const char *scheme = evhttp_uri_get_scheme(uri);
    const char *host = evhttp_uri_get_host(uri);
    int port = evhttp_uri_get_port(uri);

    if (scheme == NULL ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return "begin with http:// or https://";
    if (evhttp_uri_get_userinfo(uri) != NULL)
        return "name no user; for an API key there is api_key_env";
    if (host == NULL || host[0] == '\0')
        return "name a host";
    if (port == 0 || port > 65535)
        return "have a port from 1 to 65535";
    if (evhttp_uri_get_query(uri) != NULL ||
        evhttp_uri_get_fragment(uri) != NULL)
        return "end with the path";
    return NULL;
}

static struct evhttp_uri *parse(struct config_reader *reader,
                                const char *const *url)
{
    struct evhttp_uri *uri = evhttp_uri_parse_with_flags(*url, 0);
    const char *problem = uri != NULL ? find_problem(uri) : NULL;

    if (uri == NULL || problem != NULL) {
        config_fail_at(reader, url,
                       problem != NULL ? "an address must %s"
                                       : "this is no address%s",
                       problem != NULL ? problem : "");
        if (uri != NULL)
            evhttp_uri_free(uri);
        return NULL;
    }
    return uri;
}

char *config_host(const char *host)
{
    size_t length = strlen(host);

    return host[0] == '[' && length > 2 ? strndup(host + 1, length - 2)
                                        : strdup(host);
}

static char *copy_path(const char *path)
{
    size_t length = path != NULL ? strlen(path) : 0;

    while (length > 0 && path[length - 1] == '/')
        length--;
    return length > 0 ? strndup(path, length) : strdup("");
}

bool config_read_url(struct config_reader *reader, struct config_target *target)
{
    struct evhttp_uri *uri = parse(reader, (const char *const *)&target->url);
    int port;

    if (uri == NULL)
        return false;
    port = evhttp_uri_get_port(uri);
    target->tls = strcmp(evhttp_uri_get_scheme(uri), "https") == 0;
    target->port = (uint16_t)(port > 0 ? port : target->tls ? 443 : 80);
    target->host = config_host(evhttp_uri_get_host(uri));
    target->base_path = copy_path(evhttp_uri_get_path(uri));
    evhttp_uri_free(uri);
    return (target->host != NULL && target->base_path != NULL) ||
           config_fail_memory(reader);
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Publishers bind to "*"; whoever subscribes has to name the host. */
static bool check_endpoint(struct config_reader *reader,
                           const char *const *endpoint)
{
    if (!begins_with(*endpoint, "tcp://") && !begins_with(*endpoint, "ipc://"))
        return config_fail_at(reader, endpoint,
                              "an endpoint begins with tcp:// or ipc://");
    return strchr(*endpoint, '*') == NULL ||
           config_fail_at(reader, endpoint,
                          "name the engine's host instead of \"*\"");
}

static bool check_occupancy(struct config_reader *reader,
                            const struct config_target *target)
{
    const char *const *place = (const char *const *)&target->occupancy_path;
    struct evhttp_uri *uri;

    if ((*place)[0] == '\0' || (*place)[0] == '/')
        return true;
    if (!begins_with(*place, "http://"))
        return config_fail_at(reader, place,
                              "expected a path, or an address with http://");
    uri = evhttp_uri_parse_with_flags(*place, 0);
    if (uri == NULL || evhttp_uri_get_host(uri) == NULL ||
        evhttp_uri_get_userinfo(uri) != NULL ||
        evhttp_uri_get_port(uri) > 65535)
        config_fail_at(reader, place, "this is no address");
    else
        place = NULL;
    if (uri != NULL)
        evhttp_uri_free(uri);
    return place == NULL;
}

static bool check_path(struct config_reader *reader, const char *const *path,
                       const char *example)
{
    return (*path)[0] == '\0' || (*path)[0] == '/' ||
           config_fail_at(reader, path, "expected a path, such as %s", example);
}

bool config_check_sources(struct config_reader *reader,
                          const struct config_target *target)
{
    if (!check_path(reader, (const char *const *)&target->metrics_path,
                    "/metrics") ||
        !check_path(reader, (const char *const *)&target->tokenize_path,
                    "/tokenize"))
        return false;
    for (size_t i = 0; i < target->kv_count; i++) {
        const struct config_kv_source *kv = &target->kv[i];

        if (!check_endpoint(reader, (const char *const *)&kv->events) ||
            (kv->replay[0] != '\0' &&
             !check_endpoint(reader, (const char *const *)&kv->replay)))
            return false;
    }
    return check_occupancy(reader, target);
}
