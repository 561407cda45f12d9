/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the public API with programs of calls.
 *
 * The bytes are a program of tests/property/program.h. It runs against the
 * router and the naive model side by side; any difference, leak or wrong error
 * code aborts.
 */
#include <stddef.h>
#include <stdint.h>

#include "program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    program_run(data, size);
    return 0;
}
