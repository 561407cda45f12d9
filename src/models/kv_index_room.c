/* SPDX-License-Identifier: MIT */
#include "models/kv_index_room.h"

/* Labels that the hand looks at in one go: what a pause may cost. */
#define MOST_STEPS 256
#define SWEEP_STEPS 4

/* Moves the hand on. */
static struct lbr_kv_record *next_label(struct lbr_kv_index *index)
{
    index->hand = index->hand < index->labels.used ? index->hand + 1 : 1;
    return lbr_kv_record(&index->labels, index->hand);
}

static struct lbr_kv_owner *owner_of(const struct lbr_kv_index *index,
                                     const struct lbr_kv_record *record)
{
    return lbr_slab_at(&index->owners, record->owner);
}

static int is_retired(const struct lbr_kv_index *index,
                      const struct lbr_kv_record *record)
{
    return record->live && owner_of(index, record)->retired;
}

void lbr_kv_index_sweep(struct lbr_kv_index *index)
{
    int steps = SWEEP_STEPS;

    while (index->retired_labels && steps--)
        if (is_retired(index, next_label(index)))
            (void)lbr_kv_label_forget(index, index->hand);
}

void lbr_kv_room_sweep_owner(struct lbr_kv_index *index)
{
    uint32_t steps = index->labels.used;

    while (index->retired_labels && steps--)
        if (is_retired(index, next_label(index)))
            (void)lbr_kv_label_forget(index, index->hand);
    if (index->labels.live)
        return;
    /* Places are taken in order again. */
    lbr_kv_labels_rewind(&index->labels);
    index->hand = index->end = 0;
}

/* Whether a label is the end of a prompt, and of somebody who has more than an
 * equal part of the room, |asking| with one more. Of retired owners nobody
 * knows where prompts end: parents may be gone. */
static int gives_way(const struct lbr_kv_index *index,
                     const struct lbr_kv_owner *asking,
                     const struct lbr_kv_record *record)
{
    const struct lbr_kv_owner *owner;
    uint32_t holders = index->holders + (uint32_t)(asking->labels == 0);

    if (!record->live || record->children)
        return 0;
    owner = owner_of(index, record);
    return !owner->retired && owner->labels + (uint32_t)(owner == asking) >
                                  index->labels.limit / holders;
}

/* Takes the label and remembers what is the end of that prompt now. */
static int take_end(struct lbr_kv_index *index, lbr_kv_label label)
{
    const struct lbr_kv_record *record = lbr_kv_record(&index->labels, label);
    struct lbr_kv_owner *owner = owner_of(index, record);
    lbr_kv_label parent = record->parent;

    if (!lbr_kv_label_end(index, label))
        return 0;
    owner->evicted++;
    index->evicted++;
    index->end = parent;
    return 1;
}

static int evict(struct lbr_kv_index *index, const struct lbr_kv_owner *asking)
{
    int steps = MOST_STEPS;

    if (index->end &&
        gives_way(index, asking, lbr_kv_record(&index->labels, index->end)))
        return take_end(index, index->end);
    while (steps--) {
        const struct lbr_kv_record *record = next_label(index);

        if (is_retired(index, record))
            return lbr_kv_label_forget(index, index->hand);
        if (gives_way(index, asking, record))
            return take_end(index, index->hand);
    }
    return 0;
}

int lbr_kv_room_make(struct lbr_kv_index *index, struct lbr_kv_owner *owner)
{
    lbr_kv_index_sweep(index);
    if (lbr_kv_label_reserve(&index->labels))
        return 1;
    return index->labels.used && evict(index, owner) &&
           lbr_kv_label_reserve(&index->labels);
}
