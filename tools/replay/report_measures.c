/* SPDX-License-Identifier: MIT */
#include "report_measures.h"

#include <math.h>

double report_ttft_mean(const struct replay_result *result)
{
    return result->ttft_ms.mean;
}

double report_ttft_p50(const struct replay_result *result)
{
    return result->ttft_ms.p50;
}

double report_ttft_p90(const struct replay_result *result)
{
    return result->ttft_ms.p90;
}

double report_ttft_p99(const struct replay_result *result)
{
    return result->ttft_ms.p99;
}

double report_tpot_mean(const struct replay_result *result)
{
    return result->tpot_ms.mean;
}

double report_tpot_p50(const struct replay_result *result)
{
    return result->tpot_ms.p50;
}

double report_tpot_p90(const struct replay_result *result)
{
    return result->tpot_ms.p90;
}

double report_tpot_p99(const struct replay_result *result)
{
    return result->tpot_ms.p99;
}

double report_total_mean(const struct replay_result *result)
{
    return result->total_ms.mean;
}

double report_total_p50(const struct replay_result *result)
{
    return result->total_ms.p50;
}

double report_total_p90(const struct replay_result *result)
{
    return result->total_ms.p90;
}

double report_total_p99(const struct replay_result *result)
{
    return result->total_ms.p99;
}

double report_hits(const struct replay_result *result)
{
    return result->hit_share;
}

double report_pooled_hits(const struct replay_result *result)
{
    return result->pooled_hit_share;
}

/* Above 1 where an LRU cache of all targets' size is no longer the best use of
 * their memory. */
double report_hits_of_pool(const struct replay_result *result)
{
    return result->pooled_hit_share > 0.0
               ? result->hit_share / result->pooled_hit_share
               : (double)NAN;
}

double report_goodput(const struct replay_result *result)
{
    return result->goodput;
}

double report_busiest(const struct replay_result *result)
{
    return result->busiest_over_mean;
}

double report_busiest_work(const struct replay_result *result)
{
    return result->busiest_work_over_mean;
}

double report_waited(const struct replay_result *result)
{
    return (double)result->waited;
}

double report_rejected(const struct replay_result *result)
{
    return (double)result->rejected;
}

double report_cost(const struct replay_result *result)
{
    return result->cost_usd;
}

double report_adapter_loads(const struct replay_result *result)
{
    return result->adapter_load_share;
}

double report_kv_unknown(const struct replay_result *result)
{
    return result->kv.read ? result->kv.unknown_share : (double)NAN;
}

double report_kv_wrong(const struct replay_result *result)
{
    return result->kv.read ? (double)result->kv.wrong_picks : (double)NAN;
}
