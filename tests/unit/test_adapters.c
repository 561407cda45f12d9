/* SPDX-License-Identifier: MIT */
/* models/adapters: what an engine holds, against a plain list. */
#include "models/adapters.h"

#include <string.h>

#include "base/clock.h"
#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define TTL 1000
#define MOST LBROUTE_ADAPTERS_MAX

struct model {
    struct unit_heap heap;
    struct lbr_adapters adapters;
};

static void open_model(struct model *model)
{
    unit_heap_open(&model->heap);
    lbr_adapters_init(&model->adapters);
}

static void close_model(struct model *model)
{
    lbr_adapters_destroy(&model->adapters, &model->heap.memory);
    unit_heap_close(&model->heap);
}

static void see(struct model *model, uint64_t digest, uint64_t now)
{
    assert_true(lbr_adapters_reserve(&model->adapters, &model->heap.memory, 1));
    lbr_adapters_see(&model->adapters, digest, now);
}

static int sent(struct model *model, uint64_t digest)
{
    return lbr_adapters_sent(&model->adapters, &model->heap.memory, digest);
}

static void digests(void **state)
{
    (void)state;
    assert_true(lbr_adapter_digest("a", 1) != 0);
    assert_true(lbr_adapter_digest("a", 1) != lbr_adapter_digest("b", 1));
    assert_true(lbr_adapter_digest("a", 1) == lbr_adapter_digest("ab", 1));
}

static void nothing_at_first(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    assert_false(lbr_adapters_hold(&model.adapters, 1, 0, TTL));
    assert_int_equal(lbr_adapters_held(&model.adapters, 0, TTL), 0);
    assert_int_equal(lbr_adapters_room(&model.adapters, 0, TTL),
                     LBR_ADAPTER_UNSURE);
    assert_int_equal(model.heap.alloc.calls, 0);
    close_model(&model);
}

static void held_for_a_time(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    see(&model, 7, 100);
    assert_true(lbr_adapters_hold(&model.adapters, 7, 100 + TTL, TTL));
    assert_false(lbr_adapters_hold(&model.adapters, 7, 101 + TTL, TTL));
    see(&model, 7, 50 + TTL);
    assert_true(lbr_adapters_hold(&model.adapters, 7, 101 + TTL, TTL));
    assert_int_equal(model.adapters.count, 1);
    close_model(&model);
}

static void room(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    lbr_adapters_set_slots(&model.adapters, 2, 0);
    assert_int_equal(lbr_adapters_room(&model.adapters, 0, TTL),
                     LBR_ADAPTER_ROOM);
    see(&model, 1, 0);
    see(&model, 1, 0);
    assert_int_equal(lbr_adapters_room(&model.adapters, 0, TTL),
                     LBR_ADAPTER_ROOM);
    see(&model, 2, 0);
    assert_int_equal(lbr_adapters_room(&model.adapters, 0, TTL),
                     LBR_ADAPTER_FULL);
    /* What was said long ago is not known any more. */
    assert_int_equal(lbr_adapters_room(&model.adapters, TTL + 1, TTL),
                     LBR_ADAPTER_UNSURE);
    lbr_adapters_set_slots(&model.adapters, -1, TTL + 1);
    assert_int_equal(lbr_adapters_room(&model.adapters, TTL + 1, TTL),
                     LBR_ADAPTER_ROOM);
    assert_int_equal(model.adapters.slots, 2);
    close_model(&model);
}

/* No more than there are slots, the ones used longest ago go. */
static void slots_bound(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    lbr_adapters_set_slots(&model.adapters, 2, 0);
    see(&model, 1, 10);
    see(&model, 2, 10);
    see(&model, 1, 20);
    see(&model, 3, 20);
    assert_true(lbr_adapters_hold(&model.adapters, 1, 20, TTL));
    assert_false(lbr_adapters_hold(&model.adapters, 2, 20, TTL));
    assert_true(lbr_adapters_hold(&model.adapters, 3, 20, TTL));
    lbr_adapters_set_slots(&model.adapters, 1, 30);
    assert_false(lbr_adapters_hold(&model.adapters, 1, 30, TTL));
    assert_true(lbr_adapters_hold(&model.adapters, 3, 30, TTL));
    lbr_adapters_set_slots(&model.adapters, 0, 30);
    assert_int_equal(lbr_adapters_held(&model.adapters, 30, TTL), 0);
    see(&model, 4, 30);
    assert_int_equal(lbr_adapters_held(&model.adapters, 30, TTL), 0);
    lbr_adapters_set_slots(&model.adapters, INT32_MAX, 30);
    for (uint64_t i = 1; i <= 1000; i++)
        see(&model, i, 30);
    assert_int_equal(lbr_adapters_held(&model.adapters, 30, TTL), MOST);
    close_model(&model);
}

/* Requests in flight hold their adapter, whatever slots and lists say. */
static void requests_in_flight(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    assert_true(sent(&model, 1));
    assert_true(sent(&model, 1));
    lbr_adapters_set_slots(&model.adapters, 0, 0);
    lbr_adapters_forget(&model.adapters);
    assert_true(lbr_adapters_hold(&model.adapters, 1, 99 * TTL, TTL));
    lbr_adapters_ended(&model.adapters, 1);
    assert_true(lbr_adapters_hold(&model.adapters, 1, 0, TTL));
    lbr_adapters_shift(&model.adapters, 1, -1);
    assert_false(lbr_adapters_hold(&model.adapters, 1, 0, TTL));
    lbr_adapters_shift(&model.adapters, 1, 1);
    lbr_adapters_ended(&model.adapters, 1);
    assert_int_equal(model.adapters.count, 0);
    close_model(&model);
}

