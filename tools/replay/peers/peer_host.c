/* SPDX-License-Identifier: MIT */
#include "peer_host.h"

#include "../grow.h"
#include "../host.h"

#include <stdlib.h>
#include <string.h>

struct peer_host {
    const struct peer_rule *rule;
    void *state; /* Of the rule. */
    double *values;
    const struct workload *workload;
    const struct fleet_spec *fleet;
    struct peer_view view;
    struct peer_flight *flights; /* By request. */
};

/* Whether a full name is that of a parameter of the rule. */
static bool names(const struct peer_rule *rule, size_t index, const char *name)
{
    size_t length = strlen(rule->name);

    return strncmp(name, rule->name, length) == 0 && name[length] == '.' &&
           strcmp(name + length + 1, rule->params[index].name) == 0;
}

double peer_host_value(const struct peer_rule *rule, size_t index,
                       const struct host_parameter *parameters,
                       size_t parameter_count)
{
    double value = rule->params[index].value;

    for (size_t i = 0; i < parameter_count; i++)
        if (names(rule, index, parameters[i].name))
            value = parameters[i].value;
    return value;
}

static void create_view(struct peer_host *host)
{
    struct peer_view *view = &host->view;

    view->target_count = host->fleet->count;
    view->block_tokens = host->workload->block_tokens;
    view->distinct_ids = host->workload->distinct_ids;
    view->targets = grow_zeroed(view->target_count, sizeof *view->targets);
    for (size_t i = 0; i < view->target_count; i++) {
        const struct fleet_target *from = &host->fleet->targets[i];

        view->targets[i].cache_tokens = from->cache_tokens;
        view->targets[i].token_s = from->spec->token_us / 1e6;
    }
}

struct peer_host *peer_host_create(const struct peer_host_options *options,
                                   const struct workload *workload)
{
    const struct peer_rule *rule = options->rule;
    struct peer_host *host = grow_zeroed(1, sizeof *host);
    struct peer_setup setup = {.view = &host->view, .seed = options->seed};

    host->rule = rule;
    host->fleet = options->fleet;
    host->workload = workload;
    create_view(host);
    host->flights = grow_zeroed(workload->count, sizeof *host->flights);
    host->values = grow_zeroed(rule->param_count + 1, sizeof *host->values);
    for (size_t i = 0; i < rule->param_count; i++)
        host->values[i] = peer_host_value(rule, i, options->parameters,
                                          options->parameter_count);
    setup.values = host->values;
    host->state = rule->create(&setup);
    return host;
}

void peer_host_destroy(struct peer_host *host)
{
    if (host == NULL)
        return;
    host->rule->destroy(host->state);
    free(host->view.targets);
    free(host->flights);
    free(host->values);
    free(host);
}

void peer_host_watch(struct peer_host *host, peer_events_run run, void *context)
{
    if (!host->rule->reads_events)
        return;
    host->view.run = run;
    host->view.run_context = context;
}

bool peer_host_is_drained(const struct peer_host *host)
{
    for (size_t i = 0; i < host->fleet->count; i++)
        if (host->fleet->targets[i].weight > 0.0)
            return false;
    return true;
}

/* Weights are not known to peers, except that 0 means drained. */
static bool open_targets(struct peer_host *host)
{
    bool any = false;

    for (size_t i = 0; i < host->view.target_count; i++) {
        const struct fleet_target *from = &host->fleet->targets[i];
        struct peer_target *target = &host->view.targets[i];

        target->open = from->weight > 0.0 &&
                       (from->limit == 0 || target->in_flight < from->limit);
        any |= target->open;
    }
    return any;
}

static void describe(const struct peer_host *host, uint32_t number,
                     struct peer_request *request)
{
    const struct work_request *from = &host->workload->requests[number];

    *request = (struct peer_request){
        .number = number,
        .input_tokens = from->input_tokens,
        .ids = host->workload->ids + from->first_id,
        .id_count = from->prompt_ids,
    };
}

static void send(struct peer_host *host, const struct peer_request *request,
                 const struct peer_choice *choice)
{
    struct peer_target *target = &host->view.targets[choice->target];
    struct peer_flight *flight = &host->flights[request->number];

    *flight = (struct peer_flight){
        .request = *request,
        .target = choice->target,
        .new_tokens = request->input_tokens > choice->matched_tokens
                          ? request->input_tokens - choice->matched_tokens
                          : 0,
        .in_flight = target->in_flight,
        .waiting_tokens = target->waiting_tokens,
        .sent_at = host->view.now,
    };
    target->in_flight++;
    target->waiting_tokens += flight->new_tokens;
    target->sent++;
    if (host->rule->sent != NULL)
        host->rule->sent(host->state, flight);
}

bool peer_host_pick(struct peer_host *host, uint32_t number, uint64_t now,
                    uint32_t *target)
{
    struct peer_request request;
    struct peer_choice choice;

    host->view.now = now;
    if (!open_targets(host))
        return false;
    describe(host, number, &request);
    choice = host->rule->choose(host->state, &request);
    send(host, &request, &choice);
    *target = choice.target;
    return true;
}

void peer_host_first_token(struct peer_host *host, uint32_t request,
                           uint64_t now)
{
    struct peer_flight *flight = &host->flights[request];

    host->view.now = now;
    flight->first_at = now;
    host->view.targets[flight->target].waiting_tokens -= flight->new_tokens;
    if (host->rule->first_token != NULL)
        host->rule->first_token(host->state, flight);
}

void peer_host_done(struct peer_host *host, uint32_t request,
                    uint32_t output_tokens, uint64_t now)
{
    struct peer_flight *flight = &host->flights[request];
    struct peer_target *target = &host->view.targets[flight->target];

    host->view.now = now;
    flight->output_tokens = output_tokens;
    target->in_flight--;
    if (flight->first_at == 0)
        target->waiting_tokens -= flight->new_tokens;
    if (host->rule->done != NULL)
        host->rule->done(host->state, flight);
}

void peer_host_scrape(struct peer_host *host, uint32_t target,
                      const struct peer_gauges *gauges, uint64_t now)
{
    host->view.now = now;
    host->view.targets[target].gauges = *gauges;
    host->view.targets[target].scraped = true;
}
