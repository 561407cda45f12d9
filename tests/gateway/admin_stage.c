/* SPDX-License-Identifier: MIT */
#include "admin_stage.h"

#include "journal.h"
#include "stand_ins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS UINT64_C(1000000)

/* Names that a page must not take for markup, nor a reader of metrics for the
 * end of a label. */
#define HOSTILE_MODEL "<img src=x onerror=\"document.title='hurt'\">"
#define HOSTILE_TARGET "<b>\"even\"\\two</b>"

static const struct stage_pool {
    const char *name, *strategy, *model;
    unsigned targets;
    uint32_t limit;
    double first_ms, total_ms;
} pools[] = {
    {"chat", "kv_aware", "llama-3.1-70b", 0, 16, 90, 900},
    {"even", "weighted", HOSTILE_MODEL, 3, 64, 60, 400},
    {"batch", "least_connections", "qwen-2.5-32b", 2, 2, 200, 1500},
    {"smart", "adaptive", "mistral-small", 4, 12, 70, 500},
    {"resident", "precise_cache_aware", "deepseek-v3", 2, 24, 120, 800},
};

static uint64_t draw(struct stage *stage)
{
    stage->random ^= stage->random << 13;
    stage->random ^= stage->random >> 7;
    stage->random ^= stage->random << 17;
    return stage->random;
}

static double chance(struct stage *stage)
{
    return (double)(draw(stage) >> 11) / 9007199254740992.0;
}

static void must(int result, const char *what)
{
    if (result == LBROUTE_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, lbroute_strerror(result));
    exit(1);
}

static void *must_have(void *memory)
{
    must(memory ? LBROUTE_OK : LBROUTE_ERR_NO_MEMORY, "fixture");
    return memory;
}

static void name_target(const struct stage_pool *pool, unsigned index,
                        char *name, size_t size)
{
    if (strcmp(pool->name, "even") == 0 && index == 1)
        snprintf(name, size, "%s", HOSTILE_TARGET);
    else
        snprintf(name, size, "%s-%u", pool->name, index + 1);
}

static struct backend *add_backend(struct stage *stage, const char *name,
                                   unsigned index)
{
    struct backend *backend = must_have(calloc(1, sizeof(*backend)));
    size_t length = strlen(name) + 1;

    backend->name = must_have(malloc(length));
    memcpy(backend->name, name, length);
    backend->gateway = &stage->gateway;
    backend->host = must_have(calloc(1, 32));
    snprintf(backend->host, 32, "10.0.%u.%u", index / 250, index % 250 + 1);
    backend->port = 8000;
    backend->scraped_at = -1;
    backend->next = stage->fleet.backends;
    stage->fleet.backends = backend;
    stage->fleet.count++;
    return backend;
}

static void add_target(struct stage *stage, unsigned pool, unsigned index)
{
    lbroute_target_options options;
    struct backend *backend;
    char name[64];

    name_target(&pools[pool], index, name, sizeof(name));
    backend = add_backend(stage, name, (unsigned)stage->fleet.count);
    lbroute_target_options_init(&options, sizeof(options));
    options.name = name;
    options.name_len = strlen(name);
    options.pool = stage->pools[pool];
    options.model = pools[pool].model;
    options.model_len = strlen(options.model);
    options.max_concurrency = pools[pool].limit;
    options.weight = strcmp(pools[pool].name, "even") ? 1.0 : index + 1.0;
    options.user = backend;
    must(lbroute_target_add(stage->gateway.router, &options, gateway_now(),
                            &backend->target),
         "target");
}

static void add_pool(struct stage *stage, unsigned index, unsigned targets)
{
    lbroute_pool_options options;

    lbroute_pool_options_init(&options, sizeof(options));
    options.name = pools[index].name;
    options.name_len = strlen(options.name);
    options.strategy = pools[index].strategy;
    options.strategy_len = strlen(options.strategy);
    must(
        lbroute_pool_add(stage->gateway.router, &options, &stage->pools[index]),
        "pool");
    for (unsigned i = 0; i < targets; i++)
        add_target(stage, index, i);
}

static void set_prices(lbroute_router *router)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof(price));
    price.input = 590000;
    price.cached_input = 59000;
    price.output = 790000;
    for (size_t i = 0; i < sizeof(pools) / sizeof(*pools); i++)
        must(lbroute_set_price(router, pools[i].model, strlen(pools[i].model),
                               &price),
             "price");
}

