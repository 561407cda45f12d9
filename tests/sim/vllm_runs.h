/* SPDX-License-Identifier: MIT */
/* Measured vLLM runs: a header line with the settings of a run, then a line for
 * each of its requests with its times in ms. */
#ifndef TESTS_SIM_VLLM_RUNS_H
#define TESTS_SIM_VLLM_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/workload.h"

/* One run. Requests of |work| and |measured| have the same order, that of
 * arrival at the engine. */
struct vllm_run {
    char name[128];      /* "GPU/model". */
    uint32_t max_seqs;   /* Most running requests. */
    uint32_t gpu_blocks; /* Blocks of the KV cache; 0: not recorded. */
    struct workload work;
    struct vllm_times *measured;
    size_t capacity;
};

/* When the first and the last token of a request came out, ms. */
struct vllm_times {
    double first_token;
    double last_token;
};

/* Reads the run of that name. Returns false with a message on stderr. */
bool vllm_run_read(const char *path, const char *name, struct vllm_run *run);

void vllm_run_release(struct vllm_run *run);

#endif
