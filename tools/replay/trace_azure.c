/* SPDX-License-Identifier: MIT */
/*
 * Azure's CSV: TIMESTAMP (UTC), ContextTokens, GeneratedTokens.
 */
#include "trace_parse.h"

#include <math.h>
#include <string.h>

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    int64_t shifted = month > 2 ? year : year - 1; /* Years from March. */
    int64_t month_from_march = (month + 9) % 12;

    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 +
           (month_from_march * 153 + 2) / 5 + day - 719469;
}

/* A cursor over a CSV line. */
struct csv_cursor {
    struct trace_line *line;
    size_t at;
};

static bool csv_fail(struct csv_cursor *cursor, const char *expected)
{
    return trace_line_fail(cursor->line, cursor->at + 1, "expected %s",
                           expected);
}

/* Reads `digits` digits (at most 9), or 1 to 9 of them if that is 0. */
static bool csv_digits(struct csv_cursor *cursor, size_t digits, int64_t *value)
{
    size_t most = digits > 0 ? digits : 9;
    size_t count = 0;

    *value = 0;
    while (count < most) {
        char c = cursor->line->text[cursor->at];

        if (c < '0' || c > '9')
            break;
        *value = *value * 10 + (c - '0');
        cursor->at++;
        count++;
    }
    if (count < most && (digits > 0 || count == 0))
        return csv_fail(cursor, "a digit");
    return true;
}

static bool csv_char(struct csv_cursor *cursor, const char *allowed,
                     const char *expected)
{
    char c = cursor->line->text[cursor->at];

    if (c == '\0' || strchr(allowed, c) == NULL)
        return csv_fail(cursor, expected);
    cursor->at++;
    return true;
}

static bool csv_between(struct csv_cursor *cursor, size_t digits,
                        int64_t minimum, int64_t maximum, int64_t *value)
{
    size_t start = cursor->at;

    if (!csv_digits(cursor, digits, value))
        return false;
    if (*value >= minimum && *value <= maximum)
        return true;
    return trace_line_fail(cursor->line, start + 1,
                           "expected a number from %.0f to %.0f",
                           (double)minimum, (double)maximum);
}

/* Fraction of a second after the point, if there is one. */
static bool csv_fraction(struct csv_cursor *cursor, double *seconds)
{
    size_t start = cursor->at + 1;
    int64_t digits;

    *seconds = 0.0;
    if (cursor->line->text[cursor->at] != '.')
        return true;
    cursor->at++;
    if (!csv_digits(cursor, 0, &digits))
        return false;
    *seconds = (double)digits / pow(10.0, (double)(cursor->at - start));
    return true;
}

/* "2023-11-16 18:17:03.9799600", in seconds. */
static bool csv_time(struct csv_cursor *cursor, double *seconds)
{
    int64_t part[6];
    double fraction;

    if (!csv_between(cursor, 4, 1970, 9999, &part[0]) ||
        !csv_char(cursor, "-", "\"-\"") ||
        !csv_between(cursor, 2, 1, 12, &part[1]) ||
        !csv_char(cursor, "-", "\"-\"") ||
        !csv_between(cursor, 2, 1, 31, &part[2]) ||
        !csv_char(cursor, " T", "a space") ||
        !csv_between(cursor, 2, 0, 23, &part[3]) ||
        !csv_char(cursor, ":", "\":\"") ||
        !csv_between(cursor, 2, 0, 59, &part[4]) ||
        !csv_char(cursor, ":", "\":\"") ||
        !csv_between(cursor, 2, 0, 60, &part[5]) ||
        !csv_fraction(cursor, &fraction))
        return false;
    *seconds = (double)(days_of_date(part[0], part[1], part[2]) * 86400 +
                        part[3] * 3600 + part[4] * 60 + part[5]) +
               fraction;
    return true;
}

bool trace_azure_line(struct trace_requests *requests, struct trace_line *line)
{
    struct csv_cursor cursor = {line, 0};
    struct work_request request = {.follows = WORK_FOLLOWS_NONE};
    int64_t input;
    int64_t output;

    if (!csv_time(&cursor, &request.at_s) ||
        !csv_char(&cursor, ",", "a comma") ||
        !csv_between(&cursor, 0, 1, WORK_MAX_TOKENS, &input) ||
        !csv_char(&cursor, ",", "a comma") ||
        !csv_between(&cursor, 0, 0, WORK_MAX_TOKENS, &output))
        return false;
    if (cursor.at != line->length)
        return csv_fail(&cursor, "the end of the line");
    request.input_tokens = (uint32_t)input;
    request.output_tokens = (uint32_t)output;
    trace_requests_append(requests, &request);
    return true;
}

bool trace_azure_header(const struct trace_line *line)
{
    return strcmp(line->text, "TIMESTAMP,ContextTokens,GeneratedTokens") == 0;
}
