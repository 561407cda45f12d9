/* SPDX-License-Identifier: MIT */
#include "fleet_parts.h"

#include "fleet_handover.h"
#include "grow.h"
#include "tell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum event_kind {
    EVENT_ARRIVAL,
    EVENT_STEP_END,
    EVENT_SCRAPE,
    EVENT_KV_BATCH,  /* Arrives at the host. */
    EVENT_KV_REPLAY, /* Likewise. */
    EVENT_RESTART,   /* Of an engine. */
    EVENT_BACK,      /* It works again. */
    EVENT_HANDOVER,  /* To another router. */
    EVENT_ALARM      /* Somebody's time in the router's queue may be over. */
};

enum { PROGRESS_EVERY = 256 };

/* Passed to the engine's listener. */
struct step_context {
    struct fleet *fleet;
    bool settled; /* Somebody is done: a slot is free. */
};

static uint64_t to_ns(double seconds)
{
    return (uint64_t)llround(seconds * 1e9);
}

static void start_step(struct fleet *fleet, uint32_t target)
{
    struct server *server = &fleet->servers[target];
    uint64_t duration;
    double ms;

    if (server->stepping || server->down ||
        !engine_start_step(server->engine, &ms))
        return;
    duration = to_ns(ms / 1000.0);
    server->stepping = true;
    fleet->log->targets[target].busy_ns += duration;
    event_heap_push(&fleet->events, fleet->now + duration, EVENT_STEP_END,
                    target);
}

/* The request is over: whoever follows it starts to think. */
static void close_request(struct fleet *fleet, uint32_t index)
{
    uint32_t follower = fleet->flights[index].first_follower;

    while (follower != WORK_FOLLOWS_NONE) {
        double think_s = fleet->workload->requests[follower].at_s;

        event_heap_push(&fleet->events, fleet->now + to_ns(think_s),
                        EVENT_ARRIVAL, follower);
        follower = fleet->flights[follower].next_follower;
    }
    fleet->done++;
    if (fleet->options->progress != NULL && fleet->done % PROGRESS_EVERY == 0)
        fleet->options->progress(fleet->options->progress_context, fleet->done);
}

static void send_to_engine(struct fleet *fleet, uint32_t index, uint32_t target)
{
    const struct work_request *from = &fleet->workload->requests[index];
    struct engine_request *request = &fleet->flights[index].request;

    fleet->log->outcomes[index].dispatched = fleet->now;
    fleet->log->outcomes[index].target = target;
    request->ids = fleet->workload->ids + from->first_id;
    request->input_tokens = from->input_tokens;
    request->output_tokens = from->output_tokens;
    request->adapter = (uint32_t)from->adapter;
    request->owner = index;
    fleet->in_flight++;
    engine_submit(fleet->servers[target].engine, request);
    start_step(fleet, target);
}

static void refuse(struct fleet *fleet, uint32_t index, int reason)
{
    fleet->log->outcomes[index].reason = reason;
    close_request(fleet, index);
}

static void accept(struct fleet *fleet, const struct host_picked *pick)
{
    uint32_t index = pick->request;
    const struct work_request *from = &fleet->workload->requests[index];
    struct flight *flight = &fleet->flights[index];

    flight->ticket = pick->ticket;
    flight->known = true;
    fleet->log->outcomes[index].expected_first_ns = pick->expected_first_ns;
    kv_feed_check(&fleet->kv, index, pick->target, pick->kv_matched,
                  fleet->now);
    if (engine_fits(fleet->servers[pick->target].engine, from->input_tokens,
                    from->output_tokens)) {
        send_to_engine(fleet, index, pick->target);
    } else {
        host_observe(fleet->host, flight->ticket, LBROUTE_EVENT_CLIENT_ERROR,
                     fleet->now);
        flight->known = false;
        refuse(fleet, index, LBROUTE_REASON_NONE);
    }
}

static void enqueue(struct fleet *fleet, const struct host_picked *pick)
{
    struct fleet_outcome *outcome = &fleet->log->outcomes[pick->request];

    outcome->waited = true;
    outcome->expected_wait_ns = pick->wait_ns;
    fleet->waiting++;
}

/* Those that wait in the router go, or learn that they never will. */
static void serve_waiting(struct fleet *fleet)
{
    struct host_picked pick;
    enum host_answer answer;

    while (fleet->waiting > 0) {
        answer = host_next_ready(fleet->host, fleet->now, &pick);
        if (answer == HOST_NOBODY)
            return;
        fleet->waiting--;
        if (answer == HOST_PICKED)
            accept(fleet, &pick);
        else
            refuse(fleet, pick.request, pick.reason);
    }
}

