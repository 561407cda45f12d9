/* SPDX-License-Identifier: MIT */
/* Numbers as people read them. NaN is "-" everywhere. */
#ifndef LBROUTE_REPLAY_REPORT_TEXT_H
#define LBROUTE_REPLAY_REPORT_TEXT_H

#include <stdint.h>

/* Room for any number below. */
enum { REPORT_TEXT_MAX = 48 };

/* Writes a number. */
typedef void report_printer(char text[REPORT_TEXT_MAX], double value);

/* A duration given in ms, three digits: "0.42 ms", "842 ms", "1.31 s",
 * "1,848 s". */
void report_text_ms(char text[REPORT_TEXT_MAX], double ms);

/* A share of 1: "33.1 %". */
void report_text_share(char text[REPORT_TEXT_MAX], double share);

/* A ratio: "1.07". */
void report_text_ratio(char text[REPORT_TEXT_MAX], double ratio);

/* A whole number: "12,031". */
void report_text_count(char text[REPORT_TEXT_MAX], double count);

/* Money, to the cent from a dollar on, else three digits: "$1,234.50",
 * "$0.0123". */
void report_text_usd(char text[REPORT_TEXT_MAX], double dollars);

/* A long duration, rounded: "45 s", "59 min", "2.5 h". */
void report_text_span(char text[REPORT_TEXT_MAX], double seconds);

/* Drops zeros behind the point: "40.0 %" becomes "40 %". For round values. */
void report_text_trim(char text[REPORT_TEXT_MAX]);

/* A plain number, as short as it can be: "1.6", "8". */
void report_text_number(char text[REPORT_TEXT_MAX], double value);

#endif
