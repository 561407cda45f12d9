/* SPDX-License-Identifier: MIT */
/* What another router tells of prompts and sessions. */
#include "state/delta.h"
#include "state/group.h"

/* Bytes of an entry, at least. */
#define LEAST_PROMPT 4
#define LEAST_SESSION 10

/* ---- prompts ---- */

/* The latest prompt of a section, whose symbols are in the buffer. */
struct told {
    struct lbr_comparison comparison;
    uint64_t root, client;
    size_t length;
};

static void note_length(struct lbr_delta_reading *reading,
                        struct lbr_reader *reader, size_t length)
{
    reading->symbols += length;
    if (length > reading->longest)
        reading->longest = length;
    lbr_demand(reader, reading->symbols <= LBR_DELTA_MOST_SYMBOLS);
}

/* Goes on from what both have in common. */
static void get_symbols(struct lbr_delta_reading *reading,
                        struct lbr_reader *reader, struct told *told)
{
    uint32_t unit = lbr_delta_unit(&told->comparison);
    size_t same = (size_t)lbr_get_count(reader, told->length);
    size_t rest = (size_t)lbr_get_number(reader, 1);

    lbr_demand(reader, !(same % unit) && !(rest % unit));
    note_length(reading, reader, same + rest);
    if (reading->router && rest && !reader->broken)
        lbr_get_units(reader, reading->prompt + same, rest, unit);
    else
        (void)lbr_get_bytes(reader, rest);
    told->length = same + rest;
}

static void get_prompt(struct lbr_delta_reading *reading,
                       struct lbr_reader *reader, struct told *told)
{
    unsigned marks = lbr_get_u8(reader);

    lbr_demand(reader, marks <= LBR_DELTA_MARKS);
    if (marks & LBR_DELTA_ROOT)
        told->root = lbr_get_u64(reader);
    if (marks & LBR_DELTA_CLIENT)
        told->client = lbr_get_u64(reader);
    get_symbols(reading, reader, told);
}

/* As if it had been sent from here. */
static void record(const struct lbr_delta_reading *reading,
                   struct lbr_target *target, const struct told *told)
{
    const struct lbr_params *params = &target->pool->params;
    struct lbr_group *group = target->by_pool.group;
    struct lbr_trie_match match =
        lbr_trie_find(group->trie, told->root, reading->prompt, told->length);

    if (group->trie_kind != LBR_TRIE_SHARED)
        lbr_trie_record(group->trie, match, told->root, reading->prompt,
                        told->length, &target->prefixes.owner,
                        params->cache_budget);
    else
        lbr_shared_record(group->prefixes, match, told->root, reading->prompt,
                          told->length, &target->prefixes,
                          reading->same_key ? told->client : 0,
                          reading->router->clock, &params->kv);
}

static void take_prompt(const struct lbr_delta_reading *reading,
                        struct lbr_target *target, const struct told *told)
{
    if (!target || !told->length ||
        !lbr_group_compares(target->by_pool.group, &told->comparison)) {
        reading->result->prompts_skipped++;
        return;
    }
    record(reading, target, told);
    reading->result->prompts++;
}

void lbr_delta_read_prompts(struct lbr_delta_reading *reading,
                            struct lbr_reader *reader)
{
    struct told told = {{0, 0, 0}, 0, 0, 0};
    uint64_t count;

    told.comparison = lbr_get_comparison(reader);
    count = lbr_get_number(reader, LEAST_PROMPT);
    while (count-- && !reader->broken) {
        struct lbr_target *target = lbr_delta_get_target(reading, reader);

        get_prompt(reading, reader, &told);
        if (reading->router && !reader->broken)
            take_prompt(reading, target, &told);
    }
}

/* ---- sessions ---- */

/* Whether a pin to |target| at |at| holds against the one that is known: the
 * later one does, and of two at the same time that to the first name. */
static int holds(const struct lbr_delta_reading *reading,
                 const struct lbr_session *known,
                 const struct lbr_target *target, uint64_t at)
{
    const struct lbr_target *other;

    if (!known || known->used_at < at)
        return 1;
    other = lbr_router_target(reading->router, known->target);
    if (!other || other == target)
        return !other || known->used_at == at;
    return known->used_at == at &&
           lbr_text_compare(target->name, other->name) < 0;
}

static void take_session(const struct lbr_delta_reading *reading,
                         struct lbr_target *target, uint64_t key, uint64_t at)
{
    struct lbr_sessions *sessions = &reading->router->sessions;
    const struct lbr_session *known = lbr_sessions_known(sessions, key);

    if (!target || !reading->same_key || !holds(reading, known, target, at)) {
        reading->result->sessions_skipped++;
        return;
    }
    lbr_sessions_learn(sessions, key, target->slot.handle, &target->sessions,
                       at);
    reading->result->sessions++;
}

void lbr_delta_read_sessions(struct lbr_delta_reading *reading,
                             struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_SESSION);

    while (count-- && !reader->broken) {
        uint64_t key = lbr_get_u64(reader);
        struct lbr_target *target = lbr_delta_get_target(reading, reader);
        uint64_t at = lbr_get_age(reader);

        if (reading->router && !reader->broken)
            take_session(reading, target, key, at);
    }
}
