/* SPDX-License-Identifier: MIT */
/* ingest/event_batch: from bytes to decoded events, and what is counted. */
#include "ingest/event_batch.h"

#include <math.h>
#include <stdlib.h>

#include "support/pack.h"
#include "support/test.h"

/* ---- what comes out ---- */

enum { MOST_EVENTS = 4000, MOST_BLOCKS = 40000 };

/* An event with copies of all that it points to. */
struct seen {
    lbroute_kv_event event;
    size_t part;                 /* from 0 */
    size_t hashes, blocks, keys; /* where they begin in the copies */
    char adapter[64], salt[64];
};

static struct {
    int code;
    lbroute_diag diag;
    size_t parts, events;
    size_t fail_part; /* whose call fails; SIZE_MAX: none */
    double timestamp;
    struct seen seen[MOST_EVENTS];
    size_t used;
    uint64_t hashes[MOST_BLOCKS], blocks[MOST_BLOCKS], keys[MOST_BLOCKS];
} out;

static struct pack in;

static void copy_text(char copy[64], const void *text, size_t length)
{
    assert_true(length < 64);
    memset(copy, 0, 64);
    if (length > 0)
        memcpy(copy, text, length);
}

static void copy_event(const lbroute_kv_event *event)
{
    struct seen *seen = &out.seen[out.events++];
    size_t most = event->hash_count;

    if (event->block_count > most)
        most = event->block_count;
    assert_true(out.events <= MOST_EVENTS && out.used + most <= MOST_BLOCKS);
    assert_int_equal(event->size, sizeof *event);
    seen->event = *event;
    seen->part = out.parts;
    seen->hashes = seen->blocks = seen->keys = out.used;
    for (size_t i = 0; i < event->hash_count; i++)
        out.hashes[out.used + i] = event->hashes[i];
    for (size_t i = 0; i < event->block_count; i++)
        out.blocks[out.used + i] = event->blocks[i];
    for (size_t i = 0; i < event->extra_key_count; i++)
        out.keys[out.used + i] = event->extra_keys[i];
    copy_text(seen->adapter, event->adapter, event->adapter_len);
    copy_text(seen->salt, event->salt, event->salt_len);
    out.used += most;
}

static int sink(void *context, lbroute_kv_batch *part)
{
    assert_ptr_equal(context, &out);
    assert_int_equal(part->continued, out.parts > 0);
    out.timestamp = part->timestamp;
    for (size_t i = 0; i < part->event_count; i++)
        copy_event(&part->events[i]);
    if (out.parts == out.fail_part)
        return LBROUTE_ERR_NO_MEMORY;
    out.parts++;
    return 0;
}

/* Reads exactly these bytes. */
static int read_bytes(const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length > 0 ? length : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, length);
    out.parts = out.events = out.used = 0;
    out.code = lbr_event_batch_read(copy, length, sink, &out, &out.diag);
    free(copy);
    return out.code;
}

/* Reads what was written, which is a batch, and how its events are counted. */
static void read_counts(size_t accepted, size_t skipped, size_t broken)
{
    assert_int_equal(read_bytes(in.bytes, in.length), 0);
    assert_int_equal(out.diag.accepted, accepted);
    assert_int_equal(out.diag.skipped, skipped);
    assert_int_equal(out.diag.broken, broken);
    assert_int_equal(out.diag.line < 0, broken == 0);
    assert_int_equal(out.diag.offset < 0, broken == 0);
    pack_reset(&in);
}

static const lbroute_kv_event *event(size_t index)
{
    assert_true(index < out.events);
    return &out.seen[index].event;
}

static uint64_t hash(size_t index, size_t block)
{
    assert_true(block < event(index)->hash_count);
    return out.hashes[out.seen[index].hashes + block];
}

/* Whether a block's content is that of these token ids. */
static int holds(size_t index, size_t block, const uint32_t *ids, size_t count)
{
    uint64_t wanted;
    size_t blocks;

    assert_true(block < event(index)->block_count);
    assert_int_equal(
        lbroute_hash_blocks(ids, count, 4, count, &wanted, 1, &blocks), 0);
    return out.blocks[out.seen[index].blocks + block] == wanted;
}