static void set_parameters(struct stage *stage)
{
    lbroute_router *router = stage->gateway.router;

    must(lbroute_pool_set(router, stage->pools[0], "kv_aware.capacity", 2000),
         "capacity");
    must(lbroute_pool_set(router, stage->pools[1], "shares.window", 6),
         "window");
    must(lbroute_pool_set(router, stage->pools[2], "admission.mode", 3),
         "admission");
    must(lbroute_pool_set(router, stage->pools[2], "queue.timeout", 4),
         "timeout");
}

static void open_router(struct stage *stage, unsigned size)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof(options));
    options.seed = 7;
    options.single_threaded = 1;
    must(lbroute_router_create(&options, &stage->gateway.router), "router");
    stage->pool_count = sizeof(pools) / sizeof(*pools);
    for (unsigned i = 0; i < stage->pool_count; i++)
        add_pool(stage, i, pools[i].targets ? pools[i].targets : size);
    set_prices(stage->gateway.router);
    set_parameters(stage);
}

void stage_open(struct stage *stage, unsigned size, double rate)
{
    memset(stage, 0, sizeof(*stage));
    stage->random = UINT64_C(88172645463325252);
    stage->rate = rate;
    stage->gateway.started = gateway_now();
    stage->gateway.config = &stage->config;
    stage->gateway.fleet = &stage->fleet;
    stage->gateway.journal = must_have(journal_create(200, 20.0));
    stage->config.path = "proxy.yaml";
    stand_ins_stage = stage;
    open_router(stage, size);
}

static void free_backends(struct fleet *fleet)
{
    while (fleet->backends != NULL) {
        struct backend *next = fleet->backends->next;

        free(fleet->backends->name);
        free(fleet->backends->host);
        free(fleet->backends);
        fleet->backends = next;
    }
}

void stage_close(struct stage *stage)
{
    for (size_t i = 0; i < STAGE_CALLS; i++)
        free(stage->calls[i].prompt);
    lbroute_router_destroy(stage->gateway.router);
    journal_destroy(stage->gateway.journal);
    free_backends(&stage->fleet);
}

/* A conversation of a client: it begins as its earlier ones did. */
static void write_prompt(struct stage *stage, struct stage_call *call,
                         unsigned client)
{
    size_t length = 2000 + (size_t)(chance(stage) * 6000.0);

    call->prompt = must_have(malloc(length + 1));
    for (size_t i = 0; i < length; i++)
        call->prompt[i] = (char)('a' + (i * (client + 3) / 7 + client) % 26);
    call->prompt[length] = '\0';
    if (draw(stage) % 3 == 0) /* One that nobody has seen. */
        memset(call->prompt, 'A' + (int)(draw(stage) % 26), 300);
}

static void describe(const struct stage *stage, const struct stage_call *call,
                     lbroute_request *request)
{
    lbroute_request_init(request, sizeof(*request));
    request->pool = stage->pools[call->pool];
    request->client = call->client;
    request->client_len = strlen(call->client);
    request->session = call->session;
    request->session_len = strlen(call->session);
    request->prompt = call->prompt;
    request->prompt_len = strlen(call->prompt);
    request->tag = (uint64_t)(call - stage->calls);
}

static int draw_outcome(struct stage *stage)
{
    double luck = chance(stage);

    if (luck < 0.95)
        return LBROUTE_EVENT_SUCCESS;
    if (luck < 0.96)
        return LBROUTE_EVENT_OVERLOAD;
    if (luck < 0.97)
        return LBROUTE_EVENT_CLIENT_ERROR;
    return luck < 0.98 ? LBROUTE_EVENT_FAILURE : LBROUTE_EVENT_CANCEL;
}

static void note(struct stage *stage, struct stage_call *call, int result,
                 const lbroute_decision *decision, double decision_us)
{
    struct journal_record record;
    struct timespec time;

    memset(&record, 0, sizeof(record));
    timespec_get(&time, TIME_UTC);
    record.unix_ms = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
    snprintf(record.model, sizeof(record.model), "%s", pools[call->pool].model);
    snprintf(record.path, sizeof(record.path), "/v1/chat/completions");
    record.result = result;
    record.decision = *decision;
    record.decision_us = decision_us;
    record.first_token_ms = record.total_ms = (double)NAN;
    record.input_tokens = record.cached_tokens = record.output_tokens = -1;
    call->number = journal_add(stage->gateway.journal, &record);
}

