/* SPDX-License-Identifier: MIT */
/* Trace files for the reader to read: plain, gzip or xz, whole or cut off. */
#ifndef TESTS_SIM_TRACE_FILE_H
#define TESTS_SIM_TRACE_FILE_H

#include <stddef.h>

#include "replay/trace.h"

/* How a file is compressed. */
enum trace_packing { TRACE_PLAIN, TRACE_GZIP, TRACE_XZ };

/* A file that was written and read. The name is "t", whatever is in it. */
struct trace_file {
    char folder[64];
    char path[96];
    struct trace_options options; /* For the reads to come. */
    struct workload workload;
    struct trace_report report;
};

/* cmocka fixtures: |*state| is a struct trace_file in a new folder. */
int trace_file_set_up(void **state);
int trace_file_tear_down(void **state);

/* Writes the text; all but the first |cut| packed bytes are left out (0:
 * nothing is). Fails the test if that cannot be done. */
void trace_file_write(struct trace_file *file, const char *text,
                      enum trace_packing packing, size_t cut);

/* Reads what was written. Returns what trace_read() does. */
bool trace_file_read(struct trace_file *file);

/* Writes plain text and reads it. */
bool trace_file_parse(struct trace_file *file, const char *text);

/* The request at an index of what was read; fails the test if there is none. */
const struct work_request *trace_file_request(const struct trace_file *file,
                                              size_t index);

/* The block ids of that request's prompt. */
const uint32_t *trace_file_ids(const struct trace_file *file, size_t index);

/* Checks the end of the error, behind the path. */
void trace_file_assert_error(const struct trace_file *file, const char *end);

#endif
