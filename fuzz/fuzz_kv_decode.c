/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the decoder of KV events against a msgpack library: the same bytes are
 * well-formed, and a plain reading of the library's tree of values comes to the
 * same events, block by block.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>
#include <msgpack.h>

#include "check.h"
#include "ingest/event_batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef msgpack_object value;

enum { MOST_BYTES = 65536, MOST_OPS = 1 << 17 };

/* ---- what a batch does, block by block ---- */

struct op {
    int what; /* LBROUTE_KV_ kind; 0: a known block is in a medium, too */
    int medium;
    uint32_t group;
    uint64_t hash;
    int has_parent;
    uint64_t parent, content, key, adapter, salt;
};

struct story {
    size_t count;
    uint64_t mismatched; /* blocks without tokens, or tokens without a block */
    lbroute_diag diag;
    struct op ops[MOST_OPS];
};

static struct story ours, theirs;

static struct op *add(struct story *story, int what, int medium, uint32_t group)
{
    CHECK(story->count < MOST_OPS);
    struct op *op = &story->ops[story->count++];
    memset(op, 0, sizeof *op);
    op->what = what;
    op->medium = medium;
    op->group = group;
    return op;
}

static uint64_t digest(const void *bytes, size_t length)
{
    return length ? lbroute_kv_fold_key(1, bytes, length) : 0;
}

/* ---- as decoded ---- */

static void tell_store(const lbroute_kv_event *event)
{
    size_t told = event->token_count ? 0 : event->block_count;
    size_t pairs = event->hash_count < told ? event->hash_count : told;
    size_t most = event->hash_count > told ? event->hash_count : told;

    ours.mismatched += most - pairs;
    for (size_t i = 0; i < pairs; i++) {
        struct op *op = add(&ours, event->kind, event->medium, event->group);
        op->hash = event->hashes[i];
        op->has_parent = i > 0 || event->has_parent;
        op->parent = i > 0 ? event->hashes[i - 1] : event->parent;
        op->content = event->blocks[i];
        op->key = i < event->extra_key_count ? event->extra_keys[i] : 0;
        op->adapter = digest(event->adapter, event->adapter_len);
        op->salt = op->has_parent ? 0 : digest(event->salt, event->salt_len);
    }
}

static int tell(void *context, lbroute_kv_batch *part)
{
    (void)context;
    for (size_t i = 0; i < part->event_count; i++) {
        const lbroute_kv_event *event = &part->events[i];
        if (event->kind == LBROUTE_KV_CLEARED) {
            add(&ours, event->kind, 0, 0);
        } else if (event->block_count || event->token_count) {
            tell_store(event);
        } else {
            for (size_t j = 0; j < event->hash_count; j++)
                add(&ours, event->kind == LBROUTE_KV_STORED ? 0 : event->kind,
                    event->medium, event->group)
                    ->hash = event->hashes[j];
        }
    }
    return 0;
}

/* ---- as the tree tells it ---- */

static int depth_of(const value *v)
{
    int most = 0;

    if (v->type == MSGPACK_OBJECT_ARRAY) {
        for (uint32_t i = 0; i < v->via.array.size; i++) {
            int depth = depth_of(&v->via.array.ptr[i]);
            most = depth > most ? depth : most;
        }
        return most + 1;
    }
    if (v->type != MSGPACK_OBJECT_MAP)
        return 0;
    for (uint32_t i = 0; i < v->via.map.size; i++) {
        int key = depth_of(&v->via.map.ptr[i].key);
        int val = depth_of(&v->via.map.ptr[i].val);
        most = key > most ? key : most;
        most = val > most ? val : most;
    }
    return most + 1;
}

static int is_nil(const value *v)
{
    return !v || v->type == MSGPACK_OBJECT_NIL;
}

/* The bytes of a str or bin. */
static int text_of(const value *v, const char **bytes, size_t *length)
{
    if (v->type == MSGPACK_OBJECT_STR) {
        *bytes = v->via.str.ptr;
        *length = v->via.str.size;
        return 1;
    }
    if (v->type != MSGPACK_OBJECT_BIN)
        return 0;
    *bytes = v->via.bin.ptr;
    *length = v->via.bin.size;
    return 1;
}

