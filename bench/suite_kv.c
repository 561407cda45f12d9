/* SPDX-License-Identifier: MIT */
/*
 * What is resident where, by KV events; see engines.h. One operation is a block
 * of 16 tokens, or a prompt of 128 blocks:
 *
 *     kv.store.N          a block of a prefill: one event for a conversation
 *     kv.store.decode.N   a block of one of 48 conversations that an engine
 * goes on with: an event each kv.remove.N         a block, an event each
 *     kv.pick.N           precise_cache_aware: pick + observe of a prompt
 *     kv.pick.new.N       the same of prompts of which nobody holds more than
 *                         the system prompt
 *     kv.pick.plain.N     least_connections, the same requests
 *     kv.match.N          the keys of a prompt looked up, alone
 *     kv.pick.p50.N, .p99.N   one pick, after a conversation was stored and one
 *                         removed
 *     kv.payload.FORM.N   a block of a prefill, from the bytes of a message;
 *                         fields by place (array) or by name (map)
 *     kv.memory.N         no time: bytes held for each block of each holder
 */
#include "engines.h"

#include "base/blocks.h"
#include "base/hash.h"
#include "state/router.h"
#include "support/pack.h"

#include <lbroute/ingest.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_BLOCKS = 150000, /* in a run */
    DECODING = 48,
    MATCHED = 16384, /* prompts of which the keys are at hand */
    SAMPLES = 4001
};

static void *open_engines(const bench_case *test)
{
    return bench_engines_open(test);
}

static void close_engines(void *fixture)
{
    bench_engines_close(fixture);
}

/* ---- events ---- */

static void remove_blocks(void *fixture, unsigned lane, uint64_t operations)
{
    (void)lane;
    for (uint64_t i = 0; i < operations; i += BENCH_KV_CHAT)
        bench_engines_remove(fixture);
}

static void store_blocks(void *fixture, unsigned lane, uint64_t operations)
{
    (void)lane;
    for (uint64_t i = 0; i < operations; i += BENCH_KV_CHAT)
        bench_engines_store(fixture);
}

static void make_room(void *fixture, uint64_t operations)
{
    remove_blocks(fixture, 0, operations);
}

static void fill_up(void *fixture, uint64_t operations)
{
    store_blocks(fixture, 0, operations);
}

static const bench_kind store = {.open = open_engines,
                                 .prepare = make_room,
                                 .work = store_blocks,
                                 .close = close_engines};
static const bench_kind take = {.open = open_engines,
                                .prepare = fill_up,
                                .work = remove_blocks,
                                .close = close_engines};

/* Conversations that engines go on with: DECODING at a time, from the system
 * prompt on, a block each with every batch. */
typedef struct decoding {
    bench_engines *engines;
    uint64_t first, end; /* groups in the caches; the last may have begun */
    size_t depth;        /* of the last one */
    uint64_t names[BENCH_KV_PROMPT][DECODING];
    uint32_t tokens[DECODING][BENCH_KV_TOKENS];
} decoding;

/* Far from those that are whole. */
static uint64_t decoded(uint64_t group, uint64_t which)
{
    return (UINT64_C(1) << 31) + group * DECODING + which;
}

static void *open_decoding(const bench_case *test)
{
    decoding *self = bench_alloc(1, sizeof *self);

    self->engines = bench_engines_open(test);
    self->depth = BENCH_KV_PROMPT;
    return self;
}

static void close_decoding(void *fixture)
{
    decoding *self = fixture;

    bench_engines_close(self->engines);
    free(self);
}

static void name_group(decoding *self, uint64_t group)
{
    for (size_t k = 0; k < DECODING; k++) {
        bench_engines_name(self->engines, decoded(group, k));
        for (size_t i = 0; i < BENCH_KV_PROMPT; i++)
            self->names[i][k] = self->engines->names[i];
        memcpy(self->tokens[k],
               self->engines->tokens + BENCH_KV_SYSTEM * BENCH_KV_TOKENS,
               sizeof self->tokens[k]);
    }
}

static size_t decoder_of(const decoding *self, uint64_t group)
{
    return (size_t)(group % self->engines->count);
}

static void remove_group(decoding *self, uint64_t group)
{
    for (size_t k = 0; k < DECODING; k++) {
        lbroute_kv_event *event = &self->engines->events[k];

        bench_engines_name(self->engines, decoded(group, k));
        event->kind = LBROUTE_KV_REMOVED;
        event->hashes = self->engines->names + BENCH_KV_SYSTEM;
        event->hash_count = BENCH_KV_CHAT;
        bench_engines_send(self->engines, decoder_of(self, group), 1);
        *event = self->engines->events[0];
    }
}

