/* SPDX-License-Identifier: MIT */
/* The C library's heap, where one allocation of the program itself fails. The
 * linker puts these functions in the place of malloc() and its like
 * (--wrap); libraries keep their own. */
#ifndef TESTS_GATEWAY_SCARCE_H
#define TESTS_GATEWAY_SCARCE_H

#include <stdbool.h>
#include <stdint.h>

/* The allocation after |after| more fails. */
void scarce_fail(uint64_t after);

/* Ends that. Returns whether one failed. */
bool scarce_end(void);

#endif
