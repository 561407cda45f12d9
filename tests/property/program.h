/* SPDX-License-Identifier: MIT */
/*
 * Programs of API calls, as bytes.
 *
 * Each operation is one byte and the arguments it takes from the bytes that
 * follow. A program runs against a router and the naive model side by side and
 * checks every answer: counts, verdicts, rules, error codes, memory. The
 * property tests run random programs, the fuzzer those it thinks up.
 */
#ifndef LBROUTE_TESTS_PROPERTY_PROGRAM_H
#define LBROUTE_TESTS_PROPERTY_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/** Runs the bytes to their end. */
void program_run(const uint8_t *bytes, size_t length);

/** Runs that many random operations. */
void program_run_random(uint64_t seed, size_t operations);

#endif