/* The same for ids in a row. */
static int holds_range(size_t index, size_t block, uint32_t first, size_t count)
{
    uint32_t *ids = malloc(count * sizeof *ids);
    int same;

    assert_non_null(ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = first + (uint32_t)i;
    same = holds(index, block, ids, count);
    free(ids);
    return same;
}

static uint64_t key(size_t index, size_t block)
{
    assert_true(block < event(index)->extra_key_count);
    return out.keys[out.seen[index].keys + block];
}

static uint64_t folded(uint64_t digest, const char *text)
{
    return lbroute_kv_fold_key(digest, text, strlen(text));
}

static int setup(void **state)
{
    (void)state;
    out.fail_part = SIZE_MAX;
    pack_reset(&in);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    pack_free(&in);
    return 0;
}

/* ---- what goes in ---- */

static void begin_batch(size_t events)
{
    pack_array(&in, 2);
    pack_double(&in, 1.0);
    pack_array(&in, events);
}

/* The first four fields of a store: hashes from |hash| on, no parent, ids from
 * 100 on. |fields| are in the array, its tag not counted. */
static void begin_store(size_t fields, uint64_t first, size_t hashes,
                        size_t tokens, uint64_t block_size)
{
    pack_array(&in, 1 + fields);
    pack_str(&in, "BlockStored");
    pack_range(&in, first, hashes);
    pack_nil(&in);
    pack_range(&in, 100, tokens);
    pack_uint(&in, block_size);
}

static void put_store(uint64_t first, size_t hashes, size_t tokens,
                      uint64_t block_size)
{
    begin_store(4, first, hashes, tokens, block_size);
}

static void put_remove(uint64_t first, size_t hashes, const char *medium)
{
    pack_array(&in, 3);
    pack_str(&in, "BlockRemoved");
    pack_range(&in, first, hashes);
    if (medium)
        pack_str(&in, medium);
    else
        pack_nil(&in);
}

/* ---- the examples of the formats ---- */

static void read_hex(const char *hex)
{
    pack_reset(&in);
    pack_hex(&in, hex);
    read_counts(1, 0, 0);
    assert_int_equal(out.events, 1);
    assert_int_equal(out.parts, 1);
    assert_near(out.timestamp, 1.0, 0);
}

static void example_v08(void **state)
{
    (void)state;
    read_hex("92cb3ff00000000000009196ab426c6f636b53746f726564920102c0940a0b0c"
             "0d02c0");
    assert_int_equal(event(0)->kind, LBROUTE_KV_STORED);
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_ANY);
    assert_int_equal(event(0)->hash_count, 2);
    assert_int_equal(hash(0, 0), 1);
    assert_int_equal(hash(0, 1), 2);
    assert_int_equal(event(0)->has_parent, 0);
    assert_int_equal(event(0)->block_size, 2);
    assert_int_equal(event(0)->block_count, 2);
    assert_true(holds_range(0, 0, 10, 2) && holds_range(0, 1, 12, 2));
    assert_int_equal(event(0)->adapter_len, 0);
    assert_int_equal(event(0)->extra_key_count, 0);

    read_hex("92cb3ff00000000000009192ac426c6f636b52656d6f7665649101");
    assert_int_equal(event(0)->kind, LBROUTE_KV_REMOVED);
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_ANY);
    assert_int_equal(event(0)->hash_count, 1);
    assert_int_equal(hash(0, 0), 1);

    read_hex("92cb3ff00000000000009191b0416c6c426c6f636b73436c6561726564");
    assert_int_equal(event(0)->kind, LBROUTE_KV_CLEARED);
}

static void example_v022(void **state)
{
    (void)state;
    read_hex(
        "93cb3ff0000000000000919bab426c6f636b53746f72656491cfdab89baa7b58"
        "57c007920a0b02c0a3475055c091c000ae66756c6c5f617474656e74696f6e00");
    assert_int_equal(hash(0, 0), UINT64_C(0xdab89baa7b5857c0));
    assert_int_equal(event(0)->has_parent, 1);
    assert_int_equal(event(0)->parent, 7);
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_GPU);
    assert_int_equal(event(0)->group, 0);
    assert_int_equal(event(0)->block_count, 1);
    assert_true(holds_range(0, 0, 10, 2));
    assert_int_equal(key(0, 0), 0);
}

static void example_v024(void **state)
{
    (void)state;
    read_hex("93cb3ff00000000000009189a474797065ab426c6f636b53746f726564ac626c"
             "6f636b5f68617368657391cfdab89baa7b5857c0b1706172656e745f626c6f63"
             "6b5f68617368c0a9746f6b656e5f696473920a0baa626c6f636b5f73697a6502"
             "a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0a9"
             "67726f75705f6964780000");
    assert_int_equal(event(0)->kind, LBROUTE_KV_STORED);
    assert_int_equal(hash(0, 0), UINT64_C(0xdab89baa7b5857c0));
    assert_int_equal(event(0)->has_parent, 0);
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_GPU);
    assert_true(holds_range(0, 0, 10, 2));

    read_hex("93cb3ff00000000000009181a474797065b0416c6c426c6f636b73436c656172"
             "656400");
    assert_int_equal(event(0)->kind, LBROUTE_KV_CLEARED);
}

static void example_digest(void **state)
{
    (void)state;
    read_hex("92cb3ff00000000000009193ac426c6f636b52656d6f76656491c42000010203"
             "0405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa347505"
             "5");
    assert_int_equal(event(0)->kind, LBROUTE_KV_REMOVED);
    assert_int_equal(hash(0, 0), UINT64_C(0x18191a1b1c1d1e1f));
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_GPU);
}

/* Heads that count one field too few: the last one stands behind the batch. */
static void example_sglang_short_head(void **state)
{
    (void)state;
    read_hex("92cb3ff00000000000009197ab426c6f636b53746f72656491fed38000000000"
             "000000910a01c0a347505500");
    assert_int_equal(hash(0, 0), UINT64_MAX - 1);
    assert_int_equal(event(0)->parent, UINT64_C(1) << 63);

    read_hex("92cb3ff00000000000009198ab426c6f636b53746f7265649105c0910a01c0a3"
             "47505581aa63616368655f73616c74a17300");
    assert_int_equal(hash(0, 0), 5);
    assert_string_equal(out.seen[0].salt, "s");
}

static void example_sglang(void **state)
{
    (void)state;
    read_hex("93cb3ff00000000000009197ab426c6f636b53746f72656491fed38000000000"
             "000000910a01c0a347505500");
    assert_int_equal(hash(0, 0), UINT64_MAX - 1);
    assert_int_equal(event(0)->parent, UINT64_C(1) << 63);
    assert_int_equal(event(0)->has_parent, 1);
    assert_int_equal(event(0)->block_size, 1);
    assert_true(holds_range(0, 0, 10, 1));

    read_hex("93cb3ff00000000000009198ab426c6f636b53746f7265649105c0910a01c0a3"
             "47505581aa63616368655f73616c74a17300");
    assert_int_equal(hash(0, 0), 5);
    assert_int_equal(event(0)->salt_len, 1);
    assert_string_equal(out.seen[0].salt, "s");
    assert_int_equal(event(0)->adapter_len, 0);
}

