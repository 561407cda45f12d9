/* SPDX-License-Identifier: MIT */
/* state/session: pins, against a list in order of use. */
#include "state/session.h"

#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define TARGETS 4
#define LIMIT 20
#define KEYS 40
#define TTL 500

struct pin {
    uint64_t key, used_at;
    lbroute_target target;
};

struct model {
    struct unit_heap heap;
    struct lbr_sessions sessions;
    struct lbr_link siblings[TARGETS];
    struct pin pins[LIMIT]; /* least recently used first */
    size_t count;
    uint32_t limit;
};

static void open_model(struct model *model, uint32_t limit)
{
    unit_heap_open(&model->heap);
    lbr_sessions_init(&model->sessions, &model->heap.memory, limit);
    for (size_t i = 0; i < TARGETS; i++)
        lbr_list_init(&model->siblings[i]);
    model->count = 0;
    model->limit = limit;
}

static void close_model(struct model *model)
{
    lbr_sessions_destroy(&model->sessions);
    unit_heap_close(&model->heap);
}

static size_t place_of(const struct model *model, uint64_t key)
{
    size_t i = 0;

    while (i < model->count && model->pins[i].key != key)
        i++;
    return i;
}

static void forget(struct model *model, size_t place)
{
    model->count--;
    memmove(model->pins + place, model->pins + place + 1,
            (model->count - place) * sizeof *model->pins);
}

static void check(const struct model *model, uint64_t now)
{
    for (uint64_t key = 0; key < KEYS; key++) {
        struct lbr_session *session =
            lbr_sessions_find(&model->sessions, key, now, TTL);
        size_t place = place_of(model, key);

        if (place == model->count || now - model->pins[place].used_at >= TTL) {
            assert_null(session);
            continue;
        }
        assert_non_null(session);
        assert_true(session->target == model->pins[place].target);
    }
    assert_int_equal(model->sessions.slab.live, model->count);
}

static void learn(struct model *model, uint64_t key, uint64_t target,
                  uint64_t now)
{
    struct pin pin = {key, now, target + 100};
    size_t place = place_of(model, key);

    if (place < model->count)
        forget(model, place);
    else if (model->count == model->limit)
        forget(model, 0);
    model->pins[model->count++] = pin;
    lbr_sessions_learn(&model->sessions, key, pin.target,
                       &model->siblings[target], now);
}

static void touch(struct model *model, uint64_t key, uint64_t now)
{
    struct lbr_session *session =
        lbr_sessions_find(&model->sessions, key, now, TTL);
    size_t place = place_of(model, key);
    struct pin pin;

    if (!session)
        return;
    pin = model->pins[place];
    pin.used_at = now;
    forget(model, place);
    model->pins[model->count++] = pin;
    lbr_sessions_touch(&model->sessions, session, now);
}

static void purge(struct model *model, uint64_t target)
{
    for (size_t i = 0; i < model->count;)
        if (model->pins[i].target == target + 100)
            forget(model, i);
        else
            i++;
    lbr_sessions_purge(&model->sessions, &model->siblings[target]);
    assert_true(lbr_list_empty(&model->siblings[target]));
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct model model;
    uint64_t now = 0;
    (void)state;

    open_model(&model, LIMIT);
    for (int step = 0; step < 20000; step++) {
        uint64_t key = test_rng_below(&rng, KEYS);
        uint64_t target = test_rng_below(&rng, TARGETS);
        uint64_t dice = test_rng_below(&rng, 100);

        now += test_rng_below(&rng, 60);
        if (dice < 60)
            learn(&model, key, target, now);
        else if (dice < 98)
            touch(&model, key, now);
        else
            purge(&model, target);
        check(&model, now);
    }
    close_model(&model);
}

static void a_table_of_one(void **state)
{
    struct model model;
    (void)state;

    open_model(&model, 1);
    learn(&model, 1, 0, 10);
    learn(&model, 2, 1, 20);
    check(&model, 20);
    learn(&model, 2, 2, 30);
    check(&model, 30);
    close_model(&model);
}

