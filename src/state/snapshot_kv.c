/* SPDX-License-Identifier: MIT */
/* Sources of KV events and what is resident by them.
 *
 *     number of sources
 *     source: target, number, block size, 1: restarted + 2: known in part,
 *             when it was heard, its sequence, blocks that wait for others
 *     …
 *     labels, by the place of their source in this list
 */
#include "models/kv_index_room.h"
#include "models/kv_index_saved.h"
#include "state/kv_sizes.h"
#include "state/snapshot.h"

/* Bytes of a source, at least. */
#define LEAST_SOURCE 27

/* ---- saving ---- */

/* A batch that has begun and is being taken over. */
static uint64_t open_number(const struct lbr_kv_source *source)
{
    return source->open == LBR_KV_OPEN_APPLY ? source->open_stamp.number
                                             : LBR_KV_NO_NUMBER;
}

static void put_source(struct lbr_saving *saving,
                       const struct lbr_kv_source *source)
{
    struct lbr_writer *writer = saving->writer;

    lbr_put_count(writer, source->target->slot.spare);
    lbr_put_u32(writer, source->number);
    lbr_put_count(writer, source->block_size);
    lbr_put_u8(writer, (uint8_t)(source->restarted | (source->partial << 1)));
    lbr_put_age(writer, source->heard_at);
    lbr_kv_sequence_save(&source->sequence, open_number(source), writer);
    lbr_kv_waiting_save(source->owner, writer);
}

/* Marks the sources of a target that were heard from |count| + 1 on, and writes
 * them. */
static void put_sources(struct lbr_saving *saving,
                        const struct lbr_target *target, uint32_t *count,
                        int write)
{
    const struct lbr_link *link;

    for (link = target->kv.sources.next; link != &target->kv.sources;
         link = link->next) {
        const struct lbr_kv_source *source =
            LBR_OWNER(link, const struct lbr_kv_source, siblings);

        if (source->heard_at == LBR_NEVER)
            continue;
        ++*count;
        if (source->owner)
            lbr_kv_mark(source->owner, *count);
        if (write)
            put_source(saving, source);
    }
}

void lbr_save_kv(struct lbr_saving *saving)
{
    struct lbr_kv_index *index = &saving->router->kv.index;
    uint32_t count = 0;
    uint32_t i;

    lbr_section_begin(saving, LBR_SECTION_KV);
    lbr_kv_marks_clear(index);
    for (i = 0; i < saving->target_count; i++)
        put_sources(saving, saving->targets[i], &count, 0);
    lbr_put_count(saving->writer, count);
    for (count = 0, i = 0; i < saving->target_count; i++)
        put_sources(saving, saving->targets[i], &count, 1);
    if (!lbr_kv_index_save(index, saving->writer))
        saving->failed = 1;
    lbr_section_end(saving);
}

/* ---- loading ---- */

/* A source that the router has not heard of, or NULL. */
static struct lbr_kv_source *take_source(struct lbr_loading *loading,
                                         uint32_t number, uint32_t source)
{
    struct lbr_target *target = lbr_load_target(loading, number).target;
    struct lbr_kv_source *taken;

    if (!loading->same_key || !target ||
        lbr_kv_source_find(&target->kv, source) ||
        lbr_kv_source_get(&loading->router->kv, target, &target->kv, source,
                          &taken) != LBROUTE_OK) {
        loading->result->kv_sources_skipped++;
        return NULL;
    }
    loading->result->kv_sources++;
    taken->slot.spare = 1;
    return taken;
}

static struct lbr_kv_owner *load_source(struct lbr_loading *loading,
                                        struct lbr_reader *reader)
{
    uint32_t number = lbr_get_target(loading, reader);
    uint32_t named = lbr_get_u32(reader);
    struct lbr_kv_source read = {0};
    struct lbr_kv_source *source = NULL;
    uint8_t how;

    read.block_size = (uint32_t)lbr_get_count(reader, UINT32_MAX);
    how = lbr_get_u8(reader);
    read.heard_at = lbr_get_age(reader);
    lbr_kv_sequence_load(&read.sequence, reader);
    lbr_demand(reader, named != UINT32_MAX && how <= 3);
    if (loading->stage == LBR_LOAD_TAKE && !reader->broken)
        source = take_source(loading, number, named);
    if (source) {
        source->block_size = read.block_size;
        source->restarted = how & 1;
        lbr_kv_source_set_partial(&loading->router->kv, source, how >> 1);
        source->heard_at = read.heard_at;
        source->sequence = read.sequence;
        lbr_kv_waiting_load(&loading->router->kv.index, source->owner, reader);
        return source->owner;
    }
    lbr_kv_waiting_load(NULL, NULL, reader);
    return NULL;
}

static void load_all(struct lbr_loading *loading, struct lbr_reader *reader,
                     struct lbr_kv_owner **owners, uint32_t count)
{
    struct lbr_kv_loading labels = {NULL, owners, count, 0, 0};
    uint32_t i;

    for (i = 0; i < count && !reader->broken; i++) {
        struct lbr_kv_owner *owner = load_source(loading, reader);

        if (owners)
            owners[i] = owner;
    }
    if (owners)
        labels.index = &loading->router->kv.index;
    lbr_kv_index_load(&labels, reader);
    loading->result->kv_blocks += labels.added;
    loading->result->kv_blocks_skipped += labels.dropped;
}

void lbr_load_kv(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint32_t count = (uint32_t)lbr_get_number(reader, LEAST_SOURCE);
    struct lbr_kv_owner **owners = NULL;

    if (loading->stage == LBR_LOAD_SET) {
        (void)lbr_get_bytes(reader, reader->left);
        return;
    }
    if (loading->stage == LBR_LOAD_TAKE && count) {
        owners =
            lbr_memory_new(&loading->router->memory, count, sizeof *owners);
        if (!owners)
            return;
    }
    load_all(loading, reader, owners, count);
    if (owners)
        lbr_memory_free(&loading->router->memory, owners, count,
                        sizeof *owners);
}

/* ---- the end of it ---- */

void lbr_conclude_kv(struct lbr_loading *loading, int kept)
{
    struct lbr_kv_store *store = &loading->router->kv;
    struct lbr_kv_source *source;
    uint64_t handle = 0;

    while ((source = lbr_slab_next(&store->sources, handle)) != NULL) {
        int restored = source->slot.spare != 0;

        handle = source->slot.handle;
        source->slot.spare = 0;
        if (restored && kept)
            lbr_kv_sizes_renew(source->target->pool);
        else if (restored)
            lbr_kv_source_drop(store, source);
    }
    if (!kept)
        lbr_kv_room_sweep_owner(&store->index);
}
