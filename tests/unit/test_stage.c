/* SPDX-License-Identifier: MIT */
/* state/stage: the host's stages, and the runs that hold them. */
#include "state/stage.h"

#include <pthread.h>

#include "base/lock.h"
#include "heap.h"
#include "support/test.h"

enum { LIMIT = 3 };

struct bench {
    struct unit_heap heap;
    struct lbr_stages stages;
    struct lbr_lock lock;
    struct lbr_link pool; /* its list of stages */
    struct lbr_link dead;
    int destroyed;
};

static void destroy(void *user)
{
    struct bench *bench = user;
    bench->destroyed++;
}

static void open_bench(struct bench *bench)
{
    unit_heap_open(&bench->heap);
    lbr_stages_init(&bench->stages, &bench->heap.memory, LIMIT);
    assert_true(lbr_lock_init(&bench->lock, 1));
    lbr_list_init(&bench->pool);
    lbr_list_init(&bench->dead);
    bench->destroyed = 0;
}

static void close_bench(struct bench *bench)
{
    lbr_stages_destroy(&bench->stages);
    lbr_lock_destroy(&bench->lock);
    unit_heap_close(&bench->heap);
}

static int create(struct bench *bench, const char *name,
                  struct lbr_stage **stage)
{
    lbroute_scorer_options options;

    lbroute_scorer_options_init(&options, sizeof options);
    options.name = name;
    options.name_len = strlen(name);
    options.destroy = destroy;
    options.user = bench;
    return lbr_stage_create(&bench->stages, &options, 77, &bench->pool, stage);
}

static struct lbr_stage *created(struct bench *bench, const char *name)
{
    struct lbr_stage *stage = NULL;

    assert_int_equal(create(bench, name, &stage), LBROUTE_OK);
    return stage;
}

static void bury(struct bench *bench)
{
    lbr_stages_bury(&bench->stages, &bench->lock, &bench->dead);
}

static void found_until_removed(void **state)
{
    struct bench bench;
    struct lbr_stage *stage;
    lbroute_scorer handle;
    (void)state;

    open_bench(&bench);
    stage = created(&bench, "a");
    handle = stage->slot.handle;
    assert_ptr_equal(lbr_stage_find(&bench.stages, handle), stage);
    assert_ptr_equal(lbr_stage_named(&bench.pool, lbr_text("a", 1)), stage);
    assert_null(lbr_stage_named(&bench.pool, lbr_text("aa", 2)));
    assert_int_equal(stage->pool, 77);
    lbr_stage_remove(stage, &bench.dead);
    assert_null(lbr_stage_find(&bench.stages, handle));
    assert_null(lbr_stage_named(&bench.pool, lbr_text("a", 1)));
    assert_int_equal(bench.destroyed, 0);
    bury(&bench);
    assert_int_equal(bench.destroyed, 1);
    bury(&bench);
    assert_int_equal(bench.destroyed, 1);
    close_bench(&bench);
}

static void bounded_until_freed(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct bench bench;
    struct lbr_stage *stage = NULL;
    struct lbr_run *run;
    (void)state;

    open_bench(&bench);
    for (int i = 0; i < LIMIT; i++)
        stage = created(&bench, names[i]);
    assert_int_equal(create(&bench, "d", &stage), LBROUTE_ERR_LIMIT);
    run = lbr_run_take(&bench.stages, 1);
    assert_non_null(run);
    lbr_run_hold(run, stage);
    lbr_stage_remove(stage, &bench.dead);
    assert_true(lbr_list_empty(&bench.dead));
    assert_int_equal(create(&bench, "d", &stage), LBROUTE_ERR_LIMIT);
    lbr_run_give(&bench.stages, run, &bench.dead);
    bury(&bench);
    assert_int_equal(create(&bench, "d", &stage), LBROUTE_OK);
    close_bench(&bench);
    assert_int_equal(bench.destroyed, LIMIT + 1);
}

/* The last of several runs frees it. */
static void the_last_run_frees(void **state)
{
    struct bench bench;
    struct lbr_stage *stage;
    struct lbr_run *first, *second;
    (void)state;

    open_bench(&bench);
    stage = created(&bench, "a");
    first = lbr_run_take(&bench.stages, 1);
    second = lbr_run_take(&bench.stages, 1);
    assert_true(first != NULL && second != NULL && first != second);
    lbr_run_hold(first, stage);
    lbr_run_hold(second, stage);
    lbr_stage_remove(stage, &bench.dead);
    lbr_run_give(&bench.stages, first, &bench.dead);
    assert_true(lbr_list_empty(&bench.dead));
    lbr_run_give(&bench.stages, second, &bench.dead);
    assert_false(lbr_list_empty(&bench.dead));
    bury(&bench);
    assert_int_equal(bench.destroyed, 1);
    close_bench(&bench);
}

