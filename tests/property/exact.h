/* SPDX-License-Identifier: MIT */
/*
 * Signed integers of 192 bits, and weights as such integers.
 *
 * A weight w becomes w × 10^9 × 2^72, which is an integer for every weight
 * that a target may have: decimals with up to nine fractional digits are whole
 * numbers of 10^-9, and the smallest weight, 1e-6, has no bit below 2^-72.
 */
#ifndef LBROUTE_TESTS_PROPERTY_EXACT_H
#define LBROUTE_TESTS_PROPERTY_EXACT_H

#include <stdint.h>

/** Two's complement, lowest limb first. */
struct exact {
    uint64_t limb[3];
};

struct exact exact_zero(void);
struct exact exact_add(struct exact a, struct exact b);
struct exact exact_sub(struct exact a, struct exact b);

/** 1 when a < b, as signed numbers. */
int exact_less(struct exact a, struct exact b);

/**
 * The weight as the router must understand it: the decimal with up to nine
 * fractional digits whose nearest double it is, else its exact value.
 */
struct exact exact_weight(double weight);

#endif
