/* SPDX-License-Identifier: MIT */
#include "state/snapshot.h"

#include "state/registry.h"
#include "state/target_list.h"

static const unsigned char magic[8] = {'l', 'b', 'r', 's', 'n', 'a', 'p', 0x1a};

/* ---- saving ---- */

void lbr_section_begin(struct lbr_saving *saving, enum lbr_section kind)
{
    saving->section = lbr_section_open(saving->writer, (uint32_t)kind);
}

void lbr_section_end(struct lbr_saving *saving)
{
    lbr_section_close(saving->writer, saving->section);
}

/* Lists all targets in the order of their names, and numbers them. */
static int list_targets(struct lbr_saving *saving)
{
    struct lbr_slab *slab = &saving->router->targets;
    struct lbr_target *target = NULL;
    uint32_t i = 0;

    saving->target_count = slab->live;
    saving->targets = NULL;
    if (!slab->live)
        return 1;
    saving->targets = lbr_memory_new(&saving->router->memory, slab->live,
                                     sizeof *saving->targets);
    if (!saving->targets)
        return 0;
    while ((target = lbr_slab_next(slab, target ? target->slot.handle : 0)) !=
           NULL)
        saving->targets[i++] = target;
    lbr_target_list_arrange(saving->targets, slab->live);
    return 1;
}

static void save_targets(struct lbr_saving *saving)
{
    lbr_section_begin(saving, LBR_SECTION_TARGETS);
    lbr_target_list_put(saving->writer, saving->targets, saving->target_count);
    lbr_section_end(saving);
}

static void save_key(struct lbr_saving *saving)
{
    lbr_section_begin(saving, LBR_SECTION_KEY);
    lbr_put_u64(saving->writer, lbr_router_key_check(saving->router));
    lbr_section_end(saving);
}

static void save_sections(struct lbr_saving *saving)
{
    save_targets(saving);
    save_key(saving);
    lbr_save_pools(saving);
    lbr_save_health(saving);
    lbr_save_turns(saving);
    lbr_save_shares(saving);
    lbr_save_latency(saving);
    lbr_save_adapters(saving);
    lbr_save_prices(saving);
    lbr_save_sessions(saving);
    lbr_save_prefixes(saving);
    lbr_save_kv(saving);
}

int lbr_snapshot_save(struct lbroute_router *router, struct lbr_writer *writer)
{
    struct lbr_saving saving = {router, writer, NULL, 0, 0, 0};

    if (!list_targets(&saving))
        return LBROUTE_ERR_NO_MEMORY;
    router->snapshots++;
    lbr_envelope_begin(writer, magic);
    save_sections(&saving);
    lbr_envelope_end(writer);
    lbr_memory_free(&router->memory, saving.targets, saving.target_count,
                    sizeof *saving.targets);
    return saving.failed ? LBROUTE_ERR_NO_MEMORY : LBROUTE_OK;
}

/* ---- targets ---- */

struct lbr_restored lbr_load_target(const struct lbr_loading *loading,
                                    uint32_t number)
{
    struct lbr_restored none = {NULL, 0, 0, 0};

    return loading->targets && number < loading->target_count
               ? loading->targets[number]
               : none;
}

uint32_t lbr_get_target(const struct lbr_loading *loading,
                        struct lbr_reader *reader)
{
    uint32_t number = (uint32_t)lbr_get_count(reader, UINT32_MAX);

    lbr_demand(reader, number < loading->target_count);
    return number;
}

static void match(struct lbr_loading *loading, uint32_t number,
                  struct lbr_text name)
{
    struct lbr_restored *restored = &loading->targets[number];

    restored->target = lbr_target_named(loading->router, name);
    restored->fresh = restored->target && !restored->target->picks;
    loading->result->targets_unknown += !restored->target;
    loading->result->targets_kept += restored->target && !restored->fresh;
    loading->result->targets += (uint32_t)restored->fresh;
}

/* Names ascend, so that none is there twice. */
static void load_targets(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, 2);
    struct lbr_text before = {NULL, 0};
    uint32_t i;

    loading->target_count = (uint32_t)count;
    for (i = 0; i < count && !reader->broken; i++) {
        struct lbr_text name = lbr_get_name(reader, &before);

        if (loading->stage == LBR_LOAD_TAKE && !reader->broken)
            match(loading, i, name);
    }
}

static void load_key(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint64_t value = lbr_get_u64(reader);

    if (loading->router)
        loading->same_key = value == lbr_router_key_check(loading->router);
}

/* ---- sections ---- */

