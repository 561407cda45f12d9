/* SPDX-License-Identifier: MIT */
/*
 * lbroute-replay: what-if on LLM traffic.
 */
#include "grow.h"
#include "kv_options.h"
#include "measure.h"
#include "options.h"
#include "queue_options.h"
#include "workload_adapters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

/* All runs of a call and how far they are. */
struct session {
    const struct options *options;
    struct replay_result *results;
    size_t result_count; /* Done. */
    size_t run_count;    /* In all. */
    struct replay_progress progress;
    size_t run_requests; /* Of the run under way. */
    char label[128];
};

static bool file_failed(const char *path)
{
    fprintf(stderr, "lbroute-replay: %s: %s\n", path, strerror(errno));
    return false;
}

/* Before the runs, so that a wrong path does not cost them. What the file holds
 * stays until there is something to put in its place. */
static bool check_output(const char *path)
{
    FILE *file;

    if (path == NULL)
        return true;
    file = fopen(path, "a");
    if (file == NULL)
        return file_failed(path);
    fclose(file);
    return true;
}

typedef int (*report_writer)(FILE *out, const struct replay_result *results,
                             size_t count);

static bool write_output(const char *path, report_writer write,
                         const struct session *session)
{
    FILE *file;
    int result;

    if (path == NULL)
        return true;
    file = fopen(path, "w");
    if (file == NULL)
        return file_failed(path);
    result = write(file, session->results, session->result_count);
    if (fclose(file) != 0 || result != 0)
        return file_failed(path);
    return true;
}

static void show_progress(void *context, size_t done)
{
    struct session *session = context;

    replay_progress_update(&session->progress, session->label,
                           session->result_count * session->run_requests + done,
                           session->run_count * session->run_requests);
}

static void tell_about_trace(const struct trace_report *report)
{
    if (report->clock_step_s > 0.0)
        fprintf(stderr,
                "lbroute-replay: time stamps come in groups; each is spread "
                "over %g s\n",
                report->clock_step_s);
    if (report->skipped > 0)
        fprintf(stderr,
                "lbroute-replay: skipped %zu bad line%s; the first: %s\n",
                report->skipped, report->skipped == 1 ? "" : "s",
                report->first_bad);
}

/* Before sessions are hidden: they tell who asks for the same one. */
static void draw_adapters(const struct options *options, uint64_t seed,
                          struct workload *workload)
{
    struct adapter_options adapters = {
        .adapters = (uint32_t)options->adapters,
        .skew = options->adapter_skew,
        .seed = seed,
    };

    workload_draw_adapters(workload, &adapters);
}

/* `first` tells the first of several seeds: notes are printed once. */
static bool load_workload(const struct options *options, uint64_t seed,
                          bool first, struct workload *workload,
                          uint64_t *skipped)
{
    struct trace_options trace = options->trace;
    struct generator_options traffic = {
        .rate = options->rate,
        .duration_s = options->duration_s,
        .seed = seed,
        .documents = (uint32_t)options->documents,
        .document_tokens = (uint32_t)options->document_tokens,
    };
    struct trace_report report = {0};
    bool good = true;

    trace.block_tokens = (uint32_t)options->block_tokens;
    trace.seed = seed;
    if (options->trace_path == NULL)
        generator_run(options->generator, &traffic, workload);
    else
        good = trace_read(options->trace_path, &trace, workload, &report);
    if (first)
        tell_about_trace(&report);
    if (!good) {
        fprintf(stderr, "lbroute-replay: %s\n", report.error);
        return false;
    }
    if (options->limit_requests > 0)
        workload_truncate(workload, options->limit_requests);
    if (options->adapters > 0)
        draw_adapters(options, seed, workload);
    if (options->clients_text != NULL)
        workload_draw_clients(workload, &options->clients, seed);
    if (options->urgent > 0.0)
        workload_draw_priorities(workload, options->urgent, seed);
    if (options->no_sessions)
        workload_hide_sessions(workload);
    workload_scale(workload, options->load);
    *skipped = report.skipped;
    return true;
}

static const char *engine_name(const struct fleet_spec *fleet)
{
    for (size_t i = 1; i < fleet->count; i++)
        if (fleet->targets[i].spec != fleet->targets[0].spec)
            return "mixed";
    return fleet->targets[0].spec->name;
}

static struct kv_feed_options kv_options(const struct options *options,
                                         const char *strategy, uint64_t seed)
{
    struct kv_feed_options kv = options->kv;

    kv.seed = seed;
    kv.guess_s = kv_options_guess_s(options);
    if (!kv_options_wanted(options, strategy))
        kv.mode = KV_MODE_OFF;
    return kv;
}

