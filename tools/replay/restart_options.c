/* SPDX-License-Identifier: MIT */
#include "restart_options.h"

#include "choices.h"
#include "parse_number.h"

#include <stdio.h>
#include <string.h>

/* By enum fleet_beginning. */
static const char *const beginnings[] = {"snapshot", "cold", "none"};

static const char *beginning(size_t index)
{
    return index < sizeof beginnings / sizeof beginnings[0] ? beginnings[index]
                                                            : NULL;
}

/* Reads seconds, or a part in percent. */
static bool read_at(struct fleet_handover_options *handover, char *text)
{
    size_t length = strlen(text);

    handover->by_part = length > 0 && text[length - 1] == '%';
    if (!handover->by_part)
        return parse_real(text, 0.0, WORK_MAX_SECONDS, &handover->at);
    text[length - 1] = '\0';
    if (!parse_real(text, 0.0, 100.0, &handover->at))
        return false;
    handover->at /= 100.0;
    return true;
}

static bool read_how(struct fleet_handover_options *handover, const char *how,
                     struct option_error *error)
{
    for (size_t i = 0; beginning(i) != NULL; i++)
        if (strcmp(beginnings[i], how) == 0) {
            handover->how = (enum fleet_beginning)i;
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "beginning", how,
                           strlen(how), beginning);
}

bool restart_options_read(struct options *options, const char *value,
                          struct option_error *error)
{
    size_t length = strcspn(value, ":");
    char text[64] = {0};

    options->handover.wanted = true;
    options->handover.how = FLEET_BEGINS_WITH_SNAPSHOT;
    if (length < sizeof text)
        memcpy(text, value, length);
    if (!read_at(&options->handover, text))
        return option_fail(
            error, "\"%s\" does not begin with seconds or a part in %%", value);
    return value[length] == '\0' ||
           read_how(&options->handover, value + length + 1, error);
}

bool restart_options_show(const struct options *options, char *value,
                          size_t size)
{
    const struct fleet_handover_options *handover = &options->handover;

    if (!handover->wanted)
        return false;
    snprintf(value, size, "%.15g%s:%s",
             handover->by_part ? handover->at * 100.0 : handover->at,
             handover->by_part ? "%" : "", beginnings[handover->how]);
    return true;
}
