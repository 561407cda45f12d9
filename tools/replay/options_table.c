/* SPDX-License-Identifier: MIT */
#include "options_row.h"

#include "choices.h"
#include "grow.h"
#include "kv_options.h"
#include "parse_number.h"
#include "queue_options.h"
#include "restart_options.h"
#include "router_options.h"
#include "strategy_options.h"

#include <stdio.h>
#include <string.h>

/* Limits of targets, the same as in a list of targets. */
#define MAX_LIMIT 1e6

static bool show_source(const struct options *options, char *value, size_t size)
{
    snprintf(value, size, "%s", options_source_name(options));
    return true;
}

static bool read_trace(struct options *options, const char *value,
                       struct option_error *error)
{
    options->trace_path = value;
    return value[0] != '\0' || option_fail(error, "the file name is empty");
}

static const char *generator_name(size_t index)
{
    const struct generator *generator = generator_at(index);

    return generator != NULL ? generator->name : NULL;
}

static bool read_workload(struct options *options, const char *value,
                          struct option_error *error)
{
    options->generator = generator_find(value);
    return options->generator != NULL ||
           choices_unknown(error->text, sizeof error->text, "workload", value,
                           strlen(value), generator_name);
}

static bool read_engine(struct options *options, const char *value,
                        struct option_error *error)
{
    options->engine = engine_spec_find(value, strlen(value));
    return options->engine != NULL ||
           choices_unknown(error->text, sizeof error->text, "engine", value,
                           strlen(value), engine_spec_name);
}

static bool show_engine(const struct options *options, char *value, size_t size)
{
    snprintf(value, size, "%s", options->engine->name);
    return true;
}

static bool add_seed(struct options *options, const char *text,
                     struct option_error *error)
{
    uint64_t seed;

    if (!parse_whole(text, 1, UINT64_MAX, &seed))
        return option_fail(error, "\"%s\" is not a whole number from 1 on",
                           text);
    options->seeds =
        grow_array(options->seeds, &options->seed_capacity,
                   options->seed_count + 1, sizeof *options->seeds);
    options->seeds[options->seed_count++] = seed;
    return true;
}

static bool read_seed(struct options *options, const char *value,
                      struct option_error *error)
{
    options->seed_count = 0;
    for (;;) {
        char text[32] = {0};
        size_t length = strcspn(value, ",");

        if (length >= sizeof text)
            return option_fail(error, "\"%s\" is no list of seeds", value);
        memcpy(text, value, length);
        if (!add_seed(options, text, error))
            return false;
        if (value[length] == '\0')
            return true;
        value += length + 1;
    }
}

/* Shorter intervals than this only cost time. */
static const double shortest_scrape_s = 0.01;

static bool read_scrape(struct options *options, const char *value,
                        struct option_error *error)
{
    double seconds;

    if (!option_parse_real(value, 0.0, 1e6, &seconds, error))
        return false;
    if (seconds > 0.0 && seconds < shortest_scrape_s)
        return option_fail(error, "\"%s\" is neither 0 nor at least %g", value,
                           shortest_scrape_s);
    options->scrape_s = seconds;
    return true;
}

static bool show_scrape(const struct options *options, char *value, size_t size)
{
    snprintf(value, size, "%.15g", options->scrape_s);
    return true;
}

static bool read_prices(struct options *options, const char *value,
                        struct option_error *error)
{
    options->prices_path = value;
    return value[0] != '\0' || option_fail(error, "the file name is empty");
}

/* Without its folder: the same run gives the same report anywhere. */
static bool show_prices(const struct options *options, char *value, size_t size)
{
    const char *path = options->prices_path;
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    if (path == NULL)
        return false;
    snprintf(value, size, "%s", slash != NULL ? slash + 1 : path);
    return true;
}

static bool read_sweep(struct options *options, const char *value,
                       struct option_error *error)
{
    options->sweep_text = value;
    return sweep_parse(value, &options->sweep) ||
           option_fail(error,
                       "\"%s\" is not load=FROM:TO:STEP with at most %d loads",
                       value, SWEEP_MAX_POINTS);
}

static bool show_sweep(const struct options *options, char *value, size_t size)
{
    if (options->sweep_text == NULL)
        return false;
    snprintf(value, size, "%s", options->sweep_text);
    return true;
}

