/* SPDX-License-Identifier: MIT */
#include "report_axis.h"

#include <math.h>

/* Most ticks whose labels do not touch. */
static const double LABELS = 6;

static void add_tick(struct report_axis *axis, double value)
{
    if (axis->tick_count < REPORT_TICKS_MAX)
        axis->ticks[axis->tick_count++] = value;
}

static void add_steps(struct report_axis *axis, double step)
{
    for (int i = 0; i * step <= axis->high * (1 + 1e-9); i++)
        add_tick(axis, i * step);
}

/* Step `index` of 1, 2, 5, 10, 20, 50, …; negative ones are fractions. */
static double round_step(int index)
{
    static const double digits[] = {1, 2, 5};
    int decade = (int)floor(index / 3.0);

    return digits[index - 3 * decade] * pow(10, decade);
}

/* Index of the largest round step at or below a value above 0. */
static int round_below(double value)
{
    int index = 3 * (int)floor(log10(value));

    while (round_step(index + 1) <= value * (1 + 1e-9))
        index++;
    return index;
}

static int round_above(double value)
{
    int index = round_below(value);

    return round_step(index) < value * (1 - 1e-9) ? index + 1 : index;
}

void report_axis_linear(struct report_axis *axis, double high)
{
    double step = high > 0 ? round_step(round_above(high / LABELS)) : 1;

    axis->logarithmic = false;
    axis->tick_count = 0;
    axis->low = 0;
    axis->high = high > 0 ? ceil(high / step - 1e-9) * step : 1;
    add_steps(axis, step);
}

void report_axis_log(struct report_axis *axis, double low, double high)
{
    int first = round_below(low);
    int last = round_above(high);
    bool decades_only;

    if (last <= first)
        last = first + 1;
    decades_only = last - first > 9;
    axis->logarithmic = true;
    axis->tick_count = 0;
    axis->low = round_step(first);
    axis->high = round_step(last);
    for (int i = first; i <= last; i++)
        if (!decades_only || i % 3 == 0)
            add_tick(axis, round_step(i));
}

void report_axis_time(struct report_axis *axis, double seconds)
{
    static const double steps[] = {1,    2,    5,     10,    15,    30,
                                   60,   120,  300,   600,   900,   1800,
                                   3600, 7200, 10800, 21600, 43200, 86400};
    size_t count = sizeof steps / sizeof steps[0];
    size_t i = 0;

    axis->logarithmic = false;
    axis->tick_count = 0;
    axis->low = 0;
    axis->high = seconds > 0 ? seconds : 1;
    while (i + 1 < count && axis->high / steps[i] > LABELS)
        i++;
    add_steps(axis, fmax(steps[i], axis->high / REPORT_TICKS_MAX));
}

double report_axis_x(const struct report_axis *axis, double value)
{
    double bounded = fmin(fmax(value, axis->low), axis->high);
    double part = axis->logarithmic
                      ? log(bounded / axis->low) / log(axis->high / axis->low)
                      : (bounded - axis->low) / (axis->high - axis->low);

    return axis->left + part * (axis->right - axis->left);
}
