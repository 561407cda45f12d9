/* SPDX-License-Identifier: MIT */
/* models/schedule: the sequence of nginx, pick by pick, against its scan. */
#include "models/schedule.h"

#include <math.h>

#include "heap.h"
#include "nginx.h"
#include "support/rng.h"
#include "support/test.h"

/* A weight, and the integer that stands for it in the scan. */
struct weight {
    double real;
    int64_t whole;
};

struct model {
    struct unit_heap heap;
    struct lbr_schedule schedule;
    struct lbr_turn turns[NGINX_PEERS];
    struct nginx nginx;
    uint64_t orders;
    uint32_t count;
    double unit; /* of the scan's integers, as a weight */
};

static void open_model(struct model *model, double unit)
{
    static const struct model empty;

    *model = empty;
    unit_heap_open(&model->heap);
    model->unit = unit;
}

static void close_model(struct model *model)
{
    lbr_schedule_destroy(&model->schedule, &model->heap.memory);
    unit_heap_close(&model->heap);
}

/* A scan that the same events happen to. */
static void add(struct model *model, size_t i, struct weight weight)
{
    static const struct nginx_peer idle;
    struct nginx_peer *peer = &model->nginx.peers[i];

    assert_true(lbr_schedule_reserve(&model->schedule, &model->heap.memory,
                                     model->count + 1));
    model->count++;
    *peer = idle;
    peer->present = 1;
    peer->order = model->orders++;
    peer->weight = weight.whole;
    lbr_schedule_add(&model->schedule, &model->turns[i], peer->order,
                     weight.real);
}

static void drop(struct model *model, size_t i)
{
    lbr_schedule_remove(&model->schedule, &model->turns[i]);
    model->nginx.peers[i].present = 0;
    model->count--;
}

static void reweigh(struct model *model, size_t i, struct weight weight)
{
    lbr_schedule_reweigh(&model->schedule, &model->turns[i], weight.real);
    model->nginx.peers[i].weight = weight.whole;
}

static void use(struct model *model, size_t i, int usable)
{
    lbr_schedule_set_active(&model->schedule, &model->turns[i], usable);
    model->nginx.peers[i].usable = usable;
}

static void check_score(const struct model *model, struct lbr_wide score,
                        int64_t bid)
{
    double wanted = (double)bid * model->unit;

    assert_near(lbr_schedule_score(score), wanted,
                1e-12 * (fabs(wanted) + model->unit));
}

static void check_bids(const struct model *model)
{
    for (size_t i = 0; i < NGINX_PEERS; i++) {
        const struct nginx_peer *peer = &model->nginx.peers[i];

        if (peer->present)
            check_score(model,
                        lbr_schedule_bid(&model->schedule, &model->turns[i]),
                        peer->sum + peer->weight);
    }
}

/* Serves whom the schedule names, if it is whom the scan names. */
static size_t serve(struct model *model)
{
    struct lbr_wide score = {0, 0};
    struct lbr_turn *turn = lbr_schedule_peek(&model->schedule, &score);
    nginx_set usable = nginx_usable(&model->nginx);
    int64_t bid = 0;
    size_t wanted = nginx_peek(&model->nginx, usable, &bid);

    if (wanted == NGINX_NONE) {
        assert_null(turn);
        return NGINX_NONE;
    }
    assert_ptr_equal(turn, &model->turns[wanted]);
    check_score(model, score, bid);
    lbr_schedule_serve(&model->schedule, turn);
    return nginx_serve(&model->nginx, usable);
}

/* A pick among |set| alone, whoever is active. */
static void serve_some(struct model *model, nginx_set set)
{
    struct lbr_schedule *schedule = &model->schedule;
    struct lbr_wide total = {0, 0};
    size_t served = nginx_serve(&model->nginx, set);

    for (size_t i = 0; i < NGINX_PEERS; i++) {
        struct lbr_turn *turn = &model->turns[i];

        if (!model->nginx.peers[i].present || !(set >> i & 1))
            continue;
        total = lbr_wide_add(total, lbr_schedule_weight_of(schedule, turn));
        lbr_schedule_gain(schedule, turn);
    }
    if (served != NGINX_NONE)
        lbr_schedule_pay(schedule, &model->turns[served], total);
    check_bids(model);
}

