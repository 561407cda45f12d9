/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes requests that wait with programs of calls (picks, cancellations, ends,
 * time limits, drained and removed targets, other limits and modes), against
 * the naive model of tests/property/waiting_model.h: any difference aborts.
 */
#include <stddef.h>
#include <stdint.h>

#include "waiting_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    waiting_program_run(data, size);
    return 0;
}
