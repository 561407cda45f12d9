/* SPDX-License-Identifier: MIT */
/* A decision as HTTP response headers. */
#include "base/abi.h"
#include "state/router.h"

#include <math.h>

#define MOST_VALUE (3 * LBROUTE_NAME_MAX + 1)

/* A value under construction; the longest fits. */
struct value {
    char bytes[MOST_VALUE];
    size_t length;
};

static void put_char(struct value *value, char byte)
{
    value->bytes[value->length++] = byte;
}

static void put_text(struct value *value, const char *text)
{
    while (*text)
        put_char(value, *text++);
}

static void put_number(struct value *value, uint64_t number)
{
    char digits[20];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        put_char(value, digits[--count]);
}

static void put_hex(struct value *value, uint64_t number, int digits)
{
    static const char alphabet[] = "0123456789abcdef";

    while (digits--)
        put_char(value, alphabet[number >> (4 * digits) & 15]);
}

/* Bytes beyond ASCII are escaped: not every HTTP stack takes them. */
static void put_name(struct value *value, const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < length && i < LBROUTE_NAME_MAX; i++) {
        unsigned char byte = (unsigned char)name[i];

        if (byte >= 0x20 && byte < 0x7f) {
            put_char(value, name[i]);
        } else {
            put_char(value, '%');
            put_hex(value, byte, 2);
        }
    }
}

/* Up to six decimals, without trailing zeros; independent of the locale. */
static void put_real(struct value *value, double number)
{
    uint64_t millionths = (uint64_t)(number * 1e6 + 0.5);
    uint64_t fraction = millionths % 1000000;
    uint64_t unit = 100000;

    put_number(value, millionths / 1000000);
    if (fraction)
        put_char(value, '.');
    for (; fraction; fraction %= unit, unit /= 10)
        put_char(value, (char)('0' + fraction / unit));
}

/* Each writes its value, or leaves it empty when the decision has none. */
static void put_server(struct value *value, const lbroute_decision *decision)
{
    put_name(value, decision->target_name, decision->target_name_len);
}

static void put_pool(struct value *value, const lbroute_decision *decision)
{
    put_name(value, decision->pool_name, decision->pool_name_len);
}

static void put_weight(struct value *value, const lbroute_decision *decision)
{
    if (decision->target && decision->weight >= 0 && decision->weight < 1e12)
        put_real(value, decision->weight);
}

/* "3/32", "3" without a limit. */
static void put_in_flight(struct value *value, const lbroute_decision *decision)
{
    if (!decision->target && !decision->max_concurrency)
        return;
    put_number(value, decision->in_flight);
    if (!decision->max_concurrency)
        return;
    put_char(value, '/');
    put_number(value, decision->max_concurrency);
}

static void put_wait(struct value *value, const lbroute_decision *decision)
{
    if (decision->wait_ns >= 0)
        put_number(value, ((uint64_t)decision->wait_ns + 999999) / 1000000);
}

static void put_algorithm(struct value *value, const lbroute_decision *decision)
{
    if (decision->rule != LBROUTE_RULE_NONE)
        put_text(value, lbroute_rule_name(decision->rule));
}

static void put_sticky(struct value *value, const lbroute_decision *decision)
{
    if (decision->sticky_digest)
        put_hex(value, decision->sticky_digest, 16);
}

static void put_prefix(struct value *value, const lbroute_decision *decision)
{
    if (decision->prefix_matched < 0 || decision->prefix_total < 0)
        return;
    put_number(value, (uint64_t)decision->prefix_matched);
    put_char(value, '/');
    put_number(value, (uint64_t)decision->prefix_total);
}

static void put_reason(struct value *value, const lbroute_decision *decision)
{
    if (decision->reason != LBROUTE_REASON_NONE)
        put_text(value, lbroute_reason_name(decision->reason));
}

/* "gpu=12;host=3;disk=0" */
static void put_kv_blocks(struct value *value, const lbroute_decision *decision)
{
    static const char *const media[LBROUTE_MEDIUM_COUNT] = {
        "gpu=", ";host=", ";disk="};
    int medium;

    if (decision->kv_blocks[0] < 0)
        return;
    for (medium = 0; medium < LBROUTE_MEDIUM_COUNT; medium++) {
        put_text(value, media[medium]);
        put_number(value, decision->kv_blocks[medium] > 0
                              ? (uint64_t)decision->kv_blocks[medium]
                              : 0);
    }
}

static void put_kv_state(struct value *value, const lbroute_decision *decision)
{
    static const char *const states[LBROUTE_KV_SOURCE_STATE_COUNT] = {
        "none", "fresh", "gap", "stale", "restarted"};

    if (decision->kv_state > LBROUTE_KV_SOURCE_NONE &&
        decision->kv_state < LBROUTE_KV_SOURCE_STATE_COUNT)
        put_text(value, states[decision->kv_state]);
}

static void put_ahead(struct value *value, const lbroute_decision *decision)
{
    if (decision->place && !decision->target && !decision->reason)
        put_number(value, decision->queue_ahead);
}

static const struct {
    const char *name;
    void (*put)(struct value *value, const lbroute_decision *decision);
} headers[] = {
    {"Server", put_server},        {"Pool", put_pool},
    {"Weight", put_weight},        {"In-Flight", put_in_flight},
    {"Wait-Ms", put_wait},         {"Algorithm", put_algorithm},
    {"Sticky", put_sticky},        {"Prefix", put_prefix},
    {"Reject-Reason", put_reason}, {"Kv-Blocks", put_kv_blocks},
    {"Kv-State", put_kv_state},    {"Queue-Ahead", put_ahead},
};

#define HEADERS (sizeof headers / sizeof headers[0])

/* The name and value of the |index|-th header that the decision has. */
static const char *render(const lbroute_decision *decision, size_t index,
                          struct value *value)
{
    size_t i;

    for (i = 0; i < HEADERS; i++) {
        value->length = 0;
        headers[i].put(value, decision);
        if (value->length && index-- == 0)
            return headers[i].name;
    }
    return NULL;
}

int lbroute_decision_header(lbroute_router *router, const lbroute_decision *in,
                            size_t index, char *name, size_t name_capacity,
                            size_t *name_len, char *value,
                            size_t value_capacity, size_t *value_len)
{
    lbroute_decision decision;
    struct value rendered;
    const char *suffix;
    size_t prefix_len;
    int result;

    if (!router || !name_len || !value_len || (!name && name_capacity) ||
        (!value && value_capacity))
        return LBROUTE_ERR_INVALID;
    lbroute_decision_init(&decision, sizeof decision);
    result = lbr_abi_read(&decision, sizeof decision, in);
    if (result)
        return result;
    suffix = render(&decision, index, &rendered);
    if (!suffix)
        return LBROUTE_ERR_NOT_FOUND;
    prefix_len = strlen(router->header_prefix);
    *name_len = prefix_len + strlen(suffix);
    *value_len = rendered.length;
    if (*name_len >= name_capacity || *value_len >= value_capacity)
        return LBROUTE_ERR_BUFFER;
    memcpy(name, router->header_prefix, prefix_len);
    memcpy(name + prefix_len, suffix, strlen(suffix) + 1);
    memcpy(value, rendered.bytes, rendered.length);
    value[rendered.length] = '\0';
    return LBROUTE_OK;
}
