/* SPDX-License-Identifier: MIT */
#include "state/kv_source.h"

#include "base/clock.h"
#include "state/kv_aside.h"
#include "state/kv_row.h"

#include <math.h>

#define SOURCE_CHUNK_BITS 3
/* Operations of which the data is fetched before the first of them is done. */
#define AHEAD 32
enum { KIND_SOURCE = 9, KIND_INDEX = 10 };

/* ---- store ---- */

void lbr_kv_store_init(struct lbr_kv_store *store, struct lbr_memory *memory,
                       uint32_t blocks, uint32_t sources, uint64_t secret)
{
    memset(store, 0, sizeof *store);
    store->memory = memory;
    store->most_aside = lbr_kv_aside_limit(blocks);
    lbr_kv_index_init(&store->index, memory, KIND_INDEX, blocks, secret);
    lbr_slab_init(&store->sources, memory, KIND_SOURCE,
                  sizeof(struct lbr_kv_source), SOURCE_CHUNK_BITS, sources);
}

void lbr_kv_store_destroy(struct lbr_kv_store *store)
{
    struct lbr_kv_source *source = NULL;

    while ((source = lbr_slab_next(&store->sources,
                                   source ? source->slot.handle : 0)) != NULL)
        lbr_kv_aside_drop_all(store, source);
    lbr_slab_destroy(&store->sources);
    lbr_kv_index_destroy(&store->index);
}

size_t lbr_kv_store_estimate(uint32_t blocks, uint32_t sources)
{
    return lbr_kv_index_estimate(blocks) + lbr_kv_aside_estimate(blocks) +
           lbr_slab_estimate(sizeof(struct lbr_kv_source), SOURCE_CHUNK_BITS,
                             sources);
}

/* ---- sources of a target ---- */

void lbr_kv_side_init(struct lbr_kv_side *side)
{
    memset(side, 0, sizeof *side);
    lbr_list_init(&side->sources);
    side->asked_since = LBR_NEVER;
}

static struct lbr_kv_source *source_of(struct lbr_link *link)
{
    return LBR_OWNER(link, struct lbr_kv_source, siblings);
}

/* The first source whose number is not below |number|, or the end. */
static struct lbr_link *place_of(const struct lbr_kv_side *side,
                                 uint32_t number)
{
    struct lbr_link *link = side->sources.next;

    while (link != &side->sources && source_of(link)->number < number)
        link = link->next;
    return link;
}

struct lbr_kv_source *lbr_kv_source_find(const struct lbr_kv_side *side,
                                         uint32_t number)
{
    struct lbr_link *link = place_of(side, number);

    if (link == &side->sources || source_of(link)->number != number)
        return NULL;
    return source_of(link);
}

static int add_source(struct lbr_kv_store *store, struct lbr_target *target,
                      struct lbr_kv_side *side, uint32_t number,
                      struct lbr_kv_source **out)
{
    struct lbr_kv_source *source;
    struct lbr_kv_owner *owner;
    struct lbr_slot slot;
    void *object;
    int result = lbr_slab_reserve(&store->sources);

    if (result)
        return result;
    owner = lbr_kv_owner_add(&store->index, NULL);
    if (!owner)
        return LBROUTE_ERR_NO_MEMORY;
    (void)lbr_slab_take(&store->sources, &object);
    source = object;
    slot = source->slot;
    memset(source, 0, sizeof *source);
    source->slot = slot;
    source->target = target;
    source->number = number;
    source->owner = owner;
    source->heard_at = LBR_NEVER;
    owner->context = source;
    lbr_kv_sequence_init(&source->sequence);
    lbr_list_init(&source->aside);
    lbr_list_append(place_of(side, number), &source->siblings);
    *out = source;
    return LBROUTE_OK;
}

int lbr_kv_source_get(struct lbr_kv_store *store, struct lbr_target *target,
                      struct lbr_kv_side *side, uint32_t number,
                      struct lbr_kv_source **source)
{
    *source = lbr_kv_source_find(side, number);
    if (*source)
        return LBROUTE_OK;
    return add_source(store, target, side, number, source);
}

void lbr_kv_source_set_partial(struct lbr_kv_store *store,
                               struct lbr_kv_source *source, int partial)
{
    store->partial_sources += (uint32_t)partial;
    store->partial_sources -= (uint32_t)source->partial;
    source->partial = partial;
}

/* What it holds counts no more. The next store gives it a new owner. */
static void forget(struct lbr_kv_store *store, struct lbr_kv_source *source)
{
    source->row = LBR_KV_ROW_WAITS;
    if (source->owner)
        source->counts.evicted += source->owner->evicted;
    if (source->owner)
        lbr_kv_owner_retire(&store->index, source->owner);
    source->owner = NULL;
}

void lbr_kv_source_drop(struct lbr_kv_store *store,
                        struct lbr_kv_source *source)
{
    lbr_kv_aside_drop_all(store, source);
    forget(store, source);
    lbr_kv_source_set_partial(store, source, 0);
    lbr_list_remove(&source->siblings);
    lbr_slab_give(&store->sources, source);
}

