/* SPDX-License-Identifier: MIT */
/*
 * The two clocks of a server.
 */
#ifndef LBROUTE_MOCK_CLOCKS_H
#define LBROUTE_MOCK_CLOCKS_H

#include <stdint.h>

/** The steady one, ns. */
uint64_t clock_steady(void);

/** The time of day, seconds. */
double clock_day(void);

#endif
