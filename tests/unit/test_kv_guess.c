/* SPDX-License-Identifier: MIT */
/* state/kv_guess: blocks that targets are taken to hold for a while, against a
 * list of guesses. */
#include "state/kv_guess.h"

#include <stdbool.h>
#include <string.h>

#include "heap.h"
#include "kv_check.h"
#include "models/kv_index_room.h"
#include "support/rng.h"
#include "support/test.h"

#define SIDES 3
#define KEYS 12
#define MOST 400

struct guess {
    int side;
    uint64_t key;
    uint64_t until;
};

struct fixture {
    struct unit_heap heap;
    struct lbr_kv_store store;
    struct lbr_kv_guesses guesses;
    struct lbr_kv_side sides[SIDES];
    struct guess list[MOST];
    size_t count;
};

static void open_fixture(struct fixture *fixture, uint32_t blocks,
                         uint32_t guesses)
{
    memset(fixture, 0, sizeof *fixture);
    unit_heap_open(&fixture->heap);
    lbr_kv_store_init(&fixture->store, &fixture->heap.memory, blocks, 4, 1);
    lbr_kv_guesses_init(&fixture->guesses, &fixture->heap.memory, guesses);
    for (int side = 0; side < SIDES; side++)
        lbr_kv_side_init(&fixture->sides[side]);
}

static void close_fixture(struct fixture *fixture)
{
    for (int side = 0; side < SIDES; side++)
        lbr_kv_side_purge(&fixture->store, &fixture->sides[side]);
    kv_sweep_all(&fixture->store.index);
    kv_check_index(&fixture->store.index, 1);
    lbr_kv_guesses_destroy(&fixture->guesses);
    lbr_kv_store_destroy(&fixture->store);
    unit_heap_close(&fixture->heap);
}

/* A prompt whose block |i| has the key |i| + 1. */
static void guess(struct fixture *fixture, int side, size_t length,
                  uint64_t until)
{
    uint64_t keys[KEYS];

    assert_true(length <= KEYS);
    for (size_t i = 0; i < length; i++)
        keys[i] = i + 1;
    lbr_kv_guess(&fixture->guesses, &fixture->store, &fixture->sides[side],
                 keys, length, until);
}

static bool holds(const struct fixture *fixture, int side, uint64_t key)
{
    struct lbr_kv_name name = {fixture->sides[side].speculation, key};
    struct lbr_kv_spot spot;

    return name.owner &&
           lbr_kv_index_find(&fixture->store.index, name, &spot) &&
           lbr_kv_record(&fixture->store.index.labels, spot.label)->copies[0];
}

static void end_until(struct fixture *fixture, uint64_t now)
{
    lbr_kv_guesses_expire(&fixture->guesses, &fixture->store, now);
}

/* ---- against a list ---- */

static void model_guess(struct fixture *fixture, int side, size_t length,
                        uint64_t until)
{
    for (size_t i = 0; i < length; i++) {
        struct guess one = {side, i + 1, until};

        assert_true(fixture->count < MOST);
        fixture->list[fixture->count++] = one;
    }
    guess(fixture, side, length, until);
}

static void model_end(struct fixture *fixture, uint64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < fixture->count; i++)
        if (fixture->list[i].until > now)
            fixture->list[kept++] = fixture->list[i];
    fixture->count = kept;
    end_until(fixture, now);
}

static void check(struct fixture *fixture)
{
    bool wanted[SIDES][KEYS + 1] = {{false}};
    uint64_t soonest = LBR_NEVER;

    for (size_t i = 0; i < fixture->count; i++) {
        wanted[fixture->list[i].side][fixture->list[i].key] = true;
        if (fixture->list[i].until < soonest)
            soonest = fixture->list[i].until;
    }
    for (int side = 0; side < SIDES; side++)
        for (uint64_t key = 1; key <= KEYS; key++)
            assert_int_equal(holds(fixture, side, key), wanted[side][key]);
    assert_int_equal(fixture->guesses.slab.live, fixture->count);
    assert_true(fixture->guesses.until == soonest);
    kv_check_index(&fixture->store.index, 0);
}

/* Longer and shorter lives, in any order: each guess ends when its own time is
 * over, and the block with the last one. */
static void random_guesses(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct test_rng rng = {seed};
        static struct fixture fixture;
        uint64_t now = 0;

        open_fixture(&fixture, 4096, 4096);
        for (int step = 0; step < 500; step++) {
            if (test_rng_below(&rng, 3))
                model_guess(&fixture, (int)test_rng_below(&rng, SIDES),
                            test_rng_below(&rng, KEYS + 1),
                            now + test_rng_below(&rng, 20) + 1);
            now += test_rng_below(&rng, 4);
            model_end(&fixture, now);
            check(&fixture);
        }
        model_end(&fixture, now + 100);
        check(&fixture);
        assert_null(fixture.guesses.soonest);
        assert_int_equal(fixture.store.index.labels.live, 0);
        close_fixture(&fixture);
    }
}

/* ---- by hand ---- */

