/* SPDX-License-Identifier: MIT */
/*
 * The health of one target, as a naive state machine.
 *
 *                 5 failures in a row             time is up
 *     in service ────────────────────▶ benched ────────────▶ on trial
 *         ▲                               ▲                    │  │
 *         │                               └── one failure ─────┘  │
 *         └────────────────────── a success ─────────────────────┘
 *
 * Each further bench lasts twice as long, to a maximum. Requests picked before
 * the last bench began say nothing. Requests that reach a benched target
 * (because all others were out too) count as in service: five more failures
 * bench it further, a success ends the bench.
 */
#ifndef LBROUTE_TESTS_PROPERTY_MODEL_HEALTH_H
#define LBROUTE_TESTS_PROPERTY_MODEL_HEALTH_H

#include <stdint.h>

struct model_health_rules {
    uint32_t bench_after; /**< 0: never. */
    uint64_t bench_time;  /**< 0: never. */
    uint64_t bench_max;
};

struct model_health {
    uint32_t failures; /**< In a row. */
    uint32_t strikes;  /**< Of these, since the last bench. */
    uint32_t benches;  /**< In a row, by failures. */
    int unproven;      /**< Benched, and no success since. */
    uint64_t until;    /**< End of the bench. */
    uint64_t began;    /**< Number of the last pick before the last bench. */
};

int model_health_benched(const struct model_health *health, uint64_t now);
int model_health_on_trial(const struct model_health *health, uint64_t now);

void model_health_success(struct model_health *health);
void model_health_failure(struct model_health *health,
                          const struct model_health_rules *rules, int trial,
                          uint64_t now, uint64_t last_order);

/** A bench by call; 0 ends bench and trial. */
void model_health_bench(struct model_health *health, uint64_t duration,
                        uint64_t now, uint64_t last_order);

#endif
