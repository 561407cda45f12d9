/* SPDX-License-Identifier: MIT */
#include "options_row.h"

#include "grow.h"
#include "router_options.h"
#include "tell.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Of a workload that is about documents. Nine: two targets with a cache for
 * five each hold them all, if each is asked for its own only. */
enum { DEFAULT_DOCUMENTS = 9, DEFAULT_DOCUMENT_TOKENS = 10000 };

/* Of adapters. To load 0.3 GB, one of rank 64 for a model of eight billion
 * parameters, from a disk takes about that long. */
#define DEFAULT_ADAPTER_SKEW 1.0
#define DEFAULT_ADAPTER_SLOTS 4
#define DEFAULT_ADAPTER_LOAD_S 0.2

/* A number that cannot be given. */
#define NOT_GIVEN (-1.0)

/* getopt_long() returns this plus the row; above every character. */
enum { FIRST_CODE = 256 };

static void set_defaults(struct options *options)
{
    *options = (struct options){0};
    options->duration_s = 600.0;
    options->trace.max_think_s = 60.0;
    options->trace.think_s = 5.0;
    options->load = 1.0;
    options->jobs = 1;
    options->adapter_skew = NOT_GIVEN;
    options->adapter_load_s = NOT_GIVEN;
    options->fleet_text = "8";
    options->engine = engine_spec_at(0);
    options->scrape_s = 5.0;
    options->handover_window_s = 60.0;
    router_options_begin(&options->routers);
    options->kv.mode = KV_MODE_MAP;
    options->kv.delay_s = 0.05;
    options->kv.replay = true;
    options->slo_ttft_ms = 2000.0;
    options->slo_tpot_ms = 25.0;
}

static bool complain(const char *name, const char *what)
{
    tell("--%s: %s", name, what);
    tell_hint();
    return false;
}

static struct option *long_options(void)
{
    struct option *list = grow_zeroed(option_row_count + 1, sizeof *list);
    size_t count = 0;

    for (size_t i = 0; i < option_row_count; i++) {
        if (option_rows[i].kind == OPTION_HEADING)
            continue;
        list[count].name = option_rows[i].name;
        list[count].has_arg =
            option_rows[i].argument != NULL ? required_argument : no_argument;
        list[count++].val = FIRST_CODE + (int)i;
    }
    return list;
}

static bool read_row(struct options *options, const struct option_row *row,
                     const char *value)
{
    struct option_error error;

    return option_read(row, options, value, &error) ||
           complain(row->name, error.text);
}

static const struct option_row *find_row(const char *name)
{
    size_t i = 0;

    while (option_rows[i].name == NULL ||
           strcmp(option_rows[i].name, name) != 0)
        i++;
    return &option_rows[i];
}

/* One that is not known, or without its value, or with one that it does not
 * take. */
static bool complain_of_word(const char *word)
{
    tell("%s is no option, or it needs a value, or takes none", word);
    tell_hint();
    return false;
}

/* Reads the words, from the first one on each time that it is called. */
static bool read_words(int argc, char **argv, struct options *options)
{
    struct option *list = long_options();
    bool good = true;
    int code;

    optind = 0;
    opterr = 0;
    while (good && options->command == COMMAND_RUN &&
           (code = getopt_long(argc, argv, "h", list, NULL)) != -1) {
        if (code == 'h')
            options->command = COMMAND_HELP;
        else if (code >= FIRST_CODE)
            good = read_row(options, &option_rows[code - FIRST_CODE], optarg);
        else
            good = complain_of_word(argv[optind - 1]);
    }
    free(list);
    if (good && options->command == COMMAND_RUN && optind < argc) {
        tell("\"%s\" is no option (--trace FILE reads a trace)", argv[optind]);
        return false;
    }
    return good;
}

static bool check_documents(struct options *options)
{
    if (options->generator != NULL && options->generator->documents) {
        if (options->documents == 0)
            options->documents = DEFAULT_DOCUMENTS;
        if (options->document_tokens == 0)
            options->document_tokens = DEFAULT_DOCUMENT_TOKENS;
        return true;
    }
    if (options->documents > 0)
        return complain("documents", "needs --workload documents");
    if (options->document_tokens > 0)
        return complain("document-tokens", "needs --workload documents");
    return true;
}

/* Defaults of what only adapters have; without those it must not be given. */
static bool check_adapters(struct options *options)
{
    bool used = options->adapters > 0;

    if (!used && options->adapter_skew != NOT_GIVEN)
        return complain("adapter-skew", "needs --adapters");
    if (!used && options->adapter_slots > 0)
        return complain("adapter-slots", "needs --adapters");
    if (!used && options->adapter_load_s != NOT_GIVEN)
        return complain("adapter-load", "needs --adapters");
    if (options->adapter_skew == NOT_GIVEN)
        options->adapter_skew = DEFAULT_ADAPTER_SKEW;
    if (options->adapter_slots == 0)
        options->adapter_slots = DEFAULT_ADAPTER_SLOTS;
    if (options->adapter_load_s == NOT_GIVEN)
        options->adapter_load_s = DEFAULT_ADAPTER_LOAD_S;
    return true;
}