static void forget_groups(void *fixture, uint64_t operations)
{
    decoding *self = fixture;

    (void)operations;
    while (self->first < self->end)
        remove_group(self, self->first++);
    self->depth = BENCH_KV_PROMPT;
}

/* The next block of every conversation of the group. */
static void decode(decoding *self)
{
    if (self->depth == BENCH_KV_PROMPT) {
        name_group(self, self->end++);
        self->depth = BENCH_KV_SYSTEM;
    }
    for (size_t k = 0; k < DECODING; k++) {
        lbroute_kv_event *event = &self->engines->events[k];

        bench_engines_store_event(self->engines, event, self->depth, 1);
        event->parent = self->names[self->depth - 1][k];
        event->hashes = &self->names[self->depth][k];
        if (self->depth == BENCH_KV_SYSTEM)
            event->tokens = self->tokens[k];
    }
    bench_engines_send(self->engines, decoder_of(self, self->end - 1),
                       DECODING);
    self->depth++;
}

static void decode_blocks(void *fixture, unsigned lane, uint64_t operations)
{
    (void)lane;
    for (uint64_t i = 0; i < operations; i += DECODING)
        decode(fixture);
}

static const bench_kind store_decode = {.open = open_decoding,
                                        .prepare = forget_groups,
                                        .work = decode_blocks,
                                        .close = close_decoding};

/* ---- picks ---- */

static void pick_held(void *fixture, unsigned lane_number, uint64_t operations)
{
    bench_engines *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++) {
        bench_engines_turn_to(self, bench_engines_any(self, &lane->random));
        bench_lane_step(lane);
    }
    bench_keep(lane->decision.ticket);
}

static void pick_new(void *fixture, unsigned lane_number, uint64_t operations)
{
    bench_engines *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];

    for (uint64_t i = 0; i < operations; i++) {
        bench_engines_turn_to(self, decoded(i, 0));
        bench_lane_step(lane);
    }
    bench_keep(lane->decision.ticket);
}

static uint64_t clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) +
           (uint64_t)time.tv_nsec;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* One pick, after others had the caches of the processor. */
static uint64_t time_pick(bench_engines *self)
{
    bench_lane *lane = self->fleet->lanes[0];
    uint64_t began, took;

    bench_engines_remove(self);
    bench_engines_store(self);
    bench_engines_turn_to(self, bench_engines_any(self, &lane->random));
    began = clock_ns();
    bench_lane_pick(lane);
    took = clock_ns() - began;
    bench_lane_settle(lane);
    return took;
}

/* The time that |part| of the picks take at most. */
static double read_quantile(bench_engines *self, double part)
{
    uint64_t times[SAMPLES];

    for (size_t i = 0; i < SAMPLES; i++)
        times[i] = time_pick(self);
    qsort(times, SAMPLES, sizeof times[0], compare_times);
    return (double)times[(size_t)(part * (SAMPLES - 1))];
}

static double read_p50(void *fixture)
{
    return read_quantile(fixture, 0.5);
}

static double read_p99(void *fixture)
{
    return read_quantile(fixture, 0.99);
}

static const bench_kind held_pick = {
    .open = open_engines, .work = pick_held, .close = close_engines};
static const bench_kind new_pick = {
    .open = open_engines, .work = pick_new, .close = close_engines};
static const bench_kind p50 = {
    .open = open_engines, .read = read_p50, .close = close_engines};
static const bench_kind p99 = {
    .open = open_engines, .read = read_p99, .close = close_engines};

/* ---- the index alone ---- */

typedef struct matching {
    bench_engines *engines;
    size_t next;
    uint64_t keys[MATCHED][BENCH_KV_PROMPT];
} matching;

static void make_keys(bench_engines *engines, uint64_t *keys)
{
    enum { BYTES = BENCH_KV_TOKENS * sizeof engines->tokens[0] };
    uint64_t key =
        lbr_block_root(engines->fleet->routers[0]->kv_secret, NULL, 0);

    for (size_t i = 0; i < BENCH_KV_PROMPT; i++) {
        key = lbr_kv_key_after(
            key, lbr_hash(engines->tokens + i * BENCH_KV_TOKENS, BYTES));
        keys[i] = key;
    }
}