/* Counts what the router counts, from what happened. */
static void note_mode(struct fleet *fleet, size_t under_way)
{
    struct fleet_log *log = fleet->log;
    struct mode_change now = {fleet->now, host_is_busy(fleet->host), under_way,
                              0};

    while (fleet->recent < fleet->arrived &&
           log->outcomes[log->arrivals[fleet->recent]].arrived +
                   MODE_WINDOW_NS <=
               fleet->now)
        fleet->recent++;
    now.arrivals = fleet->arrived - fleet->recent;
    mode_log_note(&log->modes, &now);
}

/* Returns false if every target is full and nobody lets it wait but the host.
 */
static bool dispatch(struct fleet *fleet, uint32_t index)
{
    size_t under_way = fleet->in_flight + fleet->waiting;
    struct host_picked pick;
    enum host_answer answer =
        host_pick(fleet->host, fleet->workload, index, fleet->now, &pick);

    note_mode(fleet, under_way);
    pick.request = index;
    if (answer == HOST_FULL && !fleet->options->refuses_full)
        return false;
    if (answer == HOST_PICKED)
        accept(fleet, &pick);
    else if (answer == HOST_QUEUED)
        enqueue(fleet, &pick);
    else
        refuse(fleet, index, pick.reason);
    return true;
}

static void arrive(struct fleet *fleet, uint32_t index)
{
    if (fleet_handover_is_due(fleet))
        fleet_hand_over(fleet);
    fleet->log->outcomes[index].arrived = fleet->now;
    fleet->log->arrivals[fleet->arrived++] = index;
    if (fleet->queue_head == fleet->queue_tail && dispatch(fleet, index)) {
        serve_waiting(fleet);
        return;
    }
    fleet->log->outcomes[index].waited = true;
    fleet->queue[fleet->queue_tail++] = index;
}

static void retry_queue(struct fleet *fleet)
{
    while (fleet->queue_head < fleet->queue_tail &&
           dispatch(fleet, fleet->queue[fleet->queue_head]))
        fleet->queue_head++;
}

static void on_engine_event(void *context, struct engine_request *request,
                            enum engine_event event)
{
    struct step_context *step = context;
    struct fleet *fleet = step->fleet;
    uint32_t index = request->owner;
    struct fleet_outcome *outcome = &fleet->log->outcomes[index];
    lbroute_ticket ticket = fleet->flights[index].ticket;
    bool known = fleet->flights[index].known;

    if (event == ENGINE_FIRST_TOKEN) {
        outcome->first_token = fleet->now;
        outcome->hit_tokens = request->hit_tokens;
        if (known)
            host_observe(fleet->host, ticket, LBROUTE_EVENT_FIRST_TOKEN,
                         fleet->now);
        return;
    }
    outcome->last_token = fleet->now;
    if (known)
        host_succeed(fleet->host, ticket, &fleet->workload->requests[index],
                     outcome->hit_tokens, fleet->now);
    fleet->flights[index].known = false;
    fleet->in_flight--;
    close_request(fleet, index);
    step->settled = true;
}

static void push_kv(struct fleet *fleet, enum event_kind kind, uint32_t target)
{
    event_heap_push(&fleet->events,
                    fleet->now + to_ns(fleet->options->kv.delay_s),
                    (int32_t)kind, target);
}

/* Its requests wait until it is back: nobody tells the router. */
static void go_down(struct fleet *fleet, uint32_t target)
{
    struct server *server = &fleet->servers[target];

    server->restart_due = false;
    server->stepping = false;
    server->down = true;
    engine_restart(server->engine);
    kv_feed_restart(&fleet->kv, target);
    event_heap_push(&fleet->events, fleet->now + to_ns(FLEET_RESTART_S),
                    EVENT_BACK, target);
}

static void restart(struct fleet *fleet, uint32_t target)
{
    struct server *server = &fleet->servers[target];

    if (server->down)
        return;
    if (server->stepping)
        server->restart_due = true;
    else
        go_down(fleet, target);
}

static void come_back(struct fleet *fleet, uint32_t target)
{
    fleet->servers[target].down = false;
    start_step(fleet, target);
}

