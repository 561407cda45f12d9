/* SPDX-License-Identifier: MIT */
/* Work that several threads share: whoever is free takes the next piece. */
#ifndef LBROUTE_REPLAY_JOBS_H
#define LBROUTE_REPLAY_JOBS_H

#include <stddef.h>

/** Does piece `index`; called by several threads at once, once for each. */
typedef void (*jobs_piece)(void *context, size_t index);

/** Returns when pieces 0 to `count` - 1 are done. With one thread, or where no
 * more can be had, they are done in order by the caller. */
void jobs_run(size_t count, size_t threads, jobs_piece piece, void *context);

#endif
