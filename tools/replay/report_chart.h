/* SPDX-License-Identifier: MIT */
/*
 * Charts as inline SVG. All are 640 units wide, with names on the left, and
 * take their colours from the page's style sheet:
 *
 *     name   ┃▇▇▇▇▇▇▇▇▇┊  value     bars    one row a strategy, one value
 *     name   ┃ ●──◆─┃─▲   value     dots    one row a strategy, percentiles
 *     name   ┃░░▒▒▓▓▓▒▒░  share     shares  one row a target, over time
 */
#ifndef LBROUTE_REPLAY_REPORT_CHART_H
#define LBROUTE_REPLAY_REPORT_CHART_H

#include "report_axis.h"
#include "report_groups.h"
#include "report_text.h"

#include <stdio.h>

/* Where the plot lies in the drawing. */
enum {
    REPORT_CHART_WIDTH = 640,
    REPORT_CHART_LEFT = 150,
    REPORT_CHART_RIGHT = 572
};

/* What every chart has. `id` is unique in the page; texts are escaped. */
struct report_chart {
    const char *id;
    const char *title;
    const char *caption; /* what it shows and how to read it */
    const char *axis;    /* title of the axis, with the unit */
};

struct report_bars {
    struct report_chart chart;
    report_getter *value;
    report_printer *print;
    bool whole;          /* the axis goes up to 1, whatever the values */
    report_getter *mark; /* a line across all rows; NULL: none */
    const char *mark_name;
};

enum { REPORT_SERIES = 4 };

struct report_dots {
    struct report_chart chart;
    report_getter *series[REPORT_SERIES]; /* mean, p50, p90, p99 */
    report_printer *print;
};

void report_chart_bars(FILE *out, const struct report_groups *groups,
                       const struct report_bars *bars);

void report_chart_dots(FILE *out, const struct report_groups *groups,
                       const struct report_dots *dots);

/* Draws the first run of a group; `index` makes its ids unique. */
void report_chart_shares(FILE *out, const struct report_group *group,
                         size_t index);

/* The colours of all share charts. */
void report_chart_shares_legend(FILE *out);

/* Parts that the charts share: figure and drawing with their titles, the end
 * of both, the axis below a plot, a name or a value at the height of a row. */
void report_chart_begin(FILE *out, const struct report_chart *chart,
                        double height);
void report_chart_end(FILE *out);
void report_chart_axis(FILE *out, const struct report_axis *axis, double top,
                       double bottom, report_printer *print, const char *title);
void report_chart_name(FILE *out, double y, const char *name);
void report_chart_value(FILE *out, double y, const char *text);

#endif
