/* SPDX-License-Identifier: MIT */
#include "state/signal.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* More than this is a broken report. */
static const double most[LBROUTE_GAUGE_COUNT] = {
    [LBROUTE_GAUGE_RUNNING] = 1e9,      [LBROUTE_GAUGE_WAITING] = 1e9,
    [LBROUTE_GAUGE_KV_USAGE] = 1,       [LBROUTE_GAUGE_PREFIX_QUERIES] = 1e18,
    [LBROUTE_GAUGE_PREFIX_HITS] = 1e18, [LBROUTE_GAUGE_KV_BLOCKS] = 1e12,
    [LBROUTE_GAUGE_BLOCK_TOKENS] = 1e6,
};

/* The two halves of the load. */
#define HALVES (1U << LBROUTE_GAUGE_RUNNING | 1U << LBROUTE_GAUGE_WAITING)

void lbr_signals_init(struct lbr_signals *signals)
{
    int i;

    memset(signals, 0, sizeof *signals);
    for (i = 0; i < LBROUTE_GAUGE_COUNT; i++)
        signals->gauge[i] = (double)NAN;
}

int lbr_signals_acceptable(int gauge, double value)
{
    return isnan(value) || (value >= 0 && value <= most[gauge]);
}

int lbr_signals_all_acceptable(const double *values, uint32_t given)
{
    int gauge;

    for (gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        if (given >> gauge & 1 && !lbr_signals_acceptable(gauge, values[gauge]))
            return 0;
    return 1;
}

/* Adds a gauge's part in a report made at |now|: nothing when it is unknown or
 * was last reported too long ago. */
static void add_half(struct lbr_signals *signals, int gauge, uint64_t now,
                     uint64_t ttl)
{
    if (isnan(signals->gauge[gauge]) ||
        lbr_time_since(now, signals->gauge_at[gauge]) > ttl) {
        signals->others_partial |=
            signals->reported[gauge] || signals->expects_both;
        return;
    }
    signals->others_known = 1;
    signals->others += signals->gauge[gauge];
}

static void renew_others(struct lbr_signals *signals, double known,
                         uint64_t now, uint64_t ttl)
{
    signals->others = 0;
    signals->others_known = signals->others_partial = 0;
    add_half(signals, LBROUTE_GAUGE_RUNNING, now, ttl);
    add_half(signals, LBROUTE_GAUGE_WAITING, now, ttl);
    signals->others = signals->others > known ? signals->others - known : 0;
    signals->others_at = now;
}

static void store(struct lbr_signals *signals, int gauge, double value,
                  uint64_t now)
{
    signals->gauge[gauge] = value;
    signals->gauge_at[gauge] = now;
    signals->reported[gauge] = 1;
}

void lbr_signals_set(struct lbr_signals *signals, int gauge, double value,
                     double known, uint64_t now, uint64_t ttl)
{
    store(signals, gauge, value, now);
    if (HALVES >> gauge & 1)
        renew_others(signals, known, now, ttl);
}

void lbr_signals_report(struct lbr_signals *signals, const double *values,
                        uint32_t given, double known, uint64_t now,
                        uint64_t ttl)
{
    int gauge;

    for (gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        if (given >> gauge & 1)
            store(signals, gauge, values[gauge], now);
    if (!(given & HALVES))
        return;
    if ((given & HALVES) != HALVES)
        signals->expects_both = 1;
    renew_others(signals, known, now, ttl);
}

double lbr_signals_others(const struct lbr_signals *signals, double mean)
{
    if (signals->others_partial && mean > signals->others)
        return mean;
    return signals->others;
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