static bool check_traffic(struct options *options)
{
    if (!check_documents(options) || !check_adapters(options))
        return false;
    if (options->sweep.count > 0 && options->generator != NULL &&
        options->generator->documents)
        return complain("sweep", "load changes nothing in this workload");
    if (options->trace_path != NULL) {
        if (options->generator != NULL)
            return complain("workload", "cannot be combined with --trace");
        if (options->rate > 0.0)
            return complain("rate", "cannot be combined with --trace");
        return true;
    }
    if (options->generator == NULL)
        options->generator = generator_at(0);
    if (options->rate <= 0.0)
        options->rate = options->generator->default_rate;
    return true;
}

static bool build_fleet(struct options *options)
{
    struct fleet_defaults defaults = {options->engine, options->cache_tokens,
                                      (uint32_t)options->limit};
    struct option_error error;

    return fleet_spec_parse(options->fleet_text, &defaults, &options->fleet,
                            error.text, sizeof error.text) ||
           complain("targets", error.text);
}

static bool check_restarts(const struct options *options)
{
    for (size_t i = 0; i < options->restart_count; i++)
        if (options->restarts[i].target >= options->fleet.count)
            return complain("restart", "there are not so many targets");
    return true;
}

/* Requests that wait in a router end with it. */
static bool check_handover(const struct options *options)
{
    if (options->handover.wanted &&
        (options_parameter(options, "queue.enabled") > 0.0 ||
         (int)options_parameter(options, "admission.mode") ==
             LBROUTE_ADMISSION_QUEUE_ALL))
        return complain("restart-router",
                        "cannot be combined with a queue in the router");
    return true;
}

static bool check_routers(struct options *options)
{
    struct option_error error;
    const char *wrong = router_options_check(options, &error);

    return wrong == NULL || complain(wrong, error.text);
}

/* Of targets that share a key, the first stands for all. */
static bool is_first_of_key(const struct fleet_spec *fleet, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(fleet->targets[i].price_key,
                   fleet->targets[index].price_key) == 0)
            return false;
    return true;
}

/* Gives each target its price; says so where there is none. */
static bool read_prices(struct options *options)
{
    struct fleet_spec *fleet = &options->fleet;
    struct option_error error;

    if (options->prices_path == NULL)
        return true;
    if (!prices_read(options->prices_path, &options->prices, error.text,
                     sizeof error.text))
        return complain("prices", error.text);
    for (size_t i = 0; i < fleet->count; i++) {
        struct fleet_target *target = &fleet->targets[i];

        target->price = price_list_find(&options->prices, target->price_key);
        if (target->price == NULL && is_first_of_key(fleet, i))
            tell("%s has no price of \"%s\": what is served there has an "
                 "unknown cost",
                 options->prices_path, target->price_key);
    }
    return true;
}

static void note_in_force(struct options *options)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        char text[512];
        char *value;

        if (!option_show(row, options, text, sizeof text))
            continue;
        options->in_force =
            grow_array(options->in_force, &options->in_force_capacity,
                       options->in_force_count + 1, sizeof *options->in_force);
        value = grow_zeroed(strlen(text) + 1, 1);
        memcpy(value, text, strlen(text));
        options->in_force[options->in_force_count].name = row->name;
        options->in_force[options->in_force_count++].value = value;
    }
}

bool options_parse(int argc, char **argv, struct options *options)
{
    set_defaults(options);
    if (!read_words(argc, argv, options))
        return false;
    if (options->command != COMMAND_RUN)
        return true;
    if (!check_traffic(options) || !build_fleet(options) ||
        !check_restarts(options) || !check_handover(options) ||
        !read_prices(options))
        return false;
    if (options->strategy_count == 0 &&
        !read_row(options, find_row("strategy"), "all"))
        return false;
    if (!check_routers(options))
        return false;
    if (options->seed_count == 0 && !read_row(options, find_row("seed"), "1"))
        return false;
    note_in_force(options);
    return true;
}

/* What the library takes where nothing is set; 0 for what it does not know. */
static double default_of(const char *name)
{
    lbroute_param_info info;

    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        if (strcmp(info.name, name) == 0)
            return info.default_value;
    return 0.0;
}

/* The value that is set last counts. */
double options_parameter(const struct options *options, const char *name)
{
    double value = default_of(name);

    for (size_t i = 0; i < options->parameter_count; i++)
        if (strcmp(options->parameters[i].name, name) == 0)
            value = options->parameters[i].value;
    return value;
}

void options_set_parameter(struct options *options, const char *name,
                           double value)
{
    options->parameters =
        grow_array(options->parameters, &options->parameter_capacity,
                   options->parameter_count + 1, sizeof *options->parameters);
    options->parameters[options->parameter_count++] =
        (struct host_parameter){name, value};
}

const char *options_source_name(const struct options *options)
{
    const char *slash;

    if (options->trace_path == NULL)
        return options->generator->name;
    slash = strrchr(options->trace_path, '/');
    return slash != NULL ? slash + 1 : options->trace_path;
}

void options_release(struct options *options)
{
    for (size_t i = 0; i < options->in_force_count; i++)
        free((char *)options->in_force[i].value);
    free(options->in_force);
    for (size_t i = 0; i < options->name_count; i++)
        free(options->names[i]);
    free(options->names);
    free(options->strategies);
    free(options->parameters);
    free(options->seeds);
    free(options->restarts);
    fleet_spec_release(&options->fleet);
    price_list_release(&options->prices);
    client_list_release(&options->clients);
}
