/* SPDX-License-Identifier: MIT */
/*
 * Tests of chance. Each is made so that a correct library fails one run in a
 * million at most; seeds are fixed, so a run that passes passes for ever.
 */
#ifndef LBROUTE_TESTS_PROPERTY_STATISTICS_H
#define LBROUTE_TESTS_PROPERTY_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/** Pearson's statistic of counts against expected parts (which sum to 1). */
double chi_square(const uint64_t *counts, const double *parts, size_t cells);

/** The value that a chi-square of so many degrees of freedom exceeds about
 * once in a million cases. */
double chi_square_limit(size_t degrees);

/** The value below which it lies about once in a million cases. */
double chi_square_floor(size_t degrees);

#endif
