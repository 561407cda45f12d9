/* SPDX-License-Identifier: MIT */
/*
 * What the parsers of the trace formats share: the place of an error, and
 * fields of JSON objects with their limits.
 */
#ifndef LBROUTE_REPLAY_TRACE_PARSE_H
#define LBROUTE_REPLAY_TRACE_PARSE_H

#include "block_ids.h"
#include "draw.h"
#include "trace.h"

#include <jansson.h>

/** One line being parsed, and where its error is. */
struct trace_line {
    const char *text; /**< Zero-terminated. */
    size_t length;
    size_t column; /**< Of the error, from 1. */
    char message[256];
};

/** Notes an error of the line at a column; returns false. */
bool trace_line_fail(struct trace_line *line, size_t column, const char *format,
                     ...);

/** The column of the value of the `occurrence`-th (from 0) member `name` in
 * the line, or 1 if there is none. */
size_t trace_member_column(const struct trace_line *line, const char *name,
                           size_t occurrence);

/** An object of the line and how many of its kind stand before it, which
 * tells the column of its members. */
struct trace_object {
    struct trace_line *line;
    const json_t *json;
    size_t occurrence;
};

/** Reads a required number within a range. */
bool trace_get_real(const struct trace_object *object, const char *name,
                    double minimum, double maximum, double *value);

/** Reads a required whole number within a range. */
bool trace_get_count(const struct trace_object *object, const char *name,
                     uint32_t minimum, uint32_t maximum, uint32_t *value);

/** Reads a required array. */
bool trace_get_array(const struct trace_object *object, const char *name,
                     const json_t **value);

/** Reads the required `timestamp`, in ms, as seconds. */
bool trace_get_time(const struct trace_object *object, double *at_s);

/** Reads `session_id` as a digest; leaves `*session` alone where there is
 * none. */
bool trace_get_session(const struct trace_object *object, uint64_t *session);

/** Sessions whose start is not recorded start within this time, at load 1. */
#define TRACE_START_SPAN_S 3600.0

/** Collected requests of JSON lines and of CSV. */
struct trace_requests {
    struct work_request *requests; /* at_s as in the trace. */
    size_t count;
    size_t capacity;
    uint64_t *ids; /* As in the trace; first_id and prompt_ids are places in
                    * this array. */
    size_t id_count;
    size_t id_capacity;
};

/** Collects a request; its content ids are the last `prompt_ids` of `ids`. */
void trace_requests_append(struct trace_requests *requests,
                           const struct work_request *request);

/** Collects a line of the Mooncake schema, or nothing if it is bad. */
bool trace_requests_line(struct trace_requests *requests,
                         struct trace_line *line, const json_t *json);

/** Collects a data line of the Azure CSV, or nothing if it is bad. */
bool trace_azure_line(struct trace_requests *requests, struct trace_line *line);

/** Whether this is the header of the Azure CSV. */
bool trace_azure_header(const struct trace_line *line);

/** Adds what was collected to an empty workload, sorted by time. */
void trace_requests_finish(const struct trace_requests *requests,
                           const struct trace_options *options,
                           struct workload *workload);

/** Frees what was collected. */
void trace_requests_release(struct trace_requests *requests);

/** Coding-agent sessions, added to the workload line by line. */
struct trace_sessions {
    const struct trace_options *options;
    struct workload *workload;
    struct block_ids ids;
    struct draw starts;
};

/** Adds the session of a line, or nothing if the line is bad. */
bool trace_sessions_line(struct trace_sessions *sessions,
                         struct trace_line *line, const json_t *json);

/** Requests with their text, added to the workload line by line. */
struct trace_texts {
    const struct trace_options *options;
    struct workload *workload;
    struct block_ids ids;
    struct draw starts;
    bool timed;         /**< As the first good line: all have time stamps. */
    char *conversation; /**< Prompt and answer of the present line. */
    size_t conversation_capacity;
    uint32_t *blocks; /**< And its ids. */
    size_t block_capacity;
};

/** Adds the request of a line, or nothing if the line is bad. */
bool trace_texts_line(struct trace_texts *texts, struct trace_line *line,
                      const json_t *json);

/** Puts the requests in time: by their stamps, or in closed loop. */
void trace_texts_finish(struct trace_texts *texts);

/** Frees what was used on the way; the workload stays. */
void trace_texts_release(struct trace_texts *texts);

#endif
