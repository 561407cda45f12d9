/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

/* The fixed place in a thread's own memory needs no help from the loader. */
#if defined(__GNUC__)
#define FIXED_PLACE __attribute__((tls_model("initial-exec")))
#else
#define FIXED_PLACE
#endif

const void *lbr_lock_thread(void)
{
    static _Thread_local char here FIXED_PLACE;

    return &here;
}

#define FIRST_PAUSE 2048
#define LONGEST_PAUSE 65536
#define PAUSES 32

void lbr_lock_wait(struct lbr_lock *lock)
{
    volatile int turn;
    int pause = FIRST_PAUSE;
    int tries;

    for (tries = 0; tries < PAUSES; tries++) {
        for (turn = 0; turn < pause; turn++)
            ;
        if (pthread_mutex_trylock(&lock->mutex) == 0)
            return;
        if (pause < LONGEST_PAUSE)
            pause *= 2;
    }
    (void)pthread_mutex_lock(&lock->mutex);
}