static int is_text(const value *v, const char *wanted)
{
    const char *bytes;
    size_t length;

    return text_of(v, &bytes, &length) && length == strlen(wanted) &&
           memcmp(bytes, wanted, length) == 0;
}

static int u32_of(const value *v, uint32_t *number)
{
    if (v->type != MSGPACK_OBJECT_POSITIVE_INTEGER || v->via.u64 > UINT32_MAX)
        return 0;
    *number = (uint32_t)v->via.u64;
    return 1;
}

static int hash_of(const value *v, uint64_t *hash)
{
    const char *bytes;
    size_t length;

    if (v->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
        v->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *hash = v->type == MSGPACK_OBJECT_POSITIVE_INTEGER
                    ? v->via.u64
                    : (uint64_t)v->via.i64;
        return 1;
    }
    if (!text_of(v, &bytes, &length) || length < 8)
        return 0;
    *hash = 0;
    for (size_t i = length - 8; i < length; i++)
        *hash = *hash * 256 + (unsigned char)bytes[i];
    return 1;
}

static int token_of(const value *v, uint32_t *token)
{
    if (v->type == MSGPACK_OBJECT_ARRAY)
        return v->via.array.size > 0 && u32_of(v->via.array.ptr, token);
    return u32_of(v, token);
}

/* The fields by their names; of an array, by the names of their places. */
enum {
    HASHES,
    PARENT,
    TOKENS,
    SIZE,
    LORA_ID,
    MEDIUM,
    LORA_NAME,
    KEYS,
    GROUP,
    SPEC,
    LOCALITY,
    SALT,
    METADATA,
    FIELDS
};

static const char *const names[FIELDS] = {"block_hashes", "parent_block_hash",
                                          "token_ids",    "block_size",
                                          "lora_id",      "medium",
                                          "lora_name",    "extra_keys",
                                          "group_idx",    "kv_cache_spec_kind",
                                          "locality",     "cache_salt",
                                          "metadata"};

struct fields {
    const value *type;
    const value *at[FIELDS]; /* the last one that is not nil */
    const value *tokens;     /* the last one */
    int there[FIELDS];
};

static void set(struct fields *fields, int field, const value *v)
{
    fields->there[field] = 1;
    if (!is_nil(v))
        fields->at[field] = v;
    if (field == TOKENS)
        fields->tokens = v;
}

static void set_key(struct fields *fields, const value *key, const value *v)
{
    const char *bytes;
    size_t length;

    if (is_text(key, "type") && text_of(v, &bytes, &length))
        fields->type = v;
    for (int i = 0; i < FIELDS; i++)
        if (is_text(key, names[i]))
            set(fields, i, v);
}

static void set_place(struct fields *fields, uint32_t place, const value *v)
{
    static const int removed[] = {HASHES, MEDIUM, GROUP};

    if (is_text(fields->type, "BlockRemoved") && place <= 3)
        set(fields, removed[place - 1], v);
    if (!is_text(fields->type, "BlockStored") || place > 10)
        return;
    if ((place == 7 || place == 8) && v->type == MSGPACK_OBJECT_MAP)
        set(fields, METADATA, v);
    else if (place == 7 && v->type == MSGPACK_OBJECT_ARRAY)
        set(fields, KEYS, v);
    else
        set(fields, (int)place - 1, v);
}

static int find_fields(const value *event, struct fields *fields)
{
    const char *bytes;
    size_t length;

    memset(fields, 0, sizeof *fields);
    if (event->type == MSGPACK_OBJECT_ARRAY && event->via.array.size > 0 &&
        text_of(event->via.array.ptr, &bytes, &length)) {
        fields->type = event->via.array.ptr;
        for (uint32_t i = 1; i < event->via.array.size; i++)
            set_place(fields, i, &event->via.array.ptr[i]);
    }
    if (event->type == MSGPACK_OBJECT_MAP)
        for (uint32_t i = 0; i < event->via.map.size; i++)
            set_key(fields, &event->via.map.ptr[i].key,
                    &event->via.map.ptr[i].val);
    return fields->type != NULL;
}

