/* SPDX-License-Identifier: MIT */
#include "ingest/msgpack.h"

struct lbr_msgpack lbr_msgpack(const void *bytes, size_t length)
{
    struct lbr_msgpack in;

    in.at = bytes;
    in.end = in.at + length;
    return in;
}

/* How a value begins: its kind, the bytes of its length field, and those of its
 * body besides what the length field tells; of an array or map, elements. */
struct row {
    unsigned char kind, width, body;
};

#define NONE LBR_MSGPACK_NONE
#define INT LBR_MSGPACK_INT
#define BYTES LBR_MSGPACK_BYTES
#define ARRAY LBR_MSGPACK_ARRAY
#define MAP LBR_MSGPACK_MAP
#define EXT LBR_MSGPACK_EXT

#define SAME_4(kind)                                                           \
    {kind, 0, 0}, {kind, 0, 0}, {kind, 0, 0},                                  \
    {                                                                          \
        kind, 0, 0                                                             \
    }
#define SAME_16(kind) SAME_4(kind), SAME_4(kind), SAME_4(kind), SAME_4(kind)
#define SAME_64(kind) SAME_16(kind), SAME_16(kind), SAME_16(kind), SAME_16(kind)
#define MORE_4(kind, n, each)                                                  \
    {kind, 0, (n) * (each)}, {kind, 0, ((n) + 1) * (each)},                    \
        {kind, 0, ((n) + 2) * (each)},                                         \
    {                                                                          \
        kind, 0, ((n) + 3) * (each)                                            \
    }
#define MORE_16(kind, n, each)                                                 \
    MORE_4(kind, n, each), MORE_4(kind, (n) + 4, each),                        \
        MORE_4(kind, (n) + 8, each), MORE_4(kind, (n) + 12, each)

/* By the first byte. A table, since a branch for each form would be
 * mispredicted all the time. An ext has a byte for its type. */
static const struct row rows[256] = {
    SAME_64(INT),
    SAME_64(INT),
    MORE_16(MAP, 0, 2),
    MORE_16(ARRAY, 0, 1),
    MORE_16(BYTES, 0, 1),
    MORE_16(BYTES, 16, 1),
    {LBR_MSGPACK_NIL, 0, 0},
    {NONE, 0, 0},
    {LBR_MSGPACK_BOOL, 0, 0},
    {LBR_MSGPACK_BOOL, 0, 0},
    {BYTES, 1, 0},
    {BYTES, 2, 0},
    {BYTES, 4, 0},
    {EXT, 1, 1},
    {EXT, 2, 1},
    {EXT, 4, 1},
    {LBR_MSGPACK_FLOAT, 0, 4},
    {LBR_MSGPACK_FLOAT, 0, 8},
    {INT, 0, 1},
    {INT, 0, 2},
    {INT, 0, 4},
    {INT, 0, 8},
    {INT, 0, 1},
    {INT, 0, 2},
    {INT, 0, 4},
    {INT, 0, 8},
    {EXT, 0, 2},
    {EXT, 0, 3},
    {EXT, 0, 5},
    {EXT, 0, 9},
    {EXT, 0, 17},
    {BYTES, 1, 0},
    {BYTES, 2, 0},
    {BYTES, 4, 0},
    {ARRAY, 2, 0},
    {ARRAY, 4, 0},
    {MAP, 2, 0},
    {MAP, 4, 0},
    SAME_16(INT),
    SAME_16(INT),
};

/* What a value is, and where. */
struct head {
    enum lbr_msgpack_kind kind;
    const unsigned char *body;
    size_t size; /* bytes of the body; of an array or map, elements */
};

static uint64_t big_endian(const unsigned char *at, size_t width)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < width; i++)
        value = value << 8 | at[i];
    return value;
}

