/* SPDX-License-Identifier: MIT */
#include "report_queue.h"

#include <math.h>

static double wait_mean(const struct replay_result *result)
{
    return result->queue.wait_ms.mean;
}

static double wait_p50(const struct replay_result *result)
{
    return result->queue.wait_ms.p50;
}

static double wait_p99(const struct replay_result *result)
{
    return result->queue.wait_ms.p99;
}

static double heaviest_p99(const struct replay_result *result)
{
    return result->queue.client_count > 0 ? result->queue.heaviest.wait_ms.p99
                                          : (double)NAN;
}

static double others_p99(const struct replay_result *result)
{
    return result->queue.client_count > 0 ? result->queue.others.wait_ms.p99
                                          : (double)NAN;
}

static double told_error(const struct replay_result *result)
{
    return result->queue.estimate_error;
}

static double told_bias(const struct replay_result *result)
{
    return result->queue.estimate_bias;
}

static double requests_done(const struct replay_result *result)
{
    return result->queue.requests_per_s;
}

static double tokens_done(const struct replay_result *result)
{
    return result->queue.tokens_per_s;
}

static double heaviest_share(const struct replay_result *result)
{
    return result->queue.client_count > 0 ? result->queue.heaviest.service_share
                                          : (double)NAN;
}

static double heaviest_fair(const struct replay_result *result)
{
    return result->queue.client_count > 0 ? result->queue.heaviest.fair_share
                                          : (double)NAN;
}

static double busy_share(const struct replay_result *result)
{
    const struct replay_queue *queue = &result->queue;

    return queue->hybrid ? queue->busy_s / (queue->busy_s + queue->quiet_s)
                         : (double)NAN;
}

static double mode_changes(const struct replay_result *result)
{
    return result->queue.hybrid ? (double)result->queue.change_count
                                : (double)NAN;
}

const struct report_column report_queue_columns[] = {
    {"", "waited", "Requests that did not go at once.", REPORT_BETTER_NONE,
     REPORT_ANYWHERE, report_waited, report_text_count},
    {"wait", "mean", "Mean time from arrival to dispatch.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, wait_mean, report_text_ms},
    {"wait", "p50", "Half of the requests went by then.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, wait_p50, report_text_ms},
    {"wait", "p99", "99 of 100 requests went by then.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, wait_p99, report_text_ms},
    {"wait, p99", "heaviest", "The same of the client that asks for most.",
     REPORT_BETTER_NONE, REPORT_IF_CLIENTS, heaviest_p99, report_text_ms},
    {"wait, p99", "others", "The same of all other clients.",
     REPORT_BETTER_LOWER, REPORT_IF_CLIENTS, others_p99, report_text_ms},
    {"told", "error", "Median error of the wait that was foretold.",
     REPORT_BETTER_LOWER, REPORT_ANYWHERE, told_error, report_text_share},
    {"told", "bias", "All that was told over all that was real, less 1.",
     REPORT_BETTER_NONE, REPORT_ANYWHERE, told_bias, report_text_share},
    {"done per second", "requests", "While requests arrived.",
     REPORT_BETTER_HIGHER, REPORT_ANYWHERE, requests_done, report_text_ratio},
    {"done per second", "tokens", "Virtual tokens, while requests arrived.",
     REPORT_BETTER_HIGHER, REPORT_ANYWHERE, tokens_done, report_text_count},
    {"heaviest", "service", "Its part of these tokens.", REPORT_BETTER_NONE,
     REPORT_IF_CLIENTS, heaviest_share, report_text_share},
    {"heaviest", "fair", "Its part of these tokens in fair shares.",
     REPORT_BETTER_NONE, REPORT_IF_CLIENTS, heaviest_fair, report_text_share},
    {"hybrid", "busy", "Part of the run in which the pool was busy.",
     REPORT_BETTER_NONE, REPORT_IF_HYBRID, busy_share, report_text_share},
    {"hybrid", "changes", "How often it became busy or quiet.",
     REPORT_BETTER_NONE, REPORT_IF_HYBRID, mode_changes, report_text_count},
    {"", "rejected", "Requests that were refused.", REPORT_BETTER_LOWER,
     REPORT_ANYWHERE, report_rejected, report_text_count},
};

const size_t report_queue_column_count =
    sizeof report_queue_columns / sizeof report_queue_columns[0];
