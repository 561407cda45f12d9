/* SPDX-License-Identifier: MIT */
#include "ingest/event_batch.h"

#include <math.h>

/* All that a batch needs while it is read. */
struct reader {
    struct lbr_msgpack in; /* behind the events read so far */
    size_t left;           /* events to come */
    size_t behind;         /* values behind all events */
    int checked;           /* all that is to come is well-formed */
    double timestamp;      /* NaN: none is told */
    lbr_event_sink *sink;
    void *context;
    lbroute_kv_event blank;
    struct lbr_event_fields fields;
    struct lbr_event_tokens tokens;
    struct lbr_event_parts parts;
};

/* ---- one event ---- */

/* Takes the head of the list of hashes; all that follow can be read. */
static int check_hashes(const struct reader *reader,
                        struct lbr_event_blocks *blocks)
{
    struct lbr_msgpack in = reader->fields.at[LBR_EVENT_HASHES];
    uint64_t hash;
    size_t i;

    if (!lbr_event_given(&reader->fields, LBR_EVENT_HASHES) ||
        !lbr_msgpack_array(&in, &blocks->hash_count))
        return LBROUTE_DIAG_EVENT;
    blocks->hashes = in;
    for (i = 0; i < blocks->hash_count; i++)
        if (!lbr_event_hash(&in, &hash))
            return LBROUTE_DIAG_EVENT;
    return 0;
}

/* Parent, token ids and their number in a block, which every store has. */
static int read_tokens(struct reader *reader, lbroute_kv_event *event,
                       struct lbr_event_blocks *blocks)
{
    const struct lbr_event_fields *fields = &reader->fields;
    const uint32_t needed = UINT32_C(1) << LBR_EVENT_PARENT |
                            UINT32_C(1) << LBR_EVENT_TOKEN_IDS |
                            UINT32_C(1) << LBR_EVENT_BLOCK_SIZE;
    struct lbr_msgpack parent = fields->at[LBR_EVENT_PARENT];
    struct lbr_msgpack size = fields->at[LBR_EVENT_BLOCK_SIZE];

    if ((fields->named & needed) != needed || !fields->tokens_fit)
        return LBROUTE_DIAG_EVENT;
    event->has_parent = lbr_event_given(fields, LBR_EVENT_PARENT);
    if (event->has_parent && !lbr_event_hash(&parent, &event->parent))
        return LBROUTE_DIAG_EVENT;
    if (lbr_event_given(fields, LBR_EVENT_BLOCK_SIZE) &&
        !lbr_msgpack_u32(&size, &event->block_size))
        return LBROUTE_DIAG_EVENT;
    if (reader->tokens.total && event->block_size)
        blocks->tokens = &reader->tokens;
    return 0;
}

/* What tells the blocks from others with the same tokens. */
static int read_identity(const struct reader *reader, lbroute_kv_event *event,
                         struct lbr_event_blocks *blocks,
                         char digits[LBR_EVENT_DIGITS])
{
    const struct lbr_event_fields *fields = &reader->fields;
    struct lbr_text adapter, salt;

    if (lbr_event_adapter(fields, &adapter, digits) ||
        lbr_event_salt(fields, &salt))
        return LBROUTE_DIAG_EVENT;
    event->adapter = adapter.bytes;
    event->adapter_len = adapter.length;
    event->salt = salt.bytes;
    event->salt_len = salt.length;
    if (lbr_event_given(fields, LBR_EVENT_EXTRA_KEYS) &&
        !lbr_event_keys_begin(&blocks->keys, fields->at[LBR_EVENT_EXTRA_KEYS],
                              adapter))
        return LBROUTE_DIAG_EVENT;
    return 0;
}

static int read_stored(struct reader *reader, lbroute_kv_event *event,
                       struct lbr_event_blocks *blocks)
{
    char digits[LBR_EVENT_DIGITS];
    int reason = read_tokens(reader, event, blocks);

    if (!reason)
        reason = read_identity(reader, event, blocks, digits);
    if (!reason)
        reason =
            lbr_event_place(&reader->fields, &event->medium, &event->group);
    if (!reason && (blocks->hash_count || blocks->tokens))
        lbr_event_parts_store(&reader->parts, event, blocks);
    return reason;
}

static int read_removed(struct reader *reader, lbroute_kv_event *event,
                        struct lbr_event_blocks *blocks)
{
    int reason =
        lbr_event_place(&reader->fields, &event->medium, &event->group);

    if (!reason)
        lbr_event_parts_remove(&reader->parts, event, blocks);
    return reason;
}

/* Decodes an event whose fields were found. Returns 0 or why it cannot be used
 * (LBROUTE_DIAG_). */
static int decode(struct reader *reader)
{
    struct lbr_event_blocks blocks = {0};
    lbroute_kv_event event = reader->blank;

    if (!reader->fields.is_event)
        return LBROUTE_DIAG_EVENT;
    event.kind = reader->fields.kind;
    if (!event.kind)
        return LBROUTE_DIAG_KIND;
    if (event.kind == LBROUTE_KV_CLEARED) {
        lbr_event_parts_clear(&reader->parts, &event);
        return 0;
    }
    if (check_hashes(reader, &blocks))
        return LBROUTE_DIAG_EVENT;
    return event.kind == LBROUTE_KV_STORED
               ? read_stored(reader, &event, &blocks)
               : read_removed(reader, &event, &blocks);
}

