/* SPDX-License-Identifier: MIT */
/*
 * A measure against the load: one chart of all strategies, in which the line
 * under the pointer is named, and a small one for each strategy in which it
 * stands before the others.
 *
 *     ┃     ╱            ┃ name     ┃ name
 *     ┃ ╱╱ ╱─            ┃    ╱     ┃   ╱
 *     ┃╱─╱───            ┃ ━━╱      ┃ ─╱━━
 *     ┗━━━━━━ load       ┗━━━━━     ┗━━━━━
 */
#include "report_chart.h"
#include "report_page.h"
#include "report_sweep.h"

#include <math.h>

/* Times the best that a logarithmic chart shows. */
#define EDGE 20

enum {
    LEFT = 62,
    TOP = 22,
    BOTTOM = 300,
    FOOT = 42,
    PANELS = 4, /* in a row */
    PANEL_WIDTH = 158,
    PANEL_HEIGHT = 104,
    PANEL_PLOT = 70
};

/* Where a plot lies: an axis across, and one from the bottom up. */
struct plane {
    struct report_axis across;
    struct report_axis up;
};

/* Least above 0, and greatest value; NaN if there is none. */
static void find_range(const struct report_sweep *sweep,
                       const struct report_sweep_measure *measure, double *low,
                       double *high)
{
    *low = *high = (double)NAN;
    for (size_t i = 0; i < sweep->strategy_count; i++)
        for (size_t k = 0; k < sweep->load_count; k++) {
            double one = report_sweep_value(sweep, i, k, measure->value);

            if (one > 0)
                *low = fmin(*low, one);
            *high = fmax(*high, one);
        }
}

/* One strategy that collapses must not press the others into a line. */
static double most_shown(const struct report_sweep *sweep,
                         const struct report_sweep_measure *measure)
{
    double most = 0;

    for (size_t i = 0; i < sweep->load_count; i++)
        most = fmax(most, report_sweep_best(sweep, i, measure));
    return EDGE * most;
}

/* Returns false where there is nothing to show. */
static bool lay_plane(struct plane *plane, const struct report_sweep *sweep,
                      const struct report_sweep_measure *measure)
{
    double first = sweep->loads[0];
    double last = sweep->loads[sweep->load_count - 1];
    double low;
    double high;

    find_range(sweep, measure, &low, &high);
    if (isnan(high) || (measure->logarithmic && isnan(low)))
        return false;
    if (measure->logarithmic)
        report_axis_log(&plane->up, low,
                        fmax(low, fmin(high, most_shown(sweep, measure))));
    else
        report_axis_linear(&plane->up, high);
    plane->across = (struct report_axis){
        .low = first, .high = last > first ? last : first + 1};
    return true;
}

static void place(struct plane *plane, double left, double right, double top,
                  double bottom)
{
    plane->across.left = left;
    plane->across.right = right;
    plane->up.left = bottom;
    plane->up.right = top;
}

/* The d of a path through the values that there are. */
static void draw_path(FILE *out, const struct plane *plane,
                      const struct report_sweep *sweep, size_t strategy,
                      report_getter *value)
{
    bool drawing = false;

    for (size_t i = 0; i < sweep->load_count; i++) {
        double one = report_sweep_value(sweep, strategy, i, value);

        if (!isnan(one))
            fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M',
                    report_axis_x(&plane->across, sweep->loads[i]),
                    report_axis_x(&plane->up, one));
        drawing = !isnan(one);
    }
}

static void draw_best(FILE *out, const struct plane *plane,
                      const struct report_sweep *sweep,
                      const struct report_sweep_measure *measure)
{
    bool drawing = false;

    fputs("<path class=\"mark\" d=\"", out);
    for (size_t i = 0; i < sweep->load_count; i++) {
        double one = report_sweep_best(sweep, i, measure);

        if (!isnan(one))
            fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M',
                    report_axis_x(&plane->across, sweep->loads[i]),
                    report_axis_x(&plane->up, one));
        drawing = !isnan(one);
    }
    fputs("\"/>\n", out);
}

static void draw_up(FILE *out, const struct plane *plane, report_printer *print)
{
    char text[REPORT_TEXT_MAX];

    for (size_t i = 0; i < plane->up.tick_count; i++) {
        double y = report_axis_x(&plane->up, plane->up.ticks[i]);

        print(text, plane->up.ticks[i]);
        report_text_trim(text);
        fprintf(out,
                "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>"
                "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                plane->across.left, y, plane->across.right,
                plane->across.left - 6, y + 4, text);
    }
}

