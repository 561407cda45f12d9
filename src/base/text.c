/* SPDX-License-Identifier: MIT */
#include "base/text.h"

int lbr_text_compare(struct lbr_text a, struct lbr_text b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;

    if (order)
        return order;
    return (a.length > b.length) - (a.length < b.length);
}

int lbr_text_is_name(struct lbr_text text, int may_be_empty)
{
    size_t i;

    if (text.length > LBROUTE_NAME_MAX)
        return 0;
    if (text.length == 0)
        return may_be_empty;
    for (i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];

        if (byte < 0x20 || byte == 0x7f)
            return 0;
    }
    return 1;
}

int lbr_text_is_token(struct lbr_text text)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    size_t i;

    if (text.length > LBROUTE_NAME_MAX)
        return 0;
    for (i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        int letter = (byte >= 'a' && byte <= 'z') ||
                     (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9');

        if (!letter && !memchr(marks, byte, sizeof marks - 1))
            return 0;
    }
    return 1;
}

/* The bytes of a copy: the text, a terminator, padding. */
static size_t padded(size_t length)
{
    return (length / LBR_TEXT_STEP + 1) * LBR_TEXT_STEP;
}

int lbr_text_copy(struct lbr_memory *memory, struct lbr_text text,
                  struct lbr_text *copy)
{
    char *bytes = lbr_memory_new(memory, padded(text.length), 1);

    if (!bytes)
        return 0;
    if (text.length)
        memcpy(bytes, text.bytes, text.length);
    *copy = lbr_text(bytes, text.length);
    return 1;
}

void lbr_text_free(struct lbr_memory *memory, struct lbr_text copy)
{
    lbr_memory_free(memory, (void *)copy.bytes, padded(copy.length), 1);
}
