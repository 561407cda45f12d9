/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <string.h>

#include "check.h"

const char *model_label(int label)
{
    static const char *const labels[MODEL_LABELS] = {"", "gold", "Gold",
                                                     "gold "};
    return labels[label];
}

static const struct model_health_rules default_rules = {
    .bench_after = 5,
    .bench_time = UINT64_C(30000000000),
    .bench_max = UINT64_C(300000000000),
};

void model_init(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->rules = default_rules;
    model->ticket_ttl = UINT64_C(600000000000);
}

size_t model_find(const struct model *model, lbroute_target handle)
{
    for (size_t i = 0; i < model->target_count; i++) {
        if (model->targets[i].handle == handle)
            return i;
    }
    return MODEL_TARGETS;
}

struct model_target *model_add(struct model *model, lbroute_target handle,
                               lbroute_pool pool, double weight)
{
    CHECK(model->target_count < MODEL_TARGETS);
    struct model_target *target = &model->targets[model->target_count++];
    memset(target, 0, sizeof *target);
    target->handle = handle;
    target->pool = pool;
    target->current = exact_zero();
    model_set_weight(target, weight);
    return target;
}

void model_remove(struct model *model, size_t place)
{
    lbroute_target handle = model->targets[place].handle;
    for (size_t i = 0; i < model->ticket_count; i++) {
        if (model->tickets[i].target == handle)
            model->tickets[i].target = 0;
    }
    model->target_count--;
    memmove(&model->targets[place], &model->targets[place + 1],
            (model->target_count - place) * sizeof model->targets[0]);
}

void model_set_weight(struct model_target *target, double weight)
{
    target->weight = weight;
    target->exact = exact_weight(weight);
}

static void close_ticket(struct model *model, size_t ticket)
{
    model->ticket_count--;
    memmove(&model->tickets[ticket], &model->tickets[ticket + 1],
            (model->ticket_count - ticket) * sizeof model->tickets[0]);
}

void model_advance(struct model *model, uint64_t now)
{
    if (now <= model->now)
        return;
    model->now = now;
    while (model->ticket_count > 0 &&
           now - model->tickets[0].picked_at >= model->ticket_ttl) {
        size_t place = model_find(model, model->tickets[0].target);
        if (place < MODEL_TARGETS) {
            model->targets[place].in_flight--;
            model->targets[place].expired++;
        }
        model->expired++;
        close_ticket(model, 0);
    }
}

void model_pick(struct model *model, size_t place, lbroute_ticket handle)
{
    CHECK(model->ticket_count < MODEL_TICKETS);
    struct model_target *target = &model->targets[place];
    struct model_ticket *ticket = &model->tickets[model->ticket_count++];
    ticket->handle = handle;
    ticket->target = target->handle;
    ticket->picked_at = model->now;
    ticket->order = ++model->order;
    ticket->trial = model_health_on_trial(&target->health, model->now);
    ticket->waits = 0;
    target->in_flight++;
    target->picks++;
    model->picks++;
}

size_t model_find_ticket(const struct model *model, lbroute_ticket handle)
{
    for (size_t i = 0; i < model->ticket_count; i++) {
        if (model->tickets[i].handle == handle)
            return i;
    }
    return MODEL_TICKETS;
}

static void teach_health(struct model *model, struct model_target *target,
                         const struct model_ticket *ticket, int kind)
{
    if (ticket->order <= target->health.began)
        return;
    if (kind == LBROUTE_EVENT_SUCCESS)
        model_health_success(&target->health);
    if (kind == LBROUTE_EVENT_FAILURE || kind == LBROUTE_EVENT_TIMEOUT)
        model_health_failure(&target->health,
                             target->pool ? &model->rules : &default_rules,
                             ticket->trial, model->now, model->order);
}

void model_settle(struct model *model, size_t ticket, int kind)
{
    struct model_ticket settled = model->tickets[ticket];
    size_t place = model_find(model, settled.target);
    close_ticket(model, ticket);
    model->settled[kind]++;
    if (place == MODEL_TARGETS)
        return;
    struct model_target *target = &model->targets[place];
    target->in_flight--;
    target->settled[kind]++;
    teach_health(model, target, &settled, kind);
}

