/* SPDX-License-Identifier: MIT */
#include "trie_prompts.h"

#include <string.h>

#include "check.h"

enum { MOST_BYTES = 256 * 1024 };

static unsigned char buffer[MOST_BYTES + 8];

static const unsigned char alphabet[] = {'a', 'b', 0x00, 0xff};

/* Symbols of the alphabet's first |letters|; in a long symbol only one byte
 * tells them apart. */
static void fill(uint32_t unit, struct rng *rng, size_t from, size_t to,
                 uint32_t letters)
{
    memset(buffer + from, 'a', to - from);
    for (size_t at = from; at < to; at += unit)
        buffer[at + at / unit % unit] = alphabet[rng_below(rng, letters)];
}

/* The same head for the same number. */
static size_t fill_head(uint32_t unit, uint32_t number)
{
    struct rng fixed;
    size_t length = (50 + 90 * (size_t)number) * unit;

    rng_seed(&fixed, number + 1);
    fill(unit, &fixed, 0, length, 4);
    return length;
}

static size_t fill_heads(uint32_t unit, struct rng *rng)
{
    size_t head = fill_head(unit, rng_below(rng, 3));
    size_t length = head + unit * (size_t)rng_below(rng, 200);

    fill(unit, rng, head, length, 4);
    return length;
}

static size_t fill_raw(uint32_t unit, struct rng *rng)
{
    size_t length = unit * (size_t)rng_below(rng, 60);
    size_t turn = unit * (size_t)rng_below(rng, 60);

    memset(buffer, 0, length);
    if (turn < length)
        memset(buffer + turn, 0xff, length - turn);
    return length;
}

static size_t fill_long(uint32_t unit, struct rng *rng)
{
    size_t length = TRIE_RUN + unit * (size_t)rng_below(rng, 100 * 1024 / unit);

    memset(buffer, 'a', length);
    fill(unit, rng, 0, unit, 2);
    fill(unit, rng, length - 4 * (size_t)unit, length, 4);
    return length;
}

/* A prefix, a longer one, or one that differs in a symbol. */
static size_t fill_related(const struct trie_model *model, struct rng *rng,
                           const struct trie_prompt *from)
{
    uint32_t unit = model->trie.unit;
    size_t symbols = from->length / unit;
    size_t at = unit * (size_t)rng_below(rng, (uint32_t)symbols + 1);
    size_t length = from->length;

    memcpy(buffer, from->bytes, length);
    switch (rng_below(rng, 3)) {
    case 0:
        return at;
    case 1:
        length += unit * (size_t)rng_between(rng, 1, 40);
        if (length > MOST_BYTES)
            return from->length;
        fill(unit, rng, from->length, length, 4);
        return length;
    default:
        if (at < length)
            buffer[at + rng_below(rng, unit)] ^= 1;
        return length;
    }
}

static size_t fill_style(uint32_t unit, struct rng *rng, enum trie_style style)
{
    size_t length;

    switch (style) {
    case TRIE_HEADS:
        return fill_heads(unit, rng);
    case TRIE_RAW:
        return fill_raw(unit, rng);
    case TRIE_LONG:
        return fill_long(unit, rng);
    default:
        length = unit * (size_t)rng_below(rng, 40);
        fill(unit, rng, 0, length, 2);
        return length;
    }
}

struct trie_draw trie_prompt_draw(const struct trie_model *model,
                                  struct rng *rng, enum trie_style style,
                                  int ended)
{
    uint32_t unit = model->trie.unit;
    struct trie_draw draw = {rng_below(rng, 8) ? 1 : rng_below(rng, 3), 0,
                             buffer};

    if (style == TRIE_RELATED && model->prompt_count > 0) {
        struct trie_prompt from =
            model->prompts[rng_below(rng, (uint32_t)model->prompt_count)];

        from.length -= ended ? unit : 0;
        draw.root = from.root;
        draw.length = fill_related(model, rng, &from);
    } else {
        draw.length = fill_style(unit, rng, style);
    }
    if (ended) {
        memset(buffer + draw.length, 'z', unit);
        draw.length += unit;
    }
    return draw;
}
