/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include "line_reader.h"
#include "trace_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Separates the draw of session starts from other uses of the seed. */
enum { STARTS_STREAM = 1 };

enum format {
    FORMAT_UNKNOWN,
    FORMAT_REQUESTS,
    FORMAT_SESSIONS,
    FORMAT_TEXTS,
    FORMAT_AZURE
};

struct reading {
    const char *path;
    const struct trace_options *options;
    struct workload *workload;
    struct trace_report *report;
    struct line_reader lines;
    enum format format;
    struct trace_requests requests;
    struct trace_sessions sessions;
    struct trace_texts texts;
};

static bool is_blank(const struct line_reader *lines)
{
    return strspn(lines->line, " \t") == lines->length;
}

static bool json_format(struct reading *reading, struct trace_line *line,
                        enum format format)
{
    if (reading->format == FORMAT_UNKNOWN)
        reading->format = format;
    if (reading->format != format)
        return trace_line_fail(line, 1,
                               "this line is of another kind (request, "
                               "session or text) than those before");
    return true;
}

static bool parse_object(struct reading *reading, struct trace_line *line,
                         const json_t *json)
{
    if (!json_is_object(json))
        return trace_line_fail(line, 1, "expected a JSON object");
    if (json_object_get(json, "requests") != NULL &&
        json_object_get(json, "models") != NULL)
        return json_format(reading, line, FORMAT_SESSIONS) &&
               trace_sessions_line(&reading->sessions, line, json);
    if (json_object_get(json, "input") != NULL)
        return json_format(reading, line, FORMAT_TEXTS) &&
               trace_texts_line(&reading->texts, line, json);
    if (json_object_get(json, "timestamp") == NULL)
        return trace_line_fail(line, 1,
                               "\"timestamp\" is missing: not a request line");
    return json_format(reading, line, FORMAT_REQUESTS) &&
           trace_requests_line(&reading->requests, line, json);
}

static bool parse_json(struct reading *reading, struct trace_line *line)
{
    json_error_t error;
    json_t *json =
        json_loadb(line->text, line->length, JSON_REJECT_DUPLICATES, &error);
    bool good;

    if (json == NULL)
        return trace_line_fail(line,
                               error.column > 0 ? (size_t)error.column : 1,
                               "not JSON: %s", error.text);
    good = parse_object(reading, line, json);
    json_decref(json);
    return good;
}

static bool parse_line(struct reading *reading, struct trace_line *line)
{
    if (reading->format == FORMAT_AZURE)
        return trace_azure_line(&reading->requests, line);
    if (line->text[strspn(line->text, " \t")] == '{')
        return parse_json(reading, line);
    if (reading->format == FORMAT_UNKNOWN && trace_azure_header(line)) {
        reading->format = FORMAT_AZURE;
        return true;
    }
    return trace_line_fail(line, 1,
                           reading->format == FORMAT_UNKNOWN
                               ? "neither a JSON object nor the header "
                                 "TIMESTAMP,ContextTokens,GeneratedTokens"
                               : "expected a JSON object");
}

/* Notes a bad line. Returns whether reading goes on. */
static bool bad_line(struct reading *reading, const struct trace_line *line)
{
    struct trace_report *report = reading->report;
    char *text = report->skipped == 0 ? report->first_bad : NULL;

    if (!reading->options->skip_bad)
        text = report->error;
    if (text != NULL)
        snprintf(text, sizeof report->error, "%s:%zu:%zu: %s", reading->path,
                 reading->lines.number, line->column, line->message);
    report->skipped += reading->options->skip_bad;
    return reading->options->skip_bad;
}

/* A source that breaks off ends the trace early; what came before it counts
 * where bad lines are skipped. */
static bool bad_source(struct reading *reading, const char *error)
{
    struct trace_line line = {.column = 1};

    snprintf(line.message, sizeof line.message, "%s", error);
    reading->lines.number++;
    return bad_line(reading, &line);
}

static bool read_lines(struct reading *reading, struct byte_source *source)
{
    struct line_reader *lines = &reading->lines;
    const char *error;

    while (line_reader_next(lines)) {
        struct trace_line line = {lines->line, lines->length, 1, {0}};

        if (!is_blank(lines) && !parse_line(reading, &line) &&
            !bad_line(reading, &line))
            return false;
    }
    error = byte_source_error(source);
    return error == NULL || bad_source(reading, error);
}

static double last_arrival(const struct workload *workload)
{
    double last = 0.0;

    for (size_t i = 0; i < workload->count; i++)
        if (workload->requests[i].follows == WORK_FOLLOWS_NONE &&
            workload->requests[i].at_s > last)
            last = workload->requests[i].at_s;
    return last;
}

/* Adds what is known only at the end. Returns whether requests arrive by the
 * clock of the trace. */
static bool finish_workload(struct reading *reading)
{
    switch (reading->format) {
    case FORMAT_REQUESTS:
    case FORMAT_AZURE:
        trace_requests_finish(&reading->requests, reading->options,
                              reading->workload);
        return true;
    case FORMAT_TEXTS:
        trace_texts_finish(&reading->texts);
        return reading->texts.timed;
    case FORMAT_SESSIONS:
    case FORMAT_UNKNOWN:
        break;
    }
    return false;
}

static bool finish(struct reading *reading)
{
    struct trace_report *report = reading->report;

    if (finish_workload(reading) && !reading->options->keep_times)
        report->clock_step_s = workload_spread(reading->workload);
    if (reading->workload->count == 0) {
        snprintf(report->error, sizeof report->error, "%s: no request in it",
                 reading->path);
        return false;
    }
    if (last_arrival(reading->workload) <= WORK_MAX_SECONDS)
        return true;
    snprintf(report->error, sizeof report->error,
             "%s: the time stamps span more than %.0f s", reading->path,
             WORK_MAX_SECONDS);
    return false;
}

static void start_reading(struct reading *reading, struct byte_source *source)
{
    struct workload *workload = reading->workload;
    struct draw starts = draw_start(reading->options->seed, STARTS_STREAM);

    line_reader_init(&reading->lines, source);
    reading->sessions.options = reading->options;
    reading->sessions.workload = workload;
    reading->sessions.starts = starts;
    block_ids_init(&reading->sessions.ids, workload);
    reading->texts.options = reading->options;
    reading->texts.workload = workload;
    reading->texts.starts = starts;
    block_ids_init(&reading->texts.ids, workload);
}

static bool read_source(struct reading *reading, struct byte_source *source)
{
    bool good;

    start_reading(reading, source);
    good = read_lines(reading, source) && finish(reading);
    block_ids_release(&reading->sessions.ids);
    trace_texts_release(&reading->texts);
    trace_requests_release(&reading->requests);
    line_reader_release(&reading->lines);
    if (!good)
        workload_release(reading->workload);
    return good;
}

bool trace_read(const char *path, const struct trace_options *options,
                struct workload *workload, struct trace_report *report)
{
    struct byte_source *source = byte_source_open(path);
    struct reading reading = {.path = path,
                              .options = options,
                              .workload = workload,
                              .report = report};
    bool good;

    *report = (struct trace_report){0};
    workload_init(workload, 0);
    if (source == NULL) {
        snprintf(report->error, sizeof report->error, "%s: %s", path,
                 strerror(errno));
        return false;
    }
    good = read_source(&reading, source);
    byte_source_close(source);
    return good;
}
