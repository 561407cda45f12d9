/* SPDX-License-Identifier: MIT */
#include "report_columns.h"

#include <math.h>
#include <string.h>

const struct report_column report_columns[] = {
    {"first token", "mean", "Mean time from arrival to the first token.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_ttft_mean, report_text_ms},
    {"first token", "p50", "Half of the requests had it by then.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_ttft_p50, report_text_ms},
    {"first token", "p90", "Nine of ten requests had it by then.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_ttft_p90, report_text_ms},
    {"first token", "p99", "99 of 100 requests had it by then.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_ttft_p99, report_text_ms},
    {"per token", "mean", "Mean time per output token after the first.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_tpot_mean, report_text_ms},
    {"per token", "p99", "99 of 100 requests were at least this fast.",
     REPORT_BETTER_LOWER, REPORT_ON_PAGE, report_tpot_p99, report_text_ms},
    {"answer", "p50", "Half of the requests were answered in full by then.",
     REPORT_BETTER_LOWER, REPORT_ON_PAGE, report_total_p50, report_text_ms},
    {"cache", "hits", "Input tokens found in a target's cache.",
     REPORT_BETTER_HIGHER, REPORT_ANYWHERE, report_hits, report_text_share},
    {"cache", "pool",
     "The same of one perfect cache of all targets' size: the mark to reach.",
     REPORT_BETTER_NONE, REPORT_ON_PAGE, report_pooled_hits, report_text_share},
    {"cache", "of pool", "Hits out of those of the perfect cache.",
     REPORT_BETTER_HIGHER, REPORT_ANYWHERE, report_hits_of_pool,
     report_text_share},
    {"inside", "SLO", "Goodput: requests inside both latency goals.",
     REPORT_BETTER_HIGHER, REPORT_ANYWHERE, report_goodput, report_text_share},
    {"busiest / mean", "input",
     "Computed input tokens of the busiest target over the mean; 1 is even.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_busiest, report_text_ratio},
    {"busiest / mean", "work",
     "The same of computed input and output tokens together.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, report_busiest_work,
     report_text_ratio},
    {"", "cost", "What the served requests cost at the given prices.",
     REPORT_BETTER_LOWER, REPORT_IF_PRICED, report_cost, report_text_usd},
    {"", "adapter loads",
     "Adapters that targets had to load, for each request served.",
     REPORT_BETTER_LOWER, REPORT_IF_ADAPTERS, report_adapter_loads,
     report_text_share},
    {"events", "unknown", "Picks while KV events of any target were missing.",
     REPORT_BETTER_NONE, REPORT_IF_EVENTS, report_kv_unknown,
     report_text_share},
    {"events", "wrong",
     "Picks that were told of more blocks than KV events justify.",
     REPORT_BETTER_NONE, REPORT_IF_EVENTS, report_kv_wrong, report_text_count},
    {"", "waited", "Requests held back because every target was full.",
     REPORT_BETTER_NONE, REPORT_ON_PAGE, report_waited, report_text_count},
    {"", "rejected", "Requests that no target may take.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, report_rejected, report_text_count},
};

const size_t report_column_count =
    sizeof report_columns / sizeof report_columns[0];

bool report_column_shown(const struct report_column *column,
                         const struct replay_result *results, bool page)
{
    switch (column->place) {
    case REPORT_ON_PAGE:
        return page;
    case REPORT_IF_PRICED:
        return results[0].priced;
    case REPORT_IF_ADAPTERS:
        return results[0].adapters;
    case REPORT_IF_EVENTS:
        return results[0].kv_asked;
    case REPORT_IF_CLIENTS:
        return results[0].queue.client_count > 0;
    case REPORT_IF_HYBRID:
        return results[0].queue.hybrid;
    default:
        return true;
    }
}

static bool is_better(const struct report_column *column, double value,
                      double best)
{
    if (isnan(value))
        return false;
    if (isnan(best))
        return true;
    return column->better == REPORT_BETTER_LOWER ? value < best : value > best;
}

void report_column_best(const struct report_column *column,
                        const struct replay_result *results, size_t count,
                        char text[REPORT_TEXT_MAX])
{
    char other[REPORT_TEXT_MAX];
    double best = (double)NAN;
    bool differ = false;

    if (column->better != REPORT_BETTER_NONE)
        for (size_t i = 0; i < count; i++)
            if (is_better(column, column->value(&results[i]), best))
                best = column->value(&results[i]);
    column->print(text, best);
    for (size_t i = 0; i < count; i++) {
        column->print(other, column->value(&results[i]));
        differ |= strcmp(other, text) != 0;
    }
    if (isnan(best) || !differ)
        text[0] = '\0';
}

bool report_seeds_differ(const struct replay_result *results, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (results[i].seed != results[0].seed)
            return true;
    return false;
}
