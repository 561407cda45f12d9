/* SPDX-License-Identifier: MIT */
#include "session.h"

#include "fleet.h"
#include "grow.h"
#include "kv_options.h"
#include "measure.h"
#include "queue_options.h"
#include "tell.h"
#include "workload_adapters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_progress(void *context, size_t done)
{
    struct session *session = context;

    if (session->quiet)
        return;
    replay_progress_update(&session->progress, session->label,
                           session->result_count * session->run_requests + done,
                           session->run_count * session->run_requests);
}

static void tell_about_trace(const struct trace_report *report)
{
    if (report->clock_step_s > 0.0)
        tell("time stamps come in groups; each is spread over %g s",
             report->clock_step_s);
    if (report->skipped > 0)
        tell("skipped %zu bad line%s; the first: %s", report->skipped,
             report->skipped == 1 ? "" : "s", report->first_bad);
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
        tell("%s", report.error);
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

/* The strategy by its name in the library; `own`, if there is one, is what it
 * becomes. */
static void run_strategy(struct session *session,
                         const struct workload *workload, uint64_t seed,
                         const char *strategy,
                         const struct session_strategy *own, uint64_t skipped)
{
    const struct options *options = session->options;
    const char *name = own != NULL ? own->name : strategy;
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
                 .extend = own != NULL ? own->extend : NULL,
                 .extend_context = own != NULL ? own->context : NULL},
        .refuses_full =
            options->queue != NULL && strcmp(options->queue, "host") != 0,
        .kv = kv_options(options, strategy, seed),
        .restarts = options->restarts,
        .restart_count = options->restart_count,
        .scrape_s = options->scrape_s,
        .adapter_slots = (uint32_t)options->adapter_slots,
        .adapter_load_s = options->adapter_load_s,
        .progress = show_progress,
        .progress_context = session,
    };
    struct replay_result result = {
        .strategy = name,
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
        .kv_asked = kv_options_wanted_by_any(options),
        .option_count = options->in_force_count,
        .options = options->in_force,
    };
    struct fleet_log log;

    session->run_requests = workload->count;
    snprintf(session->label, sizeof session->label, "%s (%zu/%zu)", name,
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
    for (size_t i = 0; i < options->strategy_count && !session->own_only; i++)
        run_strategy(session, &workload, seed, options->strategies[i], NULL,
                     skipped);
    for (size_t i = 0; i < session->own_count; i++)
        run_strategy(session, &workload, seed, "pipeline", &session->own[i],
                     skipped);
    workload_release(&workload);
    return true;
}

bool session_run(struct session *session)
{
    const struct options *options = session->options;
    size_t strategies = session->own_count;
    bool good = true;

    if (!session->own_only)
        strategies += options->strategy_count;
    session->run_count = strategies * options->seed_count;
    session->results =
        grow_zeroed(session->run_count, sizeof *session->results);
    if (!session->quiet)
        replay_progress_start(&session->progress, stderr);
    for (size_t i = 0; good && i < options->seed_count; i++)
        good = run_seed(session, i);
    if (!session->quiet)
        replay_progress_end(&session->progress);
    return good;
}

void session_release(struct session *session)
{
    for (size_t i = 0; i < session->result_count; i++)
        measure_release(&session->results[i]);
    free(session->results);
}
