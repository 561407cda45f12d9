/* SPDX-License-Identifier: MIT */
#include "kv_log.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

static void add(struct kv_log *log, const struct kv_change *change,
                const uint32_t *ids)
{
    log->changes = grow_array(log->changes, &log->change_capacity,
                              log->change_count + 1, sizeof *log->changes);
    log->ids = grow_array(log->ids, &log->id_capacity,
                          log->id_count + change->count, sizeof *log->ids);
    log->changes[log->change_count++] = *change;
    memcpy(log->ids + log->id_count, ids, change->count * sizeof *ids);
    log->id_count += change->count;
}

void kv_log_stored(struct kv_log *log, const uint32_t *ids, uint32_t count,
                   uint32_t parent, uint32_t adapter)
{
    struct kv_change change = {KV_STORED, count, parent, adapter};

    add(log, &change, ids);
}

void kv_log_removed(struct kv_log *log, uint32_t id)
{
    struct kv_change change = {KV_REMOVED, 1, KV_NO_PARENT, 0};

    add(log, &change, &id);
}

void kv_log_cut(struct kv_log *log, size_t changes, size_t ids)
{
    log->change_count = changes;
    log->id_count = ids;
}

void kv_log_release(struct kv_log *log)
{
    free(log->changes);
    free(log->ids);
    *log = (struct kv_log){0};
}
