/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include "grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A clock is coarse when there are this many steps or more, ... */
enum { COARSE_MIN_STEPS = 10 };

/* ... this part of them within this part of the median, ... */
static const double coarse_regular_share = 0.9;
static const double coarse_tolerance = 0.01;

/* ... and on the mean this many requests on each. */
static const double coarse_min_group = 2.0;

void workload_init(struct workload *workload, uint32_t block_tokens)
{
    *workload = (struct workload){0};
    workload->block_tokens = block_tokens;
}

void workload_release(struct workload *workload)
{
    free(workload->requests);
    free(workload->ids);
    free(workload->contents);
    free(workload->text);
    *workload = (struct workload){0};
}

uint32_t workload_fresh_id(struct workload *workload)
{
    return workload->distinct_ids++;
}

uint32_t workload_content(const struct workload *workload, uint32_t id)
{
    return workload->contents != NULL ? workload->contents[id] : id;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Appends known ids, then fresh ones, `count` in all. */
static void append_ids(struct workload *workload, const uint32_t *known,
                       size_t known_count, size_t count)
{
    uint32_t *ids;

    if (count == 0)
        return;
    workload->ids = grow_array(workload->ids, &workload->id_capacity,
                               workload->id_count + count, sizeof *ids);
    ids = workload->ids + workload->id_count;
    for (size_t i = 0; i < count; i++)
        ids[i] = i < known_count ? known[i] : workload_fresh_id(workload);
    workload->id_count += count;
}

size_t workload_add_text(struct workload *workload, const char *text,
                         size_t length)
{
    size_t at = workload->text_count;

    workload->text = grow_array(workload->text, &workload->text_capacity,
                                at + length, sizeof *workload->text);
    memcpy(workload->text + at, text, length);
    workload->text_count += length;
    return at;
}

void workload_add(struct workload *workload, const struct work_request *request,
                  const struct work_content *content)
{
    struct work_request added = *request;
    size_t prompt_blocks;
    size_t all_blocks;
    bool prompt_known;

    if (added.output_tokens == 0)
        added.output_tokens = 1;
    prompt_blocks = added.input_tokens / workload->block_tokens;
    all_blocks =
        (added.input_tokens + added.output_tokens - 1) / workload->block_tokens;
    prompt_known = content->prompt_count >= prompt_blocks;
    added.first_id = workload->id_count;
    added.prompt_ids = (uint32_t)prompt_blocks;
    append_ids(workload, content->prompt, content->prompt_count, prompt_blocks);
    append_ids(workload, content->answer,
               prompt_known ? content->answer_count : 0,
               all_blocks - prompt_blocks);
    workload->requests =
        grow_array(workload->requests, &workload->request_capacity,
                   workload->count + 1, sizeof added);
    workload->requests[workload->count++] = added;
}

/* By time; first_id grows in order of addition, which keeps ties stable. */
static int compare_arrival(const void *left, const void *right)
{
    const struct work_request *a = left;
    const struct work_request *b = right;

    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return (a->first_id > b->first_id) - (a->first_id < b->first_id);
}

void workload_sort(struct workload *workload)
{
    double origin;

    if (workload->count == 0)
        return;
    qsort(workload->requests, workload->count, sizeof *workload->requests,
          compare_arrival);
    origin = workload->requests[0].at_s;
    for (size_t i = 0; i < workload->count; i++)
        workload->requests[i].at_s -= origin;
}

/* One past the last request of the group that starts at `first`. */
static size_t group_end(const struct workload *workload, size_t first)
{
    size_t end = first + 1;

    while (end < workload->count &&
           workload->requests[end].at_s == workload->requests[first].at_s)
        end++;
    return end;
}

static int compare_real(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Returns the median step if nearly all steps are equal to it, else 0. */
static double regular_step(double *steps, size_t count)
{
    size_t regular = 0;
    double median;

    qsort(steps, count, sizeof *steps, compare_real);
    median = steps[count / 2];
    for (size_t i = 0; i < count; i++)
        regular += fabs(steps[i] - median) <= coarse_tolerance * median;
    return (double)regular >= coarse_regular_share * (double)count ? median
                                                                   : 0.0;
}

static double clock_step(const struct workload *workload)
{
    double *steps = grow_zeroed(workload->count, sizeof *steps);
    double step = 0.0;
    size_t groups = 0;

    for (size_t i = 0; i < workload->count; groups++) {
        size_t end = group_end(workload, i);

        if (end < workload->count)
            steps[groups] =
                workload->requests[end].at_s - workload->requests[i].at_s;
        i = end;
    }
    if (groups > COARSE_MIN_STEPS &&
        (double)workload->count >= coarse_min_group * (double)groups)
        step = regular_step(steps, groups - 1);
    free(steps);
    return step;
}

double workload_spread(struct workload *workload)
{
    double step = clock_step(workload);

    for (size_t first = 0; step > 0.0 && first < workload->count;) {
        size_t end = group_end(workload, first);
        double room = step;

        /* Not beyond the next group, so that the order stays. */
        if (end < workload->count)
            room = fmin(step, workload->requests[end].at_s -
                                  workload->requests[first].at_s);
        for (size_t i = first + 1; i < end; i++)
            workload->requests[i].at_s +=
                room * (double)(i - first) / (double)(end - first);
        first = end;
    }
    return step;
}

void workload_scale(struct workload *workload, double load)
{
    for (size_t i = 0; i < workload->count; i++)
        if (workload->requests[i].follows == WORK_FOLLOWS_NONE)
            workload->requests[i].at_s /= load;
}

/* What follows nobody any more arrives at the very beginning. */
static void unlink_skipped(struct work_request *request, size_t skipped)
{
    if (request->follows == WORK_FOLLOWS_NONE)
        return;
    if (request->follows >= skipped) {
        request->follows -= (uint32_t)skipped;
        return;
    }
    request->follows = WORK_FOLLOWS_NONE;
    request->at_s = -1.0;
}

static double first_arrival(const struct workload *workload)
{
    double first = WORK_MAX_SECONDS;

    for (size_t i = 0; i < workload->count; i++) {
        const struct work_request *request = &workload->requests[i];

        if (request->follows == WORK_FOLLOWS_NONE && request->at_s >= 0.0)
            first = fmin(first, request->at_s);
    }
    return first;
}

void workload_skip(struct workload *workload, size_t count)
{
    double first;

    count = least(workload->count, count);
    workload->count -= count;
    memmove(workload->requests, workload->requests + count,
            workload->count * sizeof *workload->requests);
    for (size_t i = 0; i < workload->count; i++)
        unlink_skipped(&workload->requests[i], count);
    first = first_arrival(workload);
    for (size_t i = 0; i < workload->count; i++) {
        struct work_request *request = &workload->requests[i];

        if (request->follows == WORK_FOLLOWS_NONE)
            request->at_s = fmax(request->at_s - first, 0.0);
    }
}

void workload_truncate(struct workload *workload, size_t limit)
{
    workload->count = least(workload->count, limit);
}

void workload_hide_sessions(struct workload *workload)
{
    for (size_t i = 0; i < workload->count; i++)
        workload->requests[i].session = 0;
}
