/* SPDX-License-Identifier: MIT */
#include "price_decimal.h"

#include <stdio.h>
#include <stdlib.h>

/* What "%.14e" writes, d.dddddddddddddde±dd, as digits × 10^exponent. */
static int64_t take_apart(double value, int *exponent)
{
    char text[32];
    int64_t digits = 0;
    const char *c;

    snprintf(text, sizeof text, "%.14e", value);
    for (c = text; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9')
            digits = digits * 10 + (*c - '0');
    *exponent = (int)strtol(c + 1, NULL, 10) - 14;
    return digits;
}

/* number / 10^places, halves to even. */
static int64_t divide(int64_t number, int places)
{
    int64_t unit = 1, whole, rest;

    if (places > 15)
        return 0; /* Less than a tenth: there are 15 digits. */
    for (; places > 0; places--)
        unit *= 10;
    whole = number / unit;
    rest = number % unit;
    if (rest > unit / 2 || (rest == unit / 2 && unit > 1 && whole % 2 != 0))
        whole++;
    return whole;
}

int64_t price_pico(double dollars, int digits)
{
    int exponent;
    int64_t number = take_apart(dollars, &exponent);

    exponent += digits;
    if (exponent < 0)
        return divide(number, -exponent);
    for (; exponent > 0 && number > 0; exponent--) {
        if (number > INT64_MAX / 10)
            return INT64_MAX;
        number *= 10;
    }
    return number;
}
