/* SPDX-License-Identifier: MIT */
#include "options_row.h"

#include "kv_options.h"
#include "parse_number.h"
#include "queue_options.h"

#include <stdarg.h>
#include <stdio.h>

bool option_fail(struct option_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool option_parse_real(const char *value, double minimum, double maximum,
                       double *number, struct option_error *error)
{
    return parse_real(value, minimum, maximum, number) ||
           option_fail(error, "\"%s\" is not a number from %g to %g", value,
                       minimum, maximum);
}

static bool read_whole(const struct option_row *row, const char *value,
                       uint64_t *number, struct option_error *error)
{
    return parse_whole(value, (uint64_t)row->minimum, (uint64_t)row->maximum,
                       number) ||
           option_fail(error, "\"%s\" is not a whole number from %.0f to %.0f",
                       value, row->minimum, row->maximum);
}

bool option_read(const struct option_row *row, struct options *options,
                 const char *value, struct option_error *error)
{
    void *field = (char *)options + row->offset;

    switch (row->kind) {
    case OPTION_REAL:
        return option_parse_real(value, row->minimum, row->maximum, field,
                                 error);
    case OPTION_WHOLE:
        return read_whole(row, value, field, error);
    case OPTION_SWITCH:
        *(bool *)field = true;
        return true;
    case OPTION_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_HEADING:
    case OPTION_SPECIAL:
        break;
    }
    return row->read(options, value, error);
}

static bool in_scope(const struct option_row *row,
                     const struct options *options)
{
    switch (row->scope) {
    case OPTION_SILENT:
        return false;
    case OPTION_OF_TRACE:
        return options->trace_path != NULL;
    case OPTION_OF_WORKLOAD:
        return options->trace_path == NULL;
    case OPTION_OF_ADAPTERS:
        return options->adapters > 0;
    case OPTION_OF_EVENTS:
        return kv_options_wanted_by_any(options);
    case OPTION_OF_QUEUE:
        return queue_options_asked(options);
    case OPTION_OF_RESTART:
        return options->handover.wanted;
    case OPTION_OF_ROUTERS:
        return options->routers.count > 1;
    case OPTION_OF_DELTAS:
        return routers_share(&options->routers);
    case OPTION_ALWAYS:
        break;
    }
    return true;
}

bool option_show(const struct option_row *row, const struct options *options,
                 char *value, size_t size)
{
    const void *field = (const char *)options + row->offset;

    if (!in_scope(row, options))
        return false;
    switch (row->kind) {
    case OPTION_REAL:
        snprintf(value, size, "%.15g", *(const double *)field);
        return true;
    case OPTION_WHOLE:
        snprintf(value, size, "%llu",
                 (unsigned long long)*(const uint64_t *)field);
        return *(const uint64_t *)field > 0;
    case OPTION_SWITCH:
        snprintf(value, size, "yes");
        return *(const bool *)field;
    case OPTION_TEXT:
        snprintf(value, size, "%s", *(const char *const *)field);
        return true;
    case OPTION_HEADING:
    case OPTION_SPECIAL:
        break;
    }
    return row->show(options, value, size);
}