static const struct {
    enum lbr_section kind;
    lbr_load_section *load;
} kinds[] = {
    {LBR_SECTION_TARGETS, load_targets},
    {LBR_SECTION_KEY, load_key},
    {LBR_SECTION_HEALTH, lbr_load_health},
    {LBR_SECTION_TURNS, lbr_load_turns},
    {LBR_SECTION_SHARES, lbr_load_shares},
    {LBR_SECTION_LATENCY, lbr_load_latency},
    {LBR_SECTION_ADAPTERS, lbr_load_adapters},
    {LBR_SECTION_PRICES, lbr_load_prices},
    {LBR_SECTION_SESSIONS, lbr_load_sessions},
    {LBR_SECTION_PREFIXES, lbr_load_prefixes},
    {LBR_SECTION_KV, lbr_load_kv},
    {LBR_SECTION_POOLS, lbr_load_pools},
};

/* How a section is loaded; NULL: it is passed over. */
static lbr_load_section *loader_of(const struct lbr_section_view *section)
{
    size_t i;

    for (i = 0; section->readable && i < sizeof kinds / sizeof kinds[0]; i++)
        if ((uint32_t)kinds[i].kind == section->kind)
            return kinds[i].load;
    return NULL;
}

/* Loads the next section; the |first| is that of the targets, no other is. */
static void load_section(struct lbr_loading *loading, struct lbr_reader *reader,
                         int first)
{
    struct lbr_section_view section = lbr_section_next(reader);
    lbr_load_section *load = loader_of(&section);

    lbr_demand(reader, first == (load == load_targets));
    if (reader->broken)
        return;
    if (load)
        load(loading, &section.body);
    else
        loading->result->sections_skipped += loading->stage == LBR_LOAD_TAKE;
    lbr_demand(reader, !load || (!section.body.broken && !section.body.left));
}

/* Goes through all sections once. Returns whether they are sound. */
static int load_sections(struct lbr_loading *loading, struct lbr_reader reader)
{
    int first = 1;

    while (reader.left && !reader.broken) {
        load_section(loading, &reader, first);
        first = 0;
    }
    return !reader.broken && !first;
}

int lbr_snapshot_check(const void *bytes, size_t length)
{
    struct lbr_loading loading = {LBR_LOAD_CHECK, NULL, NULL, 0, 0, 0, NULL};
    lbroute_restore_result ignored = {0};
    int result = lbr_envelope_check(bytes, length, magic);

    if (result)
        return result;
    loading.result = &ignored;
    return load_sections(&loading, lbr_envelope_open(bytes, length, 0, 0))
               ? LBROUTE_OK
               : LBROUTE_ERR_FORMAT;
}

/* ---- restoring ---- */

/* Number of targets in bytes that passed the check. */
static uint32_t count_targets(struct lbr_reader reader)
{
    (void)lbr_get_bytes(&reader, LBR_SECTION_HEADER);
    return (uint32_t)lbr_get_number(&reader, 2);
}

static void conclude(struct lbr_loading *loading, int kept)
{
    lbr_conclude_kv(loading, kept);
    lbr_conclude_prefixes(loading, kept);
    lbr_sessions_conclude(&loading->router->sessions, kept);
    lbr_conclude_prices(loading, kept);
}

/* What depends on what was set. */
static void renew(const struct lbr_loading *loading)
{
    uint32_t i;

    for (i = 0; i < loading->target_count; i++)
        if (loading->targets[i].target)
            lbr_target_changed(loading->targets[i].target);
}

/* Memory that was not there is noticed by the router's own count: nothing of
 * what is asked for below is let go without it. */
static int take_and_set(struct lbr_loading *loading, struct lbr_reader reader)
{
    uint64_t failures = loading->router->memory.failures;
    int taken;

    loading->stage = LBR_LOAD_TAKE;
    taken = load_sections(loading, reader) &&
            loading->router->memory.failures == failures;
    conclude(loading, taken);
    if (!taken)
        return LBROUTE_ERR_NO_MEMORY;
    loading->stage = LBR_LOAD_SET;
    (void)load_sections(loading, reader);
    renew(loading);
    return LBROUTE_OK;
}

int lbr_snapshot_load(struct lbroute_router *router, const void *bytes,
                      size_t length, uint64_t now, uint64_t elapsed,
                      lbroute_restore_result *result)
{
    struct lbr_loading loading = {LBR_LOAD_TAKE, router, NULL, 0, 0, 0, result};
    struct lbr_reader reader = lbr_envelope_open(bytes, length, now, elapsed);
    uint32_t count;
    int code;

    count = count_targets(reader);
    if (count) {
        loading.targets =
            lbr_memory_new(&router->memory, count, sizeof *loading.targets);
        if (!loading.targets)
            return LBROUTE_ERR_NO_MEMORY;
    }
    code = take_and_set(&loading, reader);
    result->same_key = loading.same_key;
    lbr_memory_free(&router->memory, loading.targets, count,
                    sizeof *loading.targets);
    return code;
}
