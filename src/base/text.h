/* SPDX-License-Identifier: MIT */
/* Byte strings by pointer and length, and the rule for names. */
#ifndef LBR_BASE_TEXT_H
#define LBR_BASE_TEXT_H

#include "base/memory.h"

#include <string.h>

struct lbr_text {
    const char *bytes;
    size_t length;
};

static inline struct lbr_text lbr_text(const char *bytes, size_t length)
{
    struct lbr_text text;

    text.bytes = bytes;
    text.length = length;
    return text;
}

static inline int lbr_text_equal(struct lbr_text a, struct lbr_text b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/* Order of bytes, a shorter prefix first. */
int lbr_text_compare(struct lbr_text a, struct lbr_text b);

/* A NULL pointer with a length. */
static inline int lbr_text_broken(const void *bytes, size_t length)
{
    return !bytes && length;
}

/* Whether |text| may name something: at most LBROUTE_NAME_MAX bytes, none of
 * them a control character (they would split headers and logs). */
int lbr_text_is_name(struct lbr_text text, int may_be_empty);

/* Whether |text| is an RFC 9110 token of at most LBROUTE_NAME_MAX bytes, or
 * empty. */
int lbr_text_is_token(struct lbr_text text);

/* Makes |copy| a copy of |text|, padded with zeros to whole steps of
 * LBR_TEXT_STEP bytes, at least one. Returns 0 without memory.
 * lbr_text_free() frees it. */
#define LBR_TEXT_STEP 32
int lbr_text_copy(struct lbr_memory *memory, struct lbr_text text,
                  struct lbr_text *copy);
void lbr_text_free(struct lbr_memory *memory, struct lbr_text copy);

/* Upper bound of the memory of a copied name. */
#define LBR_TEXT_LONGEST (LBROUTE_NAME_MAX + 1)

/* Writes a name made by lbr_text_copy() with its terminator into a buffer of
 * LBR_TEXT_LONGEST bytes. In whole steps, since every pick does it: a call for
 * an exact length takes longer than the copy. */
static inline void lbr_text_export(char *buffer, struct lbr_text name)
{
    size_t i;

    for (i = 0; i <= name.length; i += LBR_TEXT_STEP)
        memcpy(buffer + i, name.bytes + i, LBR_TEXT_STEP);
}

#endif