void lbr_kv_side_purge(struct lbr_kv_store *store, struct lbr_kv_side *side)
{
    while (!lbr_list_empty(&side->sources))
        lbr_kv_source_drop(store, source_of(side->sources.next));
    if (side->speculation)
        lbr_kv_owner_retire(&store->index, side->speculation);
    side->speculation = NULL;
}

void lbr_kv_source_clear(struct lbr_kv_store *store,
                         struct lbr_kv_source *source)
{
    lbr_kv_aside_drop_all(store, source);
    forget(store, source);
    lbr_kv_sequence_init(&source->sequence);
    source->open = LBR_KV_OPEN_NONE;
    source->restarted = 0;
    source->counts.clears++;
}

/* ---- batches ---- */

static void open_batch(struct lbr_kv_source *source, enum lbr_kv_open open,
                       const struct lbr_kv_stamp *stamp, int outcome)
{
    source->open = open;
    source->open_stamp = *stamp;
    source->outcome = outcome;
    source->row = LBR_KV_ROW_WAITS;
    if (open == LBR_KV_OPEN_APPLY)
        source->counts.batches++;
}

static void begin_next(struct lbr_kv_source *source,
                       const struct lbr_kv_stamp *stamp, int outcome)
{
    lbr_kv_sequence_take(&source->sequence, stamp);
    open_batch(source, LBR_KV_OPEN_APPLY, stamp, outcome);
}

static void ignore(struct lbr_kv_source *source,
                   const struct lbr_kv_stamp *stamp)
{
    open_batch(source, LBR_KV_OPEN_IGNORE, stamp, LBROUTE_KV_DUPLICATE);
    source->counts.duplicates++;
}

static void begin_ahead(struct lbr_kv_store *store,
                        struct lbr_kv_source *source,
                        const struct lbr_kv_stamp *stamp, int outcome)
{
    if (lbr_kv_aside_has(source, stamp->number)) {
        ignore(source, stamp);
        return;
    }
    source->counts.gaps += !lbr_kv_sequence_broken(&source->sequence);
    lbr_kv_sequence_see(&source->sequence, stamp->number);
    source->open_aside = lbr_kv_aside_begin(store, source, stamp);
    open_batch(source,
               source->open_aside ? LBR_KV_OPEN_ASIDE : LBR_KV_OPEN_IGNORE,
               stamp, outcome);
}

static void begin_restarted(struct lbr_kv_store *store,
                            struct lbr_kv_source *source,
                            const struct lbr_kv_stamp *stamp)
{
    lbr_kv_aside_drop_all(store, source);
    forget(store, source);
    lbr_kv_source_set_partial(store, source, 0);
    lbr_kv_sequence_restart(&source->sequence);
    source->counts.restarts++;
    source->restarted = stamp->number != 0;
    if (source->restarted)
        begin_ahead(store, source, stamp, LBROUTE_KV_RESTARTED);
    else
        begin_next(source, stamp, LBROUTE_KV_RESTARTED);
}

/* A batch in parts of which the rest never came is missing, unless it has been
 * taken over as far as it came. */
static void give_up_open(struct lbr_kv_store *store,
                         struct lbr_kv_source *source)
{
    if (source->open == LBR_KV_OPEN_ASIDE)
        lbr_kv_aside_drop(store, source->open_aside);
    source->open = LBR_KV_OPEN_NONE;
}

void lbr_kv_source_begin(struct lbr_kv_store *store,
                         struct lbr_kv_source *source,
                         const struct lbr_kv_stamp *stamp)
{
    give_up_open(store, source);
    if (stamp->number == LBR_KV_NO_NUMBER) {
        open_batch(source, LBR_KV_OPEN_APPLY, stamp, LBROUTE_KV_APPLIED);
        return;
    }
    if (source->sequence.next == LBR_KV_NO_NUMBER)
        lbr_kv_source_set_partial(store, source, stamp->number != 0);
    switch (lbr_kv_sequence_judge(&source->sequence, stamp)) {
    case LBR_KV_ORDER_NEXT:
        begin_next(source, stamp, LBROUTE_KV_APPLIED);
        break;
    case LBR_KV_ORDER_AHEAD:
        begin_ahead(store, source, stamp, LBROUTE_KV_GAP);
        break;
    case LBR_KV_ORDER_RESTARTED:
        begin_restarted(store, source, stamp);
        break;
    default:
        ignore(source, stamp);
        break;
    }
}

/* Takes operations over, up to the end. */
static void apply(struct lbr_kv_store *store, struct lbr_kv_source *source,
                  const struct lbr_kv_op *ops, size_t count,
                  const struct lbr_kv_rules *rules, lbroute_kv_result *result)
{
    size_t i;

    lbr_kv_row_resume(store, source);
    for (i = 0; i < count; i++) {
        if (i % AHEAD == 0)
            lbr_kv_row_expect(store, source, ops + i,
                              count - i < AHEAD ? count - i : AHEAD);
        if (ops[i].verb == LBR_KV_EMPTY) {
            forget(store, source);
            lbr_kv_source_set_partial(store, source, 0);
            source->counts.clears++;
        } else if (!lbr_kv_row_apply(store, source, &ops[i], rules, result)) {
            forget(store, source);
            lbr_kv_source_set_partial(store, source, 1);
        }
    }
}

