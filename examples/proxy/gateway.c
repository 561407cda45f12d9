/* SPDX-License-Identifier: MIT */
#include "gateway.h"
#include "admin.h"
#include "config.h"
#include "digest_key.h"
#include "exchange.h"
#include "fleet.h"
#include "journal.h"
#include "listener.h"
#include "log.h"
#include "pulse.h"
#include "sharing.h"
#include "signals.h"
#include "state_keep.h"
#include "upstream_tls.h"

#include <event2/dns.h>
#include <event2/event.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each exchange settles its own ticket, however long it takes: this is for
 * faults only. */
static const uint64_t TICKET_TTL = UINT64_C(7) * 86400 * 1000000000;

uint64_t gateway_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool fail(char *error, size_t error_size, const char *text)
{
    snprintf(error, error_size, "%s", text);
    return false;
}

static bool open_loop(struct gateway *gateway)
{
    struct event_config *options = event_config_new();
    if (!options)
        return false;
    event_config_set_flag(options, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST |
                                       EVENT_BASE_FLAG_NOLOCK);
    gateway->base = event_base_new_with_config(options);
    event_config_free(options);
    if (!gateway->base)
        return false;
    gateway->dns =
        evdns_base_new(gateway->base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                          EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!gateway->dns) /* No resolv.conf: addresses and hosts do without. */
        gateway->dns =
            evdns_base_new(gateway->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    return gateway->dns != NULL;
}

static bool open_state(struct gateway *gateway, const struct config *config)
{
    if (!*config->state_file)
        return true;
    gateway->state = state_keep_open(config);
    return gateway->state != NULL;
}

/* A reload may bring another prefix; the router keeps the one of its start. */
static void keep_prefix(struct gateway *gateway, const char *prefix)
{
    snprintf(gateway->header_prefix, sizeof gateway->header_prefix, "%s",
             prefix);
    snprintf(gateway->attempts_name, sizeof gateway->attempts_name,
             "%sAttempts", prefix);
}

static bool open_router(struct gateway *gateway, const struct config *config,
                        char *error, size_t error_size)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = config->seed;
    options.single_threaded = 1;
    options.ticket_ttl = TICKET_TTL;
    options.header_prefix = config->header_prefix;
    options.header_prefix_len = strlen(config->header_prefix);
    keep_prefix(gateway, config->header_prefix);
    if ((!options.seed && RAND_bytes((unsigned char *)&options.seed,
                                     sizeof options.seed) != 1) ||
        !sharing_prepare(config, &options))
        return fail(error, error_size, "the system gives no random numbers");
    if (!options.seed)
        options.seed = 1;
    if (gateway->state)
        memcpy(options.digest_key, gateway->state->key,
               sizeof options.digest_key);
    digest_key_take(config->digest_key_env, options.digest_key);
    int result = lbroute_router_create(&options, &gateway->router);
    return result == LBROUTE_OK ||
           fail(error, error_size, lbroute_strerror(result));
}

static bool open_parts(struct gateway *gateway, const struct config *config)
{
    gateway->fleet = calloc(1, sizeof *gateway->fleet);
    gateway->journal = journal_create(config->decisions, config->explain_rate);
    gateway->pulse = pulse_new(gateway);
    gateway->signals = signals_create(gateway);
    return gateway->fleet && gateway->journal && gateway->pulse &&
           gateway->signals;
}

static bool open_ports(struct gateway *gateway, char *error, size_t error_size)
{
    const struct config *config = gateway->config;
    gateway->listener = listener_create(gateway, config, error, error_size);
    if (gateway->listener && *config->admin.address)
        gateway->admin =
            admin_create(gateway, &config->admin, error, error_size);
    return gateway->listener && (gateway->admin || !*config->admin.address);
}

bool gateway_open(struct gateway *gateway, struct config *config, char *error,
                  size_t error_size)
{
    memset(gateway, 0, sizeof *gateway);
    gateway->started = gateway_now();
    bool opened =
        (open_loop(gateway) || fail(error, error_size, "no event loop")) &&
        (open_state(gateway, config) ||
         fail(error, error_size, "no memory, or no random numbers")) &&
        open_router(gateway, config, error, error_size) &&
        (open_parts(gateway, config) ||
         fail(error, error_size, "out of memory")) &&
        gateway_configure(gateway, config, error, error_size);
    if (!opened) {
        config_free(config);
        return false;
    }
    return sharing_open(gateway, config, error, error_size) &&
           open_ports(gateway, error, error_size);
}

