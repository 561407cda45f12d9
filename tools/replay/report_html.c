/* SPDX-License-Identifier: MIT */
/*
 * The page: what was replayed, the answer in a sentence, the result table,
 * the charts, the targets and the options. It needs nothing but itself.
 */
#include "report_chart.h"
#include "report_page.h"
#include "report_routers.h"
#include "report_sweep.h"

#include <inttypes.h>
#include <lbroute/lbroute.h>
#include <math.h>
#include <string.h>

/* Each target does its share of the work. */
static double even(const struct replay_result *result)
{
    (void)result;
    return 1;
}

static const struct report_dots dot_charts[] = {
    {{"ttft", "Time to first token",
      "From arrival at the router. The figure on the right is the mean; the "
      "scale is logarithmic; shorter is better.",
      "time to first token (logarithmic)"},
     {report_ttft_mean, report_ttft_p50, report_ttft_p90, report_ttft_p99},
     report_text_ms},
    {{"tpot", "Time per output token",
      "From the first token to the last, per token. The figure on the right "
      "is the mean; the scale is logarithmic; shorter is better.",
      "time per output token (logarithmic)"},
     {report_tpot_mean, report_tpot_p50, report_tpot_p90, report_tpot_p99},
     report_text_ms},
    {{"total", "Time to the whole answer",
      "From arrival at the router to the last token. The figure on the right "
      "is the mean; the scale is logarithmic; shorter is better.",
      "time to the whole answer (logarithmic)"},
     {report_total_mean, report_total_p50, report_total_p90, report_total_p99},
     report_text_ms},
};

static const struct report_bars bar_charts[] = {
    {{"goodput", "Goodput",
      "Part of all requests that met both latency goals; more is better.",
      "share of requests"},
     report_goodput,
     report_text_share,
     true,
     NULL,
     NULL},
    {{"hits", "Cache hits",
      "Part of all input tokens that the target had in its cache. Hits alone "
      "do not rank strategies.",
      "share of input tokens"},
     report_hits,
     report_text_share,
     false,
     report_pooled_hits,
     "one perfect cache of the whole fleet"},
    {{"busiest", "Balance",
      "Input tokens computed by the busiest target, by weight, over the mean "
      "of all; 1 is even.",
      "busiest target / mean"},
     report_busiest,
     report_text_ratio,
     false,
     even,
     "even"},
};

static const struct report_bars cost_chart = {
    {"cost", "Cost",
     "What the served requests cost at the given prices, input found in a "
     "cache at the price of that; less is better.",
     "dollars"},
    report_cost,
    report_text_usd,
    false,
    NULL,
    NULL};

static const struct report_bars adapters_chart = {
    {"adapters", "Adapter loads",
     "LoRA adapters that targets had to load, for each request served; less "
     "is better.",
     "loads for each request"},
    report_adapter_loads,
    report_text_share,
    false,
    NULL,
    NULL};

void report_escape(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void write_head(FILE *out, const struct replay_result *result)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>lbroute replay of ",
          out);
    report_escape(out, result->trace);
    fputs("</title>\n<style>\n", out);
    fputs(report_style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n<h1>Replay of ", out);
    report_escape(out, result->trace);
    fputs("</h1>\n", out);
}

static void write_seeds(FILE *out, const struct report_groups *groups)
{
    const struct report_group *group = &groups->list[0];

    if (group->run_count > 1)
        fprintf(out, "each strategy with %zu seeds", group->run_count);
    else
        fprintf(out, "seed %" PRIu64, group->runs[0]->seed);
}

/* Behind what was replayed, if there were several. */
static void write_routers(FILE *out, const struct replay_result *run)
{
    char text[REPORT_ROUTERS_MAX];

    report_routers_text(text, &run->routers);
    if (text[0] != '\0')
        fprintf(out, "; %s", text);
}

static void write_subject(FILE *out, const struct report_groups *groups)
{
    const struct replay_result *run = groups->list[0].runs[0];
    char requests[REPORT_TEXT_MAX];
    char load[REPORT_TEXT_MAX];

    report_text_count(requests, (double)run->requests);
    report_text_number(load, run->load);
    fprintf(out, "<p>%s requests on %zu target%s (engine ", requests,
            run->target_count, run->target_count == 1 ? "" : "s");
    report_escape(out, run->engine);
    fprintf(out, "), load \303\227%s, ", load);
    write_seeds(out, groups);
    write_routers(out, run);
    fputs(".</p>\n", out);
}

static const struct report_group *find(const struct report_groups *groups,
                                       const char *strategy)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->list[i].strategy, strategy) == 0)
            return &groups->list[i];
    return &groups->list[groups->count - 1];
}

static void write_mean(FILE *out, const struct report_group *group)
{
    char text[REPORT_TEXT_MAX];

    report_text_ms(text, report_spread_of(group, report_ttft_mean).mean);
    fprintf(out, "%s with <b>", text);
    report_escape(out, group->strategy);
    fputs("</b>", out);
}

/* The answer in a sentence: the best against the default. */
static void write_answer(FILE *out, const struct report_groups *groups)
{
    const struct report_group *best = &groups->list[0];
    const struct report_group *other = find(groups, "weighted");

    if (isnan(report_spread_of(best, report_ttft_mean).mean))
        return;
    if (other == best)
        other = &groups->list[groups->count - 1];
    fputs("<p class=\"answer\">Mean time to first token: ", out);
    write_mean(out, best);
    if (other != best) {
        fputs(", the shortest, against ", out);
        write_mean(out, other);
    }
    fputs(".</p>\n", out);
}

