/* SPDX-License-Identifier: MIT */
/*
 * How the requests of a run spread over its targets: a row a target, a column
 * a piece of time, the colour telling the target's part of the requests in that
 * time against what its weight entitles it to.
 */
#include "report_chart.h"
#include "report_page.h"

#include <math.h>

enum { LEVELS = 7, FOOT = 42, TOP = 4, NAMED_ROW = 10 };

/* Upper ends of the levels, as ratio of the share to the fair one. */
static const double level_ends[LEVELS - 1] = {0.25, 0.5, 0.8, 1.25, 2, 4};
static const char *const level_names[LEVELS] = {
    "under ¼",         "¼ to ½",       "½ to 0.8",    "fair share",
    "1.25 to 2 times", "2 to 4 times", "over 4 times"};

/* Requests a target that a cell must stand for: fewer are mere chance. */
enum { CELL_REQUESTS = 8 };

/* Consecutive time buckets, drawn as one. */
struct cell {
    size_t first;
    size_t end; /* one past the last */
    uint64_t requests;
};

/* Rows get thinner when there are many targets. */
struct layout {
    const struct replay_result *run;
    struct report_axis axis;
    double row;
    double weights; /* sum over the targets */
    struct cell cells[REPLAY_BUCKETS];
    size_t cell_count;
};

static uint64_t bucket_requests(const struct replay_result *run, size_t bucket)
{
    uint64_t sum = 0;

    for (size_t t = 0; t < run->target_count; t++)
        sum += run->targets[t].dispatched[bucket];
    return sum;
}

/* Joins buckets until they hold enough requests; what is left over at the end
 * joins the last cell. */
static void lay_cells(struct layout *layout)
{
    uint64_t enough = CELL_REQUESTS * (uint64_t)layout->run->target_count;
    struct cell cell = {0, 0, 0};

    layout->cell_count = 0;
    for (size_t b = 0; b < REPLAY_BUCKETS; b++) {
        cell.requests += bucket_requests(layout->run, b);
        cell.end = b + 1;
        if (cell.requests >= enough) {
            layout->cells[layout->cell_count++] = cell;
            cell = (struct cell){cell.end, cell.end, 0};
        }
    }
    if (layout->cell_count == 0) {
        layout->cells[layout->cell_count++] = cell;
    } else {
        layout->cells[layout->cell_count - 1].end = REPLAY_BUCKETS;
        layout->cells[layout->cell_count - 1].requests += cell.requests;
    }
}

static void lay_out(struct layout *layout, const struct replay_result *run)
{
    layout->run = run;
    layout->row = fmin(fmax(320 / fmax((double)run->target_count, 1), 1), 16);
    layout->weights = 0;
    for (size_t t = 0; t < run->target_count; t++)
        layout->weights += run->targets[t].weight;
    lay_cells(layout);
    report_axis_time(&layout->axis, run->duration_s);
    layout->axis.left = REPORT_CHART_LEFT;
    layout->axis.right = REPORT_CHART_RIGHT;
}

static double fair_share(const struct layout *layout, size_t target)
{
    return layout->run->targets[target].weight / layout->weights;
}

/* Level of a cell, or -1 where nothing was dispatched to anyone. */
static int level_of(const struct layout *layout, size_t target,
                    const struct cell *cell)
{
    uint64_t got = 0;
    double ratio;
    int level = 0;

    if (cell->requests == 0)
        return -1;
    for (size_t b = cell->first; b < cell->end; b++)
        got += layout->run->targets[target].dispatched[b];
    ratio = (double)got / (double)cell->requests / fair_share(layout, target);
    while (level < LEVELS - 1 && !(ratio < level_ends[level]))
        level++;
    return level;
}

static void draw_cell(FILE *out, const struct layout *layout, size_t target,
                      const struct cell *cell)
{
    double bucket = (layout->axis.right - layout->axis.left) / REPLAY_BUCKETS;
    double gap = layout->row >= 6 ? 1 : 0;
    double width = (double)(cell->end - cell->first) * bucket - gap / 2;

    fprintf(out, "M%.1f %.1fh%.1fv%.1fh-%.1fz",
            layout->axis.left + (double)cell->first * bucket,
            TOP + (double)target * layout->row, width, layout->row - gap,
            width);
}

/* All cells of one level are one path: the page stays small. */
static void draw_level(FILE *out, const struct layout *layout, int level)
{
    fprintf(out, "<path class=\"share%d\" d=\"", level);
    for (size_t t = 0; t < layout->run->target_count; t++)
        for (size_t c = 0; c < layout->cell_count; c++)
            if (level_of(layout, t, &layout->cells[c]) == level)
                draw_cell(out, layout, t, &layout->cells[c]);
    fputs("\"/>\n", out);
}

static double share_of(const struct replay_target_result *target,
                       const struct replay_result *run)
{
    uint64_t all = 0;

    for (size_t i = 0; i < run->target_count; i++)
        all += run->targets[i].requests;
    return all > 0 ? (double)target->requests / (double)all : (double)NAN;
}

static void draw_target(FILE *out, const struct layout *layout, size_t index)
{
    const struct replay_target_result *target = &layout->run->targets[index];
    double y = TOP + ((double)index + 0.5) * layout->row;
    char text[REPORT_TEXT_MAX];
    char fair[REPORT_TEXT_MAX];

    report_text_share(text, share_of(target, layout->run));
    report_text_share(fair, fair_share(layout, index));
    if (layout->row >= NAMED_ROW) {
        report_chart_name(out, y, target->name);
        report_chart_value(out, y, text);
    }
    fprintf(out,
            "<rect class=\"row\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" "
            "height=\"%.1f\"><title>",
            layout->axis.left, y - layout->row / 2,
            layout->axis.right - layout->axis.left, layout->row);
    report_escape(out, target->name);
    fprintf(out, ": %s of the requests, fair %s</title></rect>\n", text, fair);
}

void report_chart_shares(FILE *out, const struct report_group *group,
                         size_t index)
{
    struct report_chart chart = {NULL, NULL, "Share of each target over time.",
                                 "time since the start"};
    struct layout layout;
    char id[REPORT_TEXT_MAX];
    double bottom;

    lay_out(&layout, group->runs[0]);
    bottom = TOP + (double)layout.run->target_count * layout.row;
    snprintf(id, sizeof id, "shares-%zu", index);
    chart.id = id;
    chart.title = group->strategy;
    if (layout.row < NAMED_ROW)
        chart.caption = "Share of each target over time; point at a row to see "
                        "its name.";
    report_chart_begin(out, &chart, bottom + FOOT);
    report_chart_axis(out, &layout.axis, TOP, bottom + 4, report_text_span,
                      chart.axis);
    for (int level = 0; level < LEVELS; level++)
        draw_level(out, &layout, level);
    for (size_t t = 0; t < layout.run->target_count; t++)
        draw_target(out, &layout, t);
    report_chart_end(out);
}

void report_chart_shares_legend(FILE *out)
{
    fputs("<ul class=\"legend\">\n", out);
    for (int level = 0; level < LEVELS; level++)
        fprintf(out,
                "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">"
                "<path class=\"share%d\" d=\"M0 0h14v14H0z\"/></svg>%s</li>\n",
                level, level_names[level]);
    fputs("</ul>\n", out);
}
