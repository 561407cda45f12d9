/* SPDX-License-Identifier: MIT */
#include "strategy_options.h"

#include "choices.h"
#include "grow.h"

#include <stdio.h>
#include <string.h>

/* Each runs once, where it is named first. */
static void add_strategy(struct options *options, const char *name)
{
    for (size_t i = 0; i < options->strategy_count; i++)
        if (strcmp(options->strategies[i], name) == 0)
            return;
    options->strategies =
        grow_array(options->strategies, &options->strategy_capacity,
                   options->strategy_count + 1, sizeof *options->strategies);
    options->strategies[options->strategy_count++] = name;
}

static void add_strategies(struct options *options, choices_name name_at)
{
    for (size_t i = 0; name_at(i) != NULL; i++)
        add_strategy(options, name_at(i));
}

/* The library's, then the peers. */
static const char *any_strategy(size_t index)
{
    size_t own = 0;

    while (lbroute_strategy_name(own) != NULL)
        own++;
    return index < own ? lbroute_strategy_name(index)
                       : peer_rule_name(index - own);
}

/* One of a list. */
static bool read_strategies(struct options *options, const char *text,
                            size_t length, struct option_error *error)
{
    const char *name;

    if (choices_is(text, length, "all")) {
        add_strategies(options, lbroute_strategy_name);
        return true;
    }
    if (choices_is(text, length, "peers")) {
        add_strategies(options, peer_rule_name);
        return true;
    }
    for (size_t i = 0; (name = any_strategy(i)) != NULL; i++)
        if (choices_is(text, length, name)) {
            add_strategy(options, name);
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "strategy", text,
                           length, any_strategy);
}

bool strategy_options_read(struct options *options, const char *value,
                           struct option_error *error)
{
    options->strategy_count = 0;
    for (;;) {
        size_t length = strcspn(value, ",");

        if (!read_strategies(options, value, length, error))
            return false;
        if (value[length] == '\0')
            return true;
        value += length + 1;
    }
}

static const char *parameter_name(size_t index)
{
    lbroute_param_info info;

    lbroute_param_info_init(&info, sizeof info);
    return lbroute_param_get_info(index, &info) == LBROUTE_OK ? info.name
                                                              : NULL;
}

static void list_peer_parameters(const struct peer_rule *peer,
                                 struct option_error *error)
{
    char name[128];

    for (size_t i = 0; i < peer->param_count; i++) {
        snprintf(name, sizeof name, "%s.%s", peer->name, peer->params[i].name);
        choices_add(error->text, sizeof error->text, name);
    }
}

/* What is near: parameters of that peer, or peers if it is none. */
static bool unknown_of_peer(const char *name, size_t length,
                            struct option_error *error)
{
    const char *dot = memchr(name, '.', length);
    size_t peer_length = dot != NULL ? (size_t)(dot - name) : length;
    const struct peer_rule *peer = peer_rule_find(name, peer_length);

    if (peer == NULL)
        return choices_unknown(error->text, sizeof error->text, "peer", name,
                               peer_length, peer_rule_name);
    if (peer->param_count == 0)
        return option_fail(error, "%s has no parameters", peer->name);
    choices_begin(error->text, sizeof error->text, "parameter", name, length);
    list_peer_parameters(peer, error);
    return false;
}

static bool unknown_parameter(const char *name, size_t length,
                              struct option_error *error)
{
    if (strncmp(name, PEER_PREFIX, strlen(PEER_PREFIX)) == 0)
        return unknown_of_peer(name, length, error);
    return choices_unknown(error->text, sizeof error->text, "parameter", name,
                           length, parameter_name);
}

/* A parameter of the library or of a peer. */
struct parameter {
    const char *name; /* NULL: as it was given. */
    double minimum;
    double maximum;
};

static bool find_parameter(const char *name, size_t length,
                           struct parameter *found)
{
    const struct peer_param *peer = peer_param_find(name, length);
    lbroute_param_info info;

    if (peer != NULL) {
        *found = (struct parameter){NULL, peer->minimum, peer->maximum};
        return true;
    }
    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        if (choices_is(name, length, info.name)) {
            *found = (struct parameter){info.name, info.minimum, info.maximum};
            return true;
        }
    return false;
}

/* The name of a peer's parameter, without its value. */
static const char *keep_name(struct options *options, const char *name,
                             size_t length)
{
    char *kept = grow_zeroed(length + 1, 1);

    memcpy(kept, name, length);
    options->names =
        grow_array(options->names, &options->name_capacity,
                   options->name_count + 1, sizeof *options->names);
    options->names[options->name_count++] = kept;
    return kept;
}

bool strategy_options_read_parameter(struct options *options, const char *value,
                                     struct option_error *error)
{
    const char *equals = strchr(value, '=');
    struct parameter found;
    double number;
    size_t length;

    if (equals == NULL)
        return option_fail(error, "\"%s\" is not NAME=VALUE", value);
    length = (size_t)(equals - value);
    if (!find_parameter(value, length, &found))
        return unknown_parameter(value, length, error);
    if (!option_parse_real(equals + 1, found.minimum, found.maximum, &number,
                           error))
        return false;
    if (found.name == NULL)
        found.name = keep_name(options, value, length);
    options_set_parameter(options, found.name, number);
    return true;
}

bool strategy_options_show_parameters(const struct options *options,
                                      char *value, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < options->parameter_count && used < size; i++)
        used += (size_t)snprintf(value + used, size - used, "%s%s=%.15g",
                                 i > 0 ? " " : "", options->parameters[i].name,
                                 options->parameters[i].value);
    return options->parameter_count > 0;
}
