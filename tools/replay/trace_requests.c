/* SPDX-License-Identifier: MIT */
#include "trace_parse.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

/* Sizes that a block may have when it is not given: powers of two. */
enum { SMALLEST_BLOCK = 16, LARGEST_BLOCK = 4096 };

/* An id beyond this would be no whole number in a double-based JSON tool. */
static const json_int_t largest_id = INT64_C(1) << 53;

/* The column of an element of "hash_ids"; those before it are numbers. */
static size_t element_column(const struct trace_line *line, size_t index)
{
    size_t at = trace_member_column(line, "hash_ids", 0);

    while (index-- > 0)
        at += strcspn(line->text + at, ",") + 1;
    return at + strspn(line->text + at, " \t") + 1;
}

static bool append_id(struct trace_requests *requests, struct trace_line *line,
                      const json_t *item, size_t index)
{
    json_int_t id = json_integer_value(item);

    if (!json_is_integer(item) || id < 0 || id > largest_id)
        return trace_line_fail(line, element_column(line, index),
                               "\"hash_ids\" holds something that is not a "
                               "whole number from 0");
    requests->ids = grow_array(requests->ids, &requests->id_capacity,
                               requests->id_count + 1, sizeof *requests->ids);
    requests->ids[requests->id_count++] = (uint64_t)id;
    return true;
}

/* `hash_ids` may be absent: nothing is known of the content then. */
static bool read_ids(struct trace_requests *requests,
                     const struct trace_object *object,
                     struct work_request *request)
{
    size_t before = requests->id_count;
    const json_t *array;

    request->first_id = before;
    if (json_object_get(object->json, "hash_ids") == NULL)
        return true;
    if (!trace_get_array(object, "hash_ids", &array))
        return false;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!append_id(requests, object->line, json_array_get(array, i), i)) {
            requests->id_count = before;
            return false;
        }
    request->prompt_ids = (uint32_t)(requests->id_count - before);
    return true;
}

void trace_requests_append(struct trace_requests *requests,
                           const struct work_request *request)
{
    requests->requests =
        grow_array(requests->requests, &requests->capacity, requests->count + 1,
                   sizeof *requests->requests);
    requests->requests[requests->count++] = *request;
}

bool trace_requests_line(struct trace_requests *requests,
                         struct trace_line *line, const json_t *json)
{
    struct trace_object object = {line, json, 0};
    struct work_request request = {.follows = WORK_FOLLOWS_NONE};

    if (!trace_get_time(&object, &request.at_s) ||
        !trace_get_count(&object, "input_length", 1, WORK_MAX_TOKENS,
                         &request.input_tokens) ||
        !trace_get_count(&object, "output_length", 0, WORK_MAX_TOKENS,
                         &request.output_tokens) ||
        !trace_get_session(&object, &request.session) ||
        !read_ids(requests, &object, &request))
        return false;
    trace_requests_append(requests, &request);
    return true;
}

/* Tokens an id: the power of two that is nearest to the mean, which lies a
 * little below it where the last block of a prompt is named though not full,
 * and a little above it where it is not named. */
static uint32_t infer_block(const struct trace_requests *requests)
{
    double tokens = 0.0;
    uint32_t block = SMALLEST_BLOCK;

    for (size_t i = 0; i < requests->count; i++)
        if (requests->requests[i].prompt_ids > 0)
            tokens += (double)requests->requests[i].input_tokens;
    if (requests->id_count == 0)
        return SMALLEST_BLOCK;
    while (block < LARGEST_BLOCK &&
           tokens / (double)requests->id_count > (double)block * 1.4142135)
        block *= 2;
    return block;
}

static void add_request(struct workload *workload, struct block_ids *ids,
                        const struct trace_requests *requests,
                        const struct work_request *request, uint32_t *scratch)
{
    struct work_content content = {scratch, 0, NULL, 0};
    size_t full = request->input_tokens / workload->block_tokens;

    content.prompt_count =
        request->prompt_ids < full ? request->prompt_ids : full;
    for (size_t i = 0; i < content.prompt_count; i++)
        scratch[i] = block_ids_get(ids, requests->ids[request->first_id + i]);
    workload_add(workload, request, &content);
}

void trace_requests_finish(const struct trace_requests *requests,
                           const struct trace_options *options,
                           struct workload *workload)
{
    uint32_t *scratch = grow_zeroed(requests->id_count, sizeof *scratch);
    struct block_ids ids;

    workload_init(workload, options->block_tokens > 0 ? options->block_tokens
                                                      : infer_block(requests));
    block_ids_init(&ids, workload);
    for (size_t i = 0; i < requests->count; i++)
        add_request(workload, &ids, requests, &requests->requests[i], scratch);
    block_ids_release(&ids);
    free(scratch);
    workload_sort(workload);
}

void trace_requests_release(struct trace_requests *requests)
{
    free(requests->requests);
    free(requests->ids);
    *requests = (struct trace_requests){0};
}
