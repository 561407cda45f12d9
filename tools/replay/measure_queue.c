/* SPDX-License-Identifier: MIT */
#include "measure_queue.h"

#include "grow.h"
#include "quantiles.h"
#include "workload_clients.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that does not exist. */
#define MISSING ((double)NAN)

/* A run as it is measured. */
struct measured {
    const struct workload *workload;
    const struct fleet_log *log;
    struct replay_queue *queue;
    uint64_t end; /* The last arrival: the load stands until then. */
};

/* Whether the request with this number is one of those that are asked for. */
typedef bool (*is_member)(const struct work_request *request, uint32_t wanted);

static bool is_anyone(const struct work_request *request, uint32_t wanted)
{
    (void)request;
    (void)wanted;
    return true;
}

static bool is_of_client(const struct work_request *request, uint32_t wanted)
{
    return request->client == wanted;
}

static bool is_of_another(const struct work_request *request, uint32_t wanted)
{
    return request->client != wanted;
}

static bool is_of_priority(const struct work_request *request, uint32_t wanted)
{
    return request->priority == (int32_t)wanted;
}

static bool was_served(const struct fleet_outcome *outcome)
{
    return outcome->target != FLEET_NO_TARGET;
}

static bool began_in_time(const struct measured *run,
                          const struct fleet_outcome *outcome)
{
    return was_served(outcome) && outcome->dispatched <= run->end;
}

static bool ended_in_time(const struct measured *run,
                          const struct fleet_outcome *outcome)
{
    return was_served(outcome) && outcome->last_token <= run->end;
}

static double tokens_of(const struct measured *run,
                        const struct work_request *request)
{
    return run->queue->input_cost * request->input_tokens +
           run->queue->output_cost * request->output_tokens;
}

static double wait_ns(const struct fleet_outcome *outcome)
{
    return (double)(outcome->dispatched - outcome->arrived);
}

static double part(double of, double whole)
{
    return whole > 0.0 ? of / whole : MISSING;
}

/* Shares are tokens until share_out(). */
static void measure_group(const struct measured *run, is_member is_one,
                          uint32_t wanted, struct replay_group *group)
{
    const struct fleet_log *log = run->log;
    double *waits = grow_zeroed(log->request_count, sizeof *waits);
    size_t served = 0;

    for (size_t i = 0; i < log->request_count; i++) {
        const struct work_request *request = &run->workload->requests[i];
        const struct fleet_outcome *outcome = &log->outcomes[i];

        if (!is_one(request, wanted))
            continue;
        group->requests++;
        group->demand_share += tokens_of(run, request);
        if (began_in_time(run, outcome))
            group->service_share += tokens_of(run, request);
        if (was_served(outcome))
            waits[served++] = wait_ns(outcome) / 1e6;
    }
    group->rejected = group->requests - served;
    group->wait_ms = quantiles_of(waits, served);
    free(waits);
}

/* ---- who got how much ---- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* What each who wants more than that gets when |whole| is shared out. */
static double fair_level(const struct replay_group *groups, size_t count,
                         double whole)
{
    double *wants = grow_zeroed(count, sizeof *wants);
    double level = (double)INFINITY;
    size_t i;

    for (i = 0; i < count; i++)
        wants[i] = groups[i].demand_share;
    qsort(wants, count, sizeof *wants, by_value);
    for (i = 0; i < count; i++) {
        if (wants[i] * (double)(count - i) >= whole) {
            level = whole / (double)(count - i);
            break;
        }
        whole -= wants[i];
    }
    free(wants);
    return level;
}

static void share_out(struct replay_group *groups, size_t count)
{
    double demand = 0.0;
    double service = 0.0;
    double level;

    for (size_t i = 0; i < count; i++) {
        demand += groups[i].demand_share;
        service += groups[i].service_share;
    }
    level = fair_level(groups, count, service);
    for (size_t i = 0; i < count; i++) {
        groups[i].fair_share =
            part(fmin(level, groups[i].demand_share), service);
        groups[i].demand_share = part(groups[i].demand_share, demand);
        groups[i].service_share = part(groups[i].service_share, service);
    }
}

static void measure_others(const struct measured *run, size_t heaviest)
{
    struct replay_queue *queue = run->queue;
    struct replay_group *others = &queue->others;

    queue->heaviest = queue->clients[heaviest];
    measure_group(run, is_of_another, (uint32_t)heaviest + 1, others);
    others->demand_share = 1.0 - queue->heaviest.demand_share;
    others->service_share = 1.0 - queue->heaviest.service_share;
    others->fair_share = 1.0 - queue->heaviest.fair_share;
    strcpy(others->name, "others");
}

static void measure_clients(const struct measured *run)
{
    const struct client_list *list = run->workload->clients;
    struct replay_queue *queue = run->queue;
    size_t heaviest = 0;

    if (list == NULL)
        return;
    queue->client_count = list->count;
    queue->clients = grow_zeroed(list->count, sizeof *queue->clients);
    for (size_t i = 0; i < list->count; i++) {
        strcpy(queue->clients[i].name, list->clients[i].name);
        measure_group(run, is_of_client, (uint32_t)i + 1, &queue->clients[i]);
        if (queue->clients[i].demand_share >
            queue->clients[heaviest].demand_share)
            heaviest = i;
    }
    share_out(queue->clients, list->count);
    measure_others(run, heaviest);
}

