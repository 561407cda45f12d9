/* SPDX-License-Identifier: MIT */
#include "report_chart.h"
#include "report_page.h"

#include <math.h>

enum { ROW = 26, BAR = 14, LEGEND = 26, FOOT = 42, TOP = 6 };

static void lay_axis(struct report_axis *axis,
                     const struct report_groups *groups,
                     const struct report_bars *bars)
{
    double high = report_spread_all(groups, bars->value).high;

    if (bars->mark != NULL)
        high = fmax(high, report_spread_all(groups, bars->mark).high);
    report_axis_linear(axis, bars->whole ? 1 : high);
    axis->left = REPORT_CHART_LEFT;
    axis->right = REPORT_CHART_RIGHT;
}

/* The range over the seeds, where there are several. */
static void draw_range(FILE *out, const struct report_axis *axis, double y,
                       const struct report_spread *spread)
{
    if (spread->high > spread->low)
        fprintf(out, "<path class=\"range\" d=\"M%.1f %.1fH%.1f\"/>\n",
                report_axis_x(axis, spread->low), y,
                report_axis_x(axis, spread->high));
}

static void draw_row(FILE *out, const struct report_axis *axis, double y,
                     const struct report_group *group,
                     const struct report_bars *bars)
{
    struct report_spread spread = report_spread_of(group, bars->value);
    char text[REPORT_TEXT_MAX];

    bars->print(text, spread.mean);
    report_chart_name(out, y, group->strategy);
    report_chart_value(out, y, text);
    if (isnan(spread.mean))
        return;
    fprintf(out,
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%d\"><title>",
            axis->left, y - BAR / 2.0,
            report_axis_x(axis, spread.mean) - axis->left, BAR);
    report_escape(out, group->strategy);
    fprintf(out, ": %s</title></rect>\n", text);
    draw_range(out, axis, y, &spread);
}

/* The mark is the same for all rows as far as the runs agree; its own value
 * stands in the legend. */
static void draw_mark(FILE *out, const struct report_axis *axis, double bottom,
                      const struct report_groups *groups,
                      const struct report_bars *bars)
{
    double value = report_spread_all(groups, bars->mark).high;
    double x;
    char text[REPORT_TEXT_MAX];

    if (isnan(value))
        return;
    x = report_axis_x(axis, value);
    bars->print(text, value);
    report_text_trim(text);
    fprintf(out,
            "<path class=\"mark\" d=\"M%.1f %dV%.1f\"/>"
            "<path class=\"mark\" d=\"M%d 12h22\"/>"
            "<text class=\"tick\" x=\"%d\" y=\"16\">%s: %s</text>\n",
            x, LEGEND, bottom, REPORT_CHART_LEFT, REPORT_CHART_LEFT + 28,
            bars->mark_name, text);
}

void report_chart_bars(FILE *out, const struct report_groups *groups,
                       const struct report_bars *bars)
{
    double top = bars->mark != NULL ? LEGEND : TOP;
    double bottom = top + (double)(groups->count * ROW);
    struct report_axis axis;

    lay_axis(&axis, groups, bars);
    report_chart_begin(out, &bars->chart, bottom + FOOT);
    report_chart_axis(out, &axis, top, bottom, bars->print, bars->chart.axis);
    for (size_t i = 0; i < groups->count; i++)
        draw_row(out, &axis, top + ((double)i + 0.5) * ROW, &groups->list[i],
                 bars);
    if (bars->mark != NULL)
        draw_mark(out, &axis, bottom, groups, bars);
    report_chart_end(out);
}