/* Why an event cannot be used where it says to be; 0: it can. */
static int place_of(const struct fields *fields, int *medium, uint32_t *group)
{
    static const char *const known[] = {
        "GPU",  "CPU",     "CPU_TIER1", "CPU_TIER2", "CPU_PINNED",
        "DISK", "STORAGE", "FS",        "OBJ",       "EXTERNAL"};
    static const int places[] = {0, 1, 1, 1, 1, 2, 2, 2, 2, 2};
    const value *spec = fields->at[SPEC], *where = fields->at[LOCALITY];
    const char *bytes;
    size_t length;

    *group = 0;
    *medium = fields->at[MEDIUM] ? -2 : -1;
    if (fields->at[GROUP] && !u32_of(fields->at[GROUP], group))
        return LBROUTE_DIAG_EVENT;
    for (int i = MEDIUM; i <= LOCALITY; i++)
        if ((i == MEDIUM || i == SPEC || i == LOCALITY) && fields->at[i] &&
            !text_of(fields->at[i], &bytes, &length))
            return LBROUTE_DIAG_EVENT;
    for (int i = 0; i < 10 && fields->at[MEDIUM]; i++)
        if (is_text(fields->at[MEDIUM], known[i]))
            *medium = places[i];
    if (spec && !is_text(spec, "full_attention") &&
        !is_text(spec, "mla_attention") &&
        !is_text(spec, "sink_full_attention"))
        return LBROUTE_DIAG_GROUP;
    if (where && is_text(where, "REMOTE"))
        return LBROUTE_DIAG_REMOTE;
    return *medium == -2 ? LBROUTE_DIAG_MEDIUM : 0;
}

