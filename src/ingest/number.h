/* SPDX-License-Identifier: MIT */
/* Reads decimal numbers as metrics pages print them, in any locale. */
#ifndef LBR_INGEST_NUMBER_H
#define LBR_INGEST_NUMBER_H

/* Reads the number that begins at |at|: sign, digits with a point, exponent; or
 * NaN, Inf, Infinity in any case. Returns where it ends, NULL if there is none.
 * Exact for up to 15 digits and exponents up to 22, else to a few units in the
 * last place; too large is infinite, too small 0. */
const char *lbr_number_read(const char *at, const char *end, double *value);

#endif