/* An emptied cache makes everything before it moot, missing or not. */
static void end_gap(struct lbr_kv_store *store, struct lbr_kv_source *source)
{
    int outcome = source->outcome == LBROUTE_KV_RESTARTED ? LBROUTE_KV_RESTARTED
                                                          : LBROUTE_KV_APPLIED;

    lbr_kv_aside_drop_until(store, source, source->open_stamp.number);
    begin_next(source, &source->open_stamp, outcome);
}

/* Where the first clear is, or |count|. */
static size_t first_clear(const struct lbr_kv_op *ops, size_t count)
{
    size_t i = 0;

    while (i < count && ops[i].verb != LBR_KV_EMPTY)
        i++;
    return i;
}

static void feed_ahead(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_op *ops, size_t count,
                       const struct lbr_kv_rules *rules,
                       lbroute_kv_result *result)
{
    size_t clear = first_clear(ops, count);

    if (clear < count) {
        end_gap(store, source);
        apply(store, source, ops + clear, count - clear, rules, result);
    } else if (source->open == LBR_KV_OPEN_ASIDE &&
               !lbr_kv_aside_append(store, source->open_aside, ops, count)) {
        lbr_kv_aside_drop(store, source->open_aside);
        source->open = LBR_KV_OPEN_IGNORE;
    }
}

void lbr_kv_source_feed(struct lbr_kv_store *store,
                        struct lbr_kv_source *source,
                        const struct lbr_kv_op *ops, size_t count,
                        const struct lbr_kv_rules *rules,
                        lbroute_kv_result *result)
{
    if (source->open == LBR_KV_OPEN_APPLY)
        apply(store, source, ops, count, rules, result);
    else if (source->outcome != LBROUTE_KV_DUPLICATE)
        feed_ahead(store, source, ops, count, rules, result);
}

void lbr_kv_source_end(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_rules *rules,
                       lbroute_kv_result *result)
{
    struct lbr_kv_aside *aside;

    source->open = LBR_KV_OPEN_NONE;
    while ((aside = lbr_kv_aside_first(source)) != NULL &&
           aside->stamp.number <= source->sequence.next) {
        if (aside->stamp.number == source->sequence.next) {
            begin_next(source, &aside->stamp, source->outcome);
            apply(store, source, aside->ops, aside->count, rules, result);
            source->open = LBR_KV_OPEN_NONE;
        }
        lbr_kv_aside_drop(store, aside);
    }
    if (!lbr_kv_sequence_broken(&source->sequence))
        source->restarted = 0;
}

/* ---- state ---- */

struct lbr_kv_hole lbr_kv_source_missing(const struct lbr_kv_source *source)
{
    const struct lbr_kv_aside *aside = lbr_kv_aside_first(source);
    uint64_t end = source->sequence.ahead;
    struct lbr_kv_hole hole = {0, 0, 0};

    if (!lbr_kv_sequence_broken(&source->sequence))
        return hole;
    if (aside && aside->stamp.number < end)
        end = aside->stamp.number;
    hole.first = source->sequence.next;
    hole.last = end - 1;
    hole.count = end - hole.first;
    return hole;
}

int lbr_kv_source_state(const struct lbr_kv_source *source,
                        const struct lbr_kv_side *side, uint64_t ttl)
{
    if (source->heard_at == LBR_NEVER)
        return LBROUTE_KV_SOURCE_NONE;
    if (lbr_kv_sequence_broken(&source->sequence))
        return source->restarted ? LBROUTE_KV_SOURCE_RESTARTED
                                 : LBROUTE_KV_SOURCE_GAP;
    if (side->asked_since != LBR_NEVER &&
        lbr_time_since(side->asked_until, side->asked_since) > ttl)
        return LBROUTE_KV_SOURCE_STALE;
    return LBROUTE_KV_SOURCE_FRESH;
}

int lbr_kv_side_partial(const struct lbr_kv_store *store,
                        const struct lbr_kv_side *side)
{
    const struct lbr_link *link = side->sources.next;

    if (!store->partial_sources)
        return 0;
    while (link != &side->sources &&
           !LBR_OWNER(link, struct lbr_kv_source, siblings)->partial)
        link = link->next;
    return link != &side->sources;
}

int lbr_kv_side_state(const struct lbr_kv_side *side, uint64_t ttl)
{
    int state = LBROUTE_KV_SOURCE_NONE;
    uint64_t heard_at = 0;
    const struct lbr_link *link;

    for (link = side->sources.next; link != &side->sources; link = link->next) {
        const struct lbr_kv_source *source =
            LBR_OWNER(link, struct lbr_kv_source, siblings);
        int its = lbr_kv_source_state(source, side, ttl);

        if (its == LBROUTE_KV_SOURCE_FRESH)
            return its;
        if (its && source->heard_at >= heard_at) {
            state = its;
            heard_at = source->heard_at;
        }
    }
    return state;
}
