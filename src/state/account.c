/* SPDX-License-Identifier: MIT */
#include "state/account.h"

#include "state/group.h"
#include "state/pool.h"

#include <math.h>

/* The part of the latest request in the mean of the pool, and of the latest
 * plane in the pool's plane. */
#define LATEST_INPUT (1.0 / 64)
#define LATEST_PLANE (1.0 / 64)

void lbr_latency_init(struct lbr_latency *latency)
{
    lbr_list_init(&latency->waiting);
    latency->others_waiting = (double)NAN;
    lbr_pace_member_init(&latency->pace);
}

/* The group whose forecast a target has a row in, or NULL. */
static struct lbr_group *group_of(const struct lbr_target *target)
{
    struct lbr_group *group = target->by_pool.group;

    return group && group->uses & LBR_USES_FORECAST ? group : NULL;
}

static double *cell(const struct lbr_group *group,
                    const struct lbr_target *target, int column)
{
    return lbr_forecast_cell(&group->forecast, column,
                             target->by_pool.position);
}

/* ---- work ---- */

static double due_of(const struct lbr_latency *latency)
{
    const struct lbr_task *first;

    if (lbr_list_empty(&latency->waiting))
        return (double)INFINITY;
    first = LBR_OWNER(latency->waiting.next, const struct lbr_task, link);
    return isnan(first->expected) ? (double)INFINITY
                                  : (double)first->sent_at + first->expected;
}

void lbr_latency_publish_work(const struct lbr_target *target)
{
    const struct lbr_latency *latency = &target->latency;
    const struct lbr_group *group = group_of(target);

    if (!group)
        return;
    *cell(group, target, LBR_COLUMN_QUEUE) =
        (double)(latency->waiting_tokens + target->peers.tokens) /
        LBR_TOKENS_PER_UNIT;
    *cell(group, target, LBR_COLUMN_DUE) = due_of(latency);
}

static void count(struct lbr_target *target, const struct lbr_task *task)
{
    target->latency.waiting_tokens += task->tokens;
    target->latency.waiting_count++;
    lbr_latency_publish_work(target);
}

void lbr_task_start(struct lbr_target *target, struct lbr_task *task,
                    uint64_t now)
{
    task->state = LBR_TASK_WAITING;
    task->sent_at = now;
    task->first_token = 0;
    lbr_list_append(&target->latency.waiting, &task->link);
    count(target, task);
}

void lbr_task_hide(struct lbr_target *target, struct lbr_task *task)
{
    lbr_list_remove(&task->link);
    target->latency.waiting_tokens -= task->tokens;
    target->latency.waiting_count--;
    lbr_latency_publish_work(target);
}

void lbr_task_show(struct lbr_target *target, struct lbr_task *task)
{
    lbr_list_append(target->latency.waiting.next, &task->link);
    count(target, task);
}

void lbr_task_finish(struct lbr_target *target, struct lbr_task *task)
{
    lbr_task_hide(target, task);
    task->state = LBR_TASK_STARTED;
}

void lbr_latency_scrape(struct lbr_target *target, double waiting)
{
    struct lbr_latency *latency = &target->latency;
    double known = latency->waiting_count + (double)target->peers.waiting;

    latency->others_waiting =
        isnan(waiting) ? waiting : fmax(waiting - known, 0);
}

void lbr_latency_publish_others(const struct lbr_target *target, double others)
{
    const struct lbr_group *group = group_of(target);

    if (group)
        *cell(group, target, LBR_COLUMN_OTHERS) = others;
}

static void publish_slowness(const struct lbr_target *target,
                             const struct lbr_group *group)
{
    const struct lbr_pace_rate *rate = target->latency.pace.rate;

    *cell(group, target, LBR_COLUMN_SLOW_FIRST) = rate[LBR_PACE_FIRST].slowness;
    *cell(group, target, LBR_COLUMN_SLOW_EACH) = rate[LBR_PACE_EACH].slowness;
}

/* ---- learning ---- */

/* Uncached input as it was reported, else as it was told by the request; -1 if
 * neither. */
static double uncached(const struct lbr_task *task, int64_t input,
                       int64_t cached)
{
    if (cached < 0)
        cached = 0;
    if (input >= cached)
        return fmin((double)(input - cached), (double)LBR_MOST_TOKENS);
    return task->measured ? (double)task->tokens : -1;
}

static void learn_input(struct lbr_latency_mean *mean, double tokens)
{
    double part;

    if (tokens < 0)
        return;
    mean->samples++;
    part = fmax(LATEST_INPUT, 1 / (double)mean->samples);
    mean->input += part * (tokens / LBR_TOKENS_PER_UNIT - mean->input);
}

static void move(double *mean, double value)
{
    *mean += LATEST_PLANE * (value - *mean);
}

