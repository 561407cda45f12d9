/* SPDX-License-Identifier: MIT */
/*
 * Numbers from the command line, the whole text or nothing.
 */
#ifndef LBROUTE_REPLAY_PARSE_NUMBER_H
#define LBROUTE_REPLAY_PARSE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** Parses decimal digits within a range. */
bool parse_whole(const char *text, uint64_t minimum, uint64_t maximum,
                 uint64_t *value);

/** Parses a decimal number within a range. */
bool parse_real(const char *text, double minimum, double maximum,
                double *value);

#endif
