/* SPDX-License-Identifier: MIT */
#include "session.h"

#include "fleet.h"
#include "grow.h"
#include "jobs.h"
#include "kv_options.h"
#include "measure.h"
#include "peers/peer_host.h"
#include "queue_options.h"
#include "tell.h"
#include "workload_adapters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all strategies are run on. */
struct round {
    struct session *session;
    struct workload workload;
    uint64_t seed;
    double point; /* Of the sweep. */
    uint64_t skipped;
};

/* A run under way. */
struct run {
    struct session *session;
    size_t requests_done; /* As the session was told. */
    char label[128];
};

static void show_progress(void *context, size_t done)
{
    struct run *run = context;
    struct session *session = run->session;

    if (session->quiet)
        return;
    pthread_mutex_lock(&session->lock);
    session->requests_done += done - run->requests_done;
    run->requests_done = done;
    replay_progress_update(&session->progress, run->label,
                           session->requests_done,
                           session->run_count * session->run_requests);
    pthread_mutex_unlock(&session->lock);
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

/* `first` tells the first of several: notes are printed once. */
static bool load_workload(const struct options *options, bool first,
                          struct round *round)
{
    struct workload *workload = &round->workload;
    uint64_t seed = round->seed;
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
    workload_skip(workload, options->skip_requests);
    if (workload->count == 0) {
        tell("--skip-requests leaves no request");
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
    workload_scale(workload, options->load * round->point);
    round->skipped = report.skipped;
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
    /* What another router sent there is heard of later than that. */
    if (kv.guess_s > 0.0 && routers_share(&options->routers))
        kv.guess_s += options->routers.interval_s + options->routers.delay_s;
    if (!kv_options_wanted(options, strategy))
        kv.mode = KV_MODE_OFF;
    return kv;
}

/* A peer may read metrics at its own pace. */
static double scrape_s(const struct options *options, const char *strategy)
{
    const struct peer_rule *peer = peer_rule_find(strategy, strlen(strategy));
    double own = 0.0;

    if (peer != NULL && peer->scrape_param >= 0)
        own = peer_host_value(peer, (size_t)peer->scrape_param,
                              options->parameters, options->parameter_count);
    return own > 0.0 ? own : options->scrape_s;
}

/* Only a router lets requests wait itself. */
static bool refuses_full(const struct options *options, const char *strategy)
{
    if (options->queue == NULL || strcmp(options->queue, "host") == 0)
        return false;
    return strcmp(options->queue, "off") == 0 ||
           peer_rule_find(strategy, strlen(strategy)) == NULL;
}

static void describe_run(const struct round *round, const char *name,
                         struct replay_result *result)
{
    const struct options *options = round->session->options;

    *result = (struct replay_result){
        .strategy = name,
        .seed = round->seed,
        .trace = options_source_name(options),
        .engine = engine_name(&options->fleet),
        .fleet = options->fleet_text,
        .load = options->load * round->point,
        .swept = options->sweep.count > 0,
        .sweep_load = round->point,
        .slo_ttft_ms = options->slo_ttft_ms,
        .slo_tpot_ms = options->slo_tpot_ms,
        .skipped = round->skipped,
        .priced = options->prices_path != NULL,
        .adapters = options->adapters > 0,
        .queue = {.asked = queue_options_asked(options),
                  .hybrid = queue_options_hybrid(options),
                  .input_cost = options_parameter(options, "queue.input_cost"),
                  .output_cost =
                      options_parameter(options, "queue.output_cost")},
        .handover = {.asked = options->handover.wanted,
                     .window_s = options->handover_window_s},
        .kv_asked = kv_options_judged(options),
        .routers = {.share = routers_share(&options->routers),
                    .interval_s = options->routers.interval_s},
        .option_count = options->in_force_count,
        .options = options->in_force,
    };
}

/* How many strategies there are, of the options and of the caller. */
static size_t strategy_count(const struct session *session)
{
    return session->own_count +
           (session->own_only ? 0 : session->options->strategy_count);
}

/* The caller's own strategy at a place, or NULL; they come last. */
static const struct session_strategy *own_at(const struct session *session,
                                             size_t index)
{
    size_t named = strategy_count(session) - session->own_count;

    return index < named ? NULL : &session->own[index - named];
}

static void run_strategy(void *context, size_t index)
{
    struct round *round = context;
    struct session *session = round->session;
    const struct options *options = session->options;
    const struct session_strategy *own = own_at(session, index);
    const char *strategy =
        own != NULL ? "pipeline" : options->strategies[index];
    const char *name = own != NULL ? own->name : strategy;
    size_t place = session->result_count + index;
    struct replay_result *result = &session->results[place];
    struct run run = {.session = session};
    struct fleet_options fleet = {
        .host = {.fleet = &options->fleet,
                 .strategy = strategy,
                 .parameters = options->parameters,
                 .parameter_count = options->parameter_count,
                 .seed = round->seed,
                 .max_requests = round->workload.count,
                 .tokens = kv_options_wanted(options, strategy),
                 .deadline_s = options->deadline_s,
                 .extend = own != NULL ? own->extend : NULL,
                 .extend_context = own != NULL ? own->context : NULL,
                 .keeps_digest_key = options->handover.wanted},
        .routers = options->routers,
        .refuses_full = refuses_full(options, strategy),
        .kv = kv_options(options, strategy, round->seed),
        .restarts = options->restarts,
        .restart_count = options->restart_count,
        .handover = options->handover,
        .scrape_s = scrape_s(options, strategy),
        .adapter_slots = (uint32_t)options->adapter_slots,
        .adapter_load_s = options->adapter_load_s,
        .progress = show_progress,
        .progress_context = &run,
    };
    struct fleet_log log;

    snprintf(run.label, sizeof run.label, "%s (%zu/%zu)", name, place + 1,
             session->run_count);
    describe_run(round, name, result);
    fleet_run(&round->workload, &fleet, &log);
    measure_run(&round->workload, &options->fleet, &log, result);
    fleet_log_release(&log);
    show_progress(&run, round->workload.count);
}

/* All strategies with one seed at one load. */
static bool run_round(struct session *session, uint64_t seed, double point)
{
    const struct options *options = session->options;
    struct round round = {.session = session, .seed = seed, .point = point};

    if (!load_workload(options, session->result_count == 0, &round))
        return false;
    session->run_requests = round.workload.count;
    jobs_run(strategy_count(session), options->jobs, run_strategy, &round);
    session->result_count += strategy_count(session);
    workload_release(&round.workload);
    return true;
}

bool session_run(struct session *session)
{
    const struct options *options = session->options;
    size_t points = sweep_runs(&options->sweep);
    bool good = true;

    session->run_count = strategy_count(session) * options->seed_count * points;
    session->results =
        grow_zeroed(session->run_count, sizeof *session->results);
    pthread_mutex_init(&session->lock, NULL);
    if (!session->quiet)
        replay_progress_start(&session->progress, stderr);
    for (size_t i = 0; good && i < options->seed_count; i++)
        for (size_t k = 0; good && k < points; k++)
            good = run_round(session, options->seeds[i],
                             sweep_point(&options->sweep, k));
    if (!session->quiet)
        replay_progress_end(&session->progress);
    pthread_mutex_destroy(&session->lock);
    return good;
}

void session_release(struct session *session)
{
    for (size_t i = 0; i < session->result_count; i++)
        measure_release(&session->results[i]);
    free(session->results);
}