static void start(struct stage *stage, struct stage_call *call,
                  const lbroute_decision *decision)
{
    const struct stage_pool *pool = &pools[call->pool];
    uint64_t now = gateway_now();
    double slowness = 0.5 + chance(stage) + decision->load / 20.0;

    call->waiting = false;
    call->ticket = decision->ticket;
    call->target = decision->target;
    call->began = now;
    call->first_at = now + (uint64_t)(pool->first_ms * slowness * 1e6);
    call->ends_at = now + (uint64_t)(pool->total_ms * slowness * 1e6);
    call->outcome = draw_outcome(stage);
    histogram_add(&stage->gateway.counters.wait,
                  (double)decision->wait_ns / 1e9);
}

static void drop(struct stage_call *call)
{
    free(call->prompt);
    memset(call, 0, sizeof(*call));
}

static void reject(struct stage *stage, struct stage_call *call,
                   const lbroute_decision *decision)
{
    stage->gateway.counters.rejected[decision->reason]++;
    stage->gateway.counters.answers[4]++;
    stage->gateway.open_exchanges--;
    drop(call);
}

static void handle(struct stage *stage, struct stage_call *call, int result,
                   const lbroute_decision *decision)
{
    if (result == LBROUTE_OK) {
        stage->gateway.counters.rules[decision->rule]++;
        start(stage, call, decision);
    } else if (result == LBROUTE_ERR_QUEUED) {
        stage->gateway.counters.queued++;
        stage->gateway.waiting++;
        call->waiting = true;
    } else {
        reject(stage, call, decision);
    }
}

void stage_serve_waiting(struct stage *stage)
{
    lbroute_decision decision;
    int result;

    lbroute_decision_init(&decision, sizeof(decision));
    for (;;) {
        result =
            lbroute_next_ready(stage->gateway.router, gateway_now(), &decision);
        if (result != LBROUTE_OK && result != LBROUTE_ERR_SATURATED &&
            result != LBROUTE_ERR_NO_TARGET)
            return;
        stage->gateway.waiting--;
        note(stage, &stage->calls[decision.tag], result, &decision, 1.0);
        handle(stage, &stage->calls[decision.tag], result, &decision);
    }
}

static struct stage_call *free_call(struct stage *stage)
{
    for (size_t i = 0; i < STAGE_CALLS; i++)
        if (!stage->calls[i].used)
            return &stage->calls[i];
    return NULL;
}

static void ask(struct stage *stage, struct stage_call *call)
{
    struct gateway *gateway = &stage->gateway;
    lbroute_request request;
    lbroute_decision decision;
    uint64_t before = gateway_now();
    int result;

    describe(stage, call, &request);
    if (journal_wants_explanation(gateway->journal, before))
        journal_explain(gateway->journal, gateway->router, &request, before);
    lbroute_decision_init(&decision, sizeof(decision));
    before = gateway_now();
    result = lbroute_pick(gateway->router, &request, before, &decision);
    histogram_add(&gateway->counters.decision,
                  (double)(gateway_now() - before) / 1e6);
    note(stage, call, result, &decision,
         (double)(gateway_now() - before) / 1e3);
    handle(stage, call, result, &decision);
    stage_serve_waiting(stage);
}

static void send_one(struct stage *stage, unsigned pool)
{
    struct stage_call *call = free_call(stage);
    unsigned client = (unsigned)(chance(stage) * chance(stage) * 14.0);

    stage->gateway.counters.requests++;
    if (call == NULL)
        return;
    call->used = true;
    call->pool = pool;
    snprintf(call->client, sizeof(call->client), "client %u", client);
    snprintf(call->session, sizeof(call->session), "session %u-%u", client,
             (unsigned)(draw(stage) % 4));
    write_prompt(stage, call, client);
    stage->gateway.counters.bytes_in += strlen(call->prompt);
    stage->gateway.open_exchanges++;
    ask(stage, call);
}

static void first_token(struct stage *stage, struct stage_call *call)
{
    struct journal_record *record =
        journal_find(stage->gateway.journal, call->number);
    double ms = (double)(call->first_at - call->began) / 1e6;
    lbroute_event event;

    call->first_seen = true;
    lbroute_event_init(&event, sizeof(event));
    event.ticket = call->ticket;
    event.kind = LBROUTE_EVENT_FIRST_TOKEN;
    lbroute_observe(stage->gateway.router, &event, gateway_now());
    histogram_add(&stage->gateway.counters.first_token, ms / 1e3);
    if (record != NULL)
        record->first_token_ms = ms;
}

