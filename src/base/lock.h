/* SPDX-License-Identifier: MIT */
/* The one lock of a router; left out for single-threaded hosts.
 *
 * It is held for some ten to a hundred nanoseconds at a time. Who finds it
 * taken pauses for a microsecond or two and tries again, then longer, for less
 * than a millisecond in all before going to sleep: to sleep and be woken takes
 * many times as long as a pick, each release meanwhile calls the system, and
 * while one thread pauses the other works on a router that stays in its own
 * cache. */
#ifndef LBR_BASE_LOCK_H
#define LBR_BASE_LOCK_H

#include <pthread.h>

struct lbr_lock {
    pthread_mutex_t mutex;
    int enabled;
};

/* Returns 0 when the system has no mutex to give. */
static inline int lbr_lock_init(struct lbr_lock *lock, int enabled)
{
    lock->enabled = enabled;
    return !enabled || pthread_mutex_init(&lock->mutex, NULL) == 0;
}

static inline void lbr_lock_destroy(struct lbr_lock *lock)
{
    if (lock->enabled)
        (void)pthread_mutex_destroy(&lock->mutex);
}

/* Waits for a lock that is taken. */
void lbr_lock_wait(struct lbr_lock *lock);

/* An address that tells the calling thread from all others alive. */
const void *lbr_lock_thread(void);

static inline void lbr_lock_take(struct lbr_lock *lock)
{
    if (lock->enabled && pthread_mutex_trylock(&lock->mutex) != 0)
        lbr_lock_wait(lock);
}

static inline void lbr_lock_give(struct lbr_lock *lock)
{
    if (lock->enabled)
        (void)pthread_mutex_unlock(&lock->mutex);
}

#endif
