/* SPDX-License-Identifier: MIT */
#include "engine_drive.h"

#include "replay/grow.h"

#include <stdlib.h>

struct driving {
    struct drive *drive;
    const struct workload *workload;
    struct engine *engine;
    struct engine_request *requests;
    size_t *order; /* Of arrival. */
    size_t arrived;
    double now;
};

/* qsort() gives the comparison no context. */
static const struct workload *sorted_workload;

static int compare_arrival(const void *left, const void *right)
{
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    double first = sorted_workload->requests[a].at_s;
    double second = sorted_workload->requests[b].at_s;

    if (first != second)
        return first < second ? -1 : 1;
    return (a > b) - (a < b);
}

static size_t *arrival_order(const struct workload *workload)
{
    size_t *order = grow_zeroed(workload->count, sizeof *order);

    for (size_t i = 0; i < workload->count; i++)
        order[i] = i;
    sorted_workload = workload;
    qsort(order, workload->count, sizeof *order, compare_arrival);
    return order;
}

static void listen(void *context, struct engine_request *request,
                   enum engine_event event)
{
    struct driving *driving = context;
    struct drive_times *times = &driving->drive->times[request->owner];

    if (event == ENGINE_FIRST_TOKEN)
        times->first_token = driving->now;
    else
        times->last_token = driving->now;
    times->hit_tokens = request->hit_tokens;
}

/* Time of the next arrival in ms; there is one. */
static double next_arrival(const struct driving *driving)
{
    size_t next = driving->order[driving->arrived];

    return driving->workload->requests[next].at_s * 1000.0;
}

static void submit_arrived(struct driving *driving)
{
    while (driving->arrived < driving->workload->count &&
           next_arrival(driving) <= driving->now) {
        size_t index = driving->order[driving->arrived];
        const struct work_request *from = &driving->workload->requests[index];
        struct engine_request *request = &driving->requests[index];

        driving->drive->times[index].arrived = next_arrival(driving);
        request->ids = driving->workload->ids + from->first_id;
        request->input_tokens = from->input_tokens;
        request->output_tokens = from->output_tokens;
        request->adapter = (uint32_t)from->adapter;
        request->owner = (uint32_t)index;
        engine_submit(driving->engine, request);
        driving->arrived++;
    }
}

static void run(struct driving *driving)
{
    for (;;) {
        double ms;

        submit_arrived(driving);
        if (engine_start_step(driving->engine, &ms)) {
            driving->now += ms;
            driving->drive->steps++;
            engine_finish_step(driving->engine, listen, driving);
        } else if (driving->arrived < driving->workload->count) {
            driving->now = next_arrival(driving);
        } else {
            return;
        }
    }
}

struct drive drive_engine(const struct engine_options *options,
                          const struct workload *workload)
{
    struct drive drive = {0};
    struct driving driving = {.drive = &drive, .workload = workload};

    drive.times = grow_zeroed(workload->count, sizeof *drive.times);
    driving.engine = engine_create(options);
    driving.requests = grow_zeroed(workload->count, sizeof *driving.requests);
    driving.order = arrival_order(workload);
    run(&driving);
    drive.end = driving.now;
    drive.preemptions = engine_preemptions(driving.engine);
    drive.adapter_loads = engine_adapter_loads(driving.engine);
    drive.prefilled = engine_prefilled(driving.engine);
    engine_destroy(driving.engine);
    free(driving.requests);
    free(driving.order);
    return drive;
}

void drive_release(struct drive *drive)
{
    free(drive->times);
    drive->times = NULL;
}