static void complete(struct stage *stage, const struct stage_call *call,
                     const lbroute_event *event)
{
    struct journal_record *record =
        journal_find(stage->gateway.journal, call->number);
    double ms = (double)(call->ends_at - call->began) / 1e6;

    histogram_add(&stage->gateway.counters.total, ms / 1e3);
    if (record == NULL)
        return;
    record->outcome = event->kind;
    record->status = event->kind == LBROUTE_EVENT_SUCCESS ? 200 : 502;
    record->total_ms = ms;
    record->input_tokens = event->input_tokens;
    record->cached_tokens = event->cached_tokens;
    record->output_tokens = event->output_tokens;
}

static void count_usage(struct counters *counters, const lbroute_event *event)
{
    counters->answers[event->kind == LBROUTE_EVENT_SUCCESS ? 2 : 5]++;
    if (event->kind != LBROUTE_EVENT_SUCCESS)
        return;
    counters->input_tokens += (uint64_t)event->input_tokens;
    counters->cached_tokens += (uint64_t)event->cached_tokens;
    counters->output_tokens += (uint64_t)event->output_tokens;
    counters->bytes_out += (uint64_t)event->output_tokens * 5;
}

static void settle(struct stage *stage, struct stage_call *call)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof(event));
    event.ticket = call->ticket;
    event.kind = call->outcome;
    if (call->outcome == LBROUTE_EVENT_SUCCESS) {
        event.input_tokens = (int64_t)strlen(call->prompt) / 4;
        event.cached_tokens =
            (int64_t)((double)event.input_tokens * chance(stage));
        event.output_tokens = 20 + (int64_t)(chance(stage) * 400.0);
    }
    lbroute_observe(stage->gateway.router, &event, gateway_now());
    count_usage(&stage->gateway.counters, &event);
    complete(stage, call, &event);
    stage->gateway.open_exchanges--;
    drop(call);
}

/* What engines would report: every third one does not. */
static void report(struct stage *stage, struct backend *backend)
{
    double values[LBROUTE_GAUGE_COUNT] = {0};
    const uint32_t given = 1 << LBROUTE_GAUGE_RUNNING |
                           1 << LBROUTE_GAUGE_WAITING |
                           1 << LBROUTE_GAUGE_KV_USAGE;

    if (backend->target % 3 == 0)
        return;
    values[LBROUTE_GAUGE_RUNNING] = (double)(draw(stage) % 4);
    values[LBROUTE_GAUGE_WAITING] = (double)(draw(stage) % 2);
    values[LBROUTE_GAUGE_KV_USAGE] = 0.3 + 0.5 * chance(stage);
    lbroute_set_gauges(stage->gateway.router, backend->target, values,
                       LBROUTE_GAUGE_COUNT, given, gateway_now());
    backend->scrapes++;
    backend->scraped_at = (int64_t)gateway_now();
}

/* Blocks of some client's prompt, as text engines would count them. */
static void store_blocks(struct stage *stage, const struct backend *backend)
{
    uint32_t tokens[64];
    uint64_t hashes[4];
    lbroute_kv_event event;
    lbroute_kv_batch batch;

    for (size_t i = 0; i < 64; i++)
        tokens[i] = (uint32_t)(draw(stage) % 1000);
    for (size_t i = 0; i < 4; i++)
        hashes[i] = draw(stage);
    lbroute_kv_event_init(&event, sizeof(event));
    event.kind = LBROUTE_KV_STORED;
    event.hashes = hashes;
    event.hash_count = 4;
    event.tokens = tokens;
    event.token_count = 64;
    event.block_size = 16;
    lbroute_kv_batch_init(&batch, sizeof(batch));
    batch.events = &event;
    batch.event_count = 1;
    lbroute_kv_apply(stage->gateway.router, backend->target, 0, &batch,
                     gateway_now(), NULL);
}

static void report_all(struct stage *stage)
{
    for (struct backend *backend = stage->fleet.backends; backend != NULL;
         backend = backend->next) {
        report(stage, backend);
        if (strncmp(backend->name, "resident", 8) == 0)
            store_blocks(stage, backend);
    }
}

void stage_step(struct stage *stage, double seconds)
{
    uint64_t now = gateway_now();

    for (size_t i = 0; i < STAGE_CALLS; i++) {
        struct stage_call *call = &stage->calls[i];

        if (!call->used || call->waiting)
            continue;
        if (!call->first_seen && now >= call->first_at)
            first_token(stage, call);
        if (now >= call->ends_at)
            settle(stage, call);
    }
    for (unsigned pool = 0; pool < stage->pool_count; pool++)
        for (double due = stage->rate * seconds; due > chance(stage); due -= 1)
            send_one(stage, pool);
    stage_serve_waiting(stage);
    if (stage->rate > 0.0 && draw(stage) % 8 == 0)
        report_all(stage);
}