/* ---- envelopes ---- */

static void envelopes(void **state)
{
    (void)state;
    pack_array(&in, 2); /* a whole number as time */
    pack_uint(&in, 5);
    pack_array(&in, 0);
    read_counts(0, 0, 0);
    assert_near(out.timestamp, 5, 0);
    assert_int_equal(out.parts, 1);

    pack_array(&in, 5); /* ranks and more, of any kind */
    pack_nil(&in);
    pack_array(&in, 0);
    pack_uint(&in, 3);
    pack_map(&in, 0);
    pack_str(&in, "later");
    read_counts(0, 0, 0);
    assert_true(isnan(out.timestamp));

    pack_map(&in, 4); /* any order, unknown keys, keys that are no strings */
    pack_str(&in, "events");
    pack_array(&in, 1);
    put_store(1, 1, 2, 2);
    pack_uint(&in, 7);
    pack_array(&in, 1);
    pack_nil(&in);
    pack_str(&in, "data_parallel_rank");
    pack_uint(&in, 0);
    pack_str(&in, "ts");
    pack_double(&in, 2.5);
    read_counts(1, 0, 0);
    assert_near(out.timestamp, 2.5, 0);
    assert_int_equal(hash(0, 0), 1);

    pack_map(&in, 1);
    pack_str(&in, "events");
    pack_array(&in, 0);
    read_counts(0, 0, 0);
    assert_true(isnan(out.timestamp));
}

static void refused(const char *hex)
{
    struct pack bytes = {0};

    pack_hex(&bytes, hex);
    assert_int_equal(
        read_bytes(bytes.bytes ? bytes.bytes : (const unsigned char *)"",
                   bytes.length),
        LBROUTE_ERR_FORMAT);
    assert_int_equal(out.parts, 0);
    assert_int_equal(out.events, 0);
    assert_int_equal(out.diag.accepted + out.diag.skipped, 0);
    assert_int_equal(out.diag.broken, 1);
    assert_int_equal(out.diag.reasons[LBROUTE_DIAG_FORMAT], 1);
    assert_int_equal(out.diag.offset, 0);
    assert_int_equal(out.diag.line, -1);
    pack_free(&bytes);
}

static void no_batches(void **state)
{
    static const char *const texts[] = {"",
                                        "c0",
                                        "01",
                                        "a161",
                                        "90",
                                        "9101",
                                        "9190",
                                        "9201c0",
                                        "92010a",
                                        "92a17490",
                                        "920180",
                                        "80",
                                        "81a2747301",
                                        "81a66576656e7473c0",
                                        "82a2747301a66576656e74730a",
                                        "82a27473a161a66576656e747390",
                                        "9201c1",
                                        "920191c1",
                                        "930190c1",
                                        "dd0000000201",
                                        "c1"};
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(texts[i]);
}

/* An event that would be taken, then one that is cut short or too deep. */
static void nothing_of_a_malformed_batch(void **state)
{
    (void)state;
    for (unsigned depth = 1; depth < 20; depth++) {
        begin_batch(2);
        put_store(1, 1, 2, 2);
        for (unsigned i = 0; i < depth; i++)
            pack_array(&in, 1);
        pack_nil(&in);
        int code = read_bytes(in.bytes, in.length);
        assert_int_equal(code, depth <= 14 ? 0 : LBROUTE_ERR_FORMAT);
        assert_int_equal(out.parts, depth <= 14);
        assert_int_equal(out.diag.accepted, depth <= 14);
        pack_reset(&in);
    }
}

/* ---- fields ---- */

/* A store with a given tail, from the adapter's number on. */
static void put_tail(const char *hex)
{
    struct pack tail = {0};
    size_t fields = 0;

    pack_hex(&tail, hex);
    struct lbr_msgpack at = lbr_msgpack(tail.bytes, tail.length);
    while (lbr_msgpack_skip(&at, 0))
        fields++;
    assert_ptr_equal(at.at, at.end);
    begin_store(4 + fields, 1, 2, 4, 2);
    pack_raw(&in, tail.bytes, tail.length);
    pack_free(&tail);
}

static void one_tail(const char *hex, int reason)
{
    begin_batch(1);
    put_tail(hex);
    read_counts(!reason, reason && reason != LBROUTE_DIAG_EVENT,
                reason == LBROUTE_DIAG_EVENT);
    assert_int_equal(out.events, !reason);
    if (reason)
        assert_int_equal(out.diag.reasons[reason], 1);
}

/* Arrays from 3 to 16 fields; 3 are too few, what is behind the last known one
 * is passed over. */
static void lengths(void **state)
{
    (void)state;
    for (size_t fields = 0; fields <= 16; fields++) {
        begin_batch(2);
        pack_array(&in, 1 + fields);
        pack_str(&in, "BlockStored");
        if (fields > 0)
            pack_range(&in, 1, 2);
        if (fields > 1)
            pack_nil(&in);
        if (fields > 2)
            pack_range(&in, 100, 4);
        if (fields > 3)
            pack_uint(&in, 2);
        for (size_t i = 4; i < fields; i++) {
            if (i == 5)
                pack_str(&in, "CPU");
            else
                pack_nil(&in);
        }
        put_store(9, 1, 2, 2);
        read_counts(1 + (fields >= 4), 0, fields < 4);
        assert_int_equal(out.diag.reasons[LBROUTE_DIAG_EVENT], fields < 4);
        assert_int_equal(out.events, 1 + (fields >= 4));
        if (fields < 4) {
            assert_int_equal(out.diag.line, 1);
            assert_int_equal(out.diag.offset, 11);
        }
        assert_int_equal(event(0)->medium,
                         fields < 6 ? LBROUTE_MEDIUM_ANY : LBROUTE_MEDIUM_HOST);
    }
}

