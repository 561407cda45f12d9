/* SPDX-License-Identifier: MIT */
#include "state/signal.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* More requests than this in one engine is a broken report. */
#define MOST_REQUESTS 1e9

void lbr_signals_init(struct lbr_signals *signals)
{
    int i;

    memset(signals, 0, sizeof *signals);
    for (i = 0; i < LBROUTE_GAUGE_COUNT; i++)
        signals->gauge[i] = (double)NAN;
}

int lbr_signals_acceptable(int gauge, double value)
{
    double most = gauge == LBROUTE_GAUGE_KV_USAGE ? 1.0 : MOST_REQUESTS;

    return isnan(value) || (value >= 0 && value <= most);
}

static void renew_others(struct lbr_signals *signals, uint32_t in_flight,
                         uint64_t now)
{
    double running = signals->gauge[LBROUTE_GAUGE_RUNNING];
    double waiting = signals->gauge[LBROUTE_GAUGE_WAITING];
    double reported =
        (isnan(running) ? 0 : running) + (isnan(waiting) ? 0 : waiting);

    signals->others_known = !isnan(running) || !isnan(waiting);
    signals->others = reported > in_flight ? reported - in_flight : 0;
    signals->others_at = now;
}

void lbr_signals_set(struct lbr_signals *signals, int gauge, double value,
                     uint32_t in_flight, uint64_t now)
{
    signals->gauge[gauge] = value;
    signals->gauge_at[gauge] = now;
    signals->reported[gauge] = 1;
    if (gauge != LBROUTE_GAUGE_KV_USAGE)
        renew_others(signals, in_flight, now);
}

/* A full target is taken for twice as busy as it was when it refused. */
void lbr_signals_overload(struct lbr_signals *signals, uint32_t in_flight,
                          uint64_t now)
{
    signals->pressure = in_flight > 1 ? in_flight : 1;
    signals->pressure_at = now;
}

struct lbr_faded lbr_signals_trust(const struct lbr_signals *signals,
                                   uint64_t now, uint64_t ttl)
{
    struct lbr_faded none = {0.0, LBR_NEVER};

    if (!signals->others_known)
        return none;
    return lbr_fade_out(now, signals->others_at, ttl);
}

struct lbr_faded lbr_signals_pressure(const struct lbr_signals *signals,
                                      uint64_t now, uint64_t ttl)
{
    struct lbr_faded pressure = {0.0, LBR_NEVER};

    if (signals->pressure <= 0)
        return pressure;
    pressure = lbr_fade_out(now, signals->pressure_at, ttl);
    pressure.value *= signals->pressure;
    return pressure;
}
