/* SPDX-License-Identifier: MIT */
#ifndef LBROUTE_PROXY_RETRY_AFTER_H
#define LBROUTE_PROXY_RETRY_AFTER_H

#include <stdint.h>
#include <time.h>

/** What a Retry-After header says, as time from `now` on: seconds or an HTTP
 * date in any of the three forms of RFC 9110 section 5.6.7; -1: nothing that
 * can be read, or NULL. A date that is over is 0. */
int64_t retry_after_ns(const char *value, time_t now);

#endif