/* With as many in flight as are remembered, one more is not counted. */
static void full_of_requests(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    for (uint64_t i = 1; i <= MOST; i++)
        assert_true(sent(&model, i));
    assert_false(sent(&model, 1000));
    see(&model, 1001, 5);
    assert_false(lbr_adapters_hold(&model.adapters, 1001, 5, TTL));
    lbr_adapters_ended(&model.adapters, 3);
    assert_true(sent(&model, 1000));
    assert_true(model.heap.memory.held <= lbr_adapters_estimate());
    assert_true(model.heap.alloc.peak_bytes <= lbr_adapters_estimate());
    close_model(&model);
}

static void without_memory(void **state)
{
    struct model model;
    (void)state;

    open_model(&model);
    test_alloc_fail(&model.heap.alloc, 0, 1);
    assert_false(sent(&model, 1));
    assert_int_equal(model.adapters.count, 0);
    for (uint64_t i = 1; i <= 8; i++)
        see(&model, i, i);
    test_alloc_fail(&model.heap.alloc, 0, 1);
    assert_false(lbr_adapters_reserve(&model.adapters, &model.heap.memory, 1));
    assert_int_equal(lbr_adapters_held(&model.adapters, 8, TTL), 8);
    test_alloc_heal(&model.heap.alloc);
    close_model(&model);
}

/* ---- against a plain list ---- */

enum { KEYS = 90 };

struct plain {
    uint64_t seen_at[KEYS];
    uint64_t order[KEYS]; /* larger: used later; 0: not there */
    uint32_t in_flight[KEYS];
    uint64_t steps;
    uint32_t limit;
};

static uint32_t plain_count(const struct plain *plain)
{
    uint32_t count = 0;

    for (size_t i = 0; i < KEYS; i++)
        count += plain->order[i] > 0 || plain->in_flight[i] > 0;
    return count;
}

/* Drops those used longest ago until |limit| are left, or only busy ones. */
static void plain_shrink(struct plain *plain, uint32_t limit)
{
    while (plain_count(plain) > limit) {
        size_t oldest = KEYS;

        for (size_t i = 0; i < KEYS; i++)
            if (plain->order[i] && !plain->in_flight[i] &&
                (oldest == KEYS || plain->order[i] < plain->order[oldest]))
                oldest = i;
        if (oldest == KEYS)
            return;
        plain->order[oldest] = 0;
    }
}

static void plain_see(struct plain *plain, size_t key, uint64_t now)
{
    int there = plain->order[key] || plain->in_flight[key];

    if (!there && plain->limit)
        plain_shrink(plain, plain->limit - 1);
    if (!there && plain_count(plain) >= MOST)
        return;
    plain->order[key] = ++plain->steps;
    plain->seen_at[key] = now;
    plain_shrink(plain, plain->limit);
}

static void plain_send(struct plain *plain, size_t key)
{
    if (!plain->order[key] && !plain->in_flight[key]) {
        plain_shrink(plain, MOST - 1);
        if (plain_count(plain) >= MOST)
            return;
    }
    plain->in_flight[key]++;
}

static void plain_end(struct plain *plain, size_t key)
{
    plain->in_flight[key]--;
    if (!plain->in_flight[key] && plain->order[key])
        plain_shrink(plain, plain->limit);
}

static void compare(const struct model *model, const struct plain *plain,
                    uint64_t now)
{
    for (size_t i = 0; i < KEYS; i++) {
        int wanted = plain->in_flight[i] > 0 ||
                     (plain->order[i] && now - plain->seen_at[i] <= TTL);

        assert_int_equal(lbr_adapters_hold(&model->adapters, i + 1, now, TTL),
                         wanted);
    }
    assert_true(model->adapters.count <= MOST);
}

static void random_life(uint64_t seed)
{
    struct model model;
    struct plain plain = {.limit = MOST};
    struct test_rng rng;
    uint64_t now = 0;

    open_model(&model);
    rng.state = seed;
    for (int step = 0; step < 3000; step++) {
        size_t key = test_rng_below(&rng, KEYS);
        int32_t slots = (int32_t)(test_rng_next(&rng) % 80);

        now += test_rng_next(&rng) % 40;
        switch (test_rng_next(&rng) % 8) {
        case 0:
            plain.limit = slots < MOST ? (uint32_t)slots : MOST;
            lbr_adapters_set_slots(&model.adapters, slots, now);
            plain_shrink(&plain, plain.limit);
            break;
        case 1:
            if (slots)
                break;
            lbr_adapters_forget(&model.adapters);
            memset(plain.order, 0, sizeof plain.order);
            break;
        case 2:
        case 3:
            plain_send(&plain, key);
            (void)sent(&model, key + 1);
            break;
        case 4:
        case 5:
            if (!plain.in_flight[key])
                break;
            plain_end(&plain, key);
            lbr_adapters_ended(&model.adapters, key + 1);
            break;
        default:
            plain_see(&plain, key, now);
            see(&model, key + 1, now);
        }
        compare(&model, &plain, now);
    }
    close_model(&model);
}

static void like_a_plain_list(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        random_life(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests),
        cmocka_unit_test(nothing_at_first),
        cmocka_unit_test(held_for_a_time),
        cmocka_unit_test(room),
        cmocka_unit_test(slots_bound),
        cmocka_unit_test(requests_in_flight),
        cmocka_unit_test(full_of_requests),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(like_a_plain_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