static void a_pin_lives_for_its_ttl(void **state)
{
    struct model model;
    (void)state;

    open_model(&model, LIMIT);
    learn(&model, 1, 0, 1000);
    assert_non_null(lbr_sessions_find(&model.sessions, 1, 1000, TTL));
    assert_non_null(lbr_sessions_find(&model.sessions, 1, 1000 + TTL - 1, TTL));
    assert_null(lbr_sessions_find(&model.sessions, 1, 1000 + TTL, TTL));
    assert_non_null(lbr_sessions_find(&model.sessions, 1, 0, TTL));
    close_model(&model);
}

/* A new pin that finds no memory takes the place of the oldest; without any
 * it is not kept. */
static void without_memory_the_oldest_makes_room(void **state)
{
    struct model model;
    (void)state;

    open_model(&model, LIMIT);
    test_alloc_fail(&model.heap.alloc, 0, UINT64_MAX);
    lbr_sessions_learn(&model.sessions, 1, 100, &model.siblings[0], 0);
    check(&model, 0);
    test_alloc_heal(&model.heap.alloc);

    for (uint64_t key = 0; model.heap.alloc.calls < 3; key++)
        learn(&model, key, key % TARGETS, key);
    test_alloc_fail(&model.heap.alloc, 0, UINT64_MAX);
    for (uint64_t key = 0; model.count < LIMIT; key++) {
        uint64_t failures = model.heap.alloc.failures;

        learn(&model, KEYS - 1 - key, 1, 100 + key);
        if (model.heap.alloc.failures != failures)
            forget(&model, 0);
        check(&model, 100 + key);
        if (key == KEYS / 2)
            break;
    }
    assert_true(model.heap.alloc.failures > 1);
    test_alloc_heal(&model.heap.alloc);
    close_model(&model);
}

/* Each single allocation that fills a large table is refused once. */
static void each_refusal_costs_one_pin(void **state)
{
    uint32_t limit = 2000;
    uint32_t refusals = 0;
    struct unit_heap heap;
    struct lbr_sessions sessions;
    struct lbr_link siblings;
    (void)state;

    unit_heap_open(&heap);
    lbr_sessions_init(&sessions, &heap.memory, limit);
    lbr_list_init(&siblings);
    for (uint64_t key = 0; key < limit; key++) {
        uint64_t spread = key * UINT64_C(0x9e3779b97f4a7c15);
        uint64_t failures = heap.alloc.failures;

        test_alloc_fail(&heap.alloc, 0, 1);
        lbr_sessions_learn(&sessions, spread, 7, &siblings, key);
        test_alloc_heal(&heap.alloc);
        refusals += heap.alloc.failures != failures;
        assert_int_equal(sessions.slab.live, key + 1 - refusals);
        assert_true(!sessions.slab.live ||
                    lbr_sessions_find(&sessions, spread, key, TTL));
    }
    assert_true(refusals > 10);
    lbr_sessions_purge(&sessions, &siblings);
    assert_int_equal(sessions.slab.live, 0);
    lbr_sessions_destroy(&sessions);
    unit_heap_close(&heap);
}

static void the_estimate_holds(void **state)
{
    struct test_rng rng = {2};
    (void)state;

    for (uint32_t limit = 1; limit < 1000; limit += limit / 2 + 1) {
        struct unit_heap heap;
        struct lbr_sessions sessions;
        struct lbr_link siblings;

        unit_heap_open(&heap);
        lbr_sessions_init(&sessions, &heap.memory, limit);
        lbr_list_init(&siblings);
        for (uint32_t i = 0; i < 2 * limit; i++)
            lbr_sessions_learn(&sessions, test_rng_next(&rng), 7, &siblings, i);
        assert_int_equal(sessions.slab.live, limit);
        assert_true(heap.alloc.peak_bytes <= lbr_sessions_estimate(limit));
        lbr_sessions_destroy(&sessions);
        unit_heap_close(&heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(a_table_of_one),
        cmocka_unit_test(a_pin_lives_for_its_ttl),
        cmocka_unit_test(without_memory_the_oldest_makes_room),
        cmocka_unit_test(each_refusal_costs_one_pin),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
