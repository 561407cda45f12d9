/* SPDX-License-Identifier: MIT */
/* Kinds of bytes in metrics pages, whatever the locale. */
#ifndef LBR_INGEST_LETTERS_H
#define LBR_INGEST_LETTERS_H

/* Blanks separate; a carriage return is one, so that CRLF ends a line too. */
static inline int lbr_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline int lbr_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters, digits, '_' and ':' make up names. */
extern const unsigned char lbr_name_letters[256];

static inline int lbr_is_name_letter(char c)
{
    return lbr_name_letters[(unsigned char)c];
}

static inline const char *lbr_skip_blanks(const char *at, const char *end)
{
    while (at < end && lbr_is_blank(*at))
        at++;
    return at;
}

#endif
