/* SPDX-License-Identifier: MIT */
#include "state/delta.h"
#include "state/registry.h"

/* Bytes of an entry, at least. */
#define LEAST_TARGET 2
#define LEAST_LOAD 5

static const unsigned char magic[LBR_MAGIC_LENGTH] = LBR_DELTA_MAGIC;

/* ---- sections ---- */

static void read_origin(struct lbr_delta_reading *reading,
                        struct lbr_reader *reader)
{
    reading->origin = lbr_get_u64(reader);
    reading->sequence = lbr_get_u64(reader);
    reading->key_check = lbr_get_u64(reader);
    lbr_demand(reader, reading->sequence > 0);
}

static void find_target(const struct lbr_delta_reading *reading,
                        uint32_t number, struct lbr_text name)
{
    struct lbr_target *target = lbr_target_named(reading->router, name);

    reading->targets[number] = target;
    reading->result->targets++;
    reading->result->targets_unknown += !target;
}

/* Names ascend, so that none is there twice. */
static void read_targets(struct lbr_delta_reading *reading,
                         struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_TARGET);
    struct lbr_text before = {NULL, 0};
    uint32_t i;

    reading->target_count = (uint32_t)count;
    for (i = 0; i < count && !reader->broken; i++) {
        struct lbr_text name = lbr_get_name(reader, &before);

        if (reading->router && !reader->broken)
            find_target(reading, i, name);
    }
}

static uint32_t get_number(const struct lbr_delta_reading *reading,
                           struct lbr_reader *reader)
{
    uint64_t number = lbr_get_count(reader, UINT32_MAX);

    lbr_demand(reader, number < reading->target_count);
    return (uint32_t)number;
}

struct lbr_target *lbr_delta_get_target(const struct lbr_delta_reading *reading,
                                        struct lbr_reader *reader)
{
    uint32_t number = get_number(reading, reader);

    return reading->router && !reader->broken ? reading->targets[number] : NULL;
}

static struct lbr_peer_row get_load(struct lbr_reader *reader)
{
    struct lbr_peer_row row = {0, 0, 0, 0, 0};

    row.in_flight = (uint32_t)lbr_get_count(reader, LBR_DELTA_MOST_REQUESTS);
    row.waiting = (uint32_t)lbr_get_count(reader, LBR_DELTA_MOST_REQUESTS);
    row.tokens = lbr_get_count(reader, LBR_DELTA_MOST_TOKENS);
    row.turns = lbr_get_count(reader, UINT64_MAX);
    return row;
}

/* Numbers ascend likewise. */
static void read_loads(struct lbr_delta_reading *reading,
                       struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_LOAD);
    uint32_t before = 0;
    uint32_t i;

    lbr_demand(reader, count <= reading->target_count);
    reading->row_count = (uint32_t)count;
    for (i = 0; i < count && !reader->broken; i++) {
        struct lbr_reader at = *reader;
        uint32_t number = get_number(reading, reader);
        const struct lbr_target *target = lbr_delta_get_target(reading, &at);
        struct lbr_peer_row row = get_load(reader);

        lbr_demand(reader, !i || number > before);
        before = number;
        row.target = target ? target->slot.handle : 0;
        if (reading->router)
            reading->rows[i] = row;
    }
}

/* ---- the whole ---- */

typedef void read_section(struct lbr_delta_reading *reading,
                          struct lbr_reader *reader);

static read_section *section_reader(const struct lbr_section_view *section)
{
    static read_section *const readers[] = {
        [LBR_DELTA_ORIGIN] = read_origin,
        [LBR_DELTA_TARGETS] = read_targets,
        [LBR_DELTA_LOADS] = read_loads,
        [LBR_DELTA_PROMPTS] = lbr_delta_read_prompts,
        [LBR_DELTA_SESSIONS] = lbr_delta_read_sessions,
    };

    return section->readable &&
                   section->kind < sizeof readers / sizeof readers[0]
               ? readers[section->kind]
               : NULL;
}

/* Whether a section of that kind may come now. */
static int may_come(struct lbr_delta_reading *reading, uint32_t kind)
{
    uint32_t bit = UINT32_C(1) << kind;
    uint32_t needed = kind == LBR_DELTA_ORIGIN ? 0
                      : kind == LBR_DELTA_TARGETS
                          ? 1U << LBR_DELTA_ORIGIN
                          : 1U << LBR_DELTA_ORIGIN | 1U << LBR_DELTA_TARGETS;

    if ((reading->seen & needed) != needed)
        return 0;
    if (kind != LBR_DELTA_PROMPTS && reading->seen & bit)
        return 0;
    reading->seen |= bit;
    return 1;
}