static void run_strategy(struct session *session,
                         const struct workload *workload, uint64_t seed,
                         const char *strategy, uint64_t skipped)
{
    const struct options *options = session->options;
    struct fleet_options fleet = {
        .host = {.fleet = &options->fleet,
                 .strategy = strategy,
                 .parameters = options->parameters,
                 .parameter_count = options->parameter_count,
                 .seed = seed,
                 .max_requests = workload->count,
                 .tokens = kv_options_wanted(options, strategy),
                 .tells_usage = queue_options_asked(options),
                 .deadline_s = options->deadline_s,
                 .restarts = options->handover.wanted},
        .refuses_full =
            options->queue != NULL && strcmp(options->queue, "host") != 0,
        .kv = kv_options(options, strategy, seed),
        .restarts = options->restarts,
        .restart_count = options->restart_count,
        .handover = options->handover,
        .scrape_s = options->scrape_s,
        .adapter_slots = (uint32_t)options->adapter_slots,
        .adapter_load_s = options->adapter_load_s,
        .progress = show_progress,
        .progress_context = session,
    };
    struct replay_result result = {
        .strategy = strategy,
        .seed = seed,
        .trace = options_source_name(options),
        .engine = engine_name(&options->fleet),
        .fleet = options->fleet_text,
        .load = options->load,
        .slo_ttft_ms = options->slo_ttft_ms,
        .slo_tpot_ms = options->slo_tpot_ms,
        .skipped = skipped,
        .priced = options->prices_path != NULL,
        .adapters = options->adapters > 0,
        .queue = {.asked = queue_options_asked(options),
                  .hybrid = queue_options_hybrid(options),
                  .input_cost = options_parameter(options, "queue.input_cost"),
                  .output_cost =
                      options_parameter(options, "queue.output_cost")},
        .handover = {.asked = options->handover.wanted,
                     .window_s = options->handover_window_s},
        .kv_asked = kv_options_wanted_by_any(options),
        .option_count = options->in_force_count,
        .options = options->in_force,
    };
    struct fleet_log log;

    session->run_requests = workload->count;
    snprintf(session->label, sizeof session->label, "%s (%zu/%zu)", strategy,
             session->result_count + 1, session->run_count);
    fleet_run(workload, &fleet, &log);
    measure_run(workload, &options->fleet, &log, &result);
    fleet_log_release(&log);
    session->results[session->result_count++] = result;
}

static bool run_seed(struct session *session, size_t index)
{
    const struct options *options = session->options;
    uint64_t seed = options->seeds[index];
    struct workload workload;
    uint64_t skipped;

    if (!load_workload(options, seed, index == 0, &workload, &skipped))
        return false;
    for (size_t i = 0; i < options->strategy_count; i++)
        run_strategy(session, &workload, seed, options->strategies[i], skipped);
    workload_release(&workload);
    return true;
}

static bool run_all(struct session *session)
{
    const struct options *options = session->options;
    bool good = true;

    session->run_count = options->strategy_count * options->seed_count;
    session->results =
        grow_zeroed(session->run_count, sizeof *session->results);
    replay_progress_start(&session->progress, stderr);
    for (size_t i = 0; good && i < options->seed_count; i++)
        good = run_seed(session, i);
    replay_progress_end(&session->progress);
    return good;
}

static bool report(struct session *session)
{
    const char *json = session->options->json_path;
    const char *html = session->options->html_path;
    bool good;

    if (!check_output(json) || !check_output(html) || !run_all(session))
        return false;
    replay_report_table(stdout, session->results, session->result_count);
    good = fflush(stdout) == 0 || file_failed("standard output");
    good = write_output(json, replay_report_json, session) && good;
    return write_output(html, replay_report_html, session) && good;
}

static bool run(const struct options *options)
{
    struct session session = {.options = options};
    bool good = report(&session);

    for (size_t i = 0; i < session.result_count; i++)
        measure_release(&session.results[i]);
    free(session.results);
    return good;
}

int main(int argc, char **argv)
{
    struct options options;
    bool good = options_parse(argc, argv, &options);
    int status = good ? EXIT_SUCCESS : EXIT_USAGE;

    if (good) {
        switch (options.command) {
        case COMMAND_HELP:
            options_print_help(stdout);
            break;
        case COMMAND_LIST:
            options_print_list(stdout);
            break;
        case COMMAND_VERSION:
            printf("lbroute-replay %s\n", lbroute_version());
            break;
        case COMMAND_RUN:
            status = run(&options) ? EXIT_SUCCESS : EXIT_FAILURE;
            break;
        }
    }
    options_release(&options);
    return status;
}
