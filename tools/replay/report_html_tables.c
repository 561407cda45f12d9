/* SPDX-License-Identifier: MIT */
#include "report_columns.h"
#include "report_page.h"

#include <inttypes.h>
#include <string.h>

/* A table that scrolls by itself where the page is narrow. */
static void begin_table(FILE *out, const char *label)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"",
          out);
    report_escape(out, label);
    fputs("\">\n<table>\n<thead>\n", out);
}

static void end_table(FILE *out)
{
    fputs("</tbody>\n</table>\n</div>\n", out);
}

/* Columns of the group of column |first| that are shown; |*next| is the first
 * of the group behind it. */
static size_t group_size(const struct replay_result *results, size_t first,
                         size_t *next)
{
    size_t shown = 0;

    *next = first;
    while (*next < report_column_count &&
           strcmp(report_columns[*next].group, report_columns[first].group) ==
               0)
        shown += report_column_shown(&report_columns[(*next)++], results, true);
    return shown;
}

static void write_groups(FILE *out, bool seeds,
                         const struct replay_result *results)
{
    fprintf(out, "<tr><th rowspan=\"2\" scope=\"col\">strategy</th>%s",
            seeds ? "<th rowspan=\"2\" scope=\"col\">seed</th>" : "");
    for (size_t i = 0, next; i < report_column_count; i = next)
        fprintf(out, "<th colspan=\"%zu\" scope=\"colgroup\">%s</th>",
                group_size(results, i, &next), report_columns[i].group);
    fputs("</tr>\n", out);
}

static void write_titles(FILE *out, const struct replay_result *results)
{
    fputs("<tr>", out);
    for (size_t i = 0; i < report_column_count; i++) {
        if (!report_column_shown(&report_columns[i], results, true))
            continue;
        fputs("<th scope=\"col\" title=\"", out);
        report_escape(out, report_columns[i].meaning);
        fprintf(out, "\">%s</th>", report_columns[i].title);
    }
    fputs("</tr>\n", out);
}

static void write_run(FILE *out, const struct replay_result *run, bool seeds,
                      const struct replay_result *results, size_t count)
{
    char best[REPORT_TEXT_MAX];
    char text[REPORT_TEXT_MAX];

    fputs("<tr><th scope=\"row\">", out);
    report_escape(out, run->strategy);
    fputs("</th>", out);
    if (seeds)
        fprintf(out, "<td>%" PRIu64 "</td>", run->seed);
    for (size_t i = 0; i < report_column_count; i++) {
        if (!report_column_shown(&report_columns[i], results, true))
            continue;
        report_column_best(&report_columns[i], results, count, best);
        report_columns[i].print(text, report_columns[i].value(run));
        fprintf(out, "<td%s>%s</td>",
                strcmp(text, best) == 0 ? " class=\"best\"" : "", text);
    }
    fputs("</tr>\n", out);
}

void report_page_results(FILE *out, const struct report_groups *groups,
                         const struct replay_result *results, size_t count)
{
    bool seeds = report_seeds_differ(results, count);

    fputs("<h2>Results</h2>\n", out);
    begin_table(out, "Results");
    write_groups(out, seeds, results);
    write_titles(out, results);
    fputs("</thead>\n<tbody>\n", out);
    for (size_t i = 0; i < groups->count; i++)
        for (size_t k = 0; k < groups->list[i].run_count; k++)
            write_run(out, groups->list[i].runs[k], seeds, results, count);
    end_table(out);
    fputs("<p class=\"quiet\">The best of a column is on green.</p>\n", out);
}

static void write_count(FILE *out, double count)
{
    char text[REPORT_TEXT_MAX];

    report_text_count(text, count);
    fprintf(out, "<td>%s</td>", text);
}

static void write_share(FILE *out, double share)
{
    char text[REPORT_TEXT_MAX];

    report_text_share(text, share);
    fprintf(out, "<td>%s</td>", text);
}

static void write_target(FILE *out, const struct replay_target_result *target)
{
    char weight[REPORT_TEXT_MAX];

    report_text_number(weight, target->weight);
    fputs("<tr><th scope=\"row\">", out);
    report_escape(out, target->name);
    fputs("</th><td class=\"left\">", out);
    report_escape(out, target->engine);
    fprintf(out, "</td><td>%s</td>", weight);
    if (target->limit == 0)
        fputs("<td>none</td>", out);
    else
        write_count(out, target->limit);
    write_count(out, (double)target->cache_tokens);
    write_count(out, (double)target->requests);
    write_share(out, target->hit_share);
    write_count(out, (double)target->work_tokens);
    write_count(out, (double)target->output_tokens);
    write_share(out, target->busy_share);
    write_count(out, (double)target->preemptions);
    fputs("</tr>\n", out);
}

static void write_run_targets(FILE *out, const struct replay_result *run)
{
    fputs("<details>\n<summary>", out);
    report_escape(out, run->strategy);
    fputs("</summary>\n", out);
    begin_table(out, run->strategy);
    fputs("<tr><th scope=\"col\">target</th>"
          "<th scope=\"col\" class=\"left\">engine</th>"
          "<th scope=\"col\">weight</th><th scope=\"col\">limit</th>"
          "<th scope=\"col\">cache, tokens</th>"
          "<th scope=\"col\">requests</th><th scope=\"col\">hits</th>"
          "<th scope=\"col\">computed input, tokens</th>"
          "<th scope=\"col\">output, tokens</th>"
          "<th scope=\"col\">busy</th><th scope=\"col\">preemptions</th></tr>"
          "</thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < run->target_count; i++)
        write_target(out, &run->targets[i]);
    end_table(out);
    fputs("</details>\n", out);
}

void report_page_targets(FILE *out, const struct report_groups *groups)
{
    fputs("<h2>Targets</h2>\n", out);
    for (size_t i = 0; i < groups->count; i++)
        write_run_targets(out, groups->list[i].runs[0]);
}

void report_page_options(FILE *out, const struct replay_result *result)
{
    fputs("<h2>Options</h2>\n", out);
    begin_table(out, "Options");
    fputs("<tr><th scope=\"col\">option</th>"
          "<th scope=\"col\" class=\"left\">value</th></tr></thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < result->option_count; i++) {
        fputs("<tr><th scope=\"row\">--", out);
        report_escape(out, result->options[i].name);
        fputs("</th><td class=\"left\">", out);
        report_escape(out, result->options[i].value);
        fputs("</td></tr>\n", out);
    }
    end_table(out);
}