/* The scan's version: no sum further from zero than |total|. */
static void clamp(struct model *model, size_t i, struct weight total)
{
    int64_t *sum = &model->nginx.peers[i].sum;

    lbr_schedule_clamp(&model->schedule, &model->turns[i],
                       lbr_schedule_weight(total.real));
    if (*sum > total.whole)
        *sum = total.whole;
    else if (*sum < -total.whole)
        *sum = -total.whole;
}

static void one_operation(struct model *model, struct test_rng *rng,
                          const struct weight *weights, size_t weight_count)
{
    size_t i = (size_t)test_rng_below(rng, NGINX_PEERS);
    struct weight weight = weights[test_rng_below(rng, weight_count)];
    uint64_t dice = test_rng_below(rng, 100);

    if (!model->nginx.peers[i].present) {
        if (dice < 30)
            add(model, i, weight);
    } else if (dice < 2) {
        drop(model, i);
    } else if (dice < 8) {
        reweigh(model, i, weight);
    } else if (dice < 30) {
        use(model, i, (int)test_rng_below(rng, 4) > 0);
    } else if (dice < 38) {
        serve_some(model, (nginx_set)test_rng_next(rng));
    } else if (dice < 42) {
        clamp(model, i, weight);
    }
}

static void check_random(const struct weight *weights, size_t weight_count,
                         double unit)
{
    struct test_rng rng = {weight_count};
    struct model model;

    open_model(&model, unit);
    (void)serve(&model);
    for (int step = 0; step < 30000; step++) {
        one_operation(&model, &rng, weights, weight_count);
        (void)serve(&model);
        check_bids(&model);
    }
    close_model(&model);
}

static void whole_weights(void **state)
{
    static const struct weight weights[] = {
        {1, 1}, {2, 2}, {3, 3}, {5, 5}, {100, 100}};
    (void)state;

    check_random(weights, 1, 1);
    check_random(weights, 5, 1);
}

/* Decimals count as what they say, not as the doubles that are near. */
static void decimal_weights(void **state)
{
    static const struct weight weights[] = {
        {0.1, 100000000},          {0.2, 200000000},         {0.3, 300000000},
        {0.7, 700000000},          {1.1, 1100000000},        {0.000001, 1000},
        {0.000000001, 1},          {0.123456789, 123456789}, {2.5, 2500000000},
        {3.333333333, 3333333333}, {1e6, 1000000000000000}};
    (void)state;

    check_random(weights, 5, 1e-9);
    check_random(weights, sizeof weights / sizeof weights[0], 1e-9);
}

/* Doubles that are no decimals count as they are: here as whole numbers of
 * 2^-55, which is exact from 1/8 on. */
static void binary_weights(void **state)
{
    static const double reals[] = {1.0 / 3,         2.0 / 3, 1.0 / 7,
                                   0.7000000001234, 1.0,     0.125};
    struct weight weights[sizeof reals / sizeof reals[0]];
    (void)state;

    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        weights[i].real = reals[i];
        weights[i].whole = (int64_t)ldexp(reals[i], 55);
    }
    check_random(weights, 3, ldexp(1, -55));
    check_random(weights, sizeof reals / sizeof reals[0], ldexp(1, -55));
}

/* Decimals of all sizes, as a division by 10^9 gives them. */
static void random_decimals(void **state)
{
    struct test_rng rng = {77};
    struct weight weights[10];
    (void)state;

    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 10; i++) {
            weights[i].whole =
                (int64_t)(test_rng_next(&rng) >> (14 + 5 * i)) + 1;
            weights[i].real = (double)weights[i].whole / 1e9;
        }
        check_random(weights, 10, 1e-9);
    }
}

static void check_sequence(const double *weights, size_t count,
                           const char *wanted)
{
    struct lbr_turn turns[NGINX_PEERS];
    struct lbr_schedule schedule = {0};
    struct unit_heap heap;

    unit_heap_open(&heap);
    assert_true(lbr_schedule_reserve(&schedule, &heap.memory, (uint32_t)count));
    for (size_t i = 0; i < count; i++) {
        lbr_schedule_add(&schedule, &turns[i], i, weights[i]);
        lbr_schedule_set_active(&schedule, &turns[i], 1);
    }
    for (int round = 0; round < 3; round++)
        for (const char *letter = wanted; *letter; letter++) {
            struct lbr_wide score;
            struct lbr_turn *turn = lbr_schedule_peek(&schedule, &score);

            assert_int_equal('A' + (turn - turns), *letter);
            lbr_schedule_serve(&schedule, turn);
        }
    lbr_schedule_destroy(&schedule, &heap.memory);
    unit_heap_close(&heap);
}

