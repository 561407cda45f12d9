/* SPDX-License-Identifier: MIT */
#include "kv_model.h"

#include <math.h>
#include <string.h>

#include <lbroute/lbroute.h>

#include "check.h"

/* ---- what blocks spell ---- */

static int same_block(const struct kv_block *a, const struct kv_block *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static int same_chain(const struct kv_chain *a, const struct kv_chain *b)
{
    if (a->adapter != b->adapter || a->depth != b->depth || a->depth > KV_DEPTH)
        return 0;
    for (size_t i = 0; i < a->depth; i++)
        if (!same_block(&a->blocks[i], &b->blocks[i]))
            return 0;
    return 1;
}

static void extend(struct kv_chain *chain, const struct kv_block *block)
{
    if (chain->depth < KV_DEPTH)
        chain->blocks[chain->depth] = *block;
    if (chain->depth <= KV_DEPTH)
        chain->depth++;
}

/* ---- rows ---- */

static int resident(const struct kv_row *row)
{
    return row->copies[0] + row->copies[1] + row->copies[2] > 0;
}

static int has_children(const struct kv_row rows[KV_ROWS], uint8_t label)
{
    for (size_t i = 0; i < KV_ROWS; i++)
        if (rows[i].status == KV_PLACED && rows[i].has_parent &&
            rows[i].parent == label)
            return 1;
    return 0;
}

/* A block that is gone is remembered as long as it has children. */
static void drop_ends(struct kv_row rows[KV_ROWS])
{
    int dropped = 1;

    while (dropped) {
        dropped = 0;
        for (uint8_t i = 0; i < KV_ROWS; i++) {
            if (rows[i].status == KV_UNKNOWN || resident(&rows[i]) ||
                (rows[i].status == KV_PLACED && has_children(rows, i)))
                continue;
            rows[i].status = KV_UNKNOWN;
            dropped = 1;
        }
    }
}

static void add_copy(struct kv_row *row, int medium, int counts_copies)
{
    if (medium < 0)
        medium = LBROUTE_MEDIUM_GPU;
    row->copies[medium] += counts_copies || row->copies[medium] == 0;
}

/* What waits for the label, and for what is placed by that. */
static void link_waiting(struct kv_row rows[KV_ROWS], uint8_t label)
{
    for (uint8_t i = 0; i < KV_LABELS; i++) {
        struct kv_row *row = &rows[i];
        if (row->status != KV_WAITING || row->parent != label)
            continue;
        row->chain = rows[label].chain;
        extend(&row->chain, &row->own);
        row->status = KV_PLACED;
        link_waiting(rows, i);
    }
}

/* The row as the store says it, without copies. */
static struct kv_row told(const struct kv_row rows[KV_ROWS],
                          const struct kv_event *event, size_t i)
{
    struct kv_row row;

    memset(&row, 0, sizeof row);
    row.own = event->blocks[i];
    row.has_parent = i > 0 || event->has_parent;
    row.parent = i > 0 ? event->labels[i - 1] : event->parent;
    row.status = KV_PLACED;
    row.chain.adapter = event->adapter;
    if (row.has_parent && rows[row.parent].status != KV_PLACED)
        row.status = KV_WAITING;
    else if (row.has_parent)
        row.chain = rows[row.parent].chain;
    else if (event->salted)
        row.own.marks = (uint8_t)(row.own.marks * 4 + KV_SALT);
    extend(&row.chain, &row.own);
    return row;
}

static int same_row(const struct kv_row *a, const struct kv_row *b)
{
    if (a->status != b->status)
        return 0;
    if (a->status == KV_WAITING)
        return a->parent == b->parent && same_block(&a->own, &b->own);
    return same_chain(&a->chain, &b->chain);
}

/* Whether |ancestor| is |row|, or before it. */
static int descends(const struct kv_row rows[KV_ROWS], uint8_t row,
                    uint8_t ancestor)
{
    while (row != ancestor && rows[row].has_parent)
        row = rows[row].parent;
    return row == ancestor;
}

/* The block that the label stood for is a nameless one from now on, for those
 * behind it. */
static void unname(struct kv_row rows[KV_ROWS], uint8_t label)
{
    uint8_t spare = KV_LABELS;

    while (rows[spare].status != KV_UNKNOWN) {
        spare++;
        CHECK(spare < KV_ROWS);
    }
    rows[spare] = rows[label];
    memset(rows[spare].copies, 0, sizeof rows[spare].copies);
    for (size_t i = 0; i < KV_ROWS; i++)
        if (rows[i].status == KV_PLACED && rows[i].has_parent &&
            rows[i].parent == label)
            rows[i].parent = spare;
}

/* What stays of what the label stood for. */
static void keep(struct kv_row rows[KV_ROWS], uint8_t label,
                 struct kv_row *next)
{
    struct kv_row *row = &rows[label];

    if (same_row(row, next)) {
        *next = *row;
        return;
    }
    if (row->status == KV_PLACED && next->status == KV_WAITING)
        unname(rows, label);
    if (row->status == KV_PLACED && next->status == KV_PLACED &&
        next->has_parent && descends(rows, next->parent, label))
        next->has_parent = 0;
}

static void store_block(struct kv_row rows[KV_ROWS],
                        const struct kv_event *event, size_t i,
                        int counts_copies)
{
    uint8_t label = event->labels[i];
    struct kv_row next = told(rows, event, i);

    keep(rows, label, &next);
    add_copy(&next, event->medium, counts_copies);
    rows[label] = next;
    if (next.status == KV_PLACED)
        link_waiting(rows, label);
    drop_ends(rows);
}

static void store(struct kv_row rows[KV_ROWS], const struct kv_event *event,
                  int counts_copies)
{
    for (size_t i = 0; i < event->count; i++) {
        struct kv_row *row = &rows[event->labels[i]];
        if (event->tokens && event->has_parent && i == 0 &&
            event->parent == event->labels[0])
            return;
        if (event->tokens)
            store_block(rows, event, i, counts_copies);
        else if (row->status != KV_UNKNOWN)
            add_copy(row, event->medium, counts_copies);
    }
}

static void remove_block(struct kv_row *row, int medium, int counts_copies)
{
    for (int m = 0; m < KV_MEDIA; m++) {
        if (medium >= 0 && medium != m)
            continue;
        if (counts_copies && row->copies[m] > 0)
            row->copies[m]--;
        else
            row->copies[m] = 0;
    }
}

static void apply_event(struct kv_source *source, const struct kv_event *event,
                        int counts_copies)
{
    struct kv_row *rows = source->rows[event->group];

    if (event->kind == LBROUTE_KV_CLEARED)
        memset(source->rows, 0, sizeof source->rows);
    if (event->kind == LBROUTE_KV_STORED)
        store(rows, event, counts_copies);
    if (event->kind != LBROUTE_KV_REMOVED)
        return;
    for (size_t i = 0; i < event->count; i++) {
        remove_block(&rows[event->labels[i]], event->medium, counts_copies);
        drop_ends(rows);
    }
}

/* ---- batches in order ---- */

static int same_batch(const struct kv_batch *a, const struct kv_batch *b)
{
    return a->count == b->count && !(a->timestamp < b->timestamp) &&
           !(a->timestamp > b->timestamp) &&
           memcmp(a->events, b->events, a->count * sizeof a->events[0]) == 0;
}

static void forget(struct kv_source *source)
{
    memset(source->rows, 0, sizeof source->rows);
    memset(source->known, 0, sizeof source->known);
    source->aside_count = 0;
    source->latest = (double)NAN;
}

/* Applies it from an event on; it is the one that was expected. */
static void take_from(struct kv_source *source, const struct kv_batch *batch,
                      size_t first, int counts_copies)
{
    for (size_t i = first; i < batch->count; i++)
        apply_event(source, &batch->events[i], counts_copies);
    source->remembered[batch->seq % KV_REMEMBERED] = *batch;
    source->known[batch->seq % KV_REMEMBERED] = 1;
    source->expected = batch->seq + 1;
    source->begun = source->heard = 1;
    if (!isnan(batch->timestamp))
        source->latest = batch->timestamp;
}

static size_t find_aside(const struct kv_source *source, uint64_t seq)
{
    size_t i = 0;

    while (i < source->aside_count && source->aside[i].seq != seq)
        i++;
    return i;
}

static void remove_aside(struct kv_source *source, size_t i)
{
    source->aside[i] = source->aside[--source->aside_count];
}

/* What was kept aside and is of use now. */
static void follow(struct kv_source *source, int counts_copies)
{
    size_t i;

    for (i = 0; i < source->aside_count;) {
        if (source->aside[i].seq < source->expected)
            remove_aside(source, i);
        else
            i++;
    }
    while ((i = find_aside(source, source->expected)) < source->aside_count) {
        struct kv_batch batch = source->aside[i];
        remove_aside(source, i);
        take_from(source, &batch, 0, counts_copies);
    }
    source->fresh = source->aside_count == 0;
}

/* Above the last event that empties the cache; 0: none does. */
static size_t behind_clear(const struct kv_batch *batch)
{
    size_t i = batch->count;

    while (i > 0 && batch->events[i - 1].kind != LBROUTE_KV_CLEARED)
        i--;
    return i;
}

/* It is ahead: a clear ends the gap, anything else is kept aside. */
static int take_ahead(struct kv_source *source, const struct kv_batch *batch,
                      int counts_copies)
{
    size_t from = behind_clear(batch);

    if (find_aside(source, batch->seq) < source->aside_count) {
        source->duplicates++;
        return LBROUTE_KV_DUPLICATE;
    }
    if (from > 0) {
        memset(source->rows, 0, sizeof source->rows);
        take_from(source, batch, from, counts_copies);
        follow(source, counts_copies);
        return LBROUTE_KV_APPLIED;
    }
    source->fresh = 0;
    CHECK(source->aside_count < KV_ASIDE);
    source->aside[source->aside_count++] = *batch;
    return LBROUTE_KV_GAP;
}

/* It is of the past: of this life of the engine, or of the next one? */
static int is_duplicate(const struct kv_source *source,
                        const struct kv_batch *batch)
{
    size_t place = batch->seq % KV_REMEMBERED;

    if (source->known[place] && source->remembered[place].seq == batch->seq)
        return same_batch(&source->remembered[place], batch);
    if (batch->timestamp > source->latest)
        return 0;
    return batch->seq > 0 || batch->timestamp < source->latest;
}

static int take_past(struct kv_source *source, const struct kv_batch *batch,
                     int counts_copies)
{
    if (is_duplicate(source, batch)) {
        source->duplicates++;
        return LBROUTE_KV_DUPLICATE;
    }
    source->restarts++;
    forget(source);
    source->expected = 0;
    if (batch->seq > 0)
        (void)take_ahead(source, batch, counts_copies);
    else
        take_from(source, batch, 0, counts_copies);
    source->fresh = source->aside_count == 0;
    return LBROUTE_KV_RESTARTED;
}

int kv_model_apply(struct kv_source *source, const struct kv_batch *batch,
                   int counts_copies)
{
    int outcome = LBROUTE_KV_APPLIED;

    if (source->begun && batch->seq < source->expected)
        return take_past(source, batch, counts_copies);
    if (source->begun && batch->seq > source->expected)
        outcome = take_ahead(source, batch, counts_copies);
    else {
        take_from(source, batch, 0, counts_copies);
        follow(source, counts_copies);
    }
    return outcome;
}

void kv_model_clear(struct kv_source *source)
{
    forget(source);
    source->begun = 0;
    source->fresh = 1;
}

uint64_t kv_model_missing(const struct kv_source *source, uint64_t *first)
{
    uint64_t end = UINT64_MAX;

    for (size_t i = 0; i < source->aside_count; i++)
        if (source->aside[i].seq < end)
            end = source->aside[i].seq;
    *first = source->expected;
    return source->aside_count > 0 ? end - source->expected : 0;
}

/* ---- prompts ---- */

/* Block |i| of the prompt as it would be spelled. */
static struct kv_block spell(const struct kv_prompt *prompt, size_t size,
                             size_t i)
{
    struct kv_block block;
    size_t begin = i * size;

    memset(&block, 0, sizeof block);
    memcpy(block.tokens, prompt->tokens + begin, size);
    for (size_t j = 0; j < prompt->item_count; j++) {
        const struct kv_item *item = &prompt->items[j];
        if (item->begin < begin + size &&
            (size_t)item->begin + item->count > begin)
            block.marks = (uint8_t)(block.marks * 4 + item->mark);
    }
    if (i == 0 && prompt->salted)
        block.marks = (uint8_t)(block.marks * 4 + KV_SALT);
    return block;
}

/* Fastest medium in which any row spells that; KV_MEDIA: nowhere. */
static int fastest(const struct kv_source *source, const struct kv_chain *chain)
{
    int best = KV_MEDIA;

    for (size_t g = 0; g < KV_GROUPS; g++) {
        for (size_t i = 0; i < KV_ROWS; i++) {
            const struct kv_row *row = &source->rows[g][i];
            if (row->status != KV_PLACED || !same_chain(&row->chain, chain))
                continue;
            for (int m = 0; m < best; m++)
                if (row->copies[m] > 0)
                    best = m;
        }
    }
    return best;
}

void kv_model_run(const struct kv_source *source,
                  const struct kv_prompt *prompt, int64_t run[KV_MEDIA])
{
    struct kv_chain chain;

    memset(&chain, 0, sizeof chain);
    chain.adapter = prompt->adapter;
    run[0] = run[1] = run[2] = 0;
    for (size_t i = 0; (i + 1) * source->size <= prompt->length; i++) {
        struct kv_block block = spell(prompt, source->size, i);
        int medium;
        extend(&chain, &block);
        medium = fastest(source, &chain);
        if (medium == KV_MEDIA)
            return;
        run[medium]++;
    }
}

uint64_t kv_model_resident(const struct kv_source *source, int medium)
{
    uint64_t count = 0;

    for (size_t g = 0; g < KV_GROUPS; g++)
        for (size_t i = 0; i < KV_LABELS; i++)
            count += source->rows[g][i].status == KV_PLACED &&
                     source->rows[g][i].copies[medium] > 0;
    return count;
}

uint64_t kv_model_waiting(const struct kv_source *source)
{
    uint64_t count = 0;

    for (size_t g = 0; g < KV_GROUPS; g++)
        for (size_t i = 0; i < KV_LABELS; i++)
            count += source->rows[g][i].status == KV_WAITING;
    return count;
}
