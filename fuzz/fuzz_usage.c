/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the gateway's reader of answers: the first byte chooses dialect and
 * form, the second how the rest is cut. The pieces must come to the same as the
 * whole, and so must a stream of events with other ends of lines.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct usage read_pieces(uint8_t form, const uint8_t *data, size_t size,
                                size_t piece)
{
    struct usage_reader *reader = usage_reader_new(
        form & 1 ? DIALECT_ANTHROPIC : DIALECT_OPENAI, !(form & 2));
    struct usage usage;

    CHECK(reader != NULL);
    for (size_t at = 0; at < size; at += piece)
        usage_reader_feed(reader, data + at,
                          piece < size - at ? piece : size - at);
    usage_reader_finish(reader);
    usage = *usage_reader_state(reader);
    usage_reader_free(reader);
    return usage;
}

static void check_alike(const struct usage *a, const struct usage *b)
{
    CHECK_I(a->input_tokens, b->input_tokens);
    CHECK_I(a->cached_tokens, b->cached_tokens);
    CHECK_I(a->output_tokens, b->output_tokens);
    CHECK_I(a->token_seen, b->token_seen);
    CHECK_I(a->failed, b->failed);
    CHECK_I(a->ended, b->ended);
}

static void check_usage(const struct usage *usage)
{
    CHECK(usage->input_tokens >= -1);
    CHECK(usage->cached_tokens >= -1);
    CHECK(usage->output_tokens >= -1);
    CHECK(usage->input_tokens < 0 ||
          usage->cached_tokens <= usage->input_tokens);
}

/* Each LF becomes CR LF; the text has no CR of its own. */
static void check_line_ends(uint8_t form, const uint8_t *data, size_t size,
                            const struct usage *usage)
{
    uint8_t *copy = malloc(2 * size + 1);
    size_t len = 0;
    struct usage other;

    CHECK(copy != NULL);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n')
            copy[len++] = '\r';
        copy[len++] = data[i];
    }
    other = read_pieces(form, copy, len, len + 1);
    check_alike(&other, usage);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct usage whole, pieces;

    if (size < 2)
        return 0;
    whole = read_pieces(data[0], data + 2, size - 2, size);
    pieces = read_pieces(data[0], data + 2, size - 2, data[1] % 64 + 1U);
    check_usage(&whole);
    check_alike(&pieces, &whole);
    if (!(data[0] & 2) && !memchr(data + 2, '\r', size - 2))
        check_line_ends(data[0], data + 2, size - 2, &whole);
    return 0;
}
