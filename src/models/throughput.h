/* SPDX-License-Identifier: MIT */
/* How fast requests get done, from how long they take and how many are under
 * way at once. By Little's law a set of |n| requests that take |t| each ends
 * one every t / n, which holds from the first moment of a rush; a count of
 * what ended would first have to forget the quiet before it. */
#ifndef LBR_MODELS_THROUGHPUT_H
#define LBR_MODELS_THROUGHPUT_H

#include <stdint.h>

struct lbr_throughput {
    int measures;     /* somebody wants to know */
    uint32_t samples; /* up to those that the mean is made of */
    double mean;      /* ns from the pick to the end */
};

/* A request ended that was picked |duration| ns ago. */
void lbr_throughput_ended(struct lbr_throughput *throughput, uint64_t duration);

/* Time between two ends while |in_flight| are under way, ns; NaN: unknown. */
double lbr_throughput_gap(const struct lbr_throughput *throughput,
                          uint64_t in_flight);

#endif