static uint64_t big_endian_64(const unsigned char *at)
{
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 |
           (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
           (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
           (uint64_t)at[6] << 8 | at[7];
}

/* Takes the length field of a value. Returns 0 if it is cut short. A length of
 * 32 bits twice over, and one more, fits in a size_t of 64; where that has 32
 * there cannot be that many bytes either. */
static int read_length(const struct lbr_msgpack *in, const struct row *row,
                       struct head *head)
{
    uint64_t size;

    if ((size_t)(in->end - head->body) < row->width)
        return 0;
    size = big_endian(head->body, row->width);
    size = (row->kind == MAP ? 2 * size : size) + row->body;
    head->size = size < SIZE_MAX ? (size_t)size : SIZE_MAX;
    head->body += row->width;
    return 1;
}

/* Reads how the next value begins. Returns 0 if not all of it is there; each
 * element of an array or map takes at least a byte. */
static int read_head(const struct lbr_msgpack *in, struct head *head)
{
    const struct row *row;

    if (in->at == in->end)
        return 0;
    row = &rows[*in->at];
    head->kind = (enum lbr_msgpack_kind)row->kind;
    head->body = in->at + 1;
    head->size = row->body;
    if (row->width && !read_length(in, row, head))
        return 0;
    return row->kind != NONE && head->size <= (size_t)(in->end - head->body);
}

enum lbr_msgpack_kind lbr_msgpack_peek(const struct lbr_msgpack *in)
{
    return in->at == in->end ? LBR_MSGPACK_NONE
                             : (enum lbr_msgpack_kind)rows[*in->at].kind;
}

/* ---- token ids ---- */

/* Token ids come in four forms, of small numbers and of 1, 2 and 4 bytes behind
 * 0xcc, 0xcd and 0xce, mixed at random: a branch for each would be mispredicted
 * all the time. So their length is computed. */
#define TOKEN_BYTES 8 /* to look at, of which up to 5 are taken */

static int is_token(unsigned first)
{
    return ((first - 0xcc) & (0 - (first >> 7))) <= 2;
}

/* Bytes behind the first one. */
static unsigned token_width(unsigned first)
{
    return (first >> 7) << (first & 3);
}

/* Passes over up to |count| token ids. Returns how many. */
static size_t skip_tokens(struct lbr_msgpack *in, size_t count)
{
    const unsigned char *at = in->at;
    size_t left = count;

    for (; left && in->end - at >= TOKEN_BYTES && is_token(*at); left--)
        at += 1 + token_width(*at);
    in->at = at;
    return count - left;
}

/* Takes up to |count| token ids. Returns how many. */
static size_t take_tokens(struct lbr_msgpack *in, uint32_t *values,
                          size_t count)
{
    static const uint32_t masks[5] = {0xff, 0xff, 0xffff, 0, UINT32_MAX};
    const unsigned char *at = in->at;
    unsigned width;
    size_t taken;

    for (taken = 0; taken < count && in->end - at >= TOKEN_BYTES; taken++) {
        if (!is_token(*at))
            break;
        width = token_width(*at);
        values[taken] =
            (uint32_t)(big_endian_64(at) >> (56 - 8 * width)) & masks[width];
        at += 1 + width;
    }
    in->at = at;
    return taken;
}

/* ---- values ---- */

static int is_container(const struct head *head)
{
    return head->kind == LBR_MSGPACK_ARRAY || head->kind == LBR_MSGPACK_MAP;
}

/* Passes over the |count| values of an array or map, the |depth|th one around
 * them. */
static int skip_values(struct lbr_msgpack *in, size_t count, unsigned depth)
{
    size_t left[LBR_MSGPACK_DEPTH + 1]; /* values to come, level by level */
    unsigned level = depth;
    struct head head;

    left[level] = count;
    for (;;) {
        left[level] -= skip_tokens(in, left[level]);
        if (!left[level]) {
            if (level-- == depth)
                return 1;
            continue;
        }
        if (!read_head(in, &head))
            return 0;
        left[level]--;
        in->at = head.body;
        if (!is_container(&head))
            in->at += head.size;
        else if (level == LBR_MSGPACK_DEPTH)
            return 0;
        else
            left[++level] = head.size;
    }
}

int lbr_msgpack_skip(struct lbr_msgpack *in, unsigned depth)
{
    struct lbr_msgpack rest;
    struct head head;

    /* Of one byte, as most are; the next one need not wait for a length. */
    if (in->at != in->end && (*in->at == 0xc0 || *in->at < 0x80)) {
        in->at++;
        return 1;
    }
    if (!read_head(in, &head))
        return 0;
    rest = *in;
    rest.at = head.body;
    if (!is_container(&head))
        rest.at += head.size;
    else if (depth >= LBR_MSGPACK_DEPTH ||
             !skip_values(&rest, head.size, depth + 1))
        return 0;
    *in = rest;
    return 1;
}

/* Takes a value that must be of this kind; of an array or map, its head. */
static int take(struct lbr_msgpack *in, enum lbr_msgpack_kind kind,
                struct head *head)
{
    if (!read_head(in, head) || head->kind != kind)
        return 0;
    in->at = head->body;
    if (!is_container(head))
        in->at += head->size;
    return 1;
}

int lbr_msgpack_nil(struct lbr_msgpack *in)
{
    if (in->at == in->end || *in->at != 0xc0)
        return 0;
    in->at++;
    return 1;
}

int lbr_msgpack_int(struct lbr_msgpack *in, uint64_t *bits, int *negative)
{
    struct head head;
    unsigned char first;
    unsigned shift;

    if (!take(in, LBR_MSGPACK_INT, &head))
        return 0;
    first = head.body[-1];
    *bits = head.size ? big_endian(head.body, head.size) : first;
    *negative = 0;
    if (first >= 0xcc && first <= 0xcf)
        return 1;
    /* Signed, of 8 to 64 bits; all bits above are those of the sign. */
    shift = 64 - 8 * (unsigned)(head.size ? head.size : 1);
    *negative = (int)(*bits << shift >> 63);
    if (*negative && shift)
        *bits |= UINT64_MAX << (64 - shift);
    return 1;
}

int lbr_msgpack_u32(struct lbr_msgpack *in, uint32_t *value)
{
    struct lbr_msgpack rest = *in;
    uint64_t bits;
    int negative;

    if (!lbr_msgpack_int(&rest, &bits, &negative) || negative ||
        bits > UINT32_MAX)
        return 0;
    *value = (uint32_t)bits;
    *in = rest;
    return 1;
}

static double read_float(const unsigned char *at, size_t width)
{
    uint64_t bits = big_endian(at, width);
    uint32_t half = (uint32_t)bits;
    double wide;
    float narrow;

    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &half, sizeof narrow);
    return width == sizeof wide ? wide : (double)narrow;
}

int lbr_msgpack_number(struct lbr_msgpack *in, double *value)
{
    struct head head;
    uint64_t bits;
    int negative;

    if (lbr_msgpack_int(in, &bits, &negative)) {
        *value = negative ? -(double)(0 - bits) : (double)bits;
        return 1;
    }
    if (!take(in, LBR_MSGPACK_FLOAT, &head))
        return 0;
    *value = read_float(head.body, head.size);
    return 1;
}

int lbr_msgpack_bytes(struct lbr_msgpack *in, struct lbr_text *bytes)
{
    struct head head;

    if (!take(in, LBR_MSGPACK_BYTES, &head))
        return 0;
    *bytes = lbr_text((const char *)head.body, head.size);
    return 1;
}

int lbr_msgpack_array(struct lbr_msgpack *in, size_t *count)
{
    struct head head;

    if (!take(in, LBR_MSGPACK_ARRAY, &head))
        return 0;
    *count = head.size;
    return 1;
}

int lbr_msgpack_map(struct lbr_msgpack *in, size_t *count)
{
    struct head head;

    if (!take(in, LBR_MSGPACK_MAP, &head))
        return 0;
    *count = head.size / 2;
    return 1;
}

size_t lbr_msgpack_u32s(struct lbr_msgpack *in, uint32_t *values, size_t count)
{
    size_t taken = 0;

    do {
        taken += take_tokens(in, values + taken, count - taken);
    } while (taken < count && lbr_msgpack_u32(in, &values[taken]) && ++taken);
    return taken;
}