static void end_step(struct fleet *fleet, uint32_t target)
{
    struct step_context step = {fleet, false};

    if (fleet->servers[target].restart_due) {
        go_down(fleet, target);
        return;
    }
    engine_finish_step(fleet->servers[target].engine, on_engine_event, &step);
    if (kv_feed_publish(&fleet->kv, target, fleet->now))
        push_kv(fleet, EVENT_KV_BATCH, target);
    /* Still marked as stepping: what the retry sends here joins its next
     * step, which starts below. */
    if (step.settled) {
        serve_waiting(fleet);
        retry_queue(fleet);
    }
    fleet->servers[target].stepping = false;
    start_step(fleet, target);
}

/* Peers are told what is on the page. */
static void scrape_target(struct fleet *fleet, uint32_t target)
{
    const struct engine *engine = fleet->servers[target].engine;
    struct peer_gauges gauges = {engine_running(engine), engine_waiting(engine),
                                 engine_kv_usage(engine),
                                 engine_blocks(engine)};

    if (host_is_peer(fleet->host)) {
        host_gauge(fleet->host, target, &gauges, fleet->now);
        return;
    }
    vllm_page_write(&fleet->page, engine, fleet->now);
    host_scrape(fleet->host, target, fleet->page.text, fleet->page.length,
                fleet->now);
}

static void scrape(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->log->target_count; i++)
        if (!fleet->servers[i].down)
            scrape_target(fleet, i);
    if (fleet->done < fleet->workload->count)
        event_heap_push(&fleet->events,
                        fleet->now + to_ns(fleet->options->scrape_s),
                        EVENT_SCRAPE, 0);
}

/* Whether an alarm comes to nothing: an earlier one has replaced it, or nobody
 * waits any more. */
static bool is_moot(struct fleet *fleet, const struct heap_event *event)
{
    if (event->kind != EVENT_ALARM)
        return false;
    if (event->at_ns != fleet->alarm)
        return true;
    fleet->alarm = UINT64_MAX;
    return fleet->waiting == 0;
}

static void ring(struct fleet *fleet)
{
    host_tick(fleet->host, fleet->now);
    serve_waiting(fleet);
}

static void set_alarm(struct fleet *fleet)
{
    uint64_t at;

    if (fleet->waiting == 0)
        return;
    at = host_next_deadline(fleet->host);
    if (at <= fleet->now)
        at = fleet->now + 1;
    if (at >= fleet->alarm)
        return;
    fleet->alarm = at;
    event_heap_push(&fleet->events, at, EVENT_ALARM, 0);
}

static void handle(struct fleet *fleet, const struct heap_event *event)
{
    if (is_moot(fleet, event))
        return;
    fleet->now = event->at_ns;
    switch ((enum event_kind)event->kind) {
    case EVENT_ARRIVAL:
        arrive(fleet, event->index);
        break;
    case EVENT_STEP_END:
        end_step(fleet, event->index);
        break;
    case EVENT_SCRAPE:
        scrape(fleet);
        break;
    case EVENT_KV_BATCH:
        if (kv_feed_arrive(&fleet->kv, event->index, fleet->now))
            push_kv(fleet, EVENT_KV_REPLAY, event->index);
        break;
    case EVENT_KV_REPLAY:
        if (kv_feed_replay(&fleet->kv, event->index, fleet->now))
            push_kv(fleet, EVENT_KV_REPLAY, event->index);
        break;
    case EVENT_RESTART:
        restart(fleet, event->index);
        break;
    case EVENT_BACK:
        come_back(fleet, event->index);
        break;
    case EVENT_HANDOVER:
        fleet_hand_over(fleet);
        break;
    case EVENT_ALARM:
        ring(fleet);
        break;
    }
    set_alarm(fleet);
}

/* Backward, so that followers of one request stand in order. */
static void link_followers(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->workload->count; i++)
        fleet->flights[i].first_follower = WORK_FOLLOWS_NONE;
    for (size_t i = fleet->workload->count; i-- > 0;) {
        uint32_t before = fleet->workload->requests[i].follows;

        if (before == WORK_FOLLOWS_NONE)
            continue;
        fleet->flights[i].next_follower = fleet->flights[before].first_follower;
        fleet->flights[before].first_follower = (uint32_t)i;
    }
}

