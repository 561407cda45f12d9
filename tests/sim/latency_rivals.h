/* SPDX-License-Identifier: MIT */
/* Two simpler models of the time to first token, to be compared with the
 * library's: normalised least mean squares, and a least-squares plane over
 * requests instead of tokens. Each holds one target. */
#ifndef TESTS_SIM_LATENCY_RIVALS_H
#define TESTS_SIM_LATENCY_RIVALS_H

#include <stddef.h>

/* What was known when a request was sent. */
struct rival_point {
    double waiting_tokens; /* kilotokens without a first token */
    double requests;       /* in flight, their number */
    double input;          /* kilotokens */
};

struct rival {
    double plane[3];
    double p[3][3]; /* of the least squares */
    size_t samples;
};

double rival_nlms_predict(const struct rival *rival,
                          const struct rival_point *point);
void rival_nlms_teach(struct rival *rival, const struct rival_point *point,
                      double ms);

double rival_requests_predict(const struct rival *rival,
                              const struct rival_point *point);
void rival_requests_teach(struct rival *rival, const struct rival_point *point,
                          double ms);

#endif
