/* SPDX-License-Identifier: MIT */
#include "state/kv_row.h"

#include "models/kv_index_waiting.h"

static void note(struct lbr_kv_source *source, lbroute_kv_result *result,
                 int reason)
{
    source->counts.reasons[reason]++;
    result->reasons[reason]++;
}

static void note_stored(struct lbr_kv_source *source, lbroute_kv_result *result,
                        uint64_t count)
{
    source->counts.stored += count;
    result->stored += count;
}

static void note_removed(struct lbr_kv_source *source,
                         lbroute_kv_result *result, uint64_t count)
{
    source->counts.removed += count;
    result->removed += count;
}

static struct lbr_kv_name name_of(const struct lbr_kv_source *source,
                                  uint64_t name)
{
    struct lbr_kv_name its = {source->owner, name};

    return its;
}

static void refuse(struct lbr_kv_source *source, int reason)
{
    source->row = LBR_KV_ROW_REFUSED;
    source->refused_for = reason;
}

static void stand_after(const struct lbr_kv_store *store,
                        struct lbr_kv_source *source, uint64_t parent)
{
    struct lbr_kv_name name = name_of(source, parent);

    source->row = LBR_KV_ROW_WAITS;
    if (lbr_kv_index_find(&store->index, name, &source->spot))
        source->row = LBR_KV_ROW_KNOWN;
}

void lbr_kv_row_resume(const struct lbr_kv_store *store,
                       struct lbr_kv_source *source)
{
    if (source->row == LBR_KV_ROW_KNOWN && source->owner)
        stand_after(store, source, source->last_name);
}

/* Finds where a block stands. Returns the name of its parent, if it has one. */
static uint64_t find_place(const struct lbr_kv_store *store,
                           struct lbr_kv_source *source,
                           const struct lbr_kv_op *op)
{
    uint64_t parent =
        op->after == LBR_KV_AFTER_NAME ? op->before : source->last_name;

    if (op->after == LBR_KV_AFTER_ROOT) {
        source->row = LBR_KV_ROW_KNOWN;
        source->spot.key = op->before;
        source->spot.label = 0;
        return 0;
    }
    if (op->after == LBR_KV_AFTER_NAME)
        stand_after(store, source, parent);
    if (parent == op->name && source->row != LBR_KV_ROW_REFUSED)
        refuse(source, LBROUTE_KV_REASON_OWN_PARENT);
    return parent;
}

/* What waited under the name is known now, and so are those that waited for
 * it. */
static void settle_waiting(struct lbr_kv_store *store,
                           struct lbr_kv_source *source,
                           const struct lbr_kv_op *op,
                           lbroute_kv_result *result)
{
    struct lbr_kv_name name = name_of(source, op->name);

    if (!source->owner->waiting_count)
        return;
    (void)lbr_kv_waiting_remove(&store->index, name, LBR_KV_MEDIA, 0);
    note_stored(source, result, lbr_kv_waiting_follow(&store->index, name));
    /* They may have needed its place. */
    if (!lbr_kv_index_find(&store->index, name, &source->spot))
        refuse(source, LBROUTE_KV_REASON_FULL);
}

static int store_known(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_op *op,
                       const struct lbr_kv_rules *rules,
                       lbroute_kv_result *result)
{
    int renamed;
    enum lbr_kv_fate fate = lbr_kv_index_store(
        &store->index, name_of(source, op->name), &source->spot, op->content,
        op->medium, rules->counted, &renamed);

    if (fate == LBR_KV_FATE_LOST)
        return 0;
    if (renamed)
        note(source, result, LBROUTE_KV_REASON_RENAMED);
    if (fate == LBR_KV_FATE_NO_ROOM) {
        refuse(source, LBROUTE_KV_REASON_FULL);
        note(source, result, LBROUTE_KV_REASON_FULL);
        return 1;
    }
    note_stored(source, result, fate == LBR_KV_FATE_DONE);
    settle_waiting(store, source, op, result);
    return 1;
}

/* A name that stood for a block whose place was known does not any more. */
static int leave_place(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_op *op, lbroute_kv_result *result)
{
    enum lbr_kv_fate fate =
        lbr_kv_index_unname(&store->index, name_of(source, op->name));

    if (fate == LBR_KV_FATE_DONE)
        note(source, result, LBROUTE_KV_REASON_RENAMED);
    return fate != LBR_KV_FATE_LOST;
}

static int store_waiting(struct lbr_kv_store *store,
                         struct lbr_kv_source *source,
                         const struct lbr_kv_op *op, uint64_t parent,
                         const struct lbr_kv_rules *rules,
                         lbroute_kv_result *result)
{
    if (!leave_place(store, source, op, result))
        return 0;
    note(source, result,
         lbr_kv_waiting_add(&store->index, name_of(source, op->name), parent,
                            op->content, op->medium, rules->counted)
             ? LBROUTE_KV_REASON_WAITING
             : LBROUTE_KV_REASON_FULL);
    return 1;
}

static void note_size(struct lbr_kv_source *source, const struct lbr_kv_op *op,
                      const struct lbr_kv_rules *rules,
                      lbroute_kv_result *result)
{
    if (!op->block_size)
        return;
    source->block_size = op->block_size;
    if (op->block_size != rules->block_size)
        note(source, result, LBROUTE_KV_REASON_BLOCK_SIZE);
}