/* ---- a batch ---- */

static int take_timestamp(struct reader *reader)
{
    return lbr_msgpack_nil(&reader->in) ||
           lbr_msgpack_number(&reader->in, &reader->timestamp);
}

/* What comes before the events in the form of an array. What comes behind them
 * is checked when it has been reached. */
static int open_array(struct reader *reader, size_t count)
{
    if (count < 2)
        return 0;
    reader->behind = count - 2;
    return take_timestamp(reader) &&
           lbr_msgpack_array(&reader->in, &reader->left);
}

/* One entry of the form of a map. */
static int take_entry(struct reader *reader, struct lbr_msgpack *events)
{
    struct lbr_text key = {NULL, 0};

    if (!lbr_msgpack_bytes(&reader->in, &key) &&
        !lbr_msgpack_skip(&reader->in, 1))
        return 0;
    if (key.length == 2 && memcmp(key.bytes, "ts", 2) == 0)
        return take_timestamp(reader);
    if (key.length == 6 && memcmp(key.bytes, "events", 6) == 0)
        *events = reader->in;
    return lbr_msgpack_skip(&reader->in, 1);
}

/* The form of a map, of which any entry may be the last one: it is checked as a
 * whole before. */
static int open_map(struct reader *reader, size_t count)
{
    struct lbr_msgpack events = {NULL, NULL};

    while (count--)
        if (!take_entry(reader, &events))
            return 0;
    reader->in = events;
    reader->behind = 0;
    reader->checked = 1;
    return events.at && lbr_msgpack_array(&reader->in, &reader->left);
}

static int open_batch(struct reader *reader)
{
    size_t count;

    reader->checked = 0;
    reader->timestamp = (double)NAN;
    if (lbr_msgpack_array(&reader->in, &count))
        return open_array(reader, count);
    return lbr_msgpack_map(&reader->in, &count) && open_map(reader, count);
}

/* Whether all that is to come is well-formed. What stands behind a whole batch
 * is not of it, as a field that the head does not count. */
static int check_rest(const struct reader *reader)
{
    struct lbr_msgpack in = reader->in;
    size_t i;

    for (i = 0; i < reader->left; i++)
        if (!lbr_msgpack_skip(&in, 2))
            return 0;
    for (i = 0; i < reader->behind; i++)
        if (!lbr_msgpack_skip(&in, 1))
            return 0;
    return 1;
}

/* Hands a part over, the first one after a look at the rest. */
static int pass_on(void *context, lbroute_kv_batch *part)
{
    struct reader *reader = context;

    if (!reader->checked && !check_rest(reader))
        return LBROUTE_ERR_FORMAT;
    reader->checked = 1;
    return reader->sink(reader->context, part);
}

/* Counts an event, the |number|th. */
static void count_event(lbroute_diag *diag, int reason, int64_t number,
                        int64_t offset)
{
    if (!reason) {
        diag->accepted++;
        return;
    }
    diag->reasons[reason]++;
    if (reason != LBROUTE_DIAG_EVENT) {
        diag->skipped++;
        return;
    }
    if (!diag->broken++) {
        diag->line = number;
        diag->offset = offset;
    }
}

static void read_events(struct reader *reader, const unsigned char *payload,
                        lbroute_diag *diag)
{
    const unsigned char *begin;
    int64_t number;
    int reason;

    for (number = 1; reader->left && !reader->parts.result; number++) {
        begin = reader->in.at;
        if (!lbr_event_fields_read(&reader->fields, &reader->tokens,
                                   &reader->in))
            lbr_event_parts_fail(&reader->parts, LBROUTE_ERR_FORMAT);
        reader->left--;
        reason = decode(reader);
        count_event(diag, reason, number, begin - payload);
    }
}

/* A payload that is no batch: of that nothing else counts. */
static int refuse(lbroute_diag *diag)
{
    lbroute_diag_init(diag, sizeof *diag);
    diag->broken = diag->reasons[LBROUTE_DIAG_FORMAT] = 1;
    diag->offset = 0;
    return LBROUTE_ERR_FORMAT;
}

int lbr_event_batch_read(const void *payload, size_t length,
                         lbr_event_sink *sink, void *context,
                         lbroute_diag *diag)
{
    struct reader reader;
    int result;

    lbroute_diag_init(diag, sizeof *diag);
    reader.in = lbr_msgpack(payload, length);
    if (!open_batch(&reader))
        return refuse(diag);
    reader.sink = sink;
    reader.context = context;
    lbroute_kv_event_init(&reader.blank, sizeof reader.blank);
    lbr_event_parts_begin(&reader.parts, pass_on, &reader, reader.timestamp);
    read_events(&reader, payload, diag);
    result = lbr_event_parts_end(&reader.parts);
    return result == LBROUTE_ERR_FORMAT ? refuse(diag) : result;
}
