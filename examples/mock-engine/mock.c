/* SPDX-License-Identifier: MIT */
#include "mock.h"

#include "clocks.h"
#include "gate.h"
#include "job.h"
#include "replay/block_ids.h"
#include "routes.h"

#include <event2/listener.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Ids beyond twice the cache: requests that wait hold some, too. */
enum { SPARE_IDS = 1 << 20 };

/* Of requests; connections are never idle for too long. */
enum { MAX_HEADERS = 1 << 18, MAX_BODY = 1 << 28, TIMEOUT_S = 86400 };

static void on_engine(void *context, struct engine_request *request,
                      enum engine_event event)
{
    (void)context;
    if (event == ENGINE_DONE)
        job_done(request);
}

static void after_step(void *context)
{
    struct mock *mock = context;

    kv_journal_step(&mock->journal);
    job_tell_all(mock);
}

static void make_engine(struct mock *mock)
{
    const struct options *from = &mock->options;
    uint32_t blocks = (uint32_t)(from->cache_tokens / from->block_tokens);
    uint32_t ids = 2 * blocks + SPARE_IDS;
    struct engine_options own = {
        .spec = from->engine,
        .block_tokens = (uint32_t)from->block_tokens,
        .distinct_ids = ids,
        .cache_tokens = from->cache_tokens,
        .max_seqs = (uint32_t)from->max_seqs,
        .step_tokens = (uint32_t)from->step_tokens,
        .adapter_slots = (uint32_t)from->lora_slots,
        .adapter_load_ms = from->lora_load_ms,
        .kv_log = &mock->journal.log,
    };
    struct pace_options pace = {from->speed, on_engine, after_step, mock};

    mock->table = block_table_create(ids, own.block_tokens);
    mock->pace = pace_create(mock->base, engine_create(&own), &pace);
    mock->max_model_len = blocks * own.block_tokens;
    if (from->max_model_len > 0 && from->max_model_len < mock->max_model_len)
        mock->max_model_len = (uint32_t)from->max_model_len;
}

static bool make_journal(struct mock *mock)
{
    const struct options *from = &mock->options;
    struct kv_publisher_options own = {
        .host = from->host,
        .events_port = (int)from->kv_events_port,
        .replay_port = (int)from->kv_replay_port,
        .topic = from->kv_topic,
        .kept = (size_t)from->kv_kept,
    };

    mock->journal = (struct kv_journal){
        .table = mock->table,
        .names = &from->names,
        .form = from->kv_form,
        .block_tokens = (uint32_t)from->block_tokens,
        .process = block_key_mix(1, from->seed),
    };
    if (from->kv_events)
        mock->journal.publisher = kv_publisher_create(mock->base, &own);
    return !from->kv_events || mock->journal.publisher != NULL;
}

static struct evhttp *make_http(struct mock *mock,
                                void (*serve)(struct evhttp_request *, void *))
{
    struct evhttp *http = evhttp_new(mock->base);

    evhttp_set_gencb(http, serve, mock);
    evhttp_set_max_headers_size(http, MAX_HEADERS);
    evhttp_set_max_body_size(http, MAX_BODY);
    evhttp_set_timeout(http, TIMEOUT_S);
    return http;
}

static uint16_t bound_port(struct evhttp_bound_socket *socket)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;

    memset(&address, 0, sizeof address);
    getsockname(evhttp_bound_socket_get_fd(socket),
                (struct sockaddr *)(void *)&address, &size);
    return ntohs(address.sin_port);
}

static struct evhttp_bound_socket *listen_on(const struct mock *mock,
                                             struct evhttp *http, uint64_t port)
{
    struct evhttp_bound_socket *socket = evhttp_bind_socket_with_handle(
        http, mock->options.host, (uint16_t)port);

    if (socket == NULL)
        fprintf(stderr, "cannot listen on %s:%u\n", mock->options.host,
                (unsigned)port);
    return socket;
}

static bool make_ports(struct mock *mock)
{
    struct evhttp_bound_socket *control;

    mock->http = make_http(mock, routes_serve);
    mock->control = make_http(mock, routes_control);
    mock->socket = listen_on(mock, mock->http, mock->options.port);
    control = listen_on(mock, mock->control, mock->options.control_port);
    if (mock->socket == NULL || control == NULL)
        return false;
    mock->port = bound_port(mock->socket);
    printf("listening on %s:%u\n", mock->options.host, (unsigned)mock->port);
    printf("control on %s:%u\n", mock->options.host,
           (unsigned)bound_port(control));
    return true;
}

static void accept_again(evutil_socket_t fd, short what, void *context)
{
    struct mock *mock = context;

    (void)fd;
    (void)what;
    if (mock->socket == NULL)
        mock->socket = listen_on(mock, mock->http, mock->port);
}

static void refuse_connections(struct mock *mock, double seconds)
{
    struct timeval wait = {
        .tv_sec = (time_t)seconds,
        .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6),
    };

    if (mock->socket != NULL)
        evhttp_del_accept_socket(mock->http, mock->socket);
    mock->socket = NULL;
    if (seconds > 0.0)
        event_add(mock->accept_again, &wait);
}

void mock_apply_faults(struct mock *mock)
{
    double refuse_s = mock->faults.refuse_s;

    event_del(mock->accept_again);
    if (refuse_s != 0.0)
        refuse_connections(mock, refuse_s);
    else
        accept_again(-1, 0, mock);
    if (mock->journal.publisher != NULL)
        kv_publisher_lose(mock->journal.publisher, mock->faults.drop_kv_events);
}

static bool set_first_faults(struct mock *mock)
{
    const char *text = mock->options.faults;
    json_t *given = text != NULL ? json_loads(text, 0, NULL) : json_object();
    struct refusal refusal = {.text = "no JSON"};
    bool good = given != NULL && faults_set(&mock->faults, given, &refusal);

    json_decref(given);
    if (!good)
        fprintf(stderr, "--faults: %s\n", refusal.text);
    else
        mock_apply_faults(mock);
    return good;
}

static struct event_base *make_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base;

    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK |
                                      EVENT_BASE_FLAG_PRECISE_TIMER |
                                      EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

bool mock_init(struct mock *mock, const struct options *options)
{
    *mock = (struct mock){.options = *options};
    mock->base = make_base();
    mock->accept_again = evtimer_new(mock->base, accept_again, mock);
    faults_init(&mock->faults);
    make_engine(mock);
    vllm_page_init(&mock->page, NAMES_ADAPTERS_MAX);
    mock->page.model = mock->options.names.models[0];
    mock->page.names = (const char *const *)mock->options.names.adapters;
    mock->next_id = clock_steady() << 20;
    return make_journal(mock) && make_ports(mock) && set_first_faults(mock);
}

void mock_release(struct mock *mock)
{
    job_drop_all(mock);
    gate_drop_all(mock);
    if (mock->http != NULL)
        evhttp_free(mock->http);
    if (mock->control != NULL)
        evhttp_free(mock->control);
    pace_destroy(mock->pace);
    kv_publisher_destroy(mock->journal.publisher);
    kv_journal_release(&mock->journal);
    block_table_destroy(mock->table);
    vllm_page_release(&mock->page);
    faults_release(&mock->faults);
    json_decref(mock->latest);
    event_free(mock->accept_again);
    event_base_free(mock->base);
    options_release(&mock->options);
}