static void *open_matching(const bench_case *test)
{
    matching *self = bench_alloc(1, sizeof *self);
    uint64_t random = 1;

    self->engines = bench_engines_open(test);
    for (size_t i = 0; i < MATCHED; i++) {
        bench_engines_turn_to(self->engines,
                              bench_engines_any(self->engines, &random));
        make_keys(self->engines, self->keys[i]);
    }
    return self;
}

static void work_matching(void *fixture, unsigned lane, uint64_t operations)
{
    matching *self = fixture;
    struct lbr_kv_index *index = &self->engines->fleet->routers[0]->kv.index;
    uint64_t sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        lbr_kv_index_match(index, self->keys[self->next], BENCH_KV_PROMPT);
        self->next = (self->next + 1) % MATCHED;
        sum += index->met_count;
    }
    bench_keep(sum);
}

static void close_matching(void *fixture)
{
    matching *self = fixture;

    bench_engines_close(self->engines);
    free(self);
}

static const bench_kind match = {
    .open = open_matching, .work = work_matching, .close = close_matching};

/* ---- payloads ---- */

/* A message whose numbers are replaced in place: the names of the blocks, and
 * the number of the conversation. */
typedef struct message {
    bench_engines *engines;
    struct pack bytes;
    size_t names_at, number_at;
} message;

static void pack_names(message *self)
{
    pack_array(&self->bytes, BENCH_KV_CHAT);
    self->names_at = self->bytes.length;
    for (size_t i = 0; i < BENCH_KV_CHAT; i++)
        pack_uint(&self->bytes, UINT64_MAX);
}

static void pack_tokens(message *self)
{
    const uint32_t *tokens =
        self->engines->tokens + BENCH_KV_SYSTEM * BENCH_KV_TOKENS;

    pack_array(&self->bytes, BENCH_KV_CHAT * BENCH_KV_TOKENS);
    self->number_at = self->bytes.length;
    for (size_t i = 0; i < BENCH_KV_CHAT * BENCH_KV_TOKENS; i++)
        pack_uint(&self->bytes, tokens[i]);
}

/* Fields by place, as vLLM 0.22 writes them. */
static void pack_fields(message *self)
{
    pack_array(&self->bytes, 9);
    pack_str(&self->bytes, "BlockStored");
    pack_names(self);
    pack_uint(&self->bytes, self->engines->names[BENCH_KV_SYSTEM - 1]);
    pack_tokens(self);
    pack_uint(&self->bytes, BENCH_KV_TOKENS);
    pack_nil(&self->bytes);
    pack_str(&self->bytes, "GPU");
    pack_nil(&self->bytes);
    pack_nil(&self->bytes);
}

/* Fields by name, as vLLM 0.24 does. */
static void pack_named_fields(message *self)
{
    pack_map(&self->bytes, 8);
    pack_str(&self->bytes, "type");
    pack_str(&self->bytes, "BlockStored");
    pack_str(&self->bytes, "block_hashes");
    pack_names(self);
    pack_str(&self->bytes, "parent_block_hash");
    pack_uint(&self->bytes, self->engines->names[BENCH_KV_SYSTEM - 1]);
    pack_str(&self->bytes, "token_ids");
    pack_tokens(self);
    pack_str(&self->bytes, "block_size");
    pack_uint(&self->bytes, BENCH_KV_TOKENS);
    pack_str(&self->bytes, "lora_id");
    pack_nil(&self->bytes);
    pack_str(&self->bytes, "medium");
    pack_str(&self->bytes, "GPU");
    pack_str(&self->bytes, "lora_name");
    pack_nil(&self->bytes);
}

static message *open_message(const bench_case *test, void (*fields)(message *))
{
    message *self = bench_alloc(1, sizeof *self);

    self->engines = bench_engines_open(test);
    pack_array(&self->bytes, 3);
    pack_double(&self->bytes, 1);
    pack_array(&self->bytes, 1);
    fields(self);
    pack_uint(&self->bytes, 0);
    return self;
}

static void *open_array(const bench_case *test)
{
    return open_message(test, pack_fields);
}

static void *open_map(const bench_case *test)
{
    return open_message(test, pack_named_fields);
}

static void close_message(void *fixture)
{
    message *self = fixture;

    bench_engines_close(self->engines);
    pack_free(&self->bytes);
    free(self);
}

