/* SPDX-License-Identifier: MIT */
#include "kv_options.h"

#include "choices.h"
#include "grow.h"
#include "parse_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By enum kv_mode. */
static const char *const modes[] = {"off", "array", "map", "mixed"};

static const char *mode_name(size_t index)
{
    return index < sizeof modes / sizeof modes[0] ? modes[index] : NULL;
}

bool kv_options_read_events(struct options *options, const char *value,
                            struct option_error *error)
{
    for (size_t i = 0; mode_name(i) != NULL; i++)
        if (strcmp(modes[i], value) == 0) {
            options->kv.mode = (enum kv_mode)i;
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "form of events",
                           value, strlen(value), mode_name);
}

bool kv_options_show_events(const struct options *options, char *value,
                            size_t size)
{
    snprintf(value, size, "%s", modes[options->kv.mode]);
    return true;
}

bool kv_options_read_replay(struct options *options, const char *value,
                            struct option_error *error)
{
    options->kv.replay = strcmp(value, "on") == 0;
    return options->kv.replay || strcmp(value, "off") == 0 ||
           option_fail(error, "\"%s\" is neither on nor off", value);
}

bool kv_options_show_replay(const struct options *options, char *value,
                            size_t size)
{
    snprintf(value, size, "%s", options->kv.replay ? "on" : "off");
    return true;
}

/* Reads TARGET@SECONDS. */
static bool parse_restart(char *text, struct fleet_restart *restart)
{
    char *at = strchr(text, '@');
    uint64_t number;

    if (at == NULL)
        return false;
    *at = '\0';
    if (!parse_whole(text, 1, FLEET_MAX_TARGETS, &number) ||
        !parse_real(at + 1, 0.0, WORK_MAX_SECONDS, &restart->at_s))
        return false;
    restart->target = (uint32_t)number - 1;
    return true;
}

bool kv_options_read_restart(struct options *options, const char *value,
                             struct option_error *error)
{
    for (;;) {
        char text[64] = {0};
        size_t length = strcspn(value, ",");
        struct fleet_restart restart;

        if (length < sizeof text)
            memcpy(text, value, length);
        if (!parse_restart(text, &restart))
            return option_fail(error,
                               "\"%s\" is not TARGET@SECONDS, targets counted "
                               "from 1",
                               value);
        options->restarts =
            grow_array(options->restarts, &options->restart_capacity,
                       options->restart_count + 1, sizeof *options->restarts);
        options->restarts[options->restart_count++] = restart;
        if (value[length] == '\0')
            return true;
        value += length + 1;
    }
}

bool kv_options_show_restart(const struct options *options, char *value,
                             size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < options->restart_count && used < size; i++)
        used += (size_t)snprintf(
            value + used, size - used, "%s%" PRIu32 "@%.15g", i > 0 ? "," : "",
            options->restarts[i].target + 1, options->restarts[i].at_s);
    return options->restart_count > 0;
}

static const struct peer_rule *peer_of(const char *strategy)
{
    return peer_rule_find(strategy, strlen(strategy));
}

bool kv_options_wanted(const struct options *options, const char *strategy)
{
    const struct peer_rule *peer = peer_of(strategy);

    if (peer != NULL)
        return peer->reads_events;
    if (strcmp(strategy, "precise_cache_aware") == 0)
        return true;
    /* It can do without. */
    if (strcmp(strategy, "least_work") == 0)
        return options->kv.mode != KV_MODE_OFF;
    return strcmp(strategy, "pipeline") == 0 &&
           options_parameter(options, "pipeline.resident") > 0.0;
}

bool kv_options_wanted_by_any(const struct options *options)
{
    for (size_t i = 0; i < options->strategy_count; i++)
        if (kv_options_wanted(options, options->strategies[i]))
            return true;
    return false;
}

bool kv_options_judged(const struct options *options)
{
    for (size_t i = 0; i < options->strategy_count; i++)
        if (peer_of(options->strategies[i]) == NULL &&
            kv_options_wanted(options, options->strategies[i]))
            return true;
    return false;
}

double kv_options_guess_s(const struct options *options)
{
    if (options_parameter(options, "precise_cache_aware.speculate") <= 0.0)
        return 0.0;
    return options_parameter(options, "precise_cache_aware.speculation_ttl");
}
