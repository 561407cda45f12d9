/* SPDX-License-Identifier: MIT */
#include "ingest/event_values.h"

int lbr_event_hash(struct lbr_msgpack *in, uint64_t *hash)
{
    struct lbr_msgpack rest = *in;
    struct lbr_text digest;
    int negative;
    size_t i;

    if (lbr_msgpack_int(in, hash, &negative))
        return 1;
    if (!lbr_msgpack_bytes(&rest, &digest) || digest.length < 8)
        return 0;
    for (*hash = 0, i = digest.length - 8; i < digest.length; i++)
        *hash = *hash << 8 | (unsigned char)digest.bytes[i];
    *in = rest;
    return 1;
}

struct word {
    const char *bytes;
    int value;
};

/* The value of the word that a field holds; |absent| if there is none, and
 * |unknown| for another word. Returns 0 if it is no word. */
static int read_word(const struct lbr_event_fields *fields,
                     enum lbr_event_field field, const struct word *words,
                     int *value)
{
    struct lbr_msgpack in = fields->at[field];
    struct lbr_text text;

    if (!lbr_event_given(fields, field))
        return 1;
    if (!lbr_msgpack_bytes(&in, &text))
        return 0;
    for (; words->bytes; words++)
        if (lbr_text_equal(text, lbr_text(words->bytes, strlen(words->bytes))))
            break;
    *value = words->value;
    return 1;
}

enum { UNKNOWN = -2, USABLE = 0 };

static const struct word media[] = {
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
    {NULL, UNKNOWN},
};

/* Kinds of groups that hold whole prefixes. */
static const struct word specs[] = {
    {"full_attention", USABLE},
    {"mla_attention", USABLE},
    {"sink_full_attention", USABLE},
    {NULL, UNKNOWN},
};

static const struct word localities[] = {
    {"REMOTE", UNKNOWN},
    {NULL, USABLE},
};

int lbr_event_place(const struct lbr_event_fields *fields, int32_t *medium,
                    uint32_t *group)
{
    struct lbr_msgpack in = fields->at[LBR_EVENT_GROUP];
    int held = LBROUTE_MEDIUM_ANY, spec = USABLE, locality = USABLE;

    *group = 0;
    if (lbr_event_given(fields, LBR_EVENT_GROUP) &&
        !lbr_msgpack_u32(&in, group))
        return LBROUTE_DIAG_EVENT;
    if (!read_word(fields, LBR_EVENT_MEDIUM, media, &held) ||
        !read_word(fields, LBR_EVENT_SPEC, specs, &spec) ||
        !read_word(fields, LBR_EVENT_LOCALITY, localities, &locality))
        return LBROUTE_DIAG_EVENT;
    *medium = held;
    if (spec == UNKNOWN)
        return LBROUTE_DIAG_GROUP;
    if (locality == UNKNOWN)
        return LBROUTE_DIAG_REMOTE;
    return held == UNKNOWN ? LBROUTE_DIAG_MEDIUM : 0;
}

size_t lbr_event_decimal(uint64_t bits, int negative,
                         char digits[LBR_EVENT_DIGITS])
{
    uint64_t value = negative ? 0 - bits : bits;
    char reversed[LBR_EVENT_DIGITS];
    size_t count = 0, length = 0;

    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative)
        reversed[count++] = '-';
    while (count)
        digits[length++] = reversed[--count];
    return length;
}

int lbr_event_adapter(const struct lbr_event_fields *fields,
                      struct lbr_text *adapter, char digits[LBR_EVENT_DIGITS])
{
    struct lbr_msgpack name = fields->at[LBR_EVENT_LORA_NAME];
    struct lbr_msgpack id = fields->at[LBR_EVENT_LORA_ID];
    uint64_t bits;
    int negative;

    *adapter = lbr_text(NULL, 0);
    if (lbr_event_given(fields, LBR_EVENT_LORA_NAME))
        return lbr_msgpack_bytes(&name, adapter) ? 0 : LBROUTE_DIAG_EVENT;
    if (!lbr_event_given(fields, LBR_EVENT_LORA_ID) ||
        lbr_msgpack_bytes(&id, adapter))
        return 0;
    if (!lbr_msgpack_int(&id, &bits, &negative))
        return LBROUTE_DIAG_EVENT;
    /* Engines count adapters from 1. */
    if (bits)
        *adapter = lbr_text(digits, lbr_event_decimal(bits, negative, digits));
    return 0;
}

/* Whether the next key, which is passed over, is this one. */
static int is_key(struct lbr_msgpack *in, struct lbr_text name)
{
    struct lbr_text key;

    if (lbr_msgpack_bytes(in, &key))
        return lbr_text_equal(key, name);
    (void)lbr_msgpack_skip(in, LBR_EVENT_DEPTH);
    return 0;
}

/* The salt among what else is known of the request that stored the blocks. */
static int find_salt(struct lbr_msgpack in, struct lbr_text *salt)
{
    static const char name[] = "cache_salt";
    size_t count;
    int found;

    if (!lbr_msgpack_map(&in, &count))
        return 0;
    for (; count; count--) {
        found = is_key(&in, lbr_text(name, sizeof name - 1));
        if (found && lbr_msgpack_peek(&in) != LBR_MSGPACK_NIL)
            return lbr_msgpack_bytes(&in, salt) ? 0 : LBROUTE_DIAG_EVENT;
        (void)lbr_msgpack_skip(&in, LBR_EVENT_DEPTH);
    }
    return 0;
}

int lbr_event_salt(const struct lbr_event_fields *fields, struct lbr_text *salt)
{
    struct lbr_msgpack in = fields->at[LBR_EVENT_SALT];

    *salt = lbr_text(NULL, 0);
    if (lbr_event_given(fields, LBR_EVENT_SALT))
        return lbr_msgpack_bytes(&in, salt) ? 0 : LBROUTE_DIAG_EVENT;
    if (lbr_event_given(fields, LBR_EVENT_METADATA))
        return find_salt(fields->at[LBR_EVENT_METADATA], salt);
    return 0;
}
