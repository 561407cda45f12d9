/* SPDX-License-Identifier: MIT */
/*
 * Programs of calls on one pool whose requests wait, against a naive model: a
 * list of waiters that is searched from end to end.
 *
 *     program:  settings, then operations until the bytes run out
 *
 * Checked after every call: counts of places, tickets and targets agree; what
 * is handed out is what the model would; nobody is lost, nobody comes twice,
 * and nobody is left waiting who could go.
 */
#ifndef LBROUTE_TESTS_PROPERTY_WAITING_PROGRAM_H
#define LBROUTE_TESTS_PROPERTY_WAITING_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

void waiting_program_run(const uint8_t *data, size_t size);

#endif
