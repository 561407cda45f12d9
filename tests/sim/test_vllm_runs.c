/* SPDX-License-Identifier: MIT */
/* The simulated engines against vLLM as measured: mean, p90 and p99 time to
 * first token and mean time per output token within 5 %. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_drive.h"
#include "replay/grow.h"
#include "vllm_runs.h"

#include "support/test.h"

/* What may be off, relative to the measured value. */
static const double tolerance = 0.05;

/* vLLM keeps one block to itself. */
enum { RESERVED_BLOCKS = 1 };

/* meson reads this exit status as "skipped". */
enum { EXIT_SKIPPED = 77 };

static const char *runs_path;

struct figures {
    double ttft_mean;
    double ttft_p90;
    double ttft_p99;
    double tpot_mean;
};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double percentile(const double *sorted, size_t count, double share)
{
    return sorted[(size_t)ceil(share * (double)count) - 1];
}

/* Every answer of the runs has more than one token. */
static struct figures figures_of(const struct workload *work,
                                 const struct drive_times *times)
{
    double *first = grow_zeroed(work->count, sizeof *first);
    struct figures figures = {0};
    double count = (double)work->count;

    for (size_t i = 0; i < work->count; i++) {
        double decodes = (double)work->requests[i].output_tokens - 1.0;

        first[i] = times[i].first_token - times[i].arrived;
        figures.ttft_mean += first[i] / count;
        figures.tpot_mean +=
            (times[i].last_token - times[i].first_token) / decodes / count;
    }
    qsort(first, work->count, sizeof *first, compare);
    figures.ttft_p90 = percentile(first, work->count, 0.90);
    figures.ttft_p99 = percentile(first, work->count, 0.99);
    free(first);
    return figures;
}

static struct figures measured_figures(const struct vllm_run *run)
{
    struct drive_times *times = grow_zeroed(run->work.count, sizeof *times);
    struct figures figures;

    for (size_t i = 0; i < run->work.count; i++) {
        times[i].arrived = run->work.requests[i].at_s * 1000.0;
        times[i].first_token = run->measured[i].first_token;
        times[i].last_token = run->measured[i].last_token;
    }
    figures = figures_of(&run->work, times);
    free(times);
    return figures;
}

static struct figures simulated_figures(const struct vllm_run *run,
                                        const struct engine_spec *spec)
{
    struct engine_options options = {
        .spec = spec,
        .block_tokens = run->work.block_tokens,
        .distinct_ids = run->work.distinct_ids,
        .max_seqs = run->max_seqs,
    };
    struct drive drive;
    struct figures figures;

    if (run->gpu_blocks > 0)
        options.cache_tokens = (uint64_t)(run->gpu_blocks - RESERVED_BLOCKS) *
                               run->work.block_tokens;
    drive = drive_engine(&options, &run->work);
    figures = figures_of(&run->work, drive.times);
    printf("%s: %zu steps, %llu preemptions\n", run->name, drive.steps,
           (unsigned long long)drive.preemptions);
    drive_release(&drive);
    return figures;
}

static void assert_close(const char *what, double simulated, double measured)
{
    printf("  %-9s measured %9.2f ms, simulated %9.2f ms, %+.2f %%\n", what,
           measured, simulated, (simulated / measured - 1.0) * 100.0);
    assert_near(simulated, measured, tolerance * measured);
}

static void check_run(const char *name, const char *engine)
{
    const struct engine_spec *spec = engine_spec_find(engine, strlen(engine));
    struct figures measured;
    struct figures simulated;
    struct vllm_run run;

    assert_non_null(spec);
    assert_true(vllm_run_read(runs_path, name, &run));
    assert_int_equal(run.work.count, 300);
    measured = measured_figures(&run);
    simulated = simulated_figures(&run, spec);
    vllm_run_release(&run);
    assert_close("TTFT mean", simulated.ttft_mean, measured.ttft_mean);
    assert_close("TTFT p90", simulated.ttft_p90, measured.ttft_p90);
    assert_close("TTFT p99", simulated.ttft_p99, measured.ttft_p99);
    assert_close("TPOT mean", simulated.tpot_mean, measured.tpot_mean);
}

static void llama_8b_on_rtx_pro_6000(void **state)
{
    (void)state;
    check_run("RTXPRO6000/Llama-3.1-8B", "8b-rtxpro6000");
}

static void llama_8b_on_rtx_4090(void **state)
{
    (void)state;
    check_run("RTX4090/Llama-3.1-8B", "8b-rtx4090");
}

static void qwen_32b_on_two_rtx_pro_6000(void **state)
{
    (void)state;
    check_run("RTXPRO6000/Qwen3-32B", "32b-2xrtxpro6000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_8b_on_rtx_pro_6000),
        cmocka_unit_test(llama_8b_on_rtx_4090),
        cmocka_unit_test(qwen_32b_on_two_rtx_pro_6000),
    };

    runs_path = getenv("LBROUTE_VLLM_RUNS");
    if (runs_path == NULL || runs_path[0] == '\0') {
        puts("Skipped: the measured runs are not part of the repository. Set "
             "LBROUTE_VLLM_RUNS to the path of vllm_runs.jsonl.gz.");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
