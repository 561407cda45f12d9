/* SPDX-License-Identifier: MIT */
/*
 * The router of a run, the first of several, is replaced by another one while
 * requests are under way:
 *
 *     old ─snapshot─▶ new, with another seed
 *      ╰─ tickets of those under way: forgotten
 */
#ifndef LBROUTE_REPLAY_FLEET_HANDOVER_H
#define LBROUTE_REPLAY_FLEET_HANDOVER_H

#include "fleet_parts.h"

/** Whether so many requests have arrived that it is time. */
bool fleet_handover_is_due(const struct fleet *fleet);

/** Replaces the router as the options say. */
void fleet_hand_over(struct fleet *fleet);

#endif
