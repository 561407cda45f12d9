/* SPDX-License-Identifier: MIT */
#include "workload_adapters.h"

#include "block_ids.h"
#include "draw.h"
#include "grow.h"
#include "workload_place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Separates these draws from the others of a seed. */
#define ADAPTER_STREAM UINT64_C(0x61646170)

/* sums[i] is the weight of the adapters up to number i + 1. */
static double *cumulate(const struct adapter_options *options)
{
    double *sums = grow_zeroed(options->adapters, sizeof *sums);
    double sum = 0.0;

    for (uint32_t i = 0; i < options->adapters; i++) {
        sum += pow((double)i + 1.0, -options->skew);
        sums[i] = sum;
    }
    return sums;
}

/* The content stays what it was, whoever's the block is now. */
static void note_content(struct workload *workload, uint32_t id,
                         uint32_t content)
{
    workload->contents =
        grow_array(workload->contents, &workload->content_capacity,
                   workload->distinct_ids, sizeof *workload->contents);
    workload->contents[id] = content;
}

/* Gives the blocks of a request ids that no other adapter's have. */
static void separate(struct workload *workload,
                     const struct work_request *request, struct block_ids *ids)
{
    size_t count = (request->input_tokens + request->output_tokens - 1) /
                   workload->block_tokens;

    for (size_t i = 0; i < count; i++) {
        uint32_t *id = &workload->ids[request->first_id + i];
        uint32_t content = *id;

        *id = block_ids_get(ids, request->adapter << 32 | content);
        note_content(workload, *id, content);
    }
}

void workload_draw_adapters(struct workload *workload,
                            const struct adapter_options *options)
{
    double *sums = cumulate(options);
    struct block_ids ids;

    workload->adapters = options->adapters;
    workload->distinct_ids = 0;
    block_ids_init(&ids, workload);
    for (size_t i = 0; i < workload->count; i++) {
        struct work_request *request = &workload->requests[i];

        request->adapter =
            draw_weighted(
                sums, options->adapters,
                workload_place(request, i, options->seed, ADAPTER_STREAM)) +
            1;
        separate(workload, request, &ids);
    }
    block_ids_release(&ids);
    free(sums);
}

void adapter_name(uint32_t adapter, char name[ADAPTER_NAME_MAX])
{
    snprintf(name, ADAPTER_NAME_MAX, "adapter-%" PRIu32, adapter);
}
