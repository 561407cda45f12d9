/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include "grow.h"

#include <pthread.h>
#include <stdlib.h>

struct jobs {
    pthread_mutex_t lock;
    size_t next;
    size_t count;
    jobs_piece piece;
    void *context;
};

static size_t take(struct jobs *jobs)
{
    size_t index;

    pthread_mutex_lock(&jobs->lock);
    index = jobs->next < jobs->count ? jobs->next++ : jobs->count;
    pthread_mutex_unlock(&jobs->lock);
    return index;
}

static void *work(void *argument)
{
    struct jobs *jobs = argument;
    size_t index;

    while ((index = take(jobs)) < jobs->count)
        jobs->piece(jobs->context, index);
    return NULL;
}

/* The caller works, too. */
void jobs_run(size_t count, size_t threads, jobs_piece piece, void *context)
{
    struct jobs jobs = {.count = count, .piece = piece, .context = context};
    size_t others = (threads < count ? threads : count);
    pthread_t *list = grow_zeroed(others + 1, sizeof *list);
    size_t started = 0;

    pthread_mutex_init(&jobs.lock, NULL);
    while (started + 1 < others &&
           pthread_create(&list[started], NULL, work, &jobs) == 0)
        started++;
    work(&jobs);
    for (size_t i = 0; i < started; i++)
        pthread_join(list[i], NULL);
    pthread_mutex_destroy(&jobs.lock);
    free(list);
}
