/* SPDX-License-Identifier: MIT */
#include "models/kv_index_saved.h"

#include "models/kv_index_copies.h"
#include "models/kv_index_room.h"
#include "models/kv_index_waiting.h"

/* Bytes of a label, at least. */
#define LEAST_LABEL 22
#define LEAST_WAITING (8 + 8 + 8 + LBR_KV_MEDIA)

void lbr_kv_marks_clear(struct lbr_kv_index *index)
{
    struct lbr_kv_owner *owner = NULL;

    while ((owner = lbr_slab_next(&index->owners,
                                  owner ? owner->slot.handle : 0)) != NULL)
        owner->slot.spare = 0;
}

/* ---- saving ---- */

/* Set in a label's number on the way up to what it follows: then it is that of
 * the label below. */
#define TRAIL (UINT32_C(1) << 31)

struct saving {
    const struct lbr_kv_index *index;
    struct lbr_writer *writer;
    uint32_t *numbers; /* of labels by place; 0: not written */
    uint32_t count;
};

static uint32_t *number_of(const struct saving *saving, lbr_kv_label label)
{
    return &saving->numbers[label - 1];
}

/* 0: it is left out. */
static uint32_t mark_of(const struct lbr_kv_index *index,
                        const struct lbr_kv_record *record)
{
    const struct lbr_kv_owner *owner;

    if (!record->live)
        return 0;
    owner = lbr_slab_at(&index->owners, record->owner);
    return owner->retired ? 0 : owner->slot.spare;
}

static void put_label(struct saving *saving, lbr_kv_label label)
{
    const struct lbr_kv_record *record =
        lbr_kv_record(&saving->index->labels, label);
    struct lbr_writer *writer = saving->writer;
    uint32_t parent = record->parent ? *number_of(saving, record->parent) : 0;

    lbr_put_count(writer, mark_of(saving->index, record));
    lbr_put_u8(writer, record->live == LBR_KV_NAMED);
    lbr_put_u64(writer, lbr_kv_word(record->name));
    lbr_put_u64(writer, lbr_kv_word(record->key));
    lbr_put_count(writer, parent & TRAIL ? 0 : parent);
    lbr_put_bytes(writer, record->copies, LBR_KV_MEDIA);
    *number_of(saving, label) = ++saving->count;
}

/* Writes a label after all that it follows: up to the first that is written,
 * and down again. */
static void put_with_parents(struct saving *saving, lbr_kv_label label)
{
    lbr_kv_label below = 0;

    while (label && !*number_of(saving, label)) {
        *number_of(saving, label) = TRAIL | below;
        below = label;
        label = lbr_kv_record(&saving->index->labels, label)->parent;
    }
    while (below) {
        label = below;
        below = *number_of(saving, label) & ~TRAIL;
        put_label(saving, label);
    }
}

static uint32_t count_marked(const struct lbr_kv_index *index)
{
    uint32_t count = 0;
    lbr_kv_label label;

    for (label = 1; label <= index->labels.used; label++)
        count += mark_of(index, lbr_kv_record(&index->labels, label)) != 0;
    return count;
}

int lbr_kv_index_save(struct lbr_kv_index *index, struct lbr_writer *writer)
{
    struct saving saving = {index, writer, NULL, 0};
    uint32_t used = index->labels.used;
    lbr_kv_label label;

    lbr_put_count(writer, count_marked(index));
    if (!used)
        return 1;
    saving.numbers =
        lbr_memory_new(index->memory, used, sizeof *saving.numbers);
    if (!saving.numbers)
        return 0;
    for (label = 1; label <= used; label++)
        if (mark_of(index, lbr_kv_record(&index->labels, label)))
            put_with_parents(&saving, label);
    lbr_memory_free(index->memory, saving.numbers, used,
                    sizeof *saving.numbers);
    return 1;
}

void lbr_kv_waiting_save(struct lbr_kv_owner *owner, struct lbr_writer *writer)
{
    const struct lbr_link *link;

    lbr_put_count(writer, owner ? owner->waiting_count : 0);
    if (!owner)
        return;
    for (link = owner->waiting.next; link != &owner->waiting;
         link = link->next) {
        const struct lbr_kv_waiting *waiting =
            LBR_OWNER(link, const struct lbr_kv_waiting, link);

        lbr_put_u64(writer, waiting->name);
        lbr_put_u64(writer, waiting->parent);
        lbr_put_u64(writer, waiting->content);
        lbr_put_bytes(writer, waiting->copies, LBR_KV_MEDIA);
    }
}

/* ---- loading ---- */

static void get_copies(struct lbr_reader *reader, uint8_t copies[LBR_KV_MEDIA])
{
    const unsigned char *bytes = lbr_get_bytes(reader, LBR_KV_MEDIA);

    memset(copies, 0, LBR_KV_MEDIA);
    if (bytes)
        memcpy(copies, bytes, LBR_KV_MEDIA);
}

/* Reads a label and adds it. |labels| are those before it; NULL: only reads. */
static void load_label(struct lbr_kv_loading *loading,
                       struct lbr_reader *reader, lbr_kv_label *labels,
                       uint64_t number)
{
    uint32_t mark = (uint32_t)lbr_get_count(reader, loading->marks);
    struct lbr_kv_saved saved;
    uint64_t parent;
    struct lbr_kv_owner *owner;

    saved.named = lbr_get_u8(reader);
    saved.name = lbr_get_u64(reader);
    saved.key = lbr_get_u64(reader);
    parent = lbr_get_count(reader, number);
    get_copies(reader, saved.copies);
    lbr_demand(reader, mark && saved.named <= 1);
    if (reader->broken || !labels)
        return;
    owner = loading->owners[mark - 1];
    if (owner)
        labels[number] = lbr_kv_label_restore(loading->index, owner, &saved,
                                              parent ? labels[parent - 1] : 0);
    loading->added += labels[number] != 0;
    loading->dropped += labels[number] == 0;
}

void lbr_kv_index_load(struct lbr_kv_loading *loading,
                       struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_LABEL);
    lbr_kv_label *labels = NULL;
    uint64_t i;

    if (loading->index && count) {
        labels = lbr_memory_new(loading->index->memory, (size_t)count,
                                sizeof *labels);
        if (!labels)
            return;
    }
    for (i = 0; i < count && !reader->broken; i++)
        load_label(loading, reader, labels, i);
    if (labels)
        lbr_memory_free(loading->index->memory, labels, (size_t)count,
                        sizeof *labels);
}

/* The first copy in each medium, and further ones. */
static void restore_waiting(struct lbr_kv_index *index, struct lbr_kv_name name,
                            uint64_t parent, uint64_t content,
                            const uint8_t copies[LBR_KV_MEDIA])
{
    unsigned medium;
    unsigned copy;

    for (medium = 0; medium < LBR_KV_MEDIA; medium++)
        for (copy = 0; copy < copies[medium]; copy++)
            (void)lbr_kv_waiting_add(index, name, parent, content, medium, 1);
}

void lbr_kv_waiting_load(struct lbr_kv_index *index, struct lbr_kv_owner *owner,
                         struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_WAITING);

    while (count-- && !reader->broken) {
        struct lbr_kv_name name = {owner, lbr_get_u64(reader)};
        uint64_t parent = lbr_get_u64(reader);
        uint64_t content = lbr_get_u64(reader);
        uint8_t copies[LBR_KV_MEDIA];

        get_copies(reader, copies);
        lbr_demand(reader, lbr_kv_copies_any(copies));
        if (owner && !reader->broken)
            restore_waiting(index, name, parent, content, copies);
    }
}
