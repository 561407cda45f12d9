/* SPDX-License-Identifier: MIT */
/* The measures of a run, as functions that columns and charts can name. */
#ifndef LBROUTE_REPLAY_REPORT_MEASURES_H
#define LBROUTE_REPLAY_REPORT_MEASURES_H

#include "report.h"

/* Any measure of a run; NaN where it does not exist. */
typedef double report_getter(const struct replay_result *result);

report_getter report_ttft_mean;
report_getter report_ttft_p50;
report_getter report_ttft_p90;
report_getter report_ttft_p99;
report_getter report_tpot_mean;
report_getter report_tpot_p50;
report_getter report_tpot_p90;
report_getter report_tpot_p99;
report_getter report_total_mean;
report_getter report_total_p50;
report_getter report_total_p90;
report_getter report_total_p99;
report_getter report_hits;
report_getter report_pooled_hits;
report_getter report_hits_of_pool;
report_getter report_goodput;
report_getter report_busiest;
report_getter report_busiest_work;
report_getter report_cost;
report_getter report_adapter_loads;
report_getter report_kv_unknown;
report_getter report_kv_wrong;
report_getter report_waited;
report_getter report_rejected;

#endif
