/* SPDX-License-Identifier: MIT */
/*
 * The horizontal axis of a chart: where a value stands, and which values get a
 * line and a label.
 */
#ifndef LBROUTE_REPLAY_REPORT_AXIS_H
#define LBROUTE_REPLAY_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { REPORT_TICKS_MAX = 24 };

struct report_axis {
    double low; /* value at the left end */
    double high;
    double left; /* position of the left end in the drawing */
    double right;
    bool logarithmic;
    double ticks[REPORT_TICKS_MAX];
    size_t tick_count;
};

/* From 0 to the next round value at or above `high`. */
void report_axis_linear(struct report_axis *axis, double high);

/* From the round value (1, 2 or 5 with zeros) at or below `low` to the one at
 * or above `high`. Takes values above 0. */
void report_axis_log(struct report_axis *axis, double low, double high);

/* From 0 to exactly `seconds`, with ticks at round times. */
void report_axis_time(struct report_axis *axis, double seconds);

/* Position of a value; values beyond an end stand at that end. */
double report_axis_x(const struct report_axis *axis, double value);

#endif
