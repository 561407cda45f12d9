/* SPDX-License-Identifier: MIT */
#include "kv_shadow.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

void kv_shadow_init(struct kv_shadow *shadow, const struct kv_stream *stream)
{
    *shadow = (struct kv_shadow){.stream = stream, .begins = true};
    shadow->copies =
        grow_zeroed(stream->workload->distinct_ids, sizeof *shadow->copies);
}

void kv_shadow_release(struct kv_shadow *shadow)
{
    free(shadow->copies);
    free(shadow->arrived);
    free(shadow->guessed);
    *shadow = (struct kv_shadow){0};
}

static void empty(struct kv_shadow *shadow)
{
    memset(shadow->copies, 0,
           shadow->stream->workload->distinct_ids * sizeof *shadow->copies);
}

void kv_shadow_clear(struct kv_shadow *shadow)
{
    empty(shadow);
    shadow->begins = true;
    shadow->next = shadow->seen;
}

/* What was there before the first batch is not known, so it may be removed
 * without having been stored. */
static void count_batch(struct kv_shadow *shadow, const struct kv_batch *batch)
{
    const struct kv_log *log = &shadow->stream->log;
    const uint32_t *ids = log->ids + batch->first_id;

    for (size_t i = 0; i < batch->change_count; i++) {
        const struct kv_change *change = &log->changes[batch->first_change + i];

        for (uint32_t k = 0; k < change->count; k++) {
            uint32_t *copies = &shadow->copies[*ids++];

            if (change->kind == KV_STORED)
                ++*copies;
            else if (*copies > 0)
                --*copies;
        }
    }
}

static void mark_arrived(struct kv_shadow *shadow, size_t index)
{
    size_t before = shadow->arrived_capacity;

    shadow->arrived = grow_array(shadow->arrived, &shadow->arrived_capacity,
                                 index + 1, sizeof *shadow->arrived);
    for (size_t i = before; i < shadow->arrived_capacity; i++)
        shadow->arrived[i] = false;
    shadow->arrived[index] = true;
    if (index >= shadow->seen)
        shadow->seen = index + 1;
}

void kv_shadow_arrive(struct kv_shadow *shadow, size_t index)
{
    const struct kv_batch *batches = shadow->stream->batches;
    size_t process = index - (size_t)batches[index].seq;

    if (process != shadow->process) {
        empty(shadow);
        shadow->process = process;
        shadow->next = process;
    }
    if (shadow->begins)
        shadow->next = index;
    shadow->begins = false;
    mark_arrived(shadow, index);
    while (shadow->next < shadow->seen && shadow->arrived[shadow->next])
        count_batch(shadow, &batches[shadow->next++]);
}

bool kv_shadow_known(const struct kv_shadow *shadow)
{
    return shadow->next == shadow->seen;
}

uint32_t kv_shadow_run(const struct kv_shadow *shadow, const uint32_t *ids,
                       uint32_t count)
{
    uint32_t run = 0;

    while (kv_shadow_known(shadow) && run < count &&
           shadow->copies[ids[run]] > 0)
        run++;
    return run;
}

void kv_shadow_guess(struct kv_shadow *shadow, const uint32_t *ids,
                     uint32_t count, uint64_t until)
{
    if (shadow->guessed == NULL)
        shadow->guessed = grow_zeroed(shadow->stream->workload->distinct_ids,
                                      sizeof *shadow->guessed);
    for (uint32_t i = 0; i < count; i++)
        shadow->guessed[ids[i]] = until;
}

uint32_t kv_shadow_guessed_run(const struct kv_shadow *shadow,
                               const uint32_t *ids, uint32_t count,
                               uint64_t now)
{
    uint32_t run = 0;

    while (shadow->guessed != NULL && run < count &&
           now < shadow->guessed[ids[run]])
        run++;
    return run;
}