static void write_goals(FILE *out, const struct replay_result *result)
{
    char first[REPORT_TEXT_MAX];
    char token[REPORT_TEXT_MAX];

    report_text_ms(first, result->slo_ttft_ms);
    report_text_ms(token, result->slo_tpot_ms);
    report_text_trim(first);
    report_text_trim(token);
    fprintf(out,
            "Latency goals (SLO): first token within %s and %s per output "
            "token. Strategies are listed by %s, best first; times are of the "
            "simulated fleet.",
            first, token,
            result->swept ? "regret" : "mean time to first token");
}

static void write_notes(FILE *out, const struct report_groups *groups)
{
    const struct replay_result *run = groups->list[0].runs[0];
    char skipped[REPORT_TEXT_MAX];

    fputs("<p class=\"quiet\">", out);
    write_goals(out, run);
    if (groups->list[0].run_count > 1)
        fputs(" Charts show the mean over the seeds, and bars a line from the "
              "least to the greatest.",
              out);
    if (run->skipped > 0) {
        report_text_count(skipped, (double)run->skipped);
        fprintf(out, " %s bad lines of the trace were left out.", skipped);
    }
    fputs("</p>\n", out);
}

static void write_charts(FILE *out, const struct report_groups *groups)
{
    fputs("<h2>Latency, cache, balance</h2>\n<div class=\"charts\">\n", out);
    for (size_t i = 0; i < sizeof dot_charts / sizeof dot_charts[0]; i++)
        report_chart_dots(out, groups, &dot_charts[i]);
    for (size_t i = 0; i < sizeof bar_charts / sizeof bar_charts[0]; i++)
        report_chart_bars(out, groups, &bar_charts[i]);
    if (groups->list[0].runs[0]->priced &&
        report_spread_all(groups, report_cost).high > 0)
        report_chart_bars(out, groups, &cost_chart);
    if (groups->list[0].runs[0]->adapters)
        report_chart_bars(out, groups, &adapters_chart);
    fputs("</div>\n", out);
}

static void write_shares(FILE *out, const struct report_groups *groups)
{
    fputs("<h2>Share per target over time</h2>\n"
          "<p class=\"quiet\">Each row is a target, each cell a piece of the "
          "run, wider where requests were few. The colour tells the target's "
          "part of the requests sent in that time against its fair share by "
          "weight; on the right stands its part of all requests. Where a "
          "strategy ran with several seeds, the first is shown.</p>\n",
          out);
    report_chart_shares_legend(out);
    fputs("<div class=\"charts\">\n", out);
    for (size_t i = 0; i < groups->count; i++)
        report_chart_shares(out, &groups->list[i], i);
    fputs("</div>\n", out);
}

static void write_end(FILE *out, const struct replay_result *result)
{
    report_page_options(out, result);
    fprintf(out,
            "<p class=\"quiet\">Made by lbroute-replay %s.</p>\n"
            "</main>\n</body>\n</html>\n",
            LBROUTE_VERSION);
}

static void write_body(FILE *out, const struct report_groups *groups,
                       const struct replay_result *results, size_t count)
{
    write_head(out, &results[0]);
    write_subject(out, groups);
    write_answer(out, groups);
    write_notes(out, groups);
    report_page_results(out, groups, results, count);
    write_charts(out, groups);
    write_shares(out, groups);
    report_page_targets(out, groups);
    write_end(out, &results[0]);
}

static void write_loads(FILE *out, const struct report_sweep *sweep)
{
    const struct replay_result *run = &sweep->results[0];
    char requests[REPORT_TEXT_MAX];
    char from[REPORT_TEXT_MAX];
    char to[REPORT_TEXT_MAX];

    report_text_count(requests, (double)run->requests);
    report_text_number(from, sweep->loads[0]);
    report_text_number(to, sweep->loads[sweep->load_count - 1]);
    fprintf(out, "<p>%s requests on %zu target%s (engine ", requests,
            run->target_count, run->target_count == 1 ? "" : "s");
    report_escape(out, run->engine);
    fprintf(out, "), %zu loads from \303\227%s to \303\227%s",
            sweep->load_count, from, to);
    write_routers(out, run);
    fputs(".</p>\n", out);
}

static int write_sweep(FILE *out, const struct replay_result *results,
                       size_t count)
{
    struct report_sweep sweep;

    if (report_sweep_make(&sweep, results, count) != 0)
        return -1;
    write_head(out, &results[0]);
    write_loads(out, &sweep);
    fputs("<p class=\"quiet\">", out);
    write_goals(out, &results[0]);
    fputs("</p>\n", out);
    report_sweep_page(out, &sweep);
    write_end(out, &results[0]);
    report_sweep_free(&sweep);
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}

int replay_report_html(FILE *out, const struct replay_result *results,
                       size_t count)
{
    struct report_groups groups;

    if (count == 0)
        return 0;
    if (report_is_sweep(results, count))
        return write_sweep(out, results, count);
    if (report_groups_make(&groups, results, count) != 0)
        return -1;
    write_body(out, &groups, results, count);
    report_groups_free(&groups);
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}