/* So many labels that they do not touch. */
static void draw_loads(FILE *out, const struct plane *plane,
                       const struct report_sweep *sweep)
{
    size_t each = (sweep->load_count + 11) / 12;
    char text[REPORT_TEXT_MAX];

    for (size_t i = 0; i < sweep->load_count; i += each) {
        report_text_number(text, sweep->loads[i]);
        fprintf(out,
                "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"middle\">\303\227%s</text>\n",
                report_axis_x(&plane->across, sweep->loads[i]),
                plane->up.left + 15, text);
    }
    fprintf(out,
            "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"middle\">load</text>\n",
            (plane->across.left + plane->across.right) / 2,
            plane->up.left + 32);
}

/* The wide path without colour is what the pointer meets. */
static void draw_line(FILE *out, const struct plane *plane,
                      const struct report_sweep *sweep, size_t strategy,
                      const struct report_sweep_measure *measure)
{
    fputs("<g class=\"line\"><path class=\"reach\" d=\"", out);
    draw_path(out, plane, sweep, strategy, measure->value);
    fputs("\"/><path class=\"stroke\" d=\"", out);
    draw_path(out, plane, sweep, strategy, measure->value);
    fprintf(out, "\"/><text x=\"%d\" y=\"14\">", LEFT);
    report_escape(out, sweep->strategies[strategy]);
    fputs("</text></g>\n", out);
}

void report_chart_lines(FILE *out, const struct report_sweep *sweep,
                        const struct report_sweep_measure *measure)
{
    struct report_chart chart = {
        measure->id, measure->title,
        measure->logarithmic
            ? "Each line is a strategy: point at it to see which. The broken "
              "line is the best of all at each load; what is more than 20 "
              "times the greatest of these stands at the edge."
            : "Each line is a strategy: point at it to see which. The broken "
              "line is the best of all at each load.",
        measure->axis};
    struct plane plane;

    if (!lay_plane(&plane, sweep, measure))
        return;
    place(&plane, LEFT, REPORT_CHART_WIDTH - 12, TOP, BOTTOM);
    report_chart_begin(out, &chart, BOTTOM + FOOT);
    draw_up(out, &plane, measure->print);
    draw_loads(out, &plane, sweep);
    for (size_t i = sweep->strategy_count; i-- > 0;)
        draw_line(out, &plane, sweep, i, measure);
    draw_best(out, &plane, sweep, measure);
    report_chart_end(out);
}

/* All lines, once: panels refer to them. */
static void define_lines(FILE *out, const struct plane *plane,
                         const struct report_sweep *sweep,
                         const struct report_sweep_measure *measure)
{
    fprintf(out, "<defs><g id=\"%s-all\"><path class=\"others\" d=\"",
            measure->id);
    for (size_t i = 0; i < sweep->strategy_count; i++)
        draw_path(out, plane, sweep, i, measure->value);
    fprintf(out,
            "\"/><path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/></g></defs>\n",
            plane->across.left, plane->up.left, plane->across.right);
}

static void draw_panel(FILE *out, const struct plane *plane,
                       const struct report_sweep *sweep, size_t strategy,
                       const struct report_sweep_measure *measure)
{
    char first[REPORT_TEXT_MAX];
    char last[REPORT_TEXT_MAX];

    measure->print(first,
                   report_sweep_value(sweep, strategy, 0, measure->value));
    measure->print(last,
                   report_sweep_value(sweep, strategy, sweep->load_count - 1,
                                      measure->value));
    fprintf(out,
            "<g transform=\"translate(%zu %zu)\"><use href=\"#%s-all\"/>"
            "<path class=\"stroke\" d=\"",
            strategy % PANELS * PANEL_WIDTH, strategy / PANELS * PANEL_HEIGHT,
            measure->id);
    draw_path(out, plane, sweep, strategy, measure->value);
    fputs("\"/><text class=\"value\" x=\"4\" y=\"12\">", out);
    report_escape(out, sweep->strategies[strategy]);
    fprintf(out,
            "</text><text class=\"tick\" x=\"4\" y=\"%d\">%s</text>"
            "<text class=\"tick\" x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%s</text></g>\n",
            PANEL_PLOT + 30, first, PANEL_WIDTH - 14, PANEL_PLOT + 30, last);
}

void report_chart_panels(FILE *out, const struct report_sweep *sweep,
                         const struct report_sweep_measure *measure)
{
    size_t rows = (sweep->strategy_count + PANELS - 1) / PANELS;
    char id[64];
    struct report_chart chart = {
        id, measure->title,
        "The same, one strategy at a time, the least regret first; below, its "
        "values at the least and at the greatest load.",
        measure->axis};
    struct plane plane;

    if (!lay_plane(&plane, sweep, measure))
        return;
    snprintf(id, sizeof id, "%s-each", measure->id);
    place(&plane, 4, PANEL_WIDTH - 14, 18, 18 + PANEL_PLOT);
    report_chart_begin(out, &chart, (double)(rows * PANEL_HEIGHT));
    define_lines(out, &plane, sweep, measure);
    for (size_t i = 0; i < sweep->strategy_count; i++)
        draw_panel(out, &plane, sweep, i, measure);
    report_chart_end(out);
}