static void a_guess_ends_on_time(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 100, 100);
    assert_true(fixture.guesses.until == LBR_NEVER);
    guess(&fixture, 0, 3, 50);
    end_until(&fixture, 49);
    assert_true(holds(&fixture, 0, 3));
    end_until(&fixture, 50);
    assert_false(holds(&fixture, 0, 1));
    assert_true(fixture.guesses.until == LBR_NEVER);
    guess(&fixture, 0, 0, 60);
    assert_null(fixture.guesses.soonest);
    close_fixture(&fixture);
}

/* Their owners retired, guesses end without a trace; not those of the owner
 * that has the number by then. */
static void owners_that_vanish(void **state)
{
    static struct fixture fixture;
    uint32_t number;
    (void)state;

    open_fixture(&fixture, 100, 100);
    guess(&fixture, 0, 3, 50);
    number = lbr_kv_owner_index(fixture.sides[0].speculation);
    lbr_kv_side_purge(&fixture.store, &fixture.sides[0]);
    assert_null(fixture.sides[0].speculation);
    kv_sweep_all(&fixture.store.index);
    guess(&fixture, 1, 3, 90);
    assert_int_equal(lbr_kv_owner_index(fixture.sides[1].speculation), number);
    end_until(&fixture, 50);
    for (uint64_t key = 1; key <= 3; key++)
        assert_true(holds(&fixture, 1, key));
    assert_int_equal(fixture.guesses.slab.live, 3);
    lbr_kv_side_purge(&fixture.store, &fixture.sides[1]);
    end_until(&fixture, 90); /* retired, not swept */
    assert_int_equal(fixture.guesses.slab.live, 0);
    close_fixture(&fixture);
}

/* Of what a retired owner has left some may be swept, and the places taken. */
static void owners_that_are_half_swept(void **state)
{
    static struct fixture fixture;
    lbr_kv_label first = 1;
    (void)state;

    open_fixture(&fixture, 100, 100);
    guess(&fixture, 0, 3, 50);
    lbr_kv_side_purge(&fixture.store, &fixture.sides[0]);
    assert_true(lbr_kv_label_forget(&fixture.store.index, first));
    fixture.store.index.hand = 3;
    fixture.store.index.labels.used += 4; /* the hand is elsewhere */
    guess(&fixture, 1, 1, 90);
    fixture.store.index.labels.used -= 4;
    assert_true(holds(&fixture, 1, 1));
    assert_true(lbr_kv_record(&fixture.store.index.labels, first)->live);
    end_until(&fixture, 50);
    kv_check_index(&fixture.store.index, 0);
    assert_true(holds(&fixture, 1, 1));
    close_fixture(&fixture);
}

/* An eighth as many as there may be blocks; a prompt's head is kept. */
static void at_most_so_many(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 1000, 64);
    guess(&fixture, 0, 5, 50);
    guess(&fixture, 1, 12, 60);
    assert_int_equal(fixture.guesses.slab.live, 9);
    assert_true(holds(&fixture, 1, 4));
    assert_false(holds(&fixture, 1, 5));
    end_until(&fixture, 50);
    guess(&fixture, 2, 12, 70);
    assert_true(holds(&fixture, 2, 5));
    assert_false(holds(&fixture, 2, 6));
    close_fixture(&fixture);
}

/* Made room, a block is gone before its time; the guess ends all the same. */
static void blocks_that_made_room(void **state)
{
    static struct fixture fixture;
    (void)state;

    open_fixture(&fixture, 4, 1000);
    guess(&fixture, 0, 12, 50);
    assert_int_equal(fixture.guesses.slab.live, 4);
    guess(&fixture, 1, 2, 60);
    assert_int_equal(fixture.store.index.labels.live, 4);
    assert_false(holds(&fixture, 0, 4));
    assert_true(holds(&fixture, 1, 2));
    end_until(&fixture, 50);
    assert_int_equal(fixture.guesses.slab.live, 2);
    assert_true(holds(&fixture, 1, 1) && holds(&fixture, 1, 2));
    assert_int_equal(fixture.store.index.labels.live, 2);
    close_fixture(&fixture);
}

static void each_allocation_fails(void **state)
{
    uint64_t after = 0;
    uint64_t failures;
    (void)state;

    do {
        static struct fixture fixture;

        open_fixture(&fixture, 256, 4096);
        test_alloc_fail(&fixture.heap.alloc, after++, 1);
        for (uint64_t i = 0; i < 40; i++)
            guess(&fixture, (int)(i % SIDES), 1 + (size_t)i % KEYS, 10 + i);
        failures = fixture.heap.alloc.failures;
        end_until(&fixture, 100);
        assert_int_equal(fixture.guesses.slab.live, 0);
        for (int side = 0; side < SIDES; side++)
            for (uint64_t key = 1; key <= KEYS; key++)
                assert_false(holds(&fixture, side, key));
        close_fixture(&fixture);
    } while (failures);
    assert_true(after > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_guesses),
        cmocka_unit_test(a_guess_ends_on_time),
        cmocka_unit_test(owners_that_vanish),
        cmocka_unit_test(owners_that_are_half_swept),
        cmocka_unit_test(at_most_so_many),
        cmocka_unit_test(blocks_that_made_room),
        cmocka_unit_test(each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