static bool read_list(struct options *options, const char *value,
                      struct option_error *error)
{
    (void)value;
    (void)error;
    options->command = COMMAND_LIST;
    return true;
}

static bool read_version(struct options *options, const char *value,
                         struct option_error *error)
{
    (void)value;
    (void)error;
    options->command = COMMAND_VERSION;
    return true;
}

static bool read_help(struct options *options, const char *value,
                      struct option_error *error)
{
    (void)value;
    (void)error;
    options->command = COMMAND_HELP;
    return true;
}

const struct option_row option_rows[] = {
    {.kind = OPTION_HEADING, .text = "Traffic"},
    {.name = "trace",
     .argument = "FILE",
     .text = "Replay a trace: request JSON lines (timestamp in ms,\n"
             "input_length, output_length, hash_ids, session_id),\n"
             "the same with the text (input, output; closed loop\n"
             "without timestamp), coding-agent sessions (closed\n"
             "loop) or Azure's CSV; plain, gzip or xz. Told by\n"
             "content, not by name.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_TRACE,
     .read = read_trace,
     .show = show_source},
    {.name = "workload",
     .argument = "NAME",
     .text = "Generate traffic instead: chat (the default), shared,\n"
             "agents, rag, bursts or documents; --list explains\n"
             "them.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_WORKLOAD,
     .read = read_workload,
     .show = show_source},
    {.name = "rate",
     .argument = "N",
     .text = "Requests per second to generate, on the mean. Default:\n"
             "the workload's, see --list.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_WORKLOAD,
     .offset = offsetof(struct options, rate),
     .minimum = 1e-3,
     .maximum = 1e5},
    {.name = "duration",
     .argument = "SECONDS",
     .text = "Time within which generated requests or sessions\n"
             "arrive. Default: 600.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_WORKLOAD,
     .offset = offsetof(struct options, duration_s),
     .minimum = 1.0,
     .maximum = 1e6},
    {.name = "documents",
     .argument = "N",
     .text = "Documents of --workload documents, asked about in\n"
             "rotation. Default: 9.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_OF_WORKLOAD,
     .offset = offsetof(struct options, documents),
     .minimum = 1.0,
     .maximum = 1000.0},
    {.name = "document-tokens",
     .argument = "N",
     .text = "Tokens of each of these documents. Default: 10000.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_OF_WORKLOAD,
     .offset = offsetof(struct options, document_tokens),
     .minimum = 1.0,
     .maximum = 1e6},
    {.name = "load",
     .argument = "N",
     .text = "Let requests (in closed loop: sessions) arrive N times\n"
             "as fast. Default: 1.",
     .kind = OPTION_REAL,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, load),
     .minimum = 1e-3,
     .maximum = 1e6},
    {.name = "sweep",
     .argument = "load=FROM:TO:STEP",
     .text = "Run everything at several loads: FROM, FROM + STEP ...\n"
             "up to TO times what --load says. Tables and charts are\n"
             "then against load, with the regret of each strategy:\n"
             "how far from the best of all.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = read_sweep,
     .show = show_sweep},
    {.name = "skip-requests",
     .argument = "N",
     .text = "Leave out the first N requests. What followed one of\n"
             "them arrives at once. Default: 0.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, skip_requests),
     .minimum = 0.0,
     .maximum = UINT32_MAX},
    {.name = "limit-requests",
     .argument = "N",
     .text = "Only the first N requests (of those that are not left\n"
             "out). Default: all.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, limit_requests),
     .minimum = 1.0,
     .maximum = UINT32_MAX},
    {.name = "adapters",
     .argument = "N",
     .text = "Let each session, or request without one, ask for one\n"
             "of N LoRA adapters, drawn from the seed. The same\n"
             "content under another adapter is other content.\n"
             "Default: none.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, adapters),
     .minimum = 1.0,
     .maximum = 100000.0},
    {.name = "adapter-skew",
     .argument = "S",
     .text = "Popularity of adapters: the r-th is asked for in\n"
             "proportion to r to the power of -S; 0: all alike.\n"
             "Default: 1.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_ADAPTERS,
     .offset = offsetof(struct options, adapter_skew),
     .minimum = 0.0,
     .maximum = 10.0},
    {.name = "clients",
     .argument = "FILE:MODEL",
     .text = "Let each session, or request without one, be of a\n"
             "client, drawn from the seed by its share of the\n"
             "model's requests: CSV with the columns model, client\n"
             "and share. Default: no clients.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = queue_options_read_clients,
     .show = queue_options_show_clients},
    {.name = "priority",
     .argument = "PART",
     .text = "Part of the requests with priority 1 instead of 0,\n"
             "drawn from the seed. Default: none.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_QUEUE,
     .offset = offsetof(struct options, urgent),
     .minimum = 0.0,
     .maximum = 1.0},
    {.name = "deadline",
     .argument = "SECONDS",
     .text = "Time from arrival by which each request must have a\n"
             "slot, for requests that wait in the router; 0: none.\n"
             "Default: 0.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_QUEUE,
     .offset = offsetof(struct options, deadline_s),
     .minimum = 0.0,
     .maximum = WORK_MAX_SECONDS},
    {.name = "max-think",
     .argument = "SECONDS",
     .text = "Cut longer pauses within the sessions of a trace.\n"
             "Default: 60.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_TRACE,
     .offset = offsetof(struct options, trace.max_think_s),
     .minimum = 0.0,
     .maximum = WORK_MAX_SECONDS},
    {.name = "think",
     .argument = "SECONDS",
     .text = "Pause between an answer and the next request of its\n"
             "session in a text trace without timestamps.\n"
             "Default: 5.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_TRACE,
     .offset = offsetof(struct options, trace.think_s),
     .minimum = 0.0,
     .maximum = WORK_MAX_SECONDS},
    {.name = "block-tokens",
     .argument = "N",
     .text = "Tokens that one of hash_ids stands for. Default:\n"
             "inferred from the trace.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_OF_TRACE,
     .offset = offsetof(struct options, block_tokens),
     .minimum = 1.0,
     .maximum = 65536.0},
    {.name = "keep-times",
     .text = "Do not spread the requests of a trace whose clock ticks\n"
             "coarsely, in groups, over the tick.",
     .kind = OPTION_SWITCH,
     .scope = OPTION_OF_TRACE,
     .offset = offsetof(struct options, trace.keep_times)},
    {.name = "skip-bad",
     .text = "Leave out malformed lines of a trace and say how many,\n"
             "instead of stopping at the first.",
     .kind = OPTION_SWITCH,
     .scope = OPTION_OF_TRACE,
     .offset = offsetof(struct options, trace.skip_bad)},
    {.kind = OPTION_HEADING, .text = "Targets"},
    {.name = "targets",
     .argument = "N|LIST",
     .text = "N equal targets, or a list of\n"
             "[COUNTx]ENGINE[@WEIGHT][:LIMIT], with commas. Weight:\n"
             "share of traffic (1; 0 drains). Limit: most requests in\n"
             "flight (see --limit). Default: 8.",
     .kind = OPTION_TEXT,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, fleet_text)},
    {.name = "engine",
     .argument = "NAME",
     .text = "Engine of N equal targets; --list shows all.\n"
             "Default: 8b-rtxpro6000.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = read_engine,
     .show = show_engine},
    {.name = "cache-tokens",
     .argument = "N",
     .text = "Tokens that the KV cache of each target holds. Default:\n"
             "the engine's, see --list.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, cache_tokens),
     .minimum = 1024.0,
     .maximum = 1e9},
    {.name = "limit",
     .argument = "N",
     .text = "Most requests in flight on a target without a limit of\n"
             "its own. What finds all of them full waits (see\n"
             "--queue). Default: 0, no limit: the engines queue, and\n"
             "each strategy is judged by its own choices.\n"
             "(The library's own default is 32.)",
     .kind = OPTION_WHOLE,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, limit),
     .minimum = 0.0,
     .maximum = MAX_LIMIT},
    {.name = "adapter-slots",
     .argument = "K",
     .text = "Adapters that an engine holds at once; the one used\n"
             "longest ago makes room. Default: 4.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_OF_ADAPTERS,
     .offset = offsetof(struct options, adapter_slots),
     .minimum = 1.0,
     .maximum = 1024.0},
    {.name = "adapter-load",
     .argument = "SECONDS",
     .text = "Time to load an adapter; the step in which that\n"
             "happens takes so much longer. Default: 0.2.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_ADAPTERS,
     .offset = offsetof(struct options, adapter_load_s),
     .minimum = 0.0,
     .maximum = 1000.0},
    {.name = "restart",
     .argument = "TARGET@SECONDS[,...]",
     .text = "Let the engine of a target, counted from 1, start anew\n"
             "at this time: 30 s later it works again, with empty\n"
             "caches, and computes again what it had under way.\n"
             "Requests wait there meanwhile, and nobody tells the\n"
             "router. May be repeated.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = kv_options_read_restart,
     .show = kv_options_show_restart},
    {.kind = OPTION_HEADING, .text = "Router"},
    {.name = "strategy",
     .argument = "all|peers|LIST",
     .text = "Strategies to compare, with commas: all of the\n"
             "library's, all peers, or any of them by name; --list\n"
             "shows them. Default: all.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = strategy_options_read},
    {.name = "param",
     .argument = "NAME=VALUE",
     .text = "Set a parameter of the pool, or of a peer; --list shows\n"
             "all. May be repeated.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = strategy_options_read_parameter,
     .show = strategy_options_show_parameters},
    {.name = "admission",
     .argument = "MODE",
     .text = "The parameter admission.mode by name: max_concurrency,\n"
             "superfast, hybrid or queue_all.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = queue_options_read_admission},
    {.name = "queue",
     .argument = "WHO",
     .text = "What becomes of requests that find every target full:\n"
             "host: they wait at the host, in order of arrival; off:\n"
             "they are refused; on: they wait in the router\n"
             "(queue.enabled), fair and fifo: likewise, in this\n"
             "order (queue.fair). Default: host.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_QUEUE,
     .read = queue_options_read_queue,
     .show = queue_options_show_queue},
    {.name = "seed",
     .argument = "N[,N...]",
     .text = "Seeds from 1 on; each is a run of its own. A seed\n"
             "decides on random choices, session starts and generated\n"
             "traffic. Same seed, same results to the byte.\n"
             "Default: 1.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = read_seed},
    {.name = "scrape",
     .argument = "SECONDS",
     .text = "Time between two readings of the targets' metrics\n"
             "(running, waiting, KV cache, adapters); 0: never.\n"
             "Default: 5.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = read_scrape,
     .show = show_scrape},
    {.name = "routers",
     .argument = "N[:HOW]",
     .text = "Let N routers stand in front of the same targets, as\n"
             "several gateways do. HOW: deltas, each tells all others\n"
             "what it sends where; or none, each knows its own\n"
             "requests only. All read metrics and KV events. Default:\n"
             "1; of HOW: deltas.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_ROUTERS,
     .read = router_options_read,
     .show = router_options_show},
    {.name = "balance",
     .argument = "HOW",
     .text = "Which of the routers a request comes to: random,\n"
             "round-robin, or session: all requests of a session, or\n"
             "that follow each other, to the same. Default: random.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_ROUTERS,
     .read = router_options_read_balance,
     .show = router_options_show_balance},
    {.name = "delta-interval",
     .argument = "SECONDS",
     .text = "Time between two deltas of a router. Default: 0.1.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_DELTAS,
     .offset = offsetof(struct options, routers.interval_s),
     .minimum = 0.001,
     .maximum = 1e4},
    {.name = "delta-delay",
     .argument = "SECONDS",
     .text = "Time that a delta takes to the others. Default: 0.005.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_DELTAS,
     .offset = offsetof(struct options, routers.delay_s),
     .minimum = 0.0,
     .maximum = 1e4},
    {.name = "delta-loss",
     .argument = "PART",
     .text = "Part of the deltas that get lost on the way, for each\n"
             "receiver, drawn from the seed. Default: 0.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_DELTAS,
     .offset = offsetof(struct options, routers.loss),
     .minimum = 0.0,
     .maximum = 1.0},
    {.name = "restart-router",
     .argument = "AT[:HOW]",
     .text = "Replace the router by a new one, as if the gateway had\n"
             "been restarted, after so many seconds, or (10%) once a\n"
             "part of the requests has arrived; the first of several.\n"
             "HOW it begins: snapshot, with what the old one had\n"
             "learned; cold; or none: there is none, to compare with.\n"
             "Requests under way go on, unknown to it. Default of\n"
             "HOW: snapshot.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = restart_options_read,
     .show = restart_options_show},
    {.name = "restart-window",
     .argument = "SECONDS",
     .text = "Time before and after that of which the results are\n"
             "shown. Default: 60.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_RESTART,
     .offset = offsetof(struct options, handover_window_s),
     .minimum = 0.001,
     .maximum = 1e9},
    {.name = "kv-events",
     .argument = "FORM",
     .text = "Events of the engines' KV caches for strategies that\n"
             "read them (precise_cache_aware, and pipeline with\n"
             "pipeline.resident): map, array, mixed (every other\n"
             "engine) or off. Default: map.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_EVENTS,
     .read = kv_options_read_events,
     .show = kv_options_show_events},
    {.name = "kv-delay",
     .argument = "SECONDS",
     .text = "Time that events take to the router, and what is sent\n"
             "again. Default: 0.05.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_EVENTS,
     .offset = offsetof(struct options, kv.delay_s),
     .minimum = 0.0,
     .maximum = 1e4},
    {.name = "kv-loss",
     .argument = "PART",
     .text = "Part of the batches of events that get lost on the way.\n"
             "Default: 0.",
     .kind = OPTION_REAL,
     .scope = OPTION_OF_EVENTS,
     .offset = offsetof(struct options, kv.loss),
     .minimum = 0.0,
     .maximum = 1.0},
    {.name = "kv-replay",
     .argument = "on|off",
     .text = "Whether the host asks for events that are missing; an\n"
             "engine keeps 10000 batches. Default: on.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_OF_EVENTS,
     .read = kv_options_read_replay,
     .show = kv_options_show_replay},
    {.name = "prices",
     .argument = "FILE",
     .text = "Tell the router prices, and report what was served in\n"
             "dollars. A table of tools/prices/price_table.py; the\n"
             "key of a target is its engine, or what stands after\n"
             "\"=\" in --targets.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_ALWAYS,
     .read = read_prices,
     .show = show_prices},
    {.name = "no-sessions",
     .text = "Do not tell the router which requests are one\n"
             "conversation, as when clients send no such id.",
     .kind = OPTION_SWITCH,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, no_sessions)},
    {.kind = OPTION_HEADING, .text = "Results"},
    {.name = "slo-ttft",
     .argument = "MS",
     .text = "Time to first token up to which a request counts as\n"
             "good. Default: 2000.",
     .kind = OPTION_REAL,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, slo_ttft_ms),
     .minimum = 0.0,
     .maximum = 1e9},
    {.name = "slo-tpot",
     .argument = "MS",
     .text = "Mean time per further token likewise. Default: 25.",
     .kind = OPTION_REAL,
     .scope = OPTION_ALWAYS,
     .offset = offsetof(struct options, slo_tpot_ms),
     .minimum = 0.0,
     .maximum = 1e9},
    {.name = "json",
     .argument = "FILE",
     .text = "Write the results as JSON.",
     .kind = OPTION_TEXT,
     .scope = OPTION_SILENT,
     .offset = offsetof(struct options, json_path)},
    {.name = "html",
     .argument = "FILE",
     .text = "Write a page with charts.",
     .kind = OPTION_TEXT,
     .scope = OPTION_SILENT,
     .offset = offsetof(struct options, html_path)},
    {.kind = OPTION_HEADING, .text = "Other"},
    {.name = "jobs",
     .argument = "N",
     .text = "Strategies that run at once, in threads. Changes no\n"
             "result. Default: 1.",
     .kind = OPTION_WHOLE,
     .scope = OPTION_SILENT,
     .offset = offsetof(struct options, jobs),
     .minimum = 1.0,
     .maximum = 1024.0},
    {.name = "list",
     .text = "Show engines, strategies, workloads and parameters.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = read_list},
    {.name = "version",
     .text = "Show the version of the library.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = read_version},
    {.name = "help",
     .text = "Show this text.",
     .kind = OPTION_SPECIAL,
     .scope = OPTION_SILENT,
     .read = read_help},
};

const size_t option_row_count = sizeof option_rows / sizeof option_rows[0];
