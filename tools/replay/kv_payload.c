/* SPDX-License-Identifier: MIT */
#include "kv_payload.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

/* First bytes of MessagePack values. */
enum {
    FIX_MAP = 0x80,
    FIX_ARRAY = 0x90,
    FIX_TEXT = 0xa0,
    NIL = 0xc0,
    REAL_64 = 0xcb,
    WHOLE_8 = 0xcc,
    WHOLE_16 = 0xcd,
    WHOLE_32 = 0xce,
    WHOLE_64 = 0xcf,
    TEXT_8 = 0xd9,
    ARRAY_16 = 0xdc,
    ARRAY_32 = 0xdd
};

static void put_bytes(struct kv_payload *payload, const void *bytes,
                      size_t count)
{
    payload->bytes = grow_array(payload->bytes, &payload->capacity,
                                payload->length + count, 1);
    memcpy(payload->bytes + payload->length, bytes, count);
    payload->length += count;
}

/* A first byte and a number behind it, big-endian. */
static void put_number(struct kv_payload *payload, unsigned first,
                       uint64_t value, size_t size)
{
    unsigned char bytes[9];

    bytes[0] = (unsigned char)first;
    for (size_t i = size; i > 0; i--, value >>= 8)
        bytes[i] = (unsigned char)value;
    put_bytes(payload, bytes, size + 1);
}

static void put_nil(struct kv_payload *payload)
{
    put_number(payload, NIL, 0, 0);
}

/* In the shortest form, as all writers do. */
static void put_whole(struct kv_payload *payload, uint64_t value)
{
    if (value < 0x80)
        put_number(payload, (unsigned)value, 0, 0);
    else if (value <= UINT8_MAX)
        put_number(payload, WHOLE_8, value, 1);
    else if (value <= UINT16_MAX)
        put_number(payload, WHOLE_16, value, 2);
    else if (value <= UINT32_MAX)
        put_number(payload, WHOLE_32, value, 4);
    else
        put_number(payload, WHOLE_64, value, 8);
}

static void put_real(struct kv_payload *payload, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_number(payload, REAL_64, bits, 8);
}

static void put_array(struct kv_payload *payload, size_t count)
{
    if (count < 16)
        put_number(payload, FIX_ARRAY + (unsigned)count, 0, 0);
    else if (count <= UINT16_MAX)
        put_number(payload, ARRAY_16, count, 2);
    else
        put_number(payload, ARRAY_32, count, 4);
}

static void put_text(struct kv_payload *payload, const char *text)
{
    size_t length = strlen(text);

    if (length < 32)
        put_number(payload, FIX_TEXT + (unsigned)length, 0, 0);
    else
        put_number(payload, TEXT_8, length, 1);
    put_bytes(payload, text, length);
}

/* Opens an event with `fields` fields besides its name. */
static void open_event(struct kv_payload *payload, enum kv_form form,
                       const char *name, unsigned fields)
{
    put_number(payload,
               (form == KV_FORM_MAP ? FIX_MAP : FIX_ARRAY) + fields + 1, 0, 0);
    if (form == KV_FORM_MAP)
        put_text(payload, "type");
    put_text(payload, name);
}

/* Fields have names in maps and places in arrays. */
static void name_field(struct kv_payload *payload, enum kv_form form,
                       const char *name)
{
    if (form == KV_FORM_MAP)
        put_text(payload, name);
}

static void put_hashes(struct kv_payload *payload, enum kv_form form,
                       const uint64_t *hashes, size_t count)
{
    name_field(payload, form, "block_hashes");
    put_array(payload, count);
    for (size_t i = 0; i < count; i++)
        put_whole(payload, hashes[i]);
}

static void put_medium(struct kv_payload *payload, enum kv_form form)
{
    name_field(payload, form, "medium");
    put_text(payload, "GPU");
}

static void put_group(struct kv_payload *payload, enum kv_form form)
{
    name_field(payload, form, "group_idx");
    put_whole(payload, 0);
}

static void put_tokens(struct kv_payload *payload, enum kv_form form,
                       const struct kv_stored *stored)
{
    name_field(payload, form, "token_ids");
    put_array(payload, stored->token_count);
    for (size_t i = 0; i < stored->token_count; i++)
        put_whole(payload, stored->tokens[i]);
    name_field(payload, form, "block_size");
    put_whole(payload, stored->block_size);
}

/* vLLM tells the adapter by name in the keys of its hashes, too. */
static void put_extra_keys(struct kv_payload *payload,
                           const struct kv_stored *stored)
{
    put_array(payload, stored->hash_count);
    for (size_t i = 0; i < stored->hash_count; i++) {
        if (stored->adapter_name == NULL) {
            put_nil(payload);
            continue;
        }
        put_array(payload, 1);
        put_text(payload, stored->adapter_name);
    }
}

static void put_adapter_number(struct kv_payload *payload, enum kv_form form,
                               const struct kv_stored *stored)
{
    name_field(payload, form, "lora_id");
    if (stored->adapter != 0)
        put_whole(payload, stored->adapter);
    else
        put_nil(payload);
}

static void put_adapter_name(struct kv_payload *payload, enum kv_form form,
                             const struct kv_stored *stored)
{
    name_field(payload, form, "lora_name");
    if (stored->adapter_name != NULL)
        put_text(payload, stored->adapter_name);
    else
        put_nil(payload);
}

static void put_parent(struct kv_payload *payload, enum kv_form form,
                       const struct kv_stored *stored)
{
    name_field(payload, form, "parent_block_hash");
    if (stored->has_parent)
        put_whole(payload, stored->parent);
    else
        put_nil(payload);
}

void kv_payload_begin(struct kv_payload *payload, double timestamp,
                      size_t events)
{
    payload->length = 0;
    put_array(payload, 3);
    put_real(payload, timestamp);
    put_array(payload, events);
}

/* Maps leave out what is empty or the default: the extra keys of blocks without
 * any, and the kind of cache. */
void kv_payload_stored(struct kv_payload *payload, enum kv_form form,
                       const struct kv_stored *stored)
{
    bool keys = form == KV_FORM_ARRAY || stored->adapter_name != NULL;
    bool kind = form == KV_FORM_ARRAY;

    open_event(payload, form, "BlockStored", 8u + keys + kind);
    put_hashes(payload, form, stored->hashes, stored->hash_count);
    put_parent(payload, form, stored);
    put_tokens(payload, form, stored);
    put_adapter_number(payload, form, stored);
    put_medium(payload, form);
    put_adapter_name(payload, form, stored);
    if (keys) {
        name_field(payload, form, "extra_keys");
        put_extra_keys(payload, stored);
    }
    put_group(payload, form);
    if (kind)
        put_text(payload, "full_attention");
}

void kv_payload_removed(struct kv_payload *payload, enum kv_form form,
                        uint64_t hash)
{
    open_event(payload, form, "BlockRemoved", 3);
    put_hashes(payload, form, &hash, 1);
    put_medium(payload, form);
    put_group(payload, form);
}

void kv_payload_end(struct kv_payload *payload, uint32_t rank)
{
    put_whole(payload, rank);
}

void kv_payload_release(struct kv_payload *payload)
{
    free(payload->bytes);
    *payload = (struct kv_payload){0};
}
