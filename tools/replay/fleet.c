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
    EVENT_ALARM,     /* Somebody's time in a router's queue may be over. */
    EVENT_DELTA,     /* A router writes what it has to tell. */
    EVENT_MAIL       /* That arrives. */
};

enum { PROGRESS_EVERY = 256 };

static uint64_t to_ns(double seconds)
{
    return (uint64_t)llround(seconds * 1e9);
}

/* The host that a request came to. */
static struct host *host_of(const struct fleet *fleet, uint32_t index)
{
    return fleet->routers.hosts[fleet->flights[index].router];
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
    kv_feed_check(&fleet->kv, flight->router, pick, fleet->now);
    if (engine_fits(fleet->servers[pick->target].engine, from->input_tokens,
                    from->output_tokens)) {
        send_to_engine(fleet, index, pick->target);
    } else {
        host_observe(host_of(fleet, index), flight->ticket,
                     LBROUTE_EVENT_CLIENT_ERROR, fleet->now);
        flight->known = false;
        refuse(fleet, index, LBROUTE_REASON_NONE);
    }
}

static void enqueue(struct fleet *fleet, const struct host_picked *pick)
{
    struct fleet_outcome *outcome = &fleet->log->outcomes[pick->request];

    outcome->waited = true;
    outcome->expected_wait_ns = pick->wait_ns;
    fleet->gateways[outcome->router].waiting++;
}

/* Those that wait in a router go, or learn that they never will. */
static void serve_waiting(struct fleet *fleet, uint32_t router)
{
    struct host *host = fleet->routers.hosts[router];
    struct gateway *gateway = &fleet->gateways[router];
    struct host_picked pick;
    enum host_answer answer;

    while (gateway->waiting > 0) {
        answer = host_next_ready(host, fleet->now, &pick);
        if (answer == HOST_NOBODY)
            return;
        gateway->waiting--;
        if (answer == HOST_PICKED)
            accept(fleet, &pick);
        else
            refuse(fleet, pick.request, pick.reason);
    }
}

/* Counts what the router counts, from what happened. A hybrid pool has one
 * router. */
static void note_mode(struct fleet *fleet, const struct host *host,
                      size_t under_way)
{
    struct fleet_log *log = fleet->log;
    struct mode_change now = {fleet->now, host_is_busy(host), under_way, 0};

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
    struct host *host = host_of(fleet, index);
    size_t under_way = fleet->in_flight +
                       fleet->gateways[fleet->flights[index].router].waiting;
    struct host_picked pick;
    enum host_answer answer =
        host_pick(host, fleet->workload, index, fleet->now, &pick);

    note_mode(fleet, host, under_way);
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

static uint32_t choose_router(struct fleet *fleet, uint32_t index)
{
    const struct work_request *request = &fleet->workload->requests[index];
    uint32_t before = request->follows == WORK_FOLLOWS_NONE
                          ? ROUTERS_NOBODY
                          : fleet->flights[request->follows].router;
    uint32_t router = routers_choose(&fleet->routers, request, before);

    fleet->flights[index].router = router;
    fleet->log->outcomes[index].router = router;
    fleet->log->routers[router].requests++;
    return router;
}

static void arrive(struct fleet *fleet, uint32_t index)
{
    uint32_t router = choose_router(fleet, index);
    struct gateway *gateway = &fleet->gateways[router];

    if (fleet_handover_is_due(fleet))
        fleet_hand_over(fleet);
    fleet->log->outcomes[index].arrived = fleet->now;
    fleet->log->arrivals[fleet->arrived++] = index;
    if (gateway_is_empty(gateway) && dispatch(fleet, index)) {
        serve_waiting(fleet, router);
        return;
    }
    fleet->log->outcomes[index].waited = true;
    gateway_push(gateway, index);
}

static void retry_queue(struct fleet *fleet, uint32_t router)
{
    struct gateway *gateway = &fleet->gateways[router];

    while (!gateway_is_empty(gateway) &&
           dispatch(fleet, gateway_first(gateway)))
        gateway_pop(gateway);
}

/* Slots became free: those go that wait where somebody was done. */
static void fill_slots(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->routers.count; i++) {
        if (!fleet->gateways[i].settled)
            continue;
        fleet->gateways[i].settled = false;
        serve_waiting(fleet, i);
        retry_queue(fleet, i);
    }
}

static void on_engine_event(void *context, struct engine_request *request,
                            enum engine_event event)
{
    struct fleet *fleet = context;
    uint32_t index = request->owner;
    struct fleet_outcome *outcome = &fleet->log->outcomes[index];
    lbroute_ticket ticket = fleet->flights[index].ticket;
    bool known = fleet->flights[index].known;

    if (event == ENGINE_FIRST_TOKEN) {
        outcome->first_token = fleet->now;
        outcome->hit_tokens = request->hit_tokens;
        if (known)
            host_observe(host_of(fleet, index), ticket,
                         LBROUTE_EVENT_FIRST_TOKEN, fleet->now);
        return;
    }
    outcome->last_token = fleet->now;
    if (known)
        host_succeed(host_of(fleet, index), ticket,
                     &fleet->workload->requests[index], outcome->hit_tokens,
                     fleet->now);
    fleet->flights[index].known = false;
    fleet->in_flight--;
    close_request(fleet, index);
    fleet->gateways[outcome->router].settled = true;
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
    if (fleet->servers[target].restart_due) {
        go_down(fleet, target);
        return;
    }
    engine_finish_step(fleet->servers[target].engine, on_engine_event, fleet);
    if (kv_feed_publish(&fleet->kv, target, fleet->now))
        push_kv(fleet, EVENT_KV_BATCH, target);
    /* Still marked as stepping: what the retry sends here joins its next
     * step, which starts below. */
    fill_slots(fleet);
    fleet->servers[target].stepping = false;
    start_step(fleet, target);
}

