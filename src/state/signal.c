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

/* A gauge's part in a report made at |now|: nothing when it is unknown or was
 * last reported too long ago. */
static double part(const struct lbr_signals *signals, int gauge, uint64_t now,
                   uint64_t ttl, int *known)
{
    if (isnan(signals->gauge[gauge]) ||
        lbr_time_since(now, signals->gauge_at[gauge]) > ttl)
        return 0;
    *known = 1;
    return signals->gauge[gauge];
}

static void renew_others(struct lbr_signals *signals, uint32_t in_flight,
                         uint64_t now, uint64_t ttl)
{
    double reported = 0;

    signals->others_known = 0;
    reported +=
        part(signals, LBROUTE_GAUGE_RUNNING, now, ttl, &signals->others_known);
    reported +=
        part(signals, LBROUTE_GAUGE_WAITING, now, ttl, &signals->others_known);
    signals->others = reported > in_flight ? reported - in_flight : 0;
    signals->others_at = now;
}

void lbr_signals_set(struct lbr_signals *signals, int gauge, double value,
                     uint32_t in_flight, uint64_t now, uint64_t ttl)
{
    signals->gauge[gauge] = value;
    signals->gauge_at[gauge] = now;
    signals->reported[gauge] = 1;
    if (gauge != LBROUTE_GAUGE_KV_USAGE)
        renew_others(signals, in_flight, now, ttl);
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
