/* SPDX-License-Identifier: MIT */
#include "queue_options.h"

#include "choices.h"

#include <stdio.h>
#include <string.h>

/* By `LBROUTE_ADMISSION_` mode. */
static const char *const modes[] = {"max_concurrency", "superfast", "hybrid",
                                    "queue_all"};

static const char *mode_name(size_t index)
{
    return index < sizeof modes / sizeof modes[0] ? modes[index] : NULL;
}

bool queue_options_read_admission(struct options *options, const char *value,
                                  struct option_error *error)
{
    for (size_t i = 0; mode_name(i) != NULL; i++)
        if (strcmp(modes[i], value) == 0) {
            options_set_parameter(options, "admission.mode", (double)i);
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "mode", value,
                           strlen(value), mode_name);
}

/* Who holds what finds every target full. */
struct waiting {
    const char *name;
    double enabled; /* The router. */
    double fair;    /* Below 0: as the pool has it. */
};

static const struct waiting waitings[] = {
    {"host", 0.0, -1.0}, {"off", 0.0, -1.0}, {"on", 1.0, -1.0},
    {"fair", 1.0, 1.0},  {"fifo", 1.0, 0.0},
};

static const char *waiting_name(size_t index)
{
    return index < sizeof waitings / sizeof waitings[0] ? waitings[index].name
                                                        : NULL;
}

bool queue_options_read_queue(struct options *options, const char *value,
                              struct option_error *error)
{
    for (size_t i = 0; waiting_name(i) != NULL; i++) {
        const struct waiting *waiting = &waitings[i];

        if (strcmp(waiting->name, value) != 0)
            continue;
        options->queue = waiting->name;
        options_set_parameter(options, "queue.enabled", waiting->enabled);
        if (waiting->fair >= 0.0)
            options_set_parameter(options, "queue.fair", waiting->fair);
        return true;
    }
    return choices_unknown(error->text, sizeof error->text, "queue", value,
                           strlen(value), waiting_name);
}

bool queue_options_show_queue(const struct options *options, char *value,
                              size_t size)
{
    if (options->queue == NULL)
        return false;
    snprintf(value, size, "%s", options->queue);
    return true;
}

bool queue_options_read_clients(struct options *options, const char *value,
                                struct option_error *error)
{
    const char *colon = strrchr(value, ':');
    char path[4096];

    if (colon == NULL || colon == value || colon[1] == '\0' ||
        (size_t)(colon - value) >= sizeof path)
        return option_fail(error, "\"%s\" is not FILE:MODEL", value);
    memcpy(path, value, (size_t)(colon - value));
    path[colon - value] = '\0';
    options->clients_text = value;
    client_list_release(&options->clients);
    return client_list_read(path, colon + 1, &options->clients, error->text,
                            sizeof error->text);
}

/* Without its folder: the same run gives the same report anywhere. */
bool queue_options_show_clients(const struct options *options, char *value,
                                size_t size)
{
    const char *text = options->clients_text;
    const char *slash = text != NULL ? strrchr(text, '/') : NULL;

    if (text == NULL)
        return false;
    snprintf(value, size, "%s", slash != NULL ? slash + 1 : text);
    return true;
}

static bool is_about_limits(const char *parameter)
{
    return strncmp(parameter, "queue.", strlen("queue.")) == 0 ||
           strncmp(parameter, "admission.", strlen("admission.")) == 0;
}

bool queue_options_asked(const struct options *options)
{
    for (size_t i = 0; i < options->parameter_count; i++)
        if (is_about_limits(options->parameters[i].name))
            return true;
    return options->clients_text != NULL || options->urgent > 0.0 ||
           options->deadline_s > 0.0;
}

bool queue_options_hybrid(const struct options *options)
{
    return (int)options_parameter(options, "admission.mode") ==
           LBROUTE_ADMISSION_HYBRID;
}
