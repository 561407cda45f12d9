/* SPDX-License-Identifier: MIT */
#include "exposition.h"

#include "support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, FAMILIES = 512, SERIES = 16384 };

struct reader {
    char family[128], type[32];
    bool typed; /* TYPE follows HELP at once. */
    char seen[FAMILIES][128];
    size_t seen_count;
    char *series[SERIES];
    size_t series_count;
    double last_bucket;
};

static bool is_name(char letter, bool first)
{
    return (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '_' ||
           (!first && letter >= '0' && letter <= '9');
}

/* Passes over a name; returns its end. */
static const char *read_name(const char *at, const char *line)
{
    if (!is_name(*at, true))
        fail_msg("no name: %s", line);
    while (is_name(*at, false))
        at++;
    return at;
}

static const char *read_labels(const char *at, const char *line)
{
    if (*at != '{')
        return at;
    do {
        at = read_name(at + 1, line);
        if (*at++ != '=' || *at++ != '"')
            fail_msg("no label: %s", line);
        for (; *at != '"'; at++) {
            if (*at == '\0')
                fail_msg("no end of a label: %s", line);
            if (*at == '\\' && strchr("\\\"n", *++at) == NULL)
                fail_msg("a bad escape: %s", line);
        }
        at++;
    } while (*at == ',');
    if (*at != '}')
        fail_msg("no end of labels: %s", line);
    return at + 1;
}

static double read_value(const char *at, const char *line)
{
    double value;
    char *end;

    if (strcmp(at, "+Inf") == 0)
        return (double)INFINITY;
    value = strtod(at, &end);
    if (end == at || *end != '\0' || strspn(at, "0123456789.e+-") != strlen(at))
        fail_msg("no number: %s", line);
    return value;
}

static void begin_family(struct reader *reader, const char *line)
{
    const char *name = line + strlen("# HELP "), *end = read_name(name, line);

    if (*end != ' ' || end[1] == '\0')
        fail_msg("no help: %s", line);
    snprintf(reader->family, sizeof(reader->family), "%.*s", (int)(end - name),
             name);
    for (size_t i = 0; i < reader->seen_count; i++)
        if (strcmp(reader->seen[i], reader->family) == 0)
            fail_msg("a family twice: %s", line);
    assert_true(reader->seen_count < FAMILIES);
    strcpy(reader->seen[reader->seen_count++], reader->family);
    reader->typed = false;
    reader->last_bucket = 0.0;
}

static void read_type(struct reader *reader, const char *line)
{
    char name[128], type[32], rest;

    if (sscanf(line, "# TYPE %127s %31s%c", name, type, &rest) != 2 ||
        strcmp(name, reader->family) != 0 || reader->typed)
        fail_msg("no type of its family: %s", line);
    if (strcmp(type, "counter") != 0 && strcmp(type, "gauge") != 0 &&
        strcmp(type, "histogram") != 0)
        fail_msg("a type that there is not: %s", line);
    strcpy(reader->type, type);
    reader->typed = true;
}

static bool has_suffix(const char *name, size_t length, const char *family,
                       const char *suffix)
{
    size_t stem = strlen(family);

    return length == stem + strlen(suffix) &&
           strncmp(name, family, stem) == 0 &&
           strncmp(name + stem, suffix, strlen(suffix)) == 0;
}

static void check_member(struct reader *reader, const char *line, size_t length,
                         double value)
{
    bool histogram = strcmp(reader->type, "histogram") == 0;
    bool bucket = has_suffix(line, length, reader->family, "_bucket");

    if (!reader->typed)
        fail_msg("no type before: %s", line);
    if (histogram
            ? !bucket && !has_suffix(line, length, reader->family, "_sum") &&
                  !has_suffix(line, length, reader->family, "_count")
            : !has_suffix(line, length, reader->family, ""))
        fail_msg("of another family: %s", line);
    if (strcmp(reader->type, "gauge") != 0 && value < 0.0)
        fail_msg("below 0: %s", line);
    if (bucket && value < reader->last_bucket)
        fail_msg("a bucket with less than the one before: %s", line);
    if (bucket)
        reader->last_bucket = value;
    if (histogram && has_suffix(line, length, reader->family, "_count") &&
        value != reader->last_bucket)
        fail_msg("a count that is not the last bucket: %s", line);
    if (strcmp(reader->type, "counter") == 0 &&
        strcmp(reader->family + strlen(reader->family) - 6, "_total") != 0)
        fail_msg("a counter without _total: %s", line);
}

static void note_series(struct reader *reader, const char *line, size_t length)
{
    char *copy = malloc(length + 1);

    assert_non_null(copy);
    assert_true(reader->series_count < SERIES);
    memcpy(copy, line, length);
    copy[length] = '\0';
    reader->series[reader->series_count++] = copy;
}

static void read_sample(struct reader *reader, const char *line)
{
    const char *name_end = read_name(line, line);
    const char *end = read_labels(name_end, line);

    if (*end != ' ')
        fail_msg("no value: %s", line);
    check_member(reader, line, (size_t)(name_end - line),
                 read_value(end + 1, line));
    note_series(reader, line, (size_t)(end - line));
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void check_twice(struct reader *reader)
{
    qsort(reader->series, reader->series_count, sizeof(*reader->series),
          by_text);
    for (size_t i = 1; i < reader->series_count; i++)
        if (strcmp(reader->series[i - 1], reader->series[i]) == 0)
            fail_msg("a series twice: %s", reader->series[i]);
    for (size_t i = 0; i < reader->series_count; i++)
        free(reader->series[i]);
}

size_t exposition_check(const char *page)
{
    static struct reader reader;
    char line[LINE];

    memset(&reader, 0, sizeof(reader));
    while (*page != '\0') {
        size_t length = strcspn(page, "\n");

        if (page[length] != '\n' || length >= LINE)
            fail_msg("a line without end: %.100s", page);
        memcpy(line, page, length);
        line[length] = '\0';
        page += length + 1;
        if (strncmp(line, "# HELP ", 7) == 0)
            begin_family(&reader, line);
        else if (*line == '#')
            read_type(&reader, line);
        else
            read_sample(&reader, line);
    }
    check_twice(&reader);
    return reader.series_count;
}

double exposition_value(const char *page, const char *series)
{
    size_t length = strlen(series);

    for (const char *at = page; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, series, length) == 0 && at[length] == ' ')
            return strtod(at + length + 1, NULL);
    }
    fail_msg("no series %s", series);
    return 0.0;
}