static void push_first_events(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->workload->count; i++) {
        const struct work_request *request = &fleet->workload->requests[i];

        if (request->follows == WORK_FOLLOWS_NONE)
            event_heap_push(&fleet->events, to_ns(request->at_s), EVENT_ARRIVAL,
                            i);
    }
    for (size_t i = 0; i < fleet->options->restart_count; i++)
        event_heap_push(&fleet->events, to_ns(fleet->options->restarts[i].at_s),
                        EVENT_RESTART, fleet->options->restarts[i].target);
    if (fleet->options->handover.wanted && !fleet->options->handover.by_part)
        event_heap_push(&fleet->events, to_ns(fleet->options->handover.at),
                        EVENT_HANDOVER, 0);
    if (fleet->options->scrape_s > 0.0)
        event_heap_push(&fleet->events, to_ns(fleet->options->scrape_s),
                        EVENT_SCRAPE, 0);
}

static void create_servers(struct fleet *fleet)
{
    const struct fleet_spec *spec = fleet->options->host.fleet;

    fleet->servers = grow_zeroed(spec->count, sizeof *fleet->servers);
    for (size_t i = 0; i < spec->count; i++) {
        struct engine_options options = {
            .spec = spec->targets[i].spec,
            .block_tokens = fleet->workload->block_tokens,
            .distinct_ids = fleet->workload->distinct_ids,
            .cache_tokens = spec->targets[i].cache_tokens,
            .adapter_slots = fleet->workload->adapters > 0
                                 ? fleet->options->adapter_slots
                                 : 0,
            .adapter_load_ms = fleet->options->adapter_load_s * 1000.0,
            .kv_log = kv_feed_log(&fleet->kv, (uint32_t)i),
        };

        fleet->servers[i].engine = engine_create(&options);
    }
}

static void create_log(struct fleet *fleet)
{
    struct fleet_log *log = fleet->log;

    *log = (struct fleet_log){0};
    log->request_count = fleet->workload->count;
    log->target_count = fleet->options->host.fleet->count;
    log->outcomes = grow_zeroed(log->request_count, sizeof *log->outcomes);
    log->arrivals = grow_zeroed(log->request_count, sizeof *log->arrivals);
    log->targets = grow_zeroed(log->target_count, sizeof *log->targets);
    for (size_t i = 0; i < log->request_count; i++) {
        log->outcomes[i].target = FLEET_NO_TARGET;
        log->outcomes[i].expected_wait_ns = -1;
    }
}

static void release(struct fleet *fleet)
{
    kv_feed_finish(&fleet->kv, fleet->now);
    mode_log_end(&fleet->log->modes, fleet->now);
    fleet->log->kv = fleet->kv.counts;
    for (size_t i = 0; i < fleet->log->target_count; i++) {
        struct engine *engine = fleet->servers[i].engine;
        struct fleet_target_log *log = &fleet->log->targets[i];

        log->work_tokens = engine_prefilled(engine);
        log->preemptions = engine_preemptions(engine);
        log->adapter_loads = engine_adapter_loads(engine);
        log->blocks = engine_blocks(engine);
        engine_destroy(engine);
    }
    kv_feed_release(&fleet->kv);
    host_destroy(fleet->host);
    event_heap_release(&fleet->events);
    vllm_page_release(&fleet->page);
    free(fleet->servers);
    free(fleet->flights);
    free(fleet->queue);
}

void fleet_run(const struct workload *workload,
               const struct fleet_options *options, struct fleet_log *log)
{
    struct fleet fleet = {.workload = workload, .options = options, .log = log};
    struct heap_event event;

    fleet.alarm = UINT64_MAX;
    create_log(&fleet);
    kv_feed_init(&fleet.kv, workload, &options->kv, log->target_count);
    create_servers(&fleet);
    vllm_page_init(&fleet.page, workload->adapters);
    fleet_open_host(&fleet, &options->host);
    fleet.flights = grow_zeroed(workload->count, sizeof *fleet.flights);
    fleet.queue = grow_zeroed(workload->count, sizeof *fleet.queue);
    link_followers(&fleet);
    push_first_events(&fleet);
    while (event_heap_pop(&fleet.events, &event))
        handle(&fleet, &event);
    if (fleet.done != workload->count)
        tell_and_stop("%zu requests were never answered",
                      workload->count - fleet.done);
    release(&fleet);
}

void fleet_log_release(struct fleet_log *log)
{
    free(log->outcomes);
    free(log->arrivals);
    free(log->targets);
    mode_log_release(&log->modes);
    *log = (struct fleet_log){0};
}
