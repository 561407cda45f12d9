/* SPDX-License-Identifier: MIT */
/* What a target's engine was reported to do, and the load it implies beyond
 * what this router sent. */
#ifndef LBR_STATE_SIGNAL_H
#define LBR_STATE_SIGNAL_H

#include "models/fade.h"

#include <lbroute/lbroute.h>

struct lbr_signals {
    double gauge[LBROUTE_GAUGE_COUNT];
    uint64_t gauge_at[LBROUTE_GAUGE_COUNT];
    uint8_t reported[LBROUTE_GAUGE_COUNT]; /* ever */
    /* Requests of others: reported running + waiting, less the requests in
     * flight at that time of this router and of those that told it of theirs,
     * never below 0. */
    double others;
    uint64_t others_at;
    int others_known;
    /* A half of the load is unknown that was reported before, or that a report
     * lacked: others are at least that many. */
    int others_partial;
    uint8_t expects_both; /* a report had one of running and waiting alone */
    /* Extra load since the target last said that it is full. */
    double pressure;
    uint64_t pressure_at;
};

void lbr_signals_init(struct lbr_signals *signals);

/* Whether |value| may be set: NaN (unknown) or within the gauge's range. */
int lbr_signals_acceptable(int gauge, double value);

/* Sets a gauge at |now| while |known| requests of routers run. The other half
 * of the load counts along if it is not older than |ttl|. */
void lbr_signals_set(struct lbr_signals *signals, int gauge, double value,
                     double known, uint64_t now, uint64_t ttl);

/* Whether all gauges whose bits are set in |given| may be set. */
int lbr_signals_all_acceptable(const double *values, uint32_t given);

/* Sets those gauges likewise, as one report. */
void lbr_signals_report(struct lbr_signals *signals, const double *values,
                        uint32_t given, double known, uint64_t now,
                        uint64_t ttl);

/* Notes that the target refused a request while |in_flight| ran there. */
void lbr_signals_overload(struct lbr_signals *signals, uint32_t in_flight,
                          uint64_t now);

/* What others run there, where |mean| is known of other targets: the report, or
 * the mean if half of the report is missing and the mean is more. */
double lbr_signals_others(const struct lbr_signals *signals, double mean);

/* How much the known load of others counts (0: unknown or too old). */
struct lbr_faded lbr_signals_trust(const struct lbr_signals *signals,
                                   uint64_t now, uint64_t ttl);

/* The pressure left. */
struct lbr_faded lbr_signals_pressure(const struct lbr_signals *signals,
                                      uint64_t now, uint64_t ttl);

#endif
