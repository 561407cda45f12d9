/* SPDX-License-Identifier: MIT */
#include "report_page.h"
#include "report_sweep.h"

#include <math.h>
#include <string.h>

static void begin(FILE *out, const char *label)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"",
          out);
    report_escape(out, label);
    fputs("\">\n<table>\n<thead>\n<tr><th scope=\"col\">strategy</th>", out);
}

static void write_cell(FILE *out, const char *text, bool best)
{
    fprintf(out, "<td%s>%s</td>", best ? " class=\"best\"" : "", text);
}

static void write_regret(FILE *out, const struct report_regret *regret)
{
    char text[REPORT_TEXT_MAX];

    report_text_ratio(text, regret->mean);
    write_cell(out, text, strcmp(text, "1.00") == 0);
    report_text_ratio(text, regret->worst);
    write_cell(out, text, strcmp(text, "1.00") == 0);
    report_text_number(text, regret->worst_load);
    fprintf(out, "<td>\303\227%s</td>", text);
}

static void write_regrets(FILE *out, const struct report_sweep *sweep)
{
    fputs("<h2>Regret</h2>\n<p class=\"quiet\">How far from the best of all "
          "at each load: own time to first token over the best, as geometric "
          "mean over the loads and at the worst of them. 1 is the best "
          "everywhere.</p>\n",
          out);
    begin(out, "Regret");
    fputs("<th scope=\"col\">mean first token</th>"
          "<th scope=\"col\">worst</th><th scope=\"col\">at load</th>"
          "<th scope=\"col\">p99</th><th scope=\"col\">worst</th>"
          "<th scope=\"col\">at load</th></tr></thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < sweep->strategy_count; i++) {
        struct report_regret mean =
            report_sweep_regret(sweep, i, report_ttft_mean);
        struct report_regret p99 =
            report_sweep_regret(sweep, i, report_ttft_p99);

        fputs("<tr><th scope=\"row\">", out);
        report_escape(out, sweep->strategies[i]);
        fputs("</th>", out);
        write_regret(out, &mean);
        write_regret(out, &p99);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
}

static void write_row(FILE *out, const struct report_sweep *sweep,
                      size_t strategy,
                      const struct report_sweep_measure *measure)
{
    char best[REPORT_TEXT_MAX];
    char text[REPORT_TEXT_MAX];

    fputs("<tr><th scope=\"row\">", out);
    report_escape(out, sweep->strategies[strategy]);
    fputs("</th>", out);
    for (size_t i = 0; i < sweep->load_count; i++) {
        measure->print(best, report_sweep_best(sweep, i, measure));
        measure->print(text,
                       report_sweep_value(sweep, strategy, i, measure->value));
        write_cell(out, text, strcmp(text, best) == 0);
    }
    fputs("</tr>\n", out);
}

static void write_values(FILE *out, const struct report_sweep *sweep,
                         const struct report_sweep_measure *measure)
{
    char text[REPORT_TEXT_MAX];

    fprintf(out, "<details>\n<summary>%s</summary>\n", measure->title);
    begin(out, measure->title);
    for (size_t i = 0; i < sweep->load_count; i++) {
        report_text_number(text, sweep->loads[i]);
        fprintf(out, "<th scope=\"col\">\303\227%s</th>", text);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < sweep->strategy_count; i++)
        write_row(out, sweep, i, measure);
    fputs("</tbody>\n</table>\n</div>\n</details>\n", out);
}

void report_sweep_page(FILE *out, const struct report_sweep *sweep)
{
    write_regrets(out, sweep);
    fputs("<h2>Against load</h2>\n<div class=\"charts\">\n", out);
    for (size_t i = 0; i < REPORT_SWEEP_MEASURES; i++) {
        report_chart_lines(out, sweep, &report_sweep_measures[i]);
        report_chart_panels(out, sweep, &report_sweep_measures[i]);
    }
    fputs("</div>\n<h2>Values</h2>\n", out);
    for (size_t i = 0; i < REPORT_SWEEP_MEASURES; i++)
        write_values(out, sweep, &report_sweep_measures[i]);
}