/* Most significant byte first, behind the byte that says what follows. */
static void put_number(unsigned char *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        at[1 + i] = (unsigned char)(value >> 8 * (width - 1 - i));
}

static void write_hold(message *self, uint64_t hold)
{
    const bench_engines *engines = self->engines;
    unsigned char *names = self->bytes.bytes + self->names_at;
    unsigned char *number = self->bytes.bytes + self->number_at;

    bench_engines_name(self->engines, bench_engines_conversation(hold));
    for (size_t i = 0; i < BENCH_KV_CHAT; i++)
        put_number(names + 9 * i, engines->names[BENCH_KV_SYSTEM + i], 8);
    for (size_t i = 0; i < 2; i++)
        put_number(number + 5 * i,
                   engines->tokens[BENCH_KV_SYSTEM * BENCH_KV_TOKENS + i], 4);
}

static void read_messages(void *fixture, unsigned lane, uint64_t operations)
{
    message *self = fixture;
    bench_engines *engines = self->engines;
    const bench_lane *feed = engines->fleet->lanes[lane];

    for (uint64_t i = 0; i < operations; i += BENCH_KV_CHAT) {
        size_t engine = bench_engines_holder(engines, engines->end);

        write_hold(self, engines->end++);
        bench_check(lbroute_ingest_kv_events(
                        feed->router, engines->targets[engine], 0,
                        engines->batches[engine]++, self->bytes.bytes,
                        self->bytes.length, feed->now, NULL, NULL),
                    "ingest_kv_events");
    }
}

static void make_room_for_messages(void *fixture, uint64_t operations)
{
    make_room(((message *)fixture)->engines, operations);
}

static const bench_kind read_array = {.open = open_array,
                                      .prepare = make_room_for_messages,
                                      .work = read_messages,
                                      .close = close_message};
static const bench_kind read_map = {.open = open_map,
                                    .prepare = make_room_for_messages,
                                    .work = read_messages,
                                    .close = close_message};

/* ---- memory ---- */

static double read_memory(void *fixture)
{
    const bench_engines *self = fixture;
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    bench_check(lbroute_get_stats(self->fleet->routers[0], &stats), "stats");
    return (double)(stats.memory_bytes - self->memory_before) /
           (double)bench_engines_held(self);
}

static const bench_kind memory = {.open = open_engines,
                                  .close = close_engines,
                                  .read = read_memory,
                                  .unit = "bytes for each block of a target"};

static bench_case *add(bench_list *list, const bench_kind *kind,
                       const char *name, size_t targets)
{
    bench_case *test = bench_list_add_sized(list, kind, name, targets);

    test->strategy = "precise_cache_aware";
    test->kv_blocks = BENCH_KV_ROOM;
    return test;
}

static void add_events(bench_list *list, size_t targets)
{
    add(list, &store, "kv.store", targets)->most_operations = MOST_BLOCKS;
    add(list, &store_decode, "kv.store.decode", targets)->most_operations =
        MOST_BLOCKS;
    add(list, &take, "kv.remove", targets)->most_operations = MOST_BLOCKS;
}

static void add_payload(bench_list *list, const bench_kind *kind,
                        const char *name, size_t targets)
{
    bench_case *test = add(list, kind, name, targets);

    test->most_operations = MOST_BLOCKS;
    test->budget_ns = 150;
}

static void add_picks(bench_list *list, size_t targets)
{
    add(list, &held_pick, "kv.pick.plain", targets)->strategy =
        "least_connections";
    bench_case_compare(add(list, &held_pick, "kv.pick", targets),
                       BENCH_COMPARE_TIME, "kv.pick.plain");
    add(list, &new_pick, "kv.pick.new", targets);
    add(list, &match, "kv.match", targets)->budget_ns = 2000;
    add(list, &p50, "kv.pick.p50", targets)->budget_ns = 2000;
    add(list, &p99, "kv.pick.p99", targets)->budget_ns = 5000;
}

void bench_suite_kv(bench_list *list)
{
    for (size_t i = 1; i < BENCH_PROMPT_SIZES; i++) {
        add_events(list, bench_prompt_sizes[i]);
        add_picks(list, bench_prompt_sizes[i]);
        add_payload(list, &read_array, "kv.payload.array",
                    bench_prompt_sizes[i]);
        add_payload(list, &read_map, "kv.payload.map", bench_prompt_sizes[i]);
        add(list, &memory, "kv.memory", bench_prompt_sizes[i]);
    }
}