/* Targets of much traffic have more of a say: they have more evidence. */
static void learn_plane(struct lbr_latency_mean *mean,
                        enum lbr_latency_kind kind,
                        const struct lbr_plane *plane)
{
    if (!mean->plane_known[kind]) {
        mean->plane[kind] = *plane;
        mean->plane_known[kind] = 1;
        return;
    }
    move(&mean->plane[kind].base, plane->base);
    move(&mean->plane[kind].per_queue, plane->per_queue);
    move(&mean->plane[kind].per_input, plane->per_input);
}

static void learn(struct lbr_target *target, struct lbr_group *group,
                  enum lbr_latency_kind kind, const struct lbr_task *task,
                  double value, uint64_t now)
{
    const struct lbr_params *params = &target->pool->params;
    struct lbr_least_squares *model = &target->latency.model[kind];
    struct lbr_latency_mean *mean = &group->latency_mean;

    lbr_ewma_add(&target->latency.average[kind], value, params->fastest_alpha,
                 now, params->fastest_age);
    lbr_least_squares_add(model, task->queue,
                          (double)task->tokens / LBR_TOKENS_PER_UNIT, value,
                          mean->plane_known[kind] ? &mean->plane[kind] : NULL);
    if (lbr_least_squares_known(model))
        learn_plane(mean, kind, &model->plane);
}

/* Fewer tokens than that say little of the time between two. */
#define LEAST_OUTPUT 8

static void learn_each_token(struct lbr_target *target,
                             struct lbr_work_times *times,
                             const struct lbr_task *task, double total,
                             int64_t output)
{
    if (output > 0)
        lbr_pace_learn_output(&times->pace, (double)output);
    if (output >= LEAST_OUTPUT && task->first_token > 0)
        lbr_work_times_learn(
            times, &target->latency.pace, LBR_PACE_EACH,
            (task->running + lbr_target_load(target) - 1) / 2, 0,
            (total - task->first_token) / (double)(output - 1));
}

/* Tokens that should have been in the cache, in the engine's own count: what
 * was guessed from bytes is none, but the part that it makes of a prompt is
 * right all the same. 0: not known. */
static double expected_cached(const struct lbr_task *task, int64_t input)
{
    double matched = (double)task->matched;
    double all = matched + (double)task->tokens;

    if (input < 0)
        return task->counted ? matched : 0;
    return all > 0 ? (double)input * matched / all : 0;
}

static void learn_pace(struct lbr_target *target, struct lbr_group *group,
                       const struct lbr_task *task, double total, double own,
                       int64_t input, int64_t cached, int64_t output)
{
    struct lbr_work_times *times = &group->latency_mean.times;
    double computed = own < 0 ? (double)task->tokens : own;

    lbr_work_times_learn(
        times, &target->latency.pace, LBR_PACE_FIRST, task->running,
        task->queue + computed / LBR_TOKENS_PER_UNIT, task->first_token);
    learn_each_token(target, times, task, total, output);
    if (cached >= 0)
        lbr_pace_learn_found(&times->pace, expected_cached(task, input),
                             (double)cached);
    publish_slowness(target, group);
}

void lbr_latency_learn(struct lbr_target *target, const struct lbr_task *task,
                       double total, int64_t input, int64_t cached,
                       int64_t output, uint64_t now)
{
    struct lbr_group *group = group_of(target);
    double own = uncached(task, input, cached);

    if (!group)
        return;
    learn_input(&group->latency_mean, own);
    if (group->uses & LBR_USES_PACE) {
        learn_pace(target, group, task, total, own, input, cached, output);
        return;
    }
    learn(target, group, LBR_FIRST_TOKEN, task, task->first_token, now);
    learn(target, group, LBR_TOTAL, task, total, now);
    lbr_latency_publish(target);
}

/* ---- the forecast ---- */

static void publish_plane(const struct lbr_target *target,
                          const struct lbr_group *group,
                          enum lbr_latency_kind kind)
{
    const struct lbr_least_squares *model = &target->latency.model[kind];
    size_t step = group->forecast.capacity;
    double *row = lbr_forecast_plane(&group->forecast, kind, LBR_PLANE_BASE) +
                  target->by_pool.position;

    if (!lbr_least_squares_known(model))
        return;
    row[LBR_PLANE_BASE * step] = model->plane.base;
    row[LBR_PLANE_PER_QUEUE * step] = model->plane.per_queue;
    row[LBR_PLANE_PER_INPUT * step] = model->plane.per_input;
    row[LBR_PLANE_LEAST * step] = lbr_least_squares_floor(model);
}

void lbr_latency_publish(const struct lbr_target *target)
{
    const struct lbr_ewma *average = &target->latency.average[LBR_TOTAL];
    const struct lbr_group *group = group_of(target);

    if (!group)
        return;
    if (average->samples) {
        *cell(group, target, LBR_COLUMN_AVERAGE) = average->value;
        *cell(group, target, LBR_COLUMN_TAUGHT) = (double)average->at;
    }
    if (group->uses & LBR_USES_PACE)
        publish_slowness(target, group);
    publish_plane(target, group, LBR_FIRST_TOKEN);
    publish_plane(target, group, LBR_TOTAL);
    lbr_latency_publish_work(target);
}
