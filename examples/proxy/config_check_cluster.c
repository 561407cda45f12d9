/* SPDX-License-Identifier: MIT */
#include "config_reader.h"

#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

/* Databases of Redis have no part in its channels, but URLs name them. */
static bool is_database(const char *path)
{
    return path == NULL || path[0] == '\0' ||
           (path[0] == '/' && path[1 + strspn(path + 1, "0123456789")] == '\0');
}

/* As for targets the URL itself is in no message. */
static const char *find_problem(const struct evhttp_uri *uri)
{
    const char *scheme = evhttp_uri_get_scheme(uri);
    const char *host = evhttp_uri_get_host(uri);
    int port = evhttp_uri_get_port(uri);

    if (scheme == NULL ||
        (strcmp(scheme, "redis") != 0 && strcmp(scheme, "rediss") != 0))
        return "an address must begin with redis:// or rediss://";
    if (host == NULL || host[0] == '\0')
        return "an address must name a host";
    if (port == 0 || port > 65535)
        return "an address must have a port from 1 to 65535";
    if (!is_database(evhttp_uri_get_path(uri)) ||
        evhttp_uri_get_query(uri) != NULL ||
        evhttp_uri_get_fragment(uri) != NULL)
        return "an address must end with host and port";
    return NULL;
}

/* "user:password", each with %XX where needed; either may be missing. */
static bool split_user(struct config_cluster *cluster, const char *info)
{
    const char *colon = info != NULL ? strchr(info, ':') : NULL;
    char *user = NULL;

    if (info != NULL)
        user = colon != NULL ? strndup(info, (size_t)(colon - info))
                             : strdup(info);
    cluster->user = evhttp_uridecode(user != NULL ? user : "", 0, NULL);
    cluster->password =
        evhttp_uridecode(colon != NULL ? colon + 1 : "", 0, NULL);
    free(user);
    return cluster->user != NULL && cluster->password != NULL &&
           (info == NULL || user != NULL);
}

static bool split(struct config_cluster *cluster, const struct evhttp_uri *uri)
{
    int port = evhttp_uri_get_port(uri);

    cluster->tls = strcmp(evhttp_uri_get_scheme(uri), "rediss") == 0;
    cluster->port = (uint16_t)(port > 0 ? port : 6379);
    cluster->host = config_host(evhttp_uri_get_host(uri));
    return split_user(cluster, evhttp_uri_get_userinfo(uri)) &&
           cluster->host != NULL;
}

static bool read_address(struct config_reader *reader)
{
    struct config_cluster *cluster = &reader->config->cluster;
    struct evhttp_uri *uri = evhttp_uri_parse_with_flags(cluster->redis, 0);
    const char *problem =
        uri != NULL ? find_problem(uri) : "this is no address";
    bool good = problem == NULL
                    ? split(cluster, uri) || config_fail_memory(reader)
                    : config_fail_at(reader, &cluster->redis, "%s", problem);

    if (uri != NULL)
        evhttp_uri_free(uri);
    return good;
}

static bool check_password(struct config_reader *reader)
{
    const struct config_cluster *cluster = &reader->config->cluster;
    bool given = cluster->password[0] != '\0';
    bool named = cluster->password_env[0] != '\0';

    if (given && named)
        return config_fail_at(reader, &cluster->password_env,
                              "the address has a password already");
    if (cluster->user[0] != '\0' && !given && !named)
        return config_fail_at(reader, &cluster->redis,
                              "a user needs a password");
    return config_check_variable(reader, &cluster->password_env);
}

static bool check_tls(struct config_reader *reader)
{
    const struct config_cluster *cluster = &reader->config->cluster;
    char *const *const files[] = {&cluster->ca_file, &cluster->certificate,
                                  &cluster->key};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!cluster->tls && (*files[i])[0] != '\0')
            return config_fail_at(reader, files[i],
                                  "is of use with rediss:// only");
    return config_check_file(reader, &cluster->ca_file) &&
           config_check_certificate(reader, &cluster->certificate,
                                    &cluster->key);
}

bool config_check_cluster(struct config_reader *reader)
{
    const struct config *config = reader->config;

    if (config->cluster.redis[0] == '\0')
        return true;
    if (!read_address(reader) || !check_password(reader) || !check_tls(reader))
        return false;
    if (config->cluster.channel[0] == '\0')
        return config_fail_at(reader, &config->cluster.channel,
                              "must not be empty");
    return config->digest_key_env[0] != '\0' ||
           config_fail_at(reader, &config->cluster.redis,
                          "gateways that share need a router.digest_key_env, "
                          "with the same key for all");
}