static void measure_priorities(const struct measured *run)
{
    struct replay_queue *queue = run->queue;
    int32_t highest = 0;

    for (size_t i = 0; i < run->workload->count; i++)
        if (run->workload->requests[i].priority > highest)
            highest = run->workload->requests[i].priority;
    if (highest == 0)
        return;
    queue->priority_count = (size_t)highest + 1;
    queue->priorities =
        grow_zeroed(queue->priority_count, sizeof *queue->priorities);
    for (uint32_t i = 0; i < queue->priority_count; i++) {
        struct replay_group *group = &queue->priorities[i];

        snprintf(group->name, sizeof group->name, "%" PRIu32, i);
        measure_group(run, is_of_priority, i, group);
    }
    share_out(queue->priorities, queue->priority_count);
}

/* ---- the run as a whole ---- */

static void measure_whole(const struct measured *run)
{
    struct replay_queue *queue = run->queue;
    struct replay_group all = {.requests = 0};
    double seconds = (double)run->end / 1e9;
    double tokens = 0.0;
    size_t done = 0;

    measure_group(run, is_anyone, 0, &all);
    for (size_t i = 0; i < run->log->request_count; i++) {
        if (!ended_in_time(run, &run->log->outcomes[i]))
            continue;
        tokens += tokens_of(run, &run->workload->requests[i]);
        done++;
    }
    queue->wait_ms = all.wait_ms;
    queue->requests_per_s = part((double)done, seconds);
    queue->tokens_per_s = part(tokens, seconds);
}

static void count_reason(struct replay_queue *queue, int reason)
{
    const char *name = reason == LBROUTE_REASON_NONE
                           ? "too_long"
                           : lbroute_reason_name(reason);
    size_t i = 0;

    while (i < queue->reason_count && strcmp(queue->reasons[i].name, name) != 0)
        i++;
    if (i == queue->reason_count)
        queue->reasons[queue->reason_count++].name = name;
    queue->reasons[i].count++;
}

/* In the order of their numbers, whatever came first. */
static void measure_reasons(const struct measured *run)
{
    struct replay_queue *queue = run->queue;

    queue->reasons = grow_zeroed(LBROUTE_REASON_COUNT, sizeof *queue->reasons);
    for (int reason = 0; reason < LBROUTE_REASON_COUNT; reason++)
        for (size_t i = 0; i < run->log->request_count; i++)
            if (!was_served(&run->log->outcomes[i]) &&
                run->log->outcomes[i].reason == reason)
                count_reason(queue, reason);
}

static void measure_estimates(const struct measured *run)
{
    struct replay_queue *queue = run->queue;
    size_t count = run->log->request_count;
    double *errors = grow_zeroed(count, sizeof *errors);
    double told = 0.0;
    double real = 0.0;

    for (size_t i = 0; i < count; i++) {
        const struct fleet_outcome *outcome = &run->log->outcomes[i];
        double wait = wait_ns(outcome);

        if (!was_served(outcome) || !outcome->waited ||
            outcome->expected_wait_ns < 0 || wait <= 0.0)
            continue;
        errors[queue->estimates++] =
            fabs((double)outcome->expected_wait_ns / wait - 1.0);
        told += (double)outcome->expected_wait_ns;
        real += wait;
    }
    queue->estimate_error = quantiles_of(errors, queue->estimates).p50;
    queue->estimate_bias = part(told, real) - 1.0;
    free(errors);
}

static void measure_modes(const struct measured *run)
{
    const struct mode_log *modes = &run->log->modes;
    struct replay_queue *queue = run->queue;

    queue->busy_s = (double)modes->busy_ns / 1e9;
    queue->quiet_s = (double)modes->quiet_ns / 1e9;
    queue->change_count = modes->change_count;
    queue->changes = grow_zeroed(modes->change_count, sizeof *queue->changes);
    for (size_t i = 0; i < modes->change_count; i++)
        queue->changes[i] = (struct replay_mode_change){
            .at_s = (double)modes->changes[i].at / 1e9,
            .busy = modes->changes[i].busy,
            .under_way = modes->changes[i].under_way,
            .arrivals = modes->changes[i].arrivals,
        };
}

static uint64_t last_arrival(const struct fleet_log *log)
{
    return log->outcomes[log->arrivals[log->request_count - 1]].arrived;
}

void measure_queue(const struct workload *workload, const struct fleet_log *log,
                   struct replay_queue *queue)
{
    struct measured run = {workload, log, queue, last_arrival(log)};

    measure_whole(&run);
    measure_reasons(&run);
    measure_estimates(&run);
    measure_clients(&run);
    measure_priorities(&run);
    measure_modes(&run);
}

void measure_queue_release(struct replay_queue *queue)
{
    free(queue->reasons);
    free(queue->clients);
    free(queue->priorities);
    free(queue->changes);
    *queue = (struct replay_queue){.asked = false};
}