static void scrape(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->log->target_count; i++)
        if (!fleet->servers[i].down)
            routers_scrape(&fleet->routers, i, fleet->servers[i].engine,
                           fleet->now);
    if (fleet->done < fleet->workload->count)
        event_heap_push(&fleet->events,
                        fleet->now + to_ns(fleet->options->scrape_s),
                        EVENT_SCRAPE, 0);
}

/* Whether an alarm comes to nothing: an earlier one has replaced it, or nobody
 * waits any more. */
static bool is_moot(struct fleet *fleet, const struct heap_event *event)
{
    struct gateway *gateway;

    if (event->kind != EVENT_ALARM)
        return false;
    gateway = &fleet->gateways[event->index];
    if (event->at_ns != gateway->alarm)
        return true;
    gateway->alarm = UINT64_MAX;
    return gateway->waiting == 0;
}

static void ring(struct fleet *fleet, uint32_t router)
{
    host_tick(fleet->routers.hosts[router], fleet->now);
    serve_waiting(fleet, router);
}

static void set_alarm(struct fleet *fleet, uint32_t router)
{
    struct gateway *gateway = &fleet->gateways[router];
    uint64_t at;

    if (gateway->waiting == 0)
        return;
    at = host_next_deadline(fleet->routers.hosts[router]);
    if (at <= fleet->now)
        at = fleet->now + 1;
    if (at >= gateway->alarm)
        return;
    gateway->alarm = at;
    event_heap_push(&fleet->events, at, EVENT_ALARM, router);
}

static void write_delta(struct fleet *fleet, uint32_t router)
{
    const struct routers_options *options = &fleet->options->routers;
    size_t letters = routers_write(&fleet->routers, router, fleet->now);

    while (letters-- > 0)
        event_heap_push(&fleet->events, fleet->now + to_ns(options->delay_s),
                        EVENT_MAIL, router);
    if (fleet->done < fleet->workload->count)
        event_heap_push(&fleet->events, fleet->now + to_ns(options->interval_s),
                        EVENT_DELTA, router);
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
        ring(fleet, event->index);
        break;
    case EVENT_DELTA:
        write_delta(fleet, event->index);
        break;
    case EVENT_MAIL:
        routers_deliver(&fleet->routers, fleet->now);
        break;
    }
    for (uint32_t i = 0; i < fleet->routers.count; i++)
        set_alarm(fleet, i);
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

/* Routers write at different times, as processes do. */
static void push_first_deltas(struct fleet *fleet)
{
    const struct routers_options *options = &fleet->options->routers;

    if (!routers_share(options))
        return;
    for (uint32_t i = 0; i < options->count; i++)
        event_heap_push(&fleet->events,
                        to_ns(options->interval_s * (i + 1) / options->count),
                        EVENT_DELTA, i);
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
    push_first_deltas(fleet);
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
    log->router_count = fleet->routers.count;
    log->outcomes = grow_zeroed(log->request_count, sizeof *log->outcomes);
    log->arrivals = grow_zeroed(log->request_count, sizeof *log->arrivals);
    log->targets = grow_zeroed(log->target_count, sizeof *log->targets);
    log->routers = grow_zeroed(log->router_count, sizeof *log->routers);
    for (size_t i = 0; i < log->request_count; i++) {
        log->outcomes[i].target = FLEET_NO_TARGET;
        log->outcomes[i].expected_wait_ns = -1;
    }
}

static void open_routers(struct fleet *fleet)
{
    struct routers *routers = &fleet->routers;

    routers_init(routers, &fleet->options->routers, &fleet->options->host,
                 fleet->workload);
    fleet->kv.routers = routers;
    fleet->kv.plain = routers_are_peers(routers);
    if (fleet->kv.plain && fleet->kv.count > 0)
        routers_watch_events(routers, kv_feed_run, &fleet->kv);
    fleet->gateways = grow_zeroed(routers->count, sizeof *fleet->gateways);
    for (uint32_t i = 0; i < routers->count; i++)
        fleet->gateways[i].alarm = UINT64_MAX;
}

static void close_routers(struct fleet *fleet)
{
    fleet->log->deltas = routers_delta_counts(&fleet->routers, fleet->now);
    for (uint32_t i = 0; i < fleet->routers.count; i++) {
        fleet->log->routers[i].open = host_open(fleet->routers.hosts[i]);
        gateway_release(&fleet->gateways[i]);
    }
    routers_release(&fleet->routers);
    free(fleet->gateways);
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
    close_routers(fleet);
    kv_feed_release(&fleet->kv);
    event_heap_release(&fleet->events);
    free(fleet->servers);
    free(fleet->flights);
}

void fleet_run(const struct workload *workload,
               const struct fleet_options *options, struct fleet_log *log)
{
    struct fleet fleet = {.workload = workload, .options = options, .log = log};
    struct heap_event event;

    kv_feed_init(&fleet.kv, workload, &options->kv, options->host.fleet->count);
    open_routers(&fleet);
    create_log(&fleet);
    create_servers(&fleet);
    fleet.flights = grow_zeroed(workload->count, sizeof *fleet.flights);
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
    free(log->routers);
    mode_log_release(&log->modes);
    *log = (struct fleet_log){0};
}
