/* SPDX-License-Identifier: MIT */
/*
 * The command line: what was asked for, checked.
 */
#ifndef LBROUTE_REPLAY_OPTIONS_H
#define LBROUTE_REPLAY_OPTIONS_H

#include "fleet.h"
#include "fleet_spec.h"
#include "generate.h"
#include "host.h"
#include "prices.h"
#include "report.h"
#include "sweep.h"
#include "trace.h"
#include "workload_clients.h"

/** What to do. */
enum command { COMMAND_RUN, COMMAND_HELP, COMMAND_LIST, COMMAND_VERSION };

struct options {
    enum command command;
    const char *trace_path; /**< NULL: generate. */
    const struct generator *generator;
    double rate;                /**< Of the generator, requests/s. */
    double duration_s;          /**< Of the generator. */
    uint64_t documents;         /**< Of the generator; 0: it has none. */
    uint64_t document_tokens;   /**< Likewise. */
    struct trace_options trace; /**< Two switches and think times. */
    uint64_t block_tokens;      /**< Tokens an id of a trace; 0: infer. */
    double load;
    struct sweep sweep;
    const char *sweep_text;  /**< NULL: none. */
    uint64_t jobs;           /**< Runs at once. */
    uint64_t skip_requests;  /**< The first so many are left out. */
    uint64_t limit_requests; /**< 0: all. */
    uint64_t adapters;       /**< 0: none; then the next three are not read. */
    double adapter_skew;
    uint64_t adapter_slots; /**< Of each engine. */
    double adapter_load_s;

    const char *fleet_text;
    const struct engine_spec *engine; /**< Of targets given by number. */
    uint64_t cache_tokens;            /**< 0: what each engine's spec says. */
    uint64_t limit;                   /**< Most in flight; 0: none. */
    struct fleet_spec fleet;

    const char **strategies; /**< Names of the library, and peers. */
    size_t strategy_count;
    size_t strategy_capacity;
    struct host_parameter *parameters;
    size_t parameter_count;
    size_t parameter_capacity;
    char **names; /**< Of peers' parameters that were set. */
    size_t name_count;
    size_t name_capacity;
    uint64_t *seeds;
    size_t seed_count;
    size_t seed_capacity;
    double scrape_s;
    const char *queue;        /**< Who holds those that wait; NULL: not said. */
    const char *clients_text; /**< NULL: no clients. */
    struct client_list clients;
    double urgent;           /**< Part of the requests with priority 1. */
    double deadline_s;       /**< 0: none. */
    const char *prices_path; /**< NULL: none. */
    struct price_list prices;
    struct kv_feed_options kv; /**< `seed` is the run's. */
    struct fleet_restart *restarts;
    size_t restart_count;
    size_t restart_capacity;
    struct fleet_handover_options handover;
    double handover_window_s;
    struct routers_options routers;
    bool balanced;    /**< How requests come to the routers was said. */
    bool no_sessions; /**< The router is not told of conversations. */

    double slo_ttft_ms;
    double slo_tpot_ms;
    const char *json_path; /**< NULL: none. */
    const char *html_path; /**< NULL: none. */

    /** Everything but strategy and seed that decides about the results. */
    struct replay_option *in_force;
    size_t in_force_count;
    size_t in_force_capacity;
};

/** Parses the command line. Returns false after a message on stderr. */
bool options_parse(int argc, char **argv, struct options *options);

/** Frees what was parsed. */
void options_release(struct options *options);

/** Sets a parameter of the pool; of one that is set twice the last counts. */
void options_set_parameter(struct options *options, const char *name,
                           double value);

/** The value of a parameter in force. */
double options_parameter(const struct options *options, const char *name);

/** Name of the workload, or of the trace's file without its folder: the same
 * run gives the same report anywhere. */
const char *options_source_name(const struct options *options);

/** Prints how to use the program. */
void options_print_help(FILE *out);

/** Prints what --strategy, --engine, --workload and --param can be. */
void options_print_list(FILE *out);

#endif
