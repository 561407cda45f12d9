/* SPDX-License-Identifier: MIT */
#include "report_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int is_missing(char text[REPORT_TEXT_MAX], double value)
{
    if (!isnan(value))
        return 0;
    strcpy(text, "-");
    return 1;
}

/* Puts a comma before each group of three digits of a whole number. */
static void group_digits(char text[REPORT_TEXT_MAX])
{
    size_t at = strlen(text);

    while (at > 3) {
        at -= 3;
        memmove(text + at + 1, text + at, strlen(text + at) + 1);
        text[at] = ',';
    }
}

/* Three digits, or all of those before the point. */
static void three_digits(char text[REPORT_TEXT_MAX], double value)
{
    if (value < 9.995)
        snprintf(text, REPORT_TEXT_MAX, "%.2f", value);
    else if (value < 99.95)
        snprintf(text, REPORT_TEXT_MAX, "%.1f", value);
    else
        report_text_count(text, value);
}

void report_text_count(char text[REPORT_TEXT_MAX], double count)
{
    if (is_missing(text, count))
        return;
    snprintf(text, REPORT_TEXT_MAX, "%.0f", fmin(count, 1e18));
    group_digits(text);
}

void report_text_ms(char text[REPORT_TEXT_MAX], double ms)
{
    int seconds = ms >= 999.5;

    if (is_missing(text, ms))
        return;
    three_digits(text, seconds ? ms / 1000 : ms);
    strcat(text, seconds ? " s" : " ms");
}

void report_text_share(char text[REPORT_TEXT_MAX], double share)
{
    if (!is_missing(text, share))
        snprintf(text, REPORT_TEXT_MAX, "%.1f %%", share * 100);
}

void report_text_ratio(char text[REPORT_TEXT_MAX], double ratio)
{
    if (!is_missing(text, ratio))
        three_digits(text, ratio);
}

void report_text_usd(char text[REPORT_TEXT_MAX], double dollars)
{
    double cents = round(fmin(dollars, 1e15) * 100);
    char whole[REPORT_TEXT_MAX];

    if (is_missing(text, dollars))
        return;
    if (dollars == 0 || cents >= 100) {
        report_text_count(whole, floor(cents / 100));
        snprintf(text, REPORT_TEXT_MAX, "$%.30s.%02d", whole,
                 (int)fmod(cents, 100));
    } else {
        snprintf(text, REPORT_TEXT_MAX, "$%.3g", dollars);
    }
}

void report_text_span(char text[REPORT_TEXT_MAX], double seconds)
{
    if (is_missing(text, seconds))
        return;
    if (seconds < 99.5)
        snprintf(text, REPORT_TEXT_MAX, "%.3g s", seconds);
    else if (seconds < 99.5 * 60)
        snprintf(text, REPORT_TEXT_MAX, "%.0f min", seconds / 60);
    else
        snprintf(text, REPORT_TEXT_MAX, "%.3g h", seconds / 3600);
}

void report_text_number(char text[REPORT_TEXT_MAX], double value)
{
    if (!is_missing(text, value))
        snprintf(text, REPORT_TEXT_MAX, "%.6g", value);
}

void report_text_trim(char text[REPORT_TEXT_MAX])
{
    char *point = strchr(text, '.');
    char *end;
    char *keep;

    if (point == NULL)
        return;
    end = point + 1 + strspn(point + 1, "0123456789");
    keep = end;
    while (keep > point + 1 && keep[-1] == '0')
        keep--;
    if (keep == point + 1)
        keep = point;
    memmove(keep, end, strlen(end) + 1);
}
