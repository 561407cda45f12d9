/* SPDX-License-Identifier: MIT */
/* Benching of failing targets.
 *
 *     well ──n failures in a row──▶ benched ──deadline──▶ on trial ─┐
 *      ▲                               ▲                            │
 *      │                               └──────── failure ───────────┤
 *      └──────────────────────── success ───────────────────────────┘
 *
 * Each bench in a row is twice as long as the one before, up to a maximum; of
 * two deadlines the later wins. Only requests sent after the bench began speak
 * about it: what was in flight before proves neither recovery nor a further
 * fault. On trial one request at a time is let through. */
#ifndef LBR_MODELS_HEALTH_H
#define LBR_MODELS_HEALTH_H

#include "base/bytes.h"

#include <stdint.h>

struct lbr_health {
    uint64_t bench_until; /* deadline of the latest bench */
    uint32_t failures;    /* in a row, since the last success */
    uint32_t strikes;     /* of these, those since the latest bench */
    uint32_t benches;     /* in a row */
    uint32_t trials;      /* requests of a trial in flight */
    uint32_t epoch;       /* number of benches ever: tells who may speak */
    int unproven;         /* benched, no success since */
};

struct lbr_health_rules {
    uint32_t bench_after; /* failures in a row; 0: never bench */
    uint64_t bench_time;  /* of the first bench, ns; 0: never bench */
    uint64_t bench_max;   /* ns */
};

/* What a request remembers of its target's standing when it was sent: the
 * epoch, and in the lowest bit whether it is a trial. */
typedef uint32_t lbr_health_mark;

static inline int lbr_health_benched(const struct lbr_health *health,
                                     uint64_t now)
{
    return health->unproven && now < health->bench_until;
}

static inline int lbr_health_on_trial(const struct lbr_health *health,
                                      uint64_t now)
{
    return health->unproven && now >= health->bench_until;
}

/* Whether a request may be sent: not benched, and no trial in flight. */
static inline int lbr_health_open(const struct lbr_health *health, uint64_t now)
{
    return !health->unproven ||
           (now >= health->bench_until && health->trials == 0);
}

/* Notes a request sent at |now|. */
static inline lbr_health_mark lbr_health_sent(struct lbr_health *health,
                                              uint64_t now)
{
    uint32_t trial = (uint32_t)lbr_health_on_trial(health, now);

    health->trials += trial;
    return health->epoch << 1 | trial;
}

/* Notes that a request ended in any way. Returns whether it was a trial, so
 * that the target's standing changed. */
static inline int lbr_health_ended(struct lbr_health *health,
                                   lbr_health_mark mark)
{
    health->trials -= mark & 1;
    return (int)(mark & 1);
}

/* Notes how it ended, after lbr_health_ended(). Return whether the standing
 * changed. */
int lbr_health_success(struct lbr_health *health, lbr_health_mark mark);
int lbr_health_failure(struct lbr_health *health, lbr_health_mark mark,
                       uint64_t now, const struct lbr_health_rules *rules);

/* Benches for |duration| from |now|, whatever the failures; 0 makes it well. */
void lbr_health_bench(struct lbr_health *health, uint64_t duration,
                      uint64_t now);

/* Whether there is nothing to say against it. */
static inline int lbr_health_is_spotless(const struct lbr_health *health)
{
    return !health->unproven && !health->failures;
}

/* As bytes, and back, but for the requests in flight: whoever loads it has
 * none. */
void lbr_health_save(const struct lbr_health *health,
                     struct lbr_writer *writer);
void lbr_health_load(struct lbr_health *health, struct lbr_reader *reader);

#endif