static void tails(void **state)
{
    (void)state;
    one_tail("c0a3475055a178", 0); /* name by place */
    assert_string_equal(out.seen[0].adapter, "x");
    one_tail("07a3475055a178", 0); /* the name, not the number */
    assert_string_equal(out.seen[0].adapter, "x");
    one_tail("07a3475055c0", 0);
    assert_string_equal(out.seen[0].adapter, "7");
    one_tail("cfffffffffffffffff", 0);
    assert_string_equal(out.seen[0].adapter, "18446744073709551615");
    one_tail("d38000000000000000", 0);
    assert_string_equal(out.seen[0].adapter, "-9223372036854775808");
    one_tail("00", 0); /* numbers begin at 1 */
    assert_int_equal(event(0)->adapter_len, 0);
    one_tail("a2696403", LBROUTE_DIAG_EVENT); /* a medium that is no name */
    one_tail("a26964c0", 0);                  /* a number that is none */
    assert_string_equal(out.seen[0].adapter, "id");
    one_tail("cb3ff0000000000000", LBROUTE_DIAG_EVENT);
    one_tail("c0a3475055c3", LBROUTE_DIAG_EVENT);
    one_tail("c0a3475055c0c3", LBROUTE_DIAG_EVENT);

    one_tail("c0a347505580", 0); /* metadata: nothing, or other things */
    assert_int_equal(event(0)->salt_len, 0);
    one_tail("c0a347505582aa73657373696f6e5f6964a173c0aa63616368655f73616c74",
             0);
    one_tail("c0a347505582aa73657373696f6e5f6964a173aa63616368655f73616c74c0",
             0);
    assert_int_equal(event(0)->salt_len, 0);
    one_tail("c0a347505583aa73657373696f6e5f6964a17301aa63616368655f73616c74aa"
             "63616368655f73616c74c40100",
             0);
    assert_int_equal(event(0)->salt_len, 1);
    one_tail("c0a347505581aa63616368655f73616c7405", LBROUTE_DIAG_EVENT);

    one_tail("c0c0c0c003", 0); /* groups */
    assert_int_equal(event(0)->group, 3);
    one_tail("c0c0c0c0ceffffffff", 0);
    assert_int_equal(event(0)->group, UINT32_MAX);
    one_tail("c0c0c0c0ff", LBROUTE_DIAG_EVENT);
    one_tail("c0c0c0c0cf0000000100000000", LBROUTE_DIAG_EVENT);
    one_tail("c0c0c0c0c0", 0);
    assert_int_equal(event(0)->group, 0);
}

/* Adapters by number, each its own until the part is handed over. */
static void adapters_by_number(void **state)
{
    static const char *const names[] = {"3", "1000000", "-5"};
    (void)state;

    begin_batch(3);
    put_tail("03");
    put_tail("ce000f4240");
    put_tail("fb");
    read_counts(3, 0, 0);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(out.seen[i].adapter, names[i]);
}

static void kinds_of_groups(void **state)
{
    static const struct {
        const char *name;
        int reason;
    } kinds[] = {
        {"full_attention", 0},
        {"mla_attention", 0},
        {"sink_full_attention", 0},
        {"sliding_window", LBROUTE_DIAG_GROUP},
        {"mamba", LBROUTE_DIAG_GROUP},
        {"chunked_local_attention", LBROUTE_DIAG_GROUP},
        {"", LBROUTE_DIAG_GROUP},
        {NULL, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        begin_batch(1);
        begin_store(11, 1, 1, 2, 2);
        for (int j = 0; j < 4; j++)
            pack_nil(&in);
        pack_uint(&in, 1);
        if (kinds[i].name)
            pack_str(&in, kinds[i].name);
        else
            pack_nil(&in);
        pack_uint(&in, 1024);
        read_counts(!kinds[i].reason, kinds[i].reason != 0, 0);
        assert_int_equal(out.diag.reasons[LBROUTE_DIAG_GROUP],
                         kinds[i].reason != 0);
        assert_int_equal(out.parts, 1); /* none is a batch, too */
    }
}

static void media(void **state)
{
    static const struct {
        const char *name;
        int medium;
    } names[] = {
        {NULL, LBROUTE_MEDIUM_ANY},
        {"GPU", LBROUTE_MEDIUM_GPU},
        {"CPU", LBROUTE_MEDIUM_HOST},
        {"CPU_TIER1", LBROUTE_MEDIUM_HOST},
        {"CPU_TIER2", LBROUTE_MEDIUM_HOST},
        {"CPU_PINNED", LBROUTE_MEDIUM_HOST},
        {"DISK", LBROUTE_MEDIUM_DISK},
        {"STORAGE", LBROUTE_MEDIUM_DISK},
        {"FS", LBROUTE_MEDIUM_DISK},
        {"OBJ", LBROUTE_MEDIUM_DISK},
        {"EXTERNAL", LBROUTE_MEDIUM_DISK},
        {"TAPE", -9},
        {"", -9},
        {"GPUS", -9},
        {"CPU_TIER3", -9},
    };
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int known = names[i].medium != -9;
        begin_batch(2);
        begin_store(6, 1, 1, 2, 2);
        pack_nil(&in);
        if (names[i].name)
            pack_str(&in, names[i].name);
        else
            pack_nil(&in);
        put_remove(1, 1, names[i].name);
        read_counts(known ? 2 : 0, known ? 0 : 2, 0);
        assert_int_equal(out.diag.reasons[LBROUTE_DIAG_MEDIUM], known ? 0 : 2);
        for (size_t j = 0; j < out.events; j++)
            assert_int_equal(event(j)->medium, names[i].medium);
    }
}

