/* SPDX-License-Identifier: MIT */
#include "ingest/event_batch.h"

#include <math.h>

/* All that a batch needs while it is read. */
struct reader {
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

/* What is around the events. */
struct envelope {
    double timestamp; /* NaN: none is told */
    struct lbr_msgpack events;
    size_t count;
    int complete; /* there are events */
};

static int take_timestamp(struct lbr_msgpack *in, struct envelope *envelope)
{
    return lbr_msgpack_nil(in) || lbr_msgpack_number(in, &envelope->timestamp);
}

static int take_events(const struct lbr_msgpack *in, struct envelope *envelope)
{
    envelope->events = *in;
    envelope->complete = lbr_msgpack_array(&envelope->events, &envelope->count);
    return envelope->complete;
}

/* What stands under one key of a batch in the form of a map. */
static int take_entry(struct lbr_msgpack *in, struct envelope *envelope)
{
    struct lbr_text key = {NULL, 0};

    if (!lbr_msgpack_bytes(in, &key) && !lbr_msgpack_skip(in))
        return 0;
    if (key.length == 2 && memcmp(key.bytes, "ts", 2) == 0)
        return take_timestamp(in, envelope);
    if (key.length == 6 && memcmp(key.bytes, "events", 6) == 0)
        return take_events(in, envelope) && lbr_msgpack_skip(in);
    return lbr_msgpack_skip(in);
}

static int open_envelope(struct lbr_msgpack in, struct envelope *envelope)
{
    size_t count;

    envelope->timestamp = (double)NAN;
    envelope->complete = 0;
    if (lbr_msgpack_array(&in, &count))
        return count >= 2 && take_timestamp(&in, envelope) &&
               take_events(&in, envelope);
    if (!lbr_msgpack_map(&in, &count))
        return 0;
    while (count--)
        if (!take_entry(&in, envelope))
            return 0;
    return envelope->complete;
}

/* One value, well-formed to its end, and nothing behind it. */
static int is_whole(struct lbr_msgpack in)
{
    return lbr_msgpack_skip(&in) && in.at == in.end;
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

static void read_events(struct reader *reader, const struct envelope *envelope,
                        const unsigned char *payload, lbroute_diag *diag)
{
    struct lbr_msgpack in = envelope->events;
    const unsigned char *begin;
    size_t i;
    int reason;

    for (i = 0; i < envelope->count; i++) {
        begin = in.at;
        (void)lbr_event_fields_read(&reader->fields, &reader->tokens, &in);
        reason = decode(reader);
        count_event(diag, reason, (int64_t)i + 1, begin - payload);
    }
}

int lbr_event_batch_read(const void *payload, size_t length,
                         lbr_event_sink *sink, void *context,
                         lbroute_diag *diag)
{
    struct lbr_msgpack in = lbr_msgpack(payload, length);
    struct envelope envelope;
    struct reader reader;

    if (!is_whole(in) || !open_envelope(in, &envelope)) {
        diag->broken = diag->reasons[LBROUTE_DIAG_FORMAT] = 1;
        diag->offset = 0;
        return LBROUTE_ERR_FORMAT;
    }
    lbroute_kv_event_init(&reader.blank, sizeof reader.blank);
    lbr_event_parts_begin(&reader.parts, sink, context, envelope.timestamp);
    read_events(&reader, &envelope, payload, diag);
    return lbr_event_parts_end(&reader.parts);
}
