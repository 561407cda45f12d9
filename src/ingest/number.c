/* SPDX-License-Identifier: MIT */
#include "ingest/number.h"

#include "ingest/letters.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Beyond these every number of 20 digits is infinite, or 0. */
#define LARGEST_EXPONENT 330
#define SMALLEST_EXPONENT (-360)
#define EXPONENT_STEP 22

/* Digits without their point, and the power of ten that is missing. */
struct decimal {
    uint64_t digits;
    int exponent;
    int found; /* any digit at all */
};

/* Reads digits, of which each is |place| (0, or -1 behind the point) powers
 * of ten below. Those beyond 64 bits count by their place alone. */
static const char *read_digits(const char *at, const char *end, int place,
                               struct decimal *decimal)
{
    for (; at < end && lbr_is_digit(*at); at++) {
        decimal->found = 1;
        if (decimal->digits > (UINT64_MAX - 9) / 10) {
            decimal->exponent += place + 1;
            continue;
        }
        decimal->digits = decimal->digits * 10 + (uint64_t)(*at - '0');
        decimal->exponent += place;
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end,
                                 struct decimal *decimal)
{
    int negative = 0;
    int exponent = 0;

    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    if (at == end || !lbr_is_digit(*at))
        return NULL;
    for (; at < end && lbr_is_digit(*at); at++)
        if (exponent < 100000)
            exponent = exponent * 10 + (*at - '0');
    decimal->exponent += negative ? -exponent : exponent;
    return at;
}

static double scale(const struct decimal *decimal)
{
    static const double powers[EXPONENT_STEP + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value = (double)decimal->digits;
    int exponent = decimal->exponent;

    if (!decimal->digits || exponent < SMALLEST_EXPONENT)
        return 0;
    if (exponent > LARGEST_EXPONENT)
        return (double)INFINITY;
    for (; exponent > EXPONENT_STEP; exponent -= EXPONENT_STEP)
        value *= powers[EXPONENT_STEP];
    for (; exponent < -EXPONENT_STEP; exponent += EXPONENT_STEP)
        value /= powers[EXPONENT_STEP];
    return exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
}

/* Skips |word|, in lower case, whatever the case there; NULL if it is not. */
static const char *skip_word(const char *at, const char *end, const char *word)
{
    for (; *word; at++, word++)
        if (at == end || (*at | 0x20) != *word)
            return NULL;
    return at;
}

static const char *read_word(const char *at, const char *end, double *value)
{
    const char *after = skip_word(at, end, "nan");

    if (after) {
        *value = (double)NAN;
        return after;
    }
    *value = (double)INFINITY;
    after = skip_word(at, end, "infinity");
    return after ? after : skip_word(at, end, "inf");
}

static const char *read_decimal(const char *at, const char *end, double *value)
{
    struct decimal decimal = {0, 0, 0};

    at = read_digits(at, end, 0, &decimal);
    if (at < end && *at == '.')
        at = read_digits(at + 1, end, -1, &decimal);
    if (!decimal.found)
        return NULL;
    if (at < end && (*at | 0x20) == 'e')
        at = read_exponent(at + 1, end, &decimal);
    if (at)
        *value = scale(&decimal);
    return at;
}

const char *lbr_number_read(const char *at, const char *end, double *value)
{
    int negative = 0;
    const char *after;

    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    if (at == end)
        return NULL;
    if (lbr_is_digit(*at) || *at == '.')
        after = read_decimal(at, end, value);
    else
        after = read_word(at, end, value);
    if (after && negative)
        *value = -*value;
    return after;
}
