/* SPDX-License-Identifier: MIT */
/*
 * The timers of the gateway: one for what waits, one second hand for the rest.
 */
#ifndef LBROUTE_PROXY_PULSE_H
#define LBROUTE_PROXY_PULSE_H

#include <stdbool.h>

struct gateway;
struct pulse;

struct pulse *pulse_new(struct gateway *gateway);
void pulse_free(struct pulse *pulse);

/** A slot may have become free: what waits is looked at from the event loop. */
void pulse_serve(struct gateway *gateway);

/** Sets the timer to when the router has something to do for what waits. */
void pulse_arm(struct gateway *gateway);

#endif
