/* SPDX-License-Identifier: MIT */
/*
 * The table on the terminal:
 *
 *                first token                      per token   cache  …
 *     strategy     mean      p50     p90     p99       mean    hits  …
 */
#include "report_handover.h"
#include "report_queue.h"
#include "report_routers.h"
#include "report_sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char BEST_ON[] = "\033[1;32m";
static const char BEST_OFF[] = "\033[0m";

enum { MAX_COLUMNS = 16 };

struct table {
    const struct replay_result *results;
    size_t count;
    const struct report_column *columns[MAX_COLUMNS];
    int widths[MAX_COLUMNS];
    size_t column_count;
    int name_width;
    int seed_width; /* 0: all runs have the same, no column */
    bool colour;    /* marks the best */
};

/* Colour only where a person looks and has not refused it (no-color.org). */
static bool has_colour(FILE *out)
{
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (refused != NULL && refused[0] != '\0')
        return false;
    if (terminal == NULL || strcmp(terminal, "dumb") == 0)
        return false;
    return isatty(fileno(out)) == 1;
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width)
        *width = (int)strlen(text);
}

/* Seconds are padded so that their digits stand under those of "ms". */
static void cell_text(const struct report_column *column, double value,
                      char text[REPORT_TEXT_MAX])
{
    size_t length;

    column->print(text, value);
    length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, " s") == 0)
        strcat(text, " ");
}

static void add_column(struct table *table, const struct report_column *column)
{
    char text[REPORT_TEXT_MAX];
    int width = 0;

    widen(&width, column->title);
    for (size_t i = 0; i < table->count; i++) {
        cell_text(column, column->value(&table->results[i]), text);
        widen(&width, text);
    }
    table->columns[table->column_count] = column;
    table->widths[table->column_count++] = width;
}

/* Number of columns from `first` on that share its group. */
static size_t group_length(const struct table *table, size_t first)
{
    size_t length = 1;

    while (first + length < table->column_count &&
           strcmp(table->columns[first]->group,
                  table->columns[first + length]->group) == 0)
        length++;
    return length;
}

/* Width of some columns and the two blanks between them. */
static int group_width(const struct table *table, size_t first, size_t length)
{
    int width = 2 * ((int)length - 1);

    for (size_t i = 0; i < length; i++)
        width += table->widths[first + i];
    return width;
}

/* Widens the last column of a group until the group's name fits. */
static void fit_groups(struct table *table)
{
    size_t length;

    for (size_t i = 0; i < table->column_count; i += length) {
        int missing;

        length = group_length(table, i);
        missing = (int)strlen(table->columns[i]->group) -
                  group_width(table, i, length);
        if (missing > 0)
            table->widths[i + length - 1] += missing;
    }
}

static void add_seeds(struct table *table)
{
    char text[REPORT_TEXT_MAX];

    if (!report_seeds_differ(table->results, table->count))
        return;
    widen(&table->seed_width, "seed");
    for (size_t i = 0; i < table->count; i++) {
        snprintf(text, sizeof text, "%" PRIu64, table->results[i].seed);
        widen(&table->seed_width, text);
    }
}

static void lay_out(struct table *table, FILE *out,
                    const struct report_column *columns, size_t column_count,
                    const struct replay_result *results, size_t count)
{
    memset(table, 0, sizeof *table);
    table->results = results;
    table->count = count;
    table->colour = has_colour(out);
    widen(&table->name_width, "strategy");
    for (size_t i = 0; i < count; i++)
        widen(&table->name_width, results[i].strategy);
    add_seeds(table);
    for (size_t i = 0; i < column_count; i++)
        if (report_column_shown(&columns[i], results, false) &&
            table->column_count < MAX_COLUMNS)
            add_column(table, &columns[i]);
    fit_groups(table);
}

static void print_groups(const struct table *table, FILE *out)
{
    size_t length;

    fprintf(out, "%-*s", table->name_width, "");
    if (table->seed_width > 0)
        fprintf(out, "  %*s", table->seed_width, "");
    for (size_t i = 0; i < table->column_count; i += length) {
        length = group_length(table, i);
        if (table->columns[i]->group[0] == '\0' &&
            i + length == table->column_count)
            break;
        fprintf(out, length > 1 ? "  %-*s" : "  %*s",
                group_width(table, i, length), table->columns[i]->group);
    }
    fprintf(out, "\n");
}

static void print_titles(const struct table *table, FILE *out)
{
    fprintf(out, "%-*s", table->name_width, "strategy");
    if (table->seed_width > 0)
        fprintf(out, "  %*s", table->seed_width, "seed");
    for (size_t i = 0; i < table->column_count; i++)
        fprintf(out, "  %*s", table->widths[i], table->columns[i]->title);
    fprintf(out, "\n");
}

static void print_cell(const struct table *table, FILE *out, size_t index,
                       const struct replay_result *result)
{
    const struct report_column *column = table->columns[index];
    char best[REPORT_TEXT_MAX];
    char text[REPORT_TEXT_MAX];
    bool marked;

    report_column_best(column, table->results, table->count, best);
    column->print(text, column->value(result));
    marked = table->colour && strcmp(text, best) == 0;
    cell_text(column, column->value(result), text);
    fprintf(out, "  %s%*s%s", marked ? BEST_ON : "", table->widths[index], text,
            marked ? BEST_OFF : "");
}

static void print_run(const struct table *table, FILE *out,
                      const struct replay_result *result)
{
    fprintf(out, "%-*s", table->name_width, result->strategy);
    if (table->seed_width > 0)
        fprintf(out, "  %*" PRIu64, table->seed_width, result->seed);
    for (size_t i = 0; i < table->column_count; i++)
        print_cell(table, out, i, result);
    fprintf(out, "\n");
}

static void print_table(FILE *out, const struct report_column *columns,
                        size_t column_count,
                        const struct replay_result *results, size_t count)
{
    struct table table;

    lay_out(&table, out, columns, column_count, results, count);
    print_groups(&table, out);
    print_titles(&table, out);
    for (size_t i = 0; i < count; i++)
        print_run(&table, out, &results[i]);
}

static void print_sweep(FILE *out, const struct replay_result *results,
                        size_t count)
{
    struct report_sweep sweep;

    if (report_sweep_make(&sweep, results, count) != 0)
        return;
    report_sweep_table(out, &sweep, has_colour(out));
    report_sweep_free(&sweep);
}

/* Above the table: all of it is about them. */
static void print_routers(FILE *out, const struct replay_routers *routers)
{
    char text[REPORT_ROUTERS_MAX];

    report_routers_text(text, routers);
    if (text[0] != '\0')
        fprintf(out, "%s\n\n", text);
}

void replay_report_table(FILE *out, const struct replay_result *results,
                         size_t count)
{
    if (count == 0)
        return;
    print_routers(out, &results[0].routers);
    if (report_is_sweep(results, count)) {
        print_sweep(out, results, count);
        return;
    }
    print_table(out, report_columns, report_column_count, results, count);
    if (results[0].queue.asked) {
        fputs("\n", out);
        print_table(out, report_queue_columns, report_queue_column_count,
                    results, count);
    }
    if (results[0].handover.asked) {
        fputs("\n", out);
        print_table(out, report_handover_columns, report_handover_column_count,
                    results, count);
    }
    if (results[0].routers.share) {
        fputs("\n", out);
        print_table(out, report_routers_columns, report_routers_column_count,
                    results, count);
    }
}
