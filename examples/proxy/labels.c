/* SPDX-License-Identifier: MIT */
#include "labels.h"

#include <lbroute/lbroute.h>

#include <string.h>

static const char *word(const char *const *words, size_t count, int code)
{
    if (code < 0 || (size_t)code >= count || words[code] == NULL)
        return "unknown";
    return words[code];
}

#define WORD(words, code) word((words), sizeof(words) / sizeof(*(words)), code)

const char *label_outcome(int kind)
{
    static const char *const words[] = {
        "open",     "first_token",  "success", "failure",
        "overload", "client_error", "cancel",  "timeout"};

    return WORD(words, kind);
}

const char *label_result(int result)
{
    static const char *const words[] = {
        "ok",     "invalid", "no_memory", "not_found",
        "exists", "limit",   "no_target", "saturated",
        "range",  "name",    "buffer",    "unsupported",
        "busy",   "no_news", "format",    "queued"};

    return WORD(words, -result);
}

const char *label_gauge(int gauge)
{
    static const char *const words[] = {
        "running",     "waiting",   "kv_usage",    "prefix_queries",
        "prefix_hits", "kv_blocks", "block_tokens"};

    return WORD(words, gauge);
}

const char *label_kv_state(int state)
{
    static const char *const words[] = {"none", "fresh", "gap", "stale",
                                        "restarted"};

    return WORD(words, state);
}

const char *label_admission(int mode)
{
    static const char *const words[] = {"max_concurrency", "superfast",
                                        "hybrid", "queue_all"};

    return WORD(words, mode);
}

const char *label_latency(int kind)
{
    static const char *const words[] = {"first_token", "total"};

    return WORD(words, kind);
}

const char *label_medium(int medium)
{
    static const char *const words[] = {"gpu", "host", "disk"};

    return WORD(words, medium);
}

const char *label_cause(unsigned cause)
{
    static const char *const words[] = {NULL, "benched", "full", NULL,
                                        "drained"};

    return WORD(words, (int)cause);
}

/* Bytes of the character that begins here; 0: no UTF-8 (overlong forms,
 * surrogates and what is beyond U+10FFFF included). */
static size_t character(const unsigned char *text)
{
    unsigned char lead = text[0], low = 0x80, high = 0xBF;
    size_t length;

    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
    return length;
}

void clean_text(char *out, size_t size, const char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t used = 0;

    while (*from != '\0') {
        size_t length = character(from);
        size_t step = length ? length : 1;

        if (used + step >= size)
            break;
        if (length == 0)
            out[used] = '?';
        else
            memcpy(out + used, from, length);
        used += step;
        from += step;
    }
    out[used] = '\0';
}
