/* SPDX-License-Identifier: MIT */
/*
 * Two routers that live the same life.
 *
 * Both get the same calls at the same times. One may be asked questions in
 * between that must leave no trace. Every decision of the two must agree.
 */
#ifndef LBROUTE_TESTS_PROPERTY_TWINS_H
#define LBROUTE_TESTS_PROPERTY_TWINS_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/lbroute.h>

/** Asks a router whatever must have no effect. */
typedef void twins_question(lbroute_router *router, lbroute_pool pool,
                            const lbroute_target *targets, size_t count,
                            uint64_t now, uint64_t choice);

/**
 * Runs `steps` random steps under a strategy.
 *
 * @param seeds seeds of the two routers.
 * @param question asked of the second one at about every other step; NULL:
 *     none. Without it the second router has a lock and the C library's heap,
 *     the first has neither.
 * @return how many picks went to the same target, of `*picks`.
 */
size_t twins_run(const char *strategy, const uint64_t seeds[2],
                 uint64_t program, size_t steps, twins_question *question,
                 size_t *picks);

#endif