/* Nobody is to speak in the clear because of a line that was lost. */
static void tell_tls(const char *what, const struct config_listen *old,
                     const struct config_listen *new)
{
    if (*old->certificate && !*new->certificate)
        log_line("%s.tls is given up at the next start", what);
}

static void tell_what_stays(const struct config *old, const struct config *new)
{
    if (strcmp(old->header_prefix, new->header_prefix) != 0 ||
        old->seed != new->seed)
        log_line("seed and header_prefix take effect at the next start");
    if (strcmp(old->state_file, new->state_file) != 0 ||
        old->state_interval < new->state_interval ||
        old->state_interval > new->state_interval)
        log_line("state takes effect at the next start");
    if (sharing_differs(old, new))
        log_line("cluster and digest_key_env take effect at the next start");
    if (old->listen.port != new->listen.port ||
        strcmp(old->listen.address, new->listen.address) != 0 ||
        old->admin.port != new->admin.port ||
        strcmp(old->admin.address, new->admin.address) != 0)
        log_line("addresses to listen on take effect at the next start");
    tell_tls("listen", &old->listen, &new->listen);
    tell_tls("admin", &old->admin, &new->admin);
}

/* Connections that are open keep the context that they were made with. The new
 * one is made before anything changes, and in force only once nothing can fail
 * any more. */
static bool apply_fleet(struct gateway *gateway, const struct config *config,
                        char *error, size_t error_size)
{
    struct ssl_ctx_st *fresh =
        upstream_tls_context(config->ca_file, error, error_size);
    if (!fresh)
        return false;
    if (!fleet_apply(gateway, config, error, error_size)) {
        SSL_CTX_free(fresh);
        return false;
    }
    SSL_CTX_free(gateway->client_tls);
    gateway->client_tls = fresh;
    return true;
}

static void apply_rest(struct gateway *gateway, const struct config *config)
{
    char error[512] = "";
    signals_apply(gateway->signals, config);
    journal_resize(gateway->journal, config->decisions, config->explain_rate);
    if (!prices_load(gateway, config->prices, error, sizeof error))
        log_line("prices: %s", error);
    if (gateway->listener)
        listener_apply(gateway->listener, config);
    if (gateway->admin)
        admin_apply(gateway->admin, &config->admin);
}

bool gateway_configure(struct gateway *gateway, struct config *config,
                       char *error, size_t error_size)
{
    struct config *old = gateway->config;
    if (!apply_fleet(gateway, config, error, error_size))
        return false;
    gateway->config = config;
    /* Before anything is heard of engines: what is heard counts for more. */
    if (!old && gateway->state)
        state_keep_begin(gateway);
    apply_rest(gateway, config);
    if (old)
        tell_what_stays(old, config);
    config_free(old);
    pulse_serve(gateway);
    return true;
}

bool gateway_reload(struct gateway *gateway, char *error, size_t error_size)
{
    struct config_error wrong = {0};
    struct config *config = config_load(gateway->config->path, &wrong);
    bool done = config && gateway_configure(gateway, config, error, error_size);
    if (!config)
        snprintf(error, error_size, "%s:%u:%u: %s", gateway->config->path,
                 wrong.line, wrong.column, wrong.text);
    else if (!done)
        config_free(config);
    if (done)
        gateway->counters.reloads++;
    else
        gateway->counters.reload_failures++;
    return done;
}

/* Ports first, then whoever needs the fleet, then what the fleet needs. What
 * libevent has put off is done in between: connections are freed by events. */
void gateway_close(struct gateway *gateway)
{
    if (gateway->exchanges)
        exchanges_abort(gateway);
    admin_destroy(gateway->admin);
    listener_destroy(gateway->listener);
    gateway->listener = NULL;
    signals_destroy(gateway->signals);
    sharing_close(gateway);
    if (gateway->fleet)
        fleet_release(gateway);
    if (gateway->base)
        event_base_loop(gateway->base, EVLOOP_NONBLOCK);
    free(gateway->fleet);
    pulse_free(gateway->pulse);
    state_keep_free(gateway->state);
    journal_destroy(gateway->journal);
    lbroute_router_destroy(gateway->router);
    SSL_CTX_free(gateway->client_tls);
    if (gateway->dns)
        evdns_base_free(gateway->dns, 0);
    if (gateway->base)
        event_base_free(gateway->base);
    config_free(gateway->config);
}
