/* SPDX-License-Identifier: MIT */
/* Drives one engine through a workload, without router or fleet. */
#ifndef TESTS_SIM_ENGINE_DRIVE_H
#define TESTS_SIM_ENGINE_DRIVE_H

#include "replay/engine.h"
#include "replay/workload.h"

/* Times of a request, ms. */
struct drive_times {
    double arrived;
    double first_token;
    double last_token;
    uint32_t hit_tokens;
};

/* What a drive gives. */
struct drive {
    struct drive_times *times; /* By request. */
    double end;                /* Of the last step. */
    size_t steps;
    uint64_t preemptions;
    uint64_t adapter_loads;
    uint64_t prefilled;
};

/* Runs all requests of an open-loop workload; they arrive in order of time. */
struct drive drive_engine(const struct engine_options *options,
                          const struct workload *workload);

void drive_release(struct drive *drive);

#endif
