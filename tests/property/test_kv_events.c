/* SPDX-License-Identifier: MIT */
/*
 * KV events against a naive model: every target, under every prompt, holds what
 * the model says it holds. LBROUTE_TEST_SCALE=20 makes it 10^6 events a plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check.h"
#include "kv_engines.h"
#include "prng.h"

static struct kv_world world;

static void run_plan(const struct kv_plan *plan, uint64_t events)
{
    uint64_t step = 0;

    kv_world_open(&world, plan, 1 + (uint64_t)plan->labels);
    while (world.events < events) {
        check_step(step);
        kv_world_step(&world);
        if (step++ % 256 == 0)
            kv_world_check(&world);
    }
    kv_world_check(&world);
    CHECK(world.matches > events / 100);
    kv_world_close(&world);
}

static void run_plans(const struct kv_plan *plans, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run_plan(&plans[i], scaled(50000) / count);
}

static void residents_are_those_of_the_model(void **state)
{
    (void)state;
    static const struct kv_plan plans[] = {
        {"few labels", 0, 1, 1, 4, 0},
        {"all labels", 0, 1, 1, 10, 0},
        {"labels by content", 0, 1, 1, 0, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0]);
}

static void copies_are_counted(void **state)
{
    (void)state;
    static const struct kv_plan plans[] = {
        {"copies of few labels", 1, 1, 1, 4, 0},
        {"copies of all labels", 1, 1, 1, 10, 0},
        {"copies by content", 1, 1, 1, 0, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0]);
}

static void batches_are_lost_late_and_repeated(void **state)
{
    (void)state;
    static const struct kv_plan plans[] = {
        {"bad network", 0, 1, 0, 6, 0},
        {"bad network, copies", 1, 1, 0, 6, 0},
        {"bad network, no timestamps", 0, 0, 0, 6, 0},
        {"bad network, labels by content", 0, 1, 0, 0, 0},
    };
    run_plans(plans, sizeof plans / sizeof plans[0]);
}

/* No credit that the model would not give, and never more than there is room
 * for. */
static void little_room(void **state)
{
    (void)state;
    static const struct kv_plan plans[] = {
        {"room for 1", 0, 1, 1, 0, 1},
        {"room for 12", 0, 1, 1, 0, 12},
        {"room for 40", 0, 1, 1, 0, 40},
        {"room for 40 copies", 1, 1, 1, 0, 40},
    };
    run_plans(plans, sizeof plans / sizeof plans[0]);
}

/* A table that turns over needs no more memory than it had. */
static void memory_is_flat(void **state)
{
    (void)state;
    static const struct kv_plan plan = {"flat", 0, 1, 1, 0, 40};
    uint64_t half = scaled(20000);
    uint64_t peak = 0;

    kv_world_open(&world, &plan, 1);
    while (world.events < 2 * half) {
        kv_world_step(&world);
        if (world.events < half)
            peak = world.heap.peak;
    }
    CHECK_U(world.heap.peak, peak);
    kv_world_close(&world);
}

/* A life in which allocation |fail_at| fails. Returns whether it was asked
 * for. */
static int live_once(const struct kv_plan *plan, uint64_t fail_at)
{
    kv_world_open(&world, plan, 1);
    check_context(plan->what, fail_at);
    world.failing = 1;
    world.heap.fail_at = world.heap.calls + fail_at;
    for (uint64_t step = 0; step < 100; step++) {
        check_step(step);
        kv_world_step(&world);
        kv_world_check(&world);
    }
    kv_world_close(&world);
    return world.heap.failures > 0;
}

/* The batch is refused and comes again, or some of it is not remembered: in no
 * case more is believed than was said. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const struct kv_plan plans[] = {
        {"failing", 0, 1, 1, 0, 0},
        {"failing with little room", 0, 1, 1, 0, 12},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        uint64_t fail_at = 1;
        while (live_once(&plans[i], fail_at))
            fail_at++;
        CHECK(fail_at > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residents_are_those_of_the_model),
        cmocka_unit_test(copies_are_counted),
        cmocka_unit_test(batches_are_lost_late_and_repeated),
        cmocka_unit_test(little_room),
        cmocka_unit_test(memory_is_flat),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
