/* SPDX-License-Identifier: MIT */
/* base/lock: one at a time, or not there at all. */
#include "base/lock.h"

#include "support/test.h"

#define THREADS 4
#define ROUNDS 50000

struct shared {
    struct lbr_lock lock;
    long count;
};

static void *count_up(void *argument)
{
    struct shared *shared = argument;

    for (int i = 0; i < ROUNDS; i++) {
        lbr_lock_take(&shared->lock);
        shared->count++;
        lbr_lock_give(&shared->lock);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    pthread_t threads[THREADS];
    struct shared shared = {.count = 0};
    (void)state;

    assert_true(lbr_lock_init(&shared.lock, 1));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &shared),
                         0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(shared.count, (long)THREADS * ROUNDS);
    lbr_lock_destroy(&shared.lock);
}

static void none_for_a_single_thread(void **state)
{
    struct lbr_lock lock;
    (void)state;

    assert_true(lbr_lock_init(&lock, 0));
    lbr_lock_take(&lock);
    lbr_lock_take(&lock);
    lbr_lock_give(&lock);
    lbr_lock_destroy(&lock);
}

static void *own_name(void *argument)
{
    (void)argument;
    return (void *)(uintptr_t)lbr_lock_thread();
}

/* Always the same in one thread, another in every other. */
static void threads_have_names(void **state)
{
    pthread_t thread;
    void *other = NULL;
    (void)state;

    assert_ptr_equal(lbr_lock_thread(), lbr_lock_thread());
    assert_int_equal(pthread_create(&thread, NULL, own_name, NULL), 0);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_non_null(other);
    assert_ptr_not_equal(lbr_lock_thread(), other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(none_for_a_single_thread),
        cmocka_unit_test(threads_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
