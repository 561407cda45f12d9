/* SPDX-License-Identifier: MIT */
#include "report_chart.h"
#include "report_page.h"

#include <math.h>

enum { ROW = 26, LEGEND = 30, FOOT = 42 };

/* How each series looks: its own shape, so that colour is not needed. The
 * paths are drawn around 0,0. */
static const struct look {
    const char *name;
    const char *style;
    const char *path;
} looks[REPORT_SERIES] = {
    {"mean", "mean", "M-1.5 -8h3v16h-3z"},
    {"p50", "p50", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0"},
    {"p90", "p90", "M0 -5.5L5.5 0L0 5.5L-5.5 0z"},
    {"p99", "p99", "M-5.5 4.5L0 -5.5L5.5 4.5z"},
};

static void draw_legend(FILE *out)
{
    double x = REPORT_CHART_LEFT + 6;

    for (size_t i = 0; i < REPORT_SERIES; i++) {
        fprintf(out,
                "<path class=\"%s\" transform=\"translate(%.0f 12)\" "
                "d=\"%s\"/><text class=\"tick\" x=\"%.0f\" y=\"16\">%s</text>"
                "\n",
                looks[i].style, x, looks[i].path, x + 12, looks[i].name);
        x += 66;
    }
}

/* Returns 0 when no value is above 0: a logarithm has nothing to show. */
static int lay_axis(struct report_axis *axis,
                    const struct report_groups *groups,
                    const struct report_dots *dots)
{
    double low = (double)NAN;
    double high = (double)NAN;

    for (size_t i = 0; i < REPORT_SERIES; i++) {
        struct report_spread all = report_spread_all(groups, dots->series[i]);

        if (all.low > 0)
            low = fmin(low, all.low);
        high = fmax(high, all.high);
    }
    if (isnan(low) || !(high > 0))
        return 0;
    report_axis_log(axis, low, high);
    axis->left = REPORT_CHART_LEFT;
    axis->right = REPORT_CHART_RIGHT;
    return 1;
}

static void draw_dot(FILE *out, const struct report_axis *axis, double y,
                     const struct report_group *group, size_t series,
                     const struct report_dots *dots)
{
    double value = report_spread_of(group, dots->series[series]).mean;
    char text[REPORT_TEXT_MAX];

    if (isnan(value))
        return;
    dots->print(text, value);
    fprintf(out,
            "<path class=\"%s\" transform=\"translate(%.1f %.1f)\" d=\"%s\">"
            "<title>",
            looks[series].style, report_axis_x(axis, value), y,
            looks[series].path);
    report_escape(out, group->strategy);
    fprintf(out, ", %s: %s</title></path>\n", looks[series].name, text);
}

/* The line from p50 to p99 leads the eye along the row. */
static void draw_line(FILE *out, const struct report_axis *axis, double y,
                      const struct report_group *group,
                      const struct report_dots *dots)
{
    double from = report_spread_of(group, dots->series[1]).mean;
    double to = report_spread_of(group, dots->series[REPORT_SERIES - 1]).mean;

    if (!isnan(from) && !isnan(to))
        fprintf(out, "<path class=\"span\" d=\"M%.1f %.1fH%.1f\"/>\n",
                report_axis_x(axis, from), y, report_axis_x(axis, to));
}

static void draw_row(FILE *out, const struct report_axis *axis, double y,
                     const struct report_group *group,
                     const struct report_dots *dots)
{
    char text[REPORT_TEXT_MAX];

    dots->print(text, report_spread_of(group, dots->series[0]).mean);
    report_chart_name(out, y, group->strategy);
    report_chart_value(out, y, text);
    draw_line(out, axis, y, group, dots);
    for (size_t i = 0; i < REPORT_SERIES; i++)
        draw_dot(out, axis, y, group, i, dots);
}

void report_chart_dots(FILE *out, const struct report_groups *groups,
                       const struct report_dots *dots)
{
    double bottom = LEGEND + (double)(groups->count * ROW);
    struct report_axis axis;

    if (!lay_axis(&axis, groups, dots))
        return;
    report_chart_begin(out, &dots->chart, bottom + FOOT);
    draw_legend(out);
    report_chart_axis(out, &axis, LEGEND, bottom, dots->print,
                      dots->chart.axis);
    for (size_t i = 0; i < groups->count; i++)
        draw_row(out, &axis, LEGEND + ((double)i + 0.5) * ROW, &groups->list[i],
                 dots);
    report_chart_end(out);
}