static void read_one(struct lbr_delta_reading *reading,
                     struct lbr_reader *reader)
{
    struct lbr_section_view section = lbr_section_next(reader);
    read_section *read = section_reader(&section);

    if (reader->broken)
        return;
    if (!read) {
        if (reading->router)
            reading->result->sections_skipped++;
        return;
    }
    lbr_demand(reader, may_come(reading, section.kind));
    if (!reader->broken)
        read(reading, &section.body);
    lbr_demand(reader, !section.body.broken && !section.body.left);
}

/* Returns whether all sections are sound. */
static int read_all(struct lbr_delta_reading *reading, struct lbr_reader reader)
{
    reading->seen = 0;
    reading->symbols = 0;
    while (reader.left && !reader.broken)
        read_one(reading, &reader);
    return !reader.broken && reading->seen & 1U << LBR_DELTA_TARGETS;
}

int lbr_delta_check(struct lbr_delta_reading *reading, const void *bytes,
                    size_t length)
{
    int result = lbr_envelope_check(bytes, length, magic);

    memset(reading, 0, sizeof *reading);
    if (result)
        return result;
    return read_all(reading, lbr_envelope_open(bytes, length, 0, 0))
               ? LBROUTE_OK
               : LBROUTE_ERR_FORMAT;
}

/* ---- taking over ---- */

static int take_room(struct lbr_delta_reading *reading,
                     struct lbr_memory *memory)
{
    uint64_t failures = memory->failures;

    if (reading->target_count)
        reading->targets = lbr_memory_new(memory, reading->target_count,
                                          sizeof *reading->targets);
    if (reading->row_count)
        reading->rows =
            lbr_memory_new(memory, reading->row_count, sizeof *reading->rows);
    if (reading->longest)
        reading->prompt = lbr_memory_new(memory, reading->longest, 1);
    return memory->failures == failures;
}

/* |rows| went to the peer, or did not. */
static void give_room(struct lbr_delta_reading *reading,
                      struct lbr_memory *memory)
{
    lbr_memory_free(memory, reading->targets, reading->target_count,
                    sizeof *reading->targets);
    lbr_memory_free(memory, reading->rows, reading->row_count,
                    sizeof *reading->rows);
    lbr_memory_free(memory, reading->prompt, reading->longest, 1);
}

/* The loads, unless later ones are known or they are too old. */
static void take_load(struct lbr_delta_reading *reading, struct lbr_peer *peer,
                      uint64_t written_at)
{
    struct lbroute_router *router = reading->router;
    uint64_t until = lbr_time_add(written_at, router->sharing.peers.ttl);

    if (reading->sequence < peer->latest || until <= router->clock) {
        reading->result->overtaken = 1;
        return;
    }
    lbr_peer_set_load(router, peer, reading->rows, reading->row_count, until);
    reading->rows = NULL;
}

static void take_all(struct lbr_delta_reading *reading, struct lbr_peer *peer,
                     struct lbr_reader reader)
{
    struct lbroute_router *router = reading->router;
    struct lbr_peers *peers = &router->sharing.peers;

    (void)read_all(reading, reader);
    take_load(reading, peer, lbr_time_since(reader.now, reader.elapsed));
    lbr_peer_note(peers, peer, reading->sequence);
    reading->result->missing = lbr_peer_missing(peer, reading->sequence);
    router->sharing.applied++;
}

int lbr_delta_take(struct lbr_delta_reading *reading,
                   struct lbroute_router *router, const void *bytes,
                   size_t length, uint64_t elapsed,
                   lbroute_delta_result *result)
{
    struct lbr_peer *peer =
        lbr_peer_find(&router->sharing.peers, reading->origin);
    int taken;

    result->own = reading->origin == router->sharing.origin;
    result->repeated = peer && lbr_peer_has(peer, reading->sequence);
    result->same_key = reading->key_check == lbr_router_key_check(router);
    if (result->own || result->repeated) {
        router->sharing.repeated++;
        return LBROUTE_OK;
    }
    reading->router = router;
    reading->result = result;
    reading->same_key = result->same_key;
    taken = take_room(reading, &router->memory);
    if (taken && !peer)
        peer = lbr_peer_add(router, reading->origin);
    taken = taken && peer;
    if (taken)
        take_all(reading, peer,
                 lbr_envelope_open(bytes, length, router->clock, elapsed));
    give_room(reading, &router->memory);
    return taken ? LBROUTE_OK : LBROUTE_ERR_NO_MEMORY;
}