static void removals(void **state)
{
    (void)state;
    begin_batch(3);
    put_remove(1, 0, "GPU");
    pack_array(&in, 5); /* group, and what is not known */
    pack_str(&in, "BlockRemoved");
    pack_range(&in, 7, 2);
    pack_str(&in, "CPU");
    pack_uint(&in, 4);
    pack_map(&in, 0);
    pack_array(&in, 1); /* no hashes */
    pack_str(&in, "BlockRemoved");
    read_counts(2, 0, 1);
    assert_int_equal(out.diag.line, 3);
    assert_int_equal(out.events, 1);
    assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_HOST);
    assert_int_equal(event(0)->group, 4);
    assert_int_equal(hash(0, 1), 8);
}

/* Removals in a row become one event, in order, unless they differ. */
static void removals_in_a_row(void **state)
{
    (void)state;
    begin_batch(7);
    put_remove(5, 1, "GPU");
    put_remove(1, 2, "GPU");
    put_remove(9, 1, "CPU");
    put_remove(4, 1, "GPU");
    put_store(4, 1, 2, 2);
    put_remove(4, 1, "GPU");
    pack_array(&in, 4);
    pack_str(&in, "BlockRemoved");
    pack_range(&in, 8, 1);
    pack_str(&in, "GPU");
    pack_uint(&in, 1);
    read_counts(7, 0, 0);
    assert_int_equal(out.events, 6);
    assert_int_equal(event(0)->hash_count, 3);
    assert_int_equal(hash(0, 0), 5);
    assert_int_equal(hash(0, 2), 2);
    assert_int_equal(hash(1, 0), 9);
    assert_int_equal(hash(2, 0), 4);
    assert_int_equal(event(3)->kind, LBROUTE_KV_STORED);
    assert_int_equal(event(4)->kind, LBROUTE_KV_REMOVED);
    assert_int_equal(event(4)->hash_count, 1);
    assert_int_equal(event(5)->group, 1);
}

static void hashes(void **state)
{
    static const struct {
        const char *hex;
        uint64_t hash;
        int broken;
    } forms[] = {
        {"00", 0, 0},
        {"cfdab89baa7b5857c0", UINT64_C(15760518052499183552), 0},
        {"ff", UINT64_MAX, 0},
        {"cfffffffffffffffff", UINT64_MAX, 0},
        {"d3ffffffffffffffff", UINT64_MAX, 0},
        {"d080", UINT64_MAX - 127, 0},
        {"c4080102030405060708", UINT64_C(0x0102030405060708), 0},
        {"c409ff0102030405060708", UINT64_C(0x0102030405060708), 0},
        {"a80102030405060708", UINT64_C(0x0102030405060708), 0},
        {"c40701020304050607", 0, 1},
        {"c400", 0, 1},
        {"c0", 0, 1},
        {"c3", 0, 1},
        {"90", 0, 1},
        {"cb3ff0000000000000", 0, 1},
        {"d70000000000000000ff", 0, 1},
    };
    (void)state;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int parent_broken = forms[i].broken && i != 11; /* nil: no parent */
        begin_batch(2);
        pack_array(&in, 2);
        pack_str(&in, "BlockRemoved");
        pack_array(&in, 2);
        pack_uint(&in, 3);
        pack_hex(&in, forms[i].hex);
        pack_array(&in, 5);
        pack_str(&in, "BlockStored");
        pack_range(&in, 1, 1);
        pack_hex(&in, forms[i].hex);
        pack_range(&in, 1, 2);
        pack_uint(&in, 2);
        read_counts((size_t)(!forms[i].broken + !parent_broken), 0,
                    (size_t)(forms[i].broken + parent_broken));
        if (forms[i].broken)
            continue;
        assert_int_equal(hash(0, 1), forms[i].hash);
        assert_int_equal(event(1)->parent, forms[i].hash);
        assert_int_equal(event(1)->has_parent, 1);
    }
}

/* Keys in any order, unknown ones, and fields left out one by one. */
static void maps(void **state)
{
    static const char *const keys[] = {
        "block_size", "token_ids", "parent_block_hash", "block_hashes", "type"};
    (void)state;

    for (size_t without = 0; without <= 5; without++) {
        begin_batch(1);
        pack_map(&in, without < 5 ? 9 : 10);
        pack_str(&in, "session_id");
        pack_map(&in, 1);
        pack_nil(&in);
        pack_array(&in, 0);
        pack_str(&in, "group_idx");
        pack_uint(&in, 2);
        pack_str(&in, "lora_name");
        pack_str(&in, "x");
        pack_uint(&in, 12);
        pack_str(&in, "type");
        pack_str(&in, "cache_salt");
        pack_str(&in, "pepper");
        for (size_t i = 0; i < 5; i++) {
            if (i == without)
                continue;
            pack_str(&in, keys[i]);
            if (i == 0)
                pack_uint(&in, 2);
            if (i == 1)
                pack_range(&in, 10, 4);
            if (i == 2)
                pack_int(&in, -5);
            if (i == 3)
                pack_range(&in, 1, 2);
            if (i == 4)
                pack_str(&in, "BlockStored");
        }
        read_counts(without == 5, 0, without < 5);
    }
    assert_int_equal(event(0)->group, 2);
    assert_int_equal(event(0)->parent, (uint64_t)-5);
    assert_string_equal(out.seen[0].adapter, "x");
    assert_string_equal(out.seen[0].salt, "pepper");
    assert_true(holds_range(0, 0, 10, 2) && holds_range(0, 1, 12, 2));
}