static int store_block(struct lbr_kv_store *store, struct lbr_kv_source *source,
                       const struct lbr_kv_op *op,
                       const struct lbr_kv_rules *rules,
                       lbroute_kv_result *result)
{
    uint64_t parent = find_place(store, source, op);
    int kept = 1;

    note_size(source, op, rules, result);
    if (source->row == LBR_KV_ROW_KNOWN)
        kept = store_known(store, source, op, rules, result);
    else if (source->row == LBR_KV_ROW_WAITS)
        kept = store_waiting(store, source, op, parent, rules, result);
    else
        note(source, result, source->refused_for);
    source->last_name = op->name;
    return kept;
}

/* Whether the source has an owner; without memory it holds nothing. */
static int has_owner(struct lbr_kv_store *store, struct lbr_kv_source *source)
{
    if (!source->owner)
        source->owner = lbr_kv_owner_add(&store->index, source);
    return source->owner != NULL;
}

static int copy_block(struct lbr_kv_store *store, struct lbr_kv_source *source,
                      const struct lbr_kv_op *op,
                      const struct lbr_kv_rules *rules,
                      lbroute_kv_result *result)
{
    switch (lbr_kv_index_add_copy(&store->index, name_of(source, op->name),
                                  op->medium, rules->counted)) {
    case LBR_KV_FATE_DONE:
        note_stored(source, result, 1);
        break;
    case LBR_KV_FATE_UNKNOWN:
        note(source, result, LBROUTE_KV_REASON_UNKNOWN);
        break;
    case LBR_KV_FATE_NO_ROOM:
        note(source, result, LBROUTE_KV_REASON_FULL);
        break;
    default:
        break;
    }
    return 1;
}

static int take_block(struct lbr_kv_store *store, struct lbr_kv_source *source,
                      const struct lbr_kv_op *op,
                      const struct lbr_kv_rules *rules,
                      lbroute_kv_result *result)
{
    uint32_t left = 0;
    enum lbr_kv_fate fate =
        lbr_kv_index_remove(&store->index, name_of(source, op->name),
                            op->medium, rules->counted, &left);

    note_removed(source, result, left);
    if (fate == LBR_KV_FATE_UNKNOWN)
        note(source, result, LBROUTE_KV_REASON_UNKNOWN);
    return fate != LBR_KV_FATE_LOST;
}

int lbr_kv_row_apply(struct lbr_kv_store *store, struct lbr_kv_source *source,
                     const struct lbr_kv_op *op,
                     const struct lbr_kv_rules *rules,
                     lbroute_kv_result *result)
{
    if (!has_owner(store, source)) {
        note(source, result,
             op->verb == LBR_KV_STORE ? LBROUTE_KV_REASON_FULL
                                      : LBROUTE_KV_REASON_UNKNOWN);
        return 1;
    }
    switch ((enum lbr_kv_verb)op->verb) {
    case LBR_KV_STORE:
        return store_block(store, source, op, rules, result);
    case LBR_KV_COPY:
        return copy_block(store, source, op, rules, result);
    default:
        return take_block(store, source, op, rules, result);
    }
}

/* ---- what will be asked for ---- */

typedef void expect(const struct lbr_kv_index *index, struct lbr_kv_name name);

static void expect_labels(const struct lbr_kv_store *store,
                          const struct lbr_kv_source *source,
                          const struct lbr_kv_op *ops, size_t count,
                          expect *step)
{
    size_t i;

    for (i = 0; i < count; i++) {
        step(&store->index, name_of(source, ops[i].name));
        if (ops[i].verb == LBR_KV_STORE && ops[i].after == LBR_KV_AFTER_NAME)
            step(&store->index, name_of(source, ops[i].before));
    }
}

/* The spot of a block that is about to be stored, as far as it can be foretold:
 * its parent may be stored only then. */
static void foresee(const struct lbr_kv_store *store,
                    const struct lbr_kv_source *source,
                    const struct lbr_kv_op *op, struct lbr_kv_spot *spot)
{
    if (op->after == LBR_KV_AFTER_ROOT)
        spot->key = op->before;
    else if (op->after == LBR_KV_AFTER_NAME)
        (void)lbr_kv_index_find(&store->index, name_of(source, op->before),
                                spot);
    spot->key = lbr_kv_key_after(spot->key, op->content);
}

static void expect_blocks(const struct lbr_kv_store *store,
                          const struct lbr_kv_source *source,
                          const struct lbr_kv_op *ops, size_t count)
{
    struct lbr_kv_spot spot = source->spot;
    size_t i;

    for (i = 0; i < count; i++) {
        if (ops[i].verb != LBR_KV_STORE) {
            lbr_kv_index_expect_block(&store->index,
                                      name_of(source, ops[i].name));
            continue;
        }
        foresee(store, source, &ops[i], &spot);
        lbr_kv_node_prefetch(&store->index.nodes, spot.key);
    }
}

void lbr_kv_row_expect(const struct lbr_kv_store *store,
                       const struct lbr_kv_source *source,
                       const struct lbr_kv_op *ops, size_t count)
{
    if (!source->owner)
        return;
    expect_labels(store, source, ops, count, lbr_kv_index_expect);
    expect_labels(store, source, ops, count, lbr_kv_index_expect_record);
    expect_blocks(store, source, ops, count);
}
