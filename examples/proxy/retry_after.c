/* SPDX-License-Identifier: MIT */
#include "retry_after.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds beyond which a number means "never": a year. */
static const int64_t SECONDS_MAX = 366 * 86400;

static int month_of(const char *name)
{
    static const char NAMES[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(NAMES + 3 * i, name, 3) == 0)
            return i;
    return -1;
}

/* Days since 1970 in the Gregorian calendar; `month` from 0. */
static int64_t days_since_epoch(int year, int month, int day)
{
    static const int BEFORE[] = {0,   31,  59,  90,  120, 151,
                                 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int64_t days = past * 365 + past / 4 - past / 100 + past / 400;
    return days + BEFORE[month] + (leap && month > 1) + day - 1 - 719162;
}

/* A year of two digits lies at most 50 years ahead (RFC 9110). */
static int full_year(int year, time_t now)
{
    struct tm parts;
    if (year >= 100 || !gmtime_r(&now, &parts))
        return year;
    int this_year = parts.tm_year + 1900;
    int full = this_year / 100 * 100 + year;
    return full > this_year + 50 ? full - 100 : full;
}

static bool scan(const char *text, int *day, char *month, int *year, int *clock)
{
    int *h = clock, *m = clock + 1, *s = clock + 2;
    return sscanf(text, "%*3[A-Za-z], %d %3s %d %d:%d:%d GMT", day, month, year,
                  h, m, s) == 6 ||
           sscanf(text, "%*[A-Za-z], %d-%3[A-Za-z]-%d %d:%d:%d GMT", day, month,
                  year, h, m, s) == 6 ||
           sscanf(text, "%*3[A-Za-z] %3s %d %d:%d:%d %d", month, day, h, m, s,
                  year) == 6;
}

static bool read_date(const char *text, time_t now, int64_t *seconds)
{
    int day = 0, year = 0, clock[3] = {0};
    char name[4] = "";
    if (!scan(text, &day, name, &year, clock))
        return false;
    int month = month_of(name);
    if (month < 0 || day < 1 || day > 31 || year < 0 || year > 9999 ||
        clock[0] < 0 || clock[0] > 23 || clock[1] < 0 || clock[1] > 59 ||
        clock[2] < 0 || clock[2] > 60)
        return false;
    *seconds = days_since_epoch(full_year(year, now), month, day) * 86400 +
               clock[0] * 3600 + clock[1] * 60 + clock[2];
    return true;
}

int64_t retry_after_ns(const char *value, time_t now)
{
    int64_t seconds = 0;
    if (!value || !*value)
        return -1;
    size_t digits = strspn(value, "0123456789");
    if (!value[digits]) {
        seconds = strtoll(value, NULL, 10);
    } else if (read_date(value, now, &seconds)) {
        seconds -= (int64_t)now;
    } else {
        return -1;
    }
    if (seconds < 0)
        seconds = 0;
    if (seconds > SECONDS_MAX)
        seconds = SECONDS_MAX;
    return seconds * 1000000000;
}
