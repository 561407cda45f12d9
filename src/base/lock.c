/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#define FIRST_PAUSE 2048
#define LAST_PAUSE 16384

void lbr_lock_wait(struct lbr_lock *lock)
{
    volatile int turn;
    int pause;

    for (pause = FIRST_PAUSE; pause <= LAST_PAUSE; pause *= 2) {
        for (turn = 0; turn < pause; turn++)
            ;
        if (pthread_mutex_trylock(&lock->mutex) == 0)
            return;
    }
    (void)pthread_mutex_lock(&lock->mutex);
}