static void localities(void **state)
{
    static const char *const names[] = {"LOCAL", "REMOTE", NULL, "NEAR"};
    (void)state;

    for (size_t i = 0; i < 4; i++) {
        begin_batch(1);
        pack_map(&in, 4);
        pack_str(&in, "type");
        pack_str(&in, "BlockRemoved");
        pack_str(&in, "locality");
        if (names[i])
            pack_str(&in, names[i]);
        else
            pack_nil(&in);
        pack_str(&in, "block_hashes");
        pack_range(&in, 1, 1);
        pack_str(&in, "medium");
        pack_str(&in, "CPU");
        read_counts(i != 1, i == 1, 0);
        assert_int_equal(out.diag.reasons[LBROUTE_DIAG_REMOTE], i == 1);
    }
}

/* What is no event, of an unknown kind, or bad costs only itself. */
static void others_in_a_batch(void **state)
{
    (void)state;
    begin_batch(9);
    put_store(1, 1, 2, 2);
    pack_hex(&in, "90");   /* an array without a type */
    pack_hex(&in, "80");   /* a map without one */
    pack_hex(&in, "05");   /* no event at all */
    pack_hex(&in, "9105"); /* a type that is no name */
    pack_array(&in, 2);
    pack_str(&in, "BlockMoved");
    pack_range(&in, 1, 1);
    pack_map(&in, 1);
    pack_str(&in, "type");
    pack_str(&in, "BlockUpdated");
    pack_hex(&in, "81a474797065c0");
    put_store(2, 1, 2, 2);
    read_counts(2, 2, 5);
    assert_int_equal(out.diag.reasons[LBROUTE_DIAG_KIND], 2);
    assert_int_equal(out.diag.reasons[LBROUTE_DIAG_EVENT], 5);
    assert_int_equal(out.diag.line, 2);
    assert_int_equal(out.diag.offset, 11 + 20);
    assert_int_equal(out.events, 2);
    assert_int_equal(hash(1, 0), 2);
}

/* ---- token ids ---- */

static void one_token(const char *hex, uint32_t id, int broken)
{
    uint32_t ids[2] = {id, 5};

    begin_batch(1);
    pack_array(&in, 5);
    pack_str(&in, "BlockStored");
    pack_range(&in, 1, 1);
    pack_nil(&in);
    pack_array(&in, 2);
    pack_hex(&in, hex);
    pack_uint(&in, 5);
    pack_uint(&in, 2);
    read_counts(!broken, 0, (size_t)broken);
    if (!broken)
        assert_true(holds(0, 0, ids, 2));
}

static void token_forms(void **state)
{
    (void)state;
    one_token("00", 0, 0);
    one_token("cc80", 128, 0);
    one_token("cd1000", 4096, 0);
    one_token("ce00010000", 65536, 0);
    one_token("ceffffffff", UINT32_MAX, 0);
    one_token("cf00000000ffffffff", UINT32_MAX, 0);
    one_token("d1007f", 127, 0);
    one_token("cf0000000100000000", 0, 1);
    one_token("ff", 0, 1);
    one_token("c0", 0, 1);
    one_token("a131", 0, 1);
    one_token("cb3ff0000000000000", 0, 1);
    one_token("920709", 7, 0); /* pairs, and what is like them */
    one_token("9107", 7, 0);
    one_token("93ce00010000c0a161", 65536, 0);
    one_token("90", 0, 1);
    one_token("91c0", 0, 1);
    one_token("91ff", 0, 1);
    one_token("919107", 0, 1);
    one_token("8107c0", 0, 1);
}

/* Without tokens, or without their number in a block. */
static void location_only(void **state)
{
    static const struct {
        size_t tokens;
        uint64_t block_size;
    } forms[] = {{0, 0}, {0, 16}, {4, 0}};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        begin_batch(2);
        begin_store(6, 1, 3, forms[i].tokens, forms[i].block_size);
        pack_nil(&in);
        pack_str(&in, "CPU");
        put_store(1, 0, forms[i].tokens, forms[i].block_size);
        read_counts(2, 0, 0);
        assert_int_equal(out.events, 1);
        assert_int_equal(event(0)->hash_count, 3);
        assert_int_equal(event(0)->block_count, 0);
        assert_int_equal(event(0)->token_count, 0);
        assert_null(event(0)->tokens);
        assert_null(event(0)->blocks);
        assert_int_equal(event(0)->medium, LBROUTE_MEDIUM_HOST);
    }
}

/* What could not be used of an event that came: hashes without tokens, or
 * blocks of tokens without a hash. Fewer tokens than a block has are told by a
 * single one. */
static size_t unused(size_t index)
{
    size_t hashes = event(index)->hash_count;
    size_t blocks = event(index)->block_count;

    if (event(index)->tokens) {
        assert_int_equal(blocks, 0);
        assert_int_equal(event(index)->token_count, 1);
        assert_true(event(index)->block_size > 1);
        return hashes;
    }
    return hashes > blocks ? hashes - blocks : blocks - hashes;
}

/* A store of hashes from 1 and tokens from 100 on comes whole and in order,
 * whatever its pieces. */
static void check_store(size_t hashes, size_t tokens, size_t block_size)
{
    size_t complete = tokens / block_size;
    size_t begun = complete + (tokens % block_size != 0);
    size_t usable = hashes < complete ? hashes : complete;
    size_t seen = 0, left = 0;

    for (size_t i = 0; i < out.events; i++) {
        size_t paired = event(i)->hash_count < event(i)->block_count
                            ? event(i)->hash_count
                            : event(i)->block_count;
        assert_int_equal(event(i)->has_parent, seen > 0);
        assert_true(event(i)->blocks || event(i)->tokens);
        if (seen > 0)
            assert_int_equal(event(i)->parent, seen);
        for (size_t j = 0; j < paired; j++, seen++) {
            assert_int_equal(hash(i, j), 1 + seen);
            assert_true(holds_range(i, j, 100 + (uint32_t)(seen * block_size),
                                    block_size));
        }
        left += unused(i);
    }
    assert_int_equal(seen, usable);
    assert_int_equal(left, (hashes > begun ? hashes : begun) - usable);
}

