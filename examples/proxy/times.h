/* SPDX-License-Identifier: MIT */
/*
 * Times in the forms that others want them. Between two moments the steady
 * clock tells, gateway_now().
 */
#ifndef LBROUTE_PROXY_TIMES_H
#define LBROUTE_PROXY_TIMES_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/** Seconds, 0 or more, as libevent takes them. */
static inline struct timeval to_timeval(double seconds)
{
    struct timeval time = {(time_t)seconds, 0};

    time.tv_usec = (suseconds_t)((seconds - (double)time.tv_sec) * 1e6);
    return time;
}

/** Time of the wall clock since 1970, ns. */
static inline uint64_t wall_clock_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int64_t wall_clock_ms(void)
{
    return (int64_t)(wall_clock_ns() / 1000000u);
}

#endif
