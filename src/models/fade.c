/* SPDX-License-Identifier: MIT */
#include "models/fade.h"

#include "base/clock.h"

#define STEPS 16

/* The number of the step that |age| is in, and when the next one begins. */
static uint64_t step_at(uint64_t age, uint64_t step, uint64_t begin,
                        uint64_t *until)
{
    uint64_t index = age / step;

    *until =
        index < STEPS ? lbr_time_add(begin, (index + 1) * step) : LBR_NEVER;
    return index;
}

struct lbr_faded lbr_fade_out(uint64_t now, uint64_t since, uint64_t ttl)
{
    uint64_t begin = lbr_time_add(since, ttl);
    struct lbr_faded faded = {1.0, LBR_NEVER};
    uint64_t index;

    if (now < begin) {
        faded.until = lbr_time_add(begin, ttl / STEPS);
        return faded;
    }
    index = step_at(now - begin, ttl / STEPS, begin, &faded.until);
    faded.value = index < STEPS ? 1.0 - (double)index / STEPS : 0.0;
    return faded;
}

struct lbr_faded lbr_fade_in(uint64_t now, uint64_t since, uint64_t duration)
{
    struct lbr_faded faded = {1.0, LBR_NEVER};
    uint64_t index;

    if (duration < STEPS)
        return faded;
    index = step_at(lbr_time_since(now, since), duration / STEPS, since,
                    &faded.until);
    if (index < STEPS - 1)
        faded.value = (double)(index + 1) / STEPS;
    else
        faded.until = LBR_NEVER;
    return faded;
}