static void mismatches(void **state)
{
    static const struct {
        size_t hashes, tokens, block_size;
    } cases[] = {{4, 3, 256}, {1, 16, 16}, {2, 31, 16}, {2, 32, 16},
                 {1, 31, 16}, {1, 32, 16}, {1, 33, 16}, {3, 16, 16},
                 {3, 17, 16}, {2, 5, 1},   {5, 2, 1},   {1, 1, 1}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_batch(1);
        put_store(1, cases[i].hashes, cases[i].tokens, cases[i].block_size);
        read_counts(1, 0, 0);
        check_store(cases[i].hashes, cases[i].tokens, cases[i].block_size);
    }
    /* Tokens without any hash. */
    begin_batch(2);
    put_store(1, 0, 16, 16);
    put_store(1, 0, 40, 16);
    read_counts(2, 0, 0);
    assert_int_equal(out.events, 2);
    assert_int_equal(unused(0), 1);
    assert_int_equal(unused(1), 3);
}

/* ---- large events ---- */

static void large_stores(void **state)
{
    static const struct {
        size_t hashes, tokens, block_size;
    } cases[] = {
        {448, 448, 1},      {449, 449, 1},      {447, 448, 1},
        {448, 447, 1},      {449, 448, 1},      {2000, 448, 1},
        {2000, 896, 1},     {896, 896, 1},      {1344, 1345, 1},
        {448, 449, 1},      {448, 1000, 1},     {896, 900, 1},
        {10000, 10000, 1},  {300, 4096, 16},    {256, 4096, 16},
        {257, 4112, 16},    {1000, 16000, 16},  {1000, 16001, 16},
        {1000, 15999, 16},  {100, 10000, 100},  {7, 28672, 4096},
        {7, 28679, 4097},   {3, 196608, 65536}, {2, 200001, 100000},
        {1, 100000, 65536},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_batch(1);
        put_store(1, cases[i].hashes, cases[i].tokens, cases[i].block_size);
        read_counts(1, 0, 0);
        check_store(cases[i].hashes, cases[i].tokens, cases[i].block_size);
    }
}

/* Pairs in a large event, and one bad token at its very end. */
static void large_and_bad(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        begin_batch(1);
        pack_array(&in, 5);
        pack_str(&in, "BlockStored");
        pack_range(&in, 1, 9000);
        pack_nil(&in);
        pack_array(&in, 9000);
        for (uint32_t i = 0; i < 9000; i++) {
            pack_array(&in, 2);
            pack_uint(&in, 100 + i);
            pack_uint(&in, 101 + i);
        }
        if (bad) {
            in.length -= 7;
            pack_hex(&in, "92c0cd2401");
        }
        pack_uint(&in, 1);
        if (bad) {
            read_counts(0, 0, 1);
            assert_int_equal(out.events, 0);
        } else {
            read_counts(1, 0, 0);
            check_store(9000, 9000, 1);
        }
    }
    begin_batch(1); /* a bad hash at the end */
    pack_array(&in, 2);
    pack_str(&in, "BlockRemoved");
    pack_array(&in, 5000);
    for (uint32_t i = 0; i < 4999; i++)
        pack_uint(&in, i);
    pack_nil(&in);
    read_counts(0, 0, 1);
    assert_int_equal(out.events, 0);
}

static void many_events(void **state)
{
    size_t seen = 0;
    (void)state;

    begin_batch(3000);
    for (uint64_t i = 0; i < 3000; i += 2) {
        put_store(i, 1, 2, 2);
        put_remove(i, 1 + (size_t)i % 3, "GPU");
    }
    read_counts(3000, 0, 0);
    assert_int_equal(out.parts, (3000 + LBR_PART_EVENTS - 1) / LBR_PART_EVENTS);
    for (size_t i = 0; i < out.events; i++, seen++) {
        assert_int_equal(event(i)->kind,
                         i % 2 ? LBROUTE_KV_REMOVED : LBROUTE_KV_STORED);
        assert_int_equal(hash(i, 0), i - i % 2);
    }
    assert_int_equal(seen, 3000);
}

/* Malformed at the very end, when there would be several parts: none comes. */
static void checked_before_the_first_part(void **state)
{
    struct pack whole = {0};
    (void)state;

    begin_batch(200);
    for (uint64_t i = 0; i < 200; i++)
        put_store(i, 20, 40, 2);
    pack_raw(&whole, in.bytes, in.length);
    read_counts(200, 0, 0);
    assert_true(out.parts > 5);
    for (size_t cut = 0; cut < whole.length; cut += 1 + cut % 7) {
        assert_int_equal(read_bytes(whole.bytes, cut), LBROUTE_ERR_FORMAT);
        assert_int_equal(out.parts, 0);
        assert_int_equal(out.diag.accepted, 0);
        assert_int_equal(out.diag.broken, 1);
    }
    whole.bytes[whole.length - 1] = 0xc1;
    assert_int_equal(read_bytes(whole.bytes, whole.length), LBROUTE_ERR_FORMAT);
    assert_int_equal(out.parts, 0);
    pack_free(&whole);
}