static int identity_of(const struct fields *fields, char digits[24],
                       const char **adapter, size_t *adapter_len,
                       const char **salt, size_t *salt_len)
{
    const value *name = fields->at[LORA_NAME], *id = fields->at[LORA_ID];
    const value *data = fields->at[METADATA], *given = fields->at[SALT];

    *adapter = *salt = NULL;
    *adapter_len = *salt_len = 0;
    if (name && !text_of(name, adapter, adapter_len))
        return 0;
    if (!name && id && !text_of(id, adapter, adapter_len)) {
        *adapter = digits;
        if (id->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
            *adapter_len = (size_t)snprintf(digits, 24, "%llu",
                                            (unsigned long long)id->via.u64);
        else if (id->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
            *adapter_len =
                (size_t)snprintf(digits, 24, "%lld", (long long)id->via.i64);
        else
            return 0;
        if (strcmp(digits, "0") == 0)
            *adapter_len = 0;
    }
    if (!given && data && data->type == MSGPACK_OBJECT_MAP)
        for (uint32_t i = 0; i < data->via.map.size && !given; i++)
            if (is_text(&data->via.map.ptr[i].key, "cache_salt") &&
                !is_nil(&data->via.map.ptr[i].val))
                given = &data->via.map.ptr[i].val;
    return !given || text_of(given, salt, salt_len);
}

/* Folds one key of a block; the first that is the adapter is passed over. */
static uint64_t fold_key(uint64_t key, const value *v, const char *adapter,
                         size_t adapter_len, int *passed)
{
    const char *bytes;
    size_t length;
    char digits[24];

    if (v->type == MSGPACK_OBJECT_ARRAY && v->via.array.size > 0) {
        const value *first = v->via.array.ptr;
        if (text_of(first, &bytes, &length))
            return lbroute_kv_fold_key(key, bytes, length);
        if (first->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
            snprintf(digits, sizeof digits, "%llu",
                     (unsigned long long)first->via.u64);
        else if (first->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
            snprintf(digits, sizeof digits, "%lld", (long long)first->via.i64);
        else
            return key;
        return lbroute_kv_fold_key(key, digits, strlen(digits));
    }
    if (!text_of(v, &bytes, &length))
        return key;
    if (!*passed && adapter_len && length == adapter_len &&
        memcmp(bytes, adapter, length) == 0) {
        *passed = 1;
        return key;
    }
    return lbroute_kv_fold_key(key, bytes, length);
}

static uint64_t keys_of(const value *block, const char *adapter,
                        size_t adapter_len)
{
    uint64_t key = 0;
    int passed = 0;

    if (block->type != MSGPACK_OBJECT_ARRAY)
        return fold_key(0, block, adapter, adapter_len, &passed);
    for (uint32_t i = 0; i < block->via.array.size; i++)
        key = fold_key(key, &block->via.array.ptr[i], adapter, adapter_len,
                       &passed);
    return key;
}

static int are_keys(const value *keys)
{
    if (!keys)
        return 1;
    if (keys->type != MSGPACK_OBJECT_ARRAY)
        return 0;
    for (uint32_t i = 0; i < keys->via.array.size; i++) {
        msgpack_object_type type = keys->via.array.ptr[i].type;
        if (type != MSGPACK_OBJECT_NIL && type != MSGPACK_OBJECT_ARRAY &&
            type != MSGPACK_OBJECT_STR && type != MSGPACK_OBJECT_BIN)
            return 0;
    }
    return 1;
}

static int are_hashes(const value *hashes)
{
    uint64_t hash;

    if (!hashes || hashes->type != MSGPACK_OBJECT_ARRAY)
        return 0;
    for (uint32_t i = 0; i < hashes->via.array.size; i++)
        if (!hash_of(&hashes->via.array.ptr[i], &hash))
            return 0;
    return 1;
}

static uint32_t *tokens_of(const value *tokens, size_t *count)
{
    size_t room =
        tokens->type == MSGPACK_OBJECT_ARRAY ? tokens->via.array.size : 0;
    uint32_t *ids = malloc((room + 1) * sizeof *ids);

    CHECK(ids != NULL);
    *count = room;
    for (size_t i = 0; i < room; i++) {
        if (!token_of(&tokens->via.array.ptr[i], &ids[i])) {
            free(ids);
            return NULL;
        }
    }
    if (tokens->type == MSGPACK_OBJECT_ARRAY || is_nil(tokens))
        return ids;
    free(ids);
    return NULL;
}

struct store {
    const value *hashes, *keys;
    int has_parent, medium;
    uint32_t group, block_size;
    uint64_t parent;
    const char *adapter, *salt;
    size_t adapter_len, salt_len;
};

static uint64_t nth_hash(const struct store *store, size_t i)
{
    uint64_t hash = 0;

    CHECK(hash_of(&store->hashes->via.array.ptr[i], &hash));
    return hash;
}

static void add_blocks(const struct store *store, const uint32_t *ids,
                       size_t count)
{
    size_t hashes = store->hashes->via.array.size;
    size_t complete = count / store->block_size;
    size_t begun = complete + (count % store->block_size != 0);
    size_t pairs = hashes < complete ? hashes : complete;

    theirs.mismatched += (hashes > begun ? hashes : begun) - pairs;
    for (size_t i = 0; i < pairs; i++) {
        struct op *op =
            add(&theirs, LBROUTE_KV_STORED, store->medium, store->group);
        size_t one;
        op->hash = nth_hash(store, i);
        op->has_parent = i > 0 || store->has_parent;
        op->parent = i > 0 ? nth_hash(store, i - 1) : store->parent;
        CHECK_I(lbroute_hash_blocks(ids + i * store->block_size,
                                    store->block_size, 4, store->block_size,
                                    &op->content, 1, &one),
                0);
        if (store->keys && i < store->keys->via.array.size)
            op->key = keys_of(&store->keys->via.array.ptr[i], store->adapter,
                              store->adapter_len);
        op->adapter = digest(store->adapter, store->adapter_len);
        op->salt = op->has_parent ? 0 : digest(store->salt, store->salt_len);
    }
}

static int told_store(const struct fields *fields)
{
    struct store store;
    char digits[24] = "";
    size_t count;
    int reason;

    memset(&store, 0, sizeof store);
    store.hashes = fields->at[HASHES];
    store.keys = fields->at[KEYS];
    if (!are_hashes(store.hashes) || !fields->there[PARENT] ||
        !fields->there[TOKENS] || !fields->there[SIZE] ||
        !are_keys(store.keys) ||
        !identity_of(fields, digits, &store.adapter, &store.adapter_len,
                     &store.salt, &store.salt_len))
        return LBROUTE_DIAG_EVENT;
    store.has_parent = fields->at[PARENT] != NULL;
    if (store.has_parent && !hash_of(fields->at[PARENT], &store.parent))
        return LBROUTE_DIAG_EVENT;
    if (fields->at[SIZE] && !u32_of(fields->at[SIZE], &store.block_size))
        return LBROUTE_DIAG_EVENT;
    uint32_t *ids = tokens_of(fields->tokens, &count);
    if (!ids)
        return LBROUTE_DIAG_EVENT;
    reason = place_of(fields, &store.medium, &store.group);
    if (!reason && count && store.block_size)
        add_blocks(&store, ids, count);
    else if (!reason)
        for (size_t i = 0; i < store.hashes->via.array.size; i++)
            add(&theirs, 0, store.medium, store.group)->hash =
                nth_hash(&store, i);
    free(ids);
    return reason;
}

static int told_event(const value *event)
{
    struct fields fields;
    struct store store;
    int reason;

    if (!find_fields(event, &fields))
        return LBROUTE_DIAG_EVENT;
    if (is_text(fields.type, "AllBlocksCleared"))
        return add(&theirs, LBROUTE_KV_CLEARED, 0, 0), 0;
    if (is_text(fields.type, "BlockStored"))
        return told_store(&fields);
    if (!is_text(fields.type, "BlockRemoved"))
        return LBROUTE_DIAG_KIND;
    store.hashes = fields.at[HASHES];
    if (!are_hashes(store.hashes))
        return LBROUTE_DIAG_EVENT;
    reason = place_of(&fields, &store.medium, &store.group);
    if (!reason)
        for (size_t i = 0; i < store.hashes->via.array.size; i++)
            add(&theirs, LBROUTE_KV_REMOVED, store.medium, store.group)->hash =
                nth_hash(&store, i);
    return reason;
}

static int is_time(const value *v)
{
    return v->type == MSGPACK_OBJECT_NIL ||
           v->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
           v->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
           v->type == MSGPACK_OBJECT_FLOAT32 ||
           v->type == MSGPACK_OBJECT_FLOAT64;
}

/* The events of a batch; NULL: it is none. */
static const value *events_of(const value *batch)
{
    const value *events = NULL;

    if (batch->type == MSGPACK_OBJECT_ARRAY && batch->via.array.size >= 2 &&
        is_time(batch->via.array.ptr))
        events = &batch->via.array.ptr[1];
    if (batch->type == MSGPACK_OBJECT_MAP) {
        for (uint32_t i = 0; i < batch->via.map.size; i++) {
            const msgpack_object_kv *entry = &batch->via.map.ptr[i];
            if (is_text(&entry->key, "ts") && !is_time(&entry->val))
                return NULL;
            if (is_text(&entry->key, "events"))
                events = &entry->val;
        }
    }
    return events && events->type == MSGPACK_OBJECT_ARRAY ? events : NULL;
}

/* ---- both ---- */

/* The library reserves what a head promises. */
static int is_modest(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++)
        if ((data[i] == 0xdd || data[i] == 0xdf) &&
            (data[i + 1] || data[i + 2]))
            return 0;
    return size <= MOST_BYTES;
}

static int tell_theirs(const uint8_t *data, size_t size)
{
    msgpack_unpacked tree;
    const value *events;
    size_t end = 0;
    int fits;

    msgpack_unpacked_init(&tree);
    fits = msgpack_unpack_next(&tree, (const char *)data, size, &end) ==
               MSGPACK_UNPACK_SUCCESS &&
           depth_of(&tree.data) <= LBR_MSGPACK_DEPTH;
    events = fits ? events_of(&tree.data) : NULL;
    for (uint32_t i = 0; events && i < events->via.array.size; i++) {
        int reason = told_event(&events->via.array.ptr[i]);
        theirs.diag.reasons[reason]++;
    }
    fits = events != NULL;
    msgpack_unpacked_destroy(&tree);
    return fits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int code;

    if (!is_modest(data, size))
        return 0;
    ours.count = theirs.count = 0;
    ours.mismatched = theirs.mismatched = 0;
    lbroute_diag_init(&theirs.diag, sizeof theirs.diag);
    code = lbr_event_batch_read(size ? (const void *)data : "", size, tell,
                                NULL, &ours.diag);
    CHECK_I(code, tell_theirs(data, size) ? 0 : LBROUTE_ERR_FORMAT);
    if (code)
        return 0;
    CHECK_U(ours.diag.accepted, theirs.diag.reasons[0]);
    for (int i = 1; i < LBROUTE_DIAG_COUNT; i++)
        CHECK_U(ours.diag.reasons[i], theirs.diag.reasons[i]);
    CHECK_U(ours.count, theirs.count);
    CHECK(memcmp(ours.ops, theirs.ops, ours.count * sizeof *ours.ops) == 0);
    return 0;
}
