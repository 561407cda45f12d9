/* SPDX-License-Identifier: MIT */
/*
 * Money from JSON. Its numbers are read as binary fractions, but a decimal of
 * up to 15 digits comes back from one unharmed: it is worked with as written.
 */
#ifndef LBROUTE_PROXY_PRICE_DECIMAL_H
#define LBROUTE_PROXY_PRICE_DECIMAL_H

#include <stdint.h>

/**
 * Dollars as whole pico-dollars, to the nearest, halves to even.
 *
 * @param dollars 0 or more, at most 1e9.
 * @param digits 12 for dollars a token, 6 for dollars per million tokens.
 * @return INT64_MAX for what is more than that.
 */
int64_t price_pico(double dollars, int digits);

#endif