void model_bench(struct model *model, size_t place, uint64_t duration)
{
    model_health_bench(&model->targets[place].health, duration, model->now,
                       model->order);
}

uint64_t model_orphans(const struct model *model)
{
    uint64_t orphans = 0;
    for (size_t i = 0; i < model->ticket_count; i++)
        orphans += model->tickets[i].target == 0;
    return orphans;
}

static void check_target_health(const struct model *model,
                                const struct model_target *target,
                                const lbroute_target_stats *stats)
{
    const struct model_health *health = &target->health;
    int benched = model_health_benched(health, model->now);
    CHECK_U(stats->failures_in_row, health->failures);
    CHECK_I(stats->benched, benched);
    CHECK_I(stats->on_trial, model_health_on_trial(health, model->now));
    CHECK_U(stats->bench_left_ns, benched ? health->until - model->now : 0);
}

/* Nobody waits without work, unless the work is unknown or nothing. */
static void check_waiting(const struct model *model,
                          const struct model_target *target,
                          const lbroute_target_stats *stats)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < model->ticket_count; i++)
        waiting += model->tickets[i].waits &&
                   model->tickets[i].target == target->handle;
    CHECK_U(stats->pending_requests, waiting);
    CHECK(waiting > 0 || stats->pending_tokens == 0);
    CHECK(stats->pending_tokens <= waiting * UINT64_C(1000000000));
}

static void check_target_counts(const struct model *model,
                                const struct model_target *target,
                                lbroute_router *router)
{
    lbroute_target_stats stats;
    lbroute_target_stats_init(&stats, sizeof stats);
    CHECK_I(
        lbroute_get_target_stats(router, target->handle, model->now, &stats),
        LBROUTE_OK);
    CHECK_U(stats.in_flight, target->in_flight);
    CHECK_U(stats.picks, target->picks);
    CHECK_U(stats.expired, target->expired);
    for (int kind = 0; kind < LBROUTE_EVENT_COUNT; kind++)
        CHECK_U(stats.settled[kind], target->settled[kind]);
    CHECK(stats.load >= stats.in_flight);
    check_target_health(model, target, &stats);
    check_waiting(model, target, &stats);
}

static void check_router_counts(const struct model *model,
                                lbroute_router *router)
{
    lbroute_stats stats;
    lbroute_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_stats(router, &stats), LBROUTE_OK);
    CHECK_U(stats.picks, model->picks);
    CHECK_U(stats.open_tickets, model->ticket_count);
    CHECK_U(stats.orphan_tickets, model_orphans(model));
    CHECK_U(stats.targets, model->target_count);
    CHECK_U(stats.expired, model->expired);
    for (int kind = 0; kind < LBROUTE_EVENT_COUNT; kind++)
        CHECK_U(stats.settled[kind], model->settled[kind]);
    for (int reason = 0; reason < LBROUTE_REASON_COUNT; reason++)
        CHECK_U(stats.rejections[reason], model->rejections[reason]);
}

void model_check_counts(const struct model *model, lbroute_router *router)
{
    check_router_counts(model, router);
    uint64_t in_flight = 0;
    for (size_t i = 0; i < model->target_count; i++) {
        check_target_counts(model, &model->targets[i], router);
        in_flight += model->targets[i].in_flight;
    }
    CHECK_U(in_flight, model->ticket_count - model_orphans(model));
}

void model_fill_request(const struct model_request *request,
                        lbroute_request *out)
{
    lbroute_request_init(out, sizeof *out);
    out->pool = request->pool;
    out->tier = model_label(request->tier);
    out->tier_len = strlen(out->tier);
    out->model = model_label(request->model);
    out->model_len = strlen(out->model);
    out->input_tokens = request->tokens;
    out->exclude = request->exclude;
    out->exclude_len = request->exclude_len;
}