/* Written down in nginx's own sources and in the field reports. */
static void known_sequences(void **state)
{
    static const double three_to_one[] = {3, 1};
    static const double five_one_one[] = {5, 1, 1};
    static const double decimals[] = {0.3, 0.1};
    static const double smallest[] = {3e-6, 1e-6};
    static const double largest[] = {9e8, 3e8};
    static const double equal[] = {7, 7, 7};
    (void)state;

    check_sequence(three_to_one, 2, "AABA");
    check_sequence(five_one_one, 3, "AABACAA");
    check_sequence(decimals, 2, "AABA");
    check_sequence(smallest, 2, "AABA");
    check_sequence(largest, 2, "AABA");
    check_sequence(equal, 3, "ABC");
}

/* 10^9 * 2^46 units a weight. Decimals of 15 digits are what a double can
 * tell apart. */
static void weights_are_exact(void **state)
{
    struct test_rng rng = {5};
    (void)state;

    for (int i = 0; i < 100000; i++) {
        uint64_t nano = test_rng_next(&rng) >> (15 + test_rng_below(&rng, 49));
        struct lbr_wide wanted = {nano >> 18, nano << 46};

        assert_true(
            lbr_wide_equal(lbr_schedule_weight((double)nano / 1e9), wanted));
    }
}

/* Sums grow for ever. As if the class had gained all but |left| weights of
 * what fits a signed number; each turn's own value is that much lower. */
static void preset_gain(struct model *model, double weight, int left)
{
    struct lbr_wide gained = {UINT64_C(0x7fffffffffffffff), UINT64_MAX};

    while (left--)
        gained = lbr_wide_sub(gained, lbr_schedule_weight(weight));
    for (size_t i = 0; i < NGINX_PEERS; i++) {
        struct lbr_turn *turn = &model->turns[i];

        if (!model->nginx.peers[i].present || !turn->active)
            continue;
        model->schedule.classes[turn->class_index].gained = gained;
        turn->node.value = lbr_wide_sub(turn->node.value, gained);
    }
}

static void sums_never_run_out(void **state)
{
    struct weight weight = {1e9, 1};
    struct model model;
    (void)state;

    for (int left = 1; left < 40; left++) {
        open_model(&model, 1e9);
        for (size_t i = 0; i < 5; i++) {
            add(&model, i, weight);
            use(&model, i, 1);
        }
        preset_gain(&model, weight.real, left);
        for (int pick = 0; pick < 200; pick++)
            (void)serve(&model);
        close_model(&model);
    }
}

/* The same without a preset: two of the greatest weight take turns. */
static void the_greatest_weights_for_long(void **state)
{
    struct weight weight = {1e9, 1};
    struct model model;
    size_t turn = 1;
    (void)state;

    open_model(&model, 1e9);
    for (size_t i = 0; i < 2; i++) {
        add(&model, i, weight);
        use(&model, i, 1);
    }
    for (int pick = 0; pick < 3000000; pick++) {
        turn = 1 - turn;
        assert_int_equal(serve(&model), turn);
    }
    close_model(&model);
}

static void without_memory_nothing_changes(void **state)
{
    static const struct weight weights[] = {{1, 1}, {2, 2}, {3, 3}};
    struct test_rng rng = {9};
    struct model model;
    (void)state;

    open_model(&model, 1);
    for (size_t i = 0; i < NGINX_PEERS; i++) {
        for (uint64_t after = 0; after < 2; after++) {
            test_alloc_fail(&model.heap.alloc, after, 1);
            (void)lbr_schedule_reserve(&model.schedule, &model.heap.memory,
                                       model.count + 1);
            test_alloc_heal(&model.heap.alloc);
            (void)serve(&model);
            check_bids(&model);
        }
        add(&model, i, weights[test_rng_below(&rng, 3)]);
        use(&model, i, 1);
    }
    assert_int_equal(model.heap.alloc.failures, 4);
    close_model(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_weights),
        cmocka_unit_test(decimal_weights),
        cmocka_unit_test(binary_weights),
        cmocka_unit_test(random_decimals),
        cmocka_unit_test(known_sequences),
        cmocka_unit_test(weights_are_exact),
        cmocka_unit_test(sums_never_run_out),
        cmocka_unit_test(the_greatest_weights_for_long),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
