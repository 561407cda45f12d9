/* SPDX-License-Identifier: MIT */
/*
 * Draws that belong to whoever asks, not to the order in which it is drawn.
 */
#ifndef LBROUTE_REPLAY_WORKLOAD_PLACE_H
#define LBROUTE_REPLAY_WORKLOAD_PLACE_H

#include "workload.h"

/** Uniform in [0, 1): the same for all requests of a session, whatever stands
 * between them, and one for each request (the index-th) that has none.
 * `stream` separates uses of one seed. */
double workload_place(const struct work_request *request, size_t index,
                      uint64_t seed, uint64_t stream);

#endif
