/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "exchange.h"
#include "fleet.h"
#include "gateway.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the headers say; of each list of names the first one that is there. */
struct found {
    const char *session, *client, *tier, *priority, *deadline;
    size_t session_rank, client_rank, tier_rank, priority_rank, deadline_rank;
    const char *key; /* The API key. */
};

static void look(const struct config_names *names,
                 const struct evkeyval *header, const char **value,
                 size_t *rank)
{
    size_t end = *value ? *rank : names->count;
    for (size_t i = 0; i < end; i++) {
        if (evutil_ascii_strcasecmp(names->names[i], header->key) != 0)
            continue;
        if (!*header->value)
            return;
        *value = header->value;
        *rank = i;
        return;
    }
}

static const char *key_in(const struct evkeyval *header)
{
    static const char BEARER[] = "Bearer ";
    if (evutil_ascii_strcasecmp(header->key, "x-api-key") == 0)
        return header->value;
    if (evutil_ascii_strcasecmp(header->key, "Authorization") != 0)
        return NULL;
    bool bearer =
        evutil_ascii_strncasecmp(header->value, BEARER, sizeof BEARER - 1) == 0;
    return header->value + (bearer ? sizeof BEARER - 1 : 0);
}

static void search(const struct config_identity *identity,
                   struct evkeyvalq *headers, struct found *found)
{
    struct evkeyval *header;
    TAILQ_FOREACH(header, headers, next)
    {
        look(&identity->session, header, &found->session, &found->session_rank);
        look(&identity->client, header, &found->client, &found->client_rank);
        look(&identity->tier, header, &found->tier, &found->tier_rank);
        look(&identity->priority, header, &found->priority,
             &found->priority_rank);
        look(&identity->deadline, header, &found->deadline,
             &found->deadline_rank);
        const char *key = key_in(header);
        if (key && *key && !found->key)
            found->key = key;
    }
}

static bool bad_header(struct asked_error *error,
                       const struct config_names *names, const char *text)
{
    error->status = 400;
    snprintf(error->text, sizeof error->text, "%s", text);
    snprintf(error->param, sizeof error->param, "%s",
             names->count ? names->names[0] : "");
    return false;
}

static bool whole_number(const char *text, long long low, long long high,
                         long long *value)
{
    char *end = NULL;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && *value >= low && *value <= high;
}

static bool read_times(const struct config_identity *identity,
                       const struct found *found, uint64_t now,
                       lbroute_request *request, struct asked_error *error)
{
    long long value = 0;
    if (found->priority) {
        if (!whole_number(found->priority, LBROUTE_PRIORITY_MIN,
                          LBROUTE_PRIORITY_MAX, &value))
            return bad_header(error, &identity->priority,
                              "The priority is not a whole number from -8 "
                              "to 7.");
        request->priority = (int32_t)value;
    }
    if (found->deadline) {
        if (!whole_number(found->deadline, 1, 1000000000000, &value))
            return bad_header(error, &identity->deadline,
                              "The deadline is not a whole number of "
                              "milliseconds.");
        request->deadline = now + (uint64_t)value * 1000000u;
    }
    return true;
}

static bool read_names(const struct config_identity *identity,
                       const struct found *found, lbroute_request *request,
                       struct asked_error *error)
{
    if (found->tier) {
        request->tier = found->tier;
        request->tier_len = strlen(found->tier);
        if (request->tier_len > LBROUTE_NAME_MAX)
            return bad_header(error, &identity->tier,
                              "The tier is longer than any tier's name.");
    }
    if (found->session) {
        request->session = found->session;
        request->session_len = strlen(found->session);
    }
    return true;
}

/* Only a digest goes to the router, so that no key is kept in its tables. */
static void tell_client(struct gateway *gateway, const struct found *found,
                        struct exchange_identity *identity,
                        lbroute_request *request)
{
    const char *who = found->client ? found->client : found->key;
    identity->client = 0;
    if (!who || lbroute_client_digest(gateway->router, who, strlen(who),
                                      &identity->client) != LBROUTE_OK)
        return;
    request->client = &identity->client;
    request->client_len = sizeof identity->client;
}

static void tell_prompt(const struct asked *asked, lbroute_request *request)
{
    request->prompt = asked->prompt;
    request->prompt_len = asked->prompt_len;
    request->conversation = asked->prompt;
    request->conversation_len = asked->prompt_len;
    if (!asked->prompt_len) {
        request->conversation = asked->tokens;
        request->conversation_len = asked->tokens_len * sizeof *asked->tokens;
    }
    request->tokens = asked->tokens;
    request->tokens_len = asked->tokens_len;
    request->salt = asked->salt;
    request->salt_len = asked->salt ? strlen(asked->salt) : 0;
    request->input_tokens = asked->input_tokens;
    request->output_tokens = asked->output_tokens;
}

/* Keeps a name that lives as long as the configuration. */
static const char *keep(char *copy, const char *name, size_t *len)
{
    size_t length = name ? strlen(name) : 0;
    if (length > LBROUTE_NAME_MAX)
        length = LBROUTE_NAME_MAX;
    memcpy(copy, length ? name : "", length);
    copy[length] = '\0';
    *len = length;
    return copy;
}

static bool tell_model(struct gateway *gateway, const struct asked *asked,
                       struct exchange_identity *identity,
                       lbroute_request *request, struct asked_error *error)
{
    struct fleet_route route = {0};
    const char *model = asked->model ? asked->model : "";
    if (!fleet_resolve(gateway, model, &route)) {
        error->status = 404;
        snprintf(error->text, sizeof error->text,
                 *model ? "The model does not exist here."
                        : "The request names no model.");
        snprintf(error->param, sizeof error->param, "model");
        return false;
    }
    request->pool = route.pool;
    request->model = keep(identity->model, route.model, &request->model_len);
    request->adapter =
        keep(identity->adapter, route.adapter, &request->adapter_len);
    return true;
}

bool exchange_describe(struct gateway *gateway, const struct asked *asked,
                       struct evkeyvalq *headers, uint64_t now,
                       struct exchange_identity *identity,
                       lbroute_request *request, struct asked_error *error)
{
    const struct config_identity *names = &gateway->config->identity;
    struct found found = {0};
    lbroute_request_init(request, sizeof *request);
    search(names, headers, &found);
    tell_prompt(asked, request);
    tell_client(gateway, &found, identity, request);
    return tell_model(gateway, asked, identity, request, error) &&
           read_names(names, &found, request, error) &&
           read_times(names, &found, now, request, error);
}