static void calls_are_counted_by_outcome(void **state)
{
    static const enum lbr_outcome outcomes[] = {
        LBR_CALL_NONE, LBR_CALL_COUNTS, LBR_CALL_FAILED, LBR_CALL_NOT_FINITE};
    struct bench bench;
    struct lbr_stage *stage;
    (void)state;

    open_bench(&bench);
    stage = created(&bench, "a");
    for (int explains = 0; explains < 2; explains++) {
        for (size_t i = 0; i < 4; i++) {
            struct lbr_run *run = lbr_run_take(&bench.stages, 1);
            assert_non_null(run);
            lbr_run_hold(run, stage);
            assert_int_equal(run->calls[0].outcome, LBR_CALL_NONE);
            run->calls[0].outcome = outcomes[i];
            run->explains = explains;
            lbr_run_give(&bench.stages, run, &bench.dead);
        }
        assert_int_equal(stage->calls, 3);
        assert_int_equal(stage->errors, 1);
        assert_int_equal(stage->not_finite, 1);
    }
    close_bench(&bench);
}

/* A run is used again, and grows when it must. */
static void runs_are_used_again(void **state)
{
    struct bench bench;
    struct lbr_run *run, *again;
    uint64_t calls;
    (void)state;

    open_bench(&bench);
    run = lbr_run_take(&bench.stages, 100);
    lbr_run_give(&bench.stages, run, &bench.dead);
    calls = bench.heap.alloc.calls;
    again = lbr_run_take(&bench.stages, 60);
    assert_ptr_equal(again, run);
    assert_int_equal(again->count + again->kept + again->call_count, 0);
    assert_int_equal(bench.heap.alloc.calls, calls);
    lbr_run_give(&bench.stages, again, &bench.dead);
    test_alloc_fail(&bench.heap.alloc, 0, 1);
    assert_null(lbr_run_take(&bench.stages, 101));
    assert_false(lbr_stages_inside(&bench.stages));
    test_alloc_heal(&bench.heap.alloc);
    again = lbr_run_take(&bench.stages, 101);
    assert_ptr_equal(again, run);
    assert_true(again->capacity >= 101);
    again->candidates[100].target = 1;
    again->scores[100] = again->sums[100] = 1;
    lbr_run_give(&bench.stages, again, &bench.dead);
    close_bench(&bench);
}

static void *look(void *user)
{
    const struct bench *bench = user;
    return lbr_stages_inside(&bench->stages) ? user : NULL;
}

static void inside_is_a_matter_of_the_thread(void **state)
{
    struct bench bench;
    struct lbr_run *run;
    pthread_t thread;
    void *other = &bench;
    (void)state;

    open_bench(&bench);
    assert_false(lbr_stages_inside(&bench.stages));
    run = lbr_run_take(&bench.stages, 1);
    assert_true(lbr_stages_inside(&bench.stages));
    assert_int_equal(pthread_create(&thread, NULL, look, &bench), 0);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_null(other);
    lbr_run_give(&bench.stages, run, &bench.dead);
    assert_false(lbr_stages_inside(&bench.stages));
    close_bench(&bench);
}

/* Allocation N fails, for every N. */
static void without_memory(void **state)
{
    uint64_t after = 0;
    int failed;
    (void)state;

    do {
        struct bench bench;
        struct lbr_stage *stage = NULL;
        struct lbr_run *run;
        int result;
        open_bench(&bench);
        test_alloc_fail(&bench.heap.alloc, after++, 1);
        result = create(&bench, "a", &stage);
        run = lbr_run_take(&bench.stages, 5);
        failed = bench.heap.alloc.failures > 0;
        assert_int_equal(failed, result != LBROUTE_OK || run == NULL);
        assert_int_equal(lbr_list_empty(&bench.pool), result != LBROUTE_OK);
        if (run != NULL)
            lbr_run_give(&bench.stages, run, &bench.dead);
        close_bench(&bench);
        assert_int_equal(bench.destroyed, result == LBROUTE_OK);
    } while (failed);
    assert_in_range(after, 6, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_until_removed),
        cmocka_unit_test(bounded_until_freed),
        cmocka_unit_test(the_last_run_frees),
        cmocka_unit_test(calls_are_counted_by_outcome),
        cmocka_unit_test(runs_are_used_again),
        cmocka_unit_test(inside_is_a_matter_of_the_thread),
        cmocka_unit_test(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
