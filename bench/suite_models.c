/* SPDX-License-Identifier: MIT */
/*
 * Two models by themselves, through their internal headers:
 *
 *     schedule.step.N   one step of the smooth weighted sequence
 *     ring.lookup.N     the owner of a key on the hash ring
 *     ring.lookup.N.chained   likewise, but each key depends on the owner
 *                       before, so that no two lookups overlap: the whole
 *                       wait for memory shows
 */
#include "fleet.h"

#include "models/ring.h"
#include "models/schedule.h"

#include <stdlib.h>

/* Memory of a model, from the C library's heap. */
static void init_memory(struct lbr_memory *memory)
{
    lbroute_allocator heap = {0};

    lbr_memory_init(memory, &heap);
}

typedef struct sequence {
    struct lbr_memory memory;
    struct lbr_schedule schedule;
    struct lbr_turn *turns;
} sequence;

static void *open_schedule(const bench_case *test)
{
    sequence *self = bench_alloc(1, sizeof *self);
    uint32_t count = (uint32_t)test->targets;

    init_memory(&self->memory);
    self->turns = bench_alloc(count, sizeof *self->turns);
    if (!lbr_schedule_reserve(&self->schedule, &self->memory, count))
        bench_die(test->name, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        lbr_schedule_add(&self->schedule, &self->turns[i], i,
                         bench_weight(i, test->distinct_weights));
        lbr_schedule_set_active(&self->schedule, &self->turns[i], 1);
    }
    return self;
}

static void work_schedule(void *fixture, unsigned lane, uint64_t operations)
{
    sequence *self = fixture;
    struct lbr_wide score;
    uint64_t sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++) {
        struct lbr_turn *turn = lbr_schedule_peek(&self->schedule, &score);

        lbr_schedule_serve(&self->schedule, turn);
        sum += (uint64_t)(turn - self->turns);
    }
    bench_keep(sum);
}

static void close_schedule(void *fixture)
{
    sequence *self = fixture;

    lbr_schedule_destroy(&self->schedule, &self->memory);
    free(self->turns);
    free(self);
}

static const bench_kind schedule = {
    .open = open_schedule, .work = work_schedule, .close = close_schedule};

typedef struct circle {
    struct lbr_memory memory;
    struct lbr_ring ring;
    char (*names)[BENCH_TARGET_NAME];
    size_t *lengths;
} circle;

static struct lbr_text owner_name(void *user, uint32_t owner)
{
    circle *self = user;
    struct lbr_text name = {self->names[owner], self->lengths[owner]};

    return name;
}

static void *open_ring(const bench_case *test)
{
    circle *self = bench_alloc(1, sizeof *self);

    init_memory(&self->memory);
    self->names = bench_alloc(test->targets, sizeof *self->names);
    self->lengths = bench_alloc(test->targets, sizeof *self->lengths);
    lbr_ring_init(&self->ring, &self->memory, 32, owner_name, self);
    for (uint32_t i = 0; i < test->targets; i++) {
        self->lengths[i] = bench_target_name(self->names[i], i);
        if (!lbr_ring_reserve(&self->ring, LBR_RING_POINTS) ||
            !lbr_ring_add(&self->ring, i, LBR_RING_POINTS))
            bench_die(test->name, "out of memory");
    }
    return self;
}

/* A key is a digest: 64 random bits. */
static uint64_t next_key(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return *state * (*state >> 32 | 1);
}

static void work_ring(void *fixture, unsigned lane, uint64_t operations)
{
    circle *self = fixture;
    uint64_t state = lane;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < operations; i++) {
        uint32_t slot = lbr_ring_find(&self->ring, next_key(&state));

        sum += lbr_ring_owner(&self->ring, slot);
    }
    bench_keep(sum);
}

static void work_chain(void *fixture, unsigned lane, uint64_t operations)
{
    circle *self = fixture;
    uint64_t state = lane;

    for (uint64_t i = 0; i < operations; i++) {
        uint32_t slot = lbr_ring_find(&self->ring, next_key(&state));

        state += lbr_ring_owner(&self->ring, slot);
    }
    bench_keep(state);
}

static void close_ring(void *fixture)
{
    circle *self = fixture;

    lbr_ring_destroy(&self->ring);
    free(self->names);
    free(self->lengths);
    free(self);
}

static const bench_kind ring = {
    .open = open_ring, .work = work_ring, .close = close_ring};
static const bench_kind chain = {
    .open = open_ring, .work = work_chain, .close = close_ring};

static void add_schedule(bench_list *list, size_t targets)
{
    bench_case *test =
        bench_list_add_sized(list, &schedule, "schedule.step", targets);

    test->distinct_weights = 10;
    if (targets == 1000)
        test->budget_ns = 70;
    bench_case_compare(test, BENCH_COMPARE_TIME, "peer.nginx_swrr");
}

static void add_ring(bench_list *list, const bench_kind *kind, size_t targets,
                     const char *variant)
{
    bench_case *test = bench_list_add_sized(list, kind, "ring.lookup", targets);

    bench_case_vary(test, variant);
    if (targets == 10000)
        test->budget_ns = 30;
}

void bench_suite_models(bench_list *list)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        add_schedule(list, bench_sizes[i]);
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        add_ring(list, &ring, bench_sizes[i], "");
        add_ring(list, &chain, bench_sizes[i], ".chained");
    }
}