/* A sink that fails is not called again. */
static void failing_sink(void **state)
{
    (void)state;
    for (out.fail_part = 0; out.fail_part < 4; out.fail_part++) {
        begin_batch(200);
        for (uint64_t i = 0; i < 200; i++)
            put_store(i, 20, 40, 2);
        assert_int_equal(read_bytes(in.bytes, in.length),
                         LBROUTE_ERR_NO_MEMORY);
        assert_int_equal(out.parts, out.fail_part);
        pack_reset(&in);
    }
    out.fail_part = SIZE_MAX;
}

/* ---- extra keys ---- */

static void extra_keys(void **state)
{
    uint64_t image = folded(0, "img");
    (void)state;

    /* nil, adapter only, image with offset, image and salt. */
    one_tail("c0c0a17894c091a1789192a3696d6700"
             "9292a3696d67d0f0a173",
             0);
    assert_int_equal(event(0)->extra_key_count, 2); /* as many as blocks */
    assert_int_equal(key(0, 0), 0);
    assert_int_equal(key(0, 1), 0);

    one_tail("c0c0c0929192a3696d67009292a3696d67d0f0a173", 0);
    assert_int_equal(key(0, 0), image);
    assert_int_equal(key(0, 1), folded(image, "s"));

    /* Order counts; older forms name images by themselves, or by bytes. */
    one_tail("c0c0c09292a161a16292a162c40161", 0);
    assert_int_equal(key(0, 0), folded(folded(0, "a"), "b"));
    assert_int_equal(key(0, 1), folded(folded(0, "b"), "a"));

    /* The adapter's name is passed over once: a salt may be the same. */
    one_tail("c0c0a1789292a178a17892a161a178", 0);
    assert_int_equal(key(0, 0), folded(0, "x"));
    assert_int_equal(key(0, 1), folded(0, "a"));

    /* Numbers are passed over, unless they are what a tuple begins with. */
    one_tail("c0c0c0929305a161c092920701920fa162", 0);
    assert_int_equal(key(0, 0), folded(0, "a"));
    assert_int_equal(key(0, 1), folded(folded(0, "7"), "15"));

    one_tail("c0c0c091a173", 0); /* a key without a list; one block only */
    assert_int_equal(key(0, 0), folded(0, "s"));
    assert_int_equal(key(0, 1), 0);
    one_tail("c0c0c090", 0);
    one_tail("c0c0c09190", 0);
    assert_int_equal(key(0, 0), 0);
    one_tail("c0c0c0919190", 0);
    assert_int_equal(key(0, 0), 0);
    one_tail("c0c0c09105", LBROUTE_DIAG_EVENT);
    one_tail("c0c0c09180", LBROUTE_DIAG_EVENT);
    one_tail("c0c0c0a173", LBROUTE_DIAG_EVENT);
    /* In the place of the adapter's name. */
    one_tail("c0c09291a161c0", 0);
    assert_int_equal(key(0, 0), folded(0, "a"));
    one_tail("c0c09291a161c0c0", 0);
    assert_int_equal(key(0, 0), folded(0, "a"));
}

/* Keys stay with their blocks when an event is cut in pieces. */
static void extra_keys_in_pieces(void **state)
{
    size_t seen = 0;
    (void)state;

    begin_batch(1);
    begin_store(8, 1, 1000, 1000, 1);
    pack_uint(&in, 12);
    pack_nil(&in);
    pack_nil(&in);
    pack_array(&in, 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        pack_array(&in, 1);
        pack_array(&in, 2);
        pack_uint(&in, i);
        pack_int(&in, -3);
    }
    read_counts(1, 0, 0);
    assert_true(out.parts > 1);
    for (size_t i = 0; i < out.events; i++) {
        assert_string_equal(out.seen[i].adapter, "12");
        for (size_t j = 0; j < event(i)->extra_key_count; j++, seen++) {
            char digits[LBR_EVENT_DIGITS];
            size_t length = lbr_event_decimal(seen, 0, digits);
            assert_int_equal(key(i, j), lbroute_kv_fold_key(0, digits, length));
        }
    }
    assert_int_equal(seen, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(example_v08, setup),
        cmocka_unit_test_setup(example_v022, setup),
        cmocka_unit_test_setup(example_v024, setup),
        cmocka_unit_test_setup(example_digest, setup),
        cmocka_unit_test_setup(example_sglang, setup),
        cmocka_unit_test_setup(example_sglang_short_head, setup),
        cmocka_unit_test_setup(envelopes, setup),
        cmocka_unit_test_setup(no_batches, setup),
        cmocka_unit_test_setup(nothing_of_a_malformed_batch, setup),
        cmocka_unit_test_setup(lengths, setup),
        cmocka_unit_test_setup(tails, setup),
        cmocka_unit_test_setup(adapters_by_number, setup),
        cmocka_unit_test_setup(kinds_of_groups, setup),
        cmocka_unit_test_setup(media, setup),
        cmocka_unit_test_setup(removals, setup),
        cmocka_unit_test_setup(removals_in_a_row, setup),
        cmocka_unit_test_setup(hashes, setup),
        cmocka_unit_test_setup(maps, setup),
        cmocka_unit_test_setup(localities, setup),
        cmocka_unit_test_setup(others_in_a_batch, setup),
        cmocka_unit_test_setup(token_forms, setup),
        cmocka_unit_test_setup(location_only, setup),
        cmocka_unit_test_setup(mismatches, setup),
        cmocka_unit_test_setup(large_stores, setup),
        cmocka_unit_test_setup(large_and_bad, setup),
        cmocka_unit_test_setup(many_events, setup),
        cmocka_unit_test_setup(checked_before_the_first_part, setup),
        cmocka_unit_test_setup(failing_sink, setup),
        cmocka_unit_test_setup(extra_keys, setup),
        cmocka_unit_test_setup(extra_keys_in_pieces, setup),
    };
    return cmocka_run_group_tests_name("event_batch", tests, NULL, free_all);
}
