/* SPDX-License-Identifier: MIT */
/*
 * Rules that draw: chi-square against what the draw promises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "statistics.h"

enum { FEW = 12, MOST = 150, PERMUTATIONS = 24 };

struct game {
    lbroute_router *router;
    lbroute_pool pool;
    size_t count;
    lbroute_target targets[MOST];
    uint64_t served[MOST];
    const lbroute_target *excluded; /* NULL: nobody */
};

static void game_start(struct game *game, const char *strategy, uint64_t seed,
                       size_t count)
{
    memset(game, 0, sizeof *game);
    game->router = api_router(seed);
    game->pool = api_pool(game->router, "pool", strategy);
    game->count = count;
    api_targets(game->router, game->pool, count, game->targets);
}

/* One pick; the loads are put back at once. */
static size_t game_serve(struct game *game)
{
    lbroute_request request;
    api_request(&request, game->pool);
    request.exclude = game->excluded;
    request.exclude_len = game->excluded != NULL;
    lbroute_target target =
        api_serve(game->router, &request, 0, LBROUTE_EVENT_CANCEL);
    for (size_t i = 0; i < game->count; i++) {
        if (game->targets[i] == target) {
            game->served[i]++;
            return i;
        }
    }
    CHECK(target == 0);
    return 0;
}

static void game_check(const struct game *game, const double *parts)
{
    size_t cells = 0;
    for (size_t i = 0; i < game->count; i++)
        cells += parts[i] > 0;
    CHECK(chi_square(game->served, parts, game->count) <
          chi_square_limit(cells > 1 ? cells - 1 : 1));
}

static void fill_evenly(double *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        parts[i] = 1.0 / (double)count;
}

/* --- random -------------------------------------------------------------- */

static void random_is_uniform(void **state)
{
    (void)state;
    for (size_t seed = 1; seed <= 5; seed++) {
        for (size_t count = 1; count <= FEW; count += 1 + seed) {
            struct game game;
            double parts[MOST];
            check_context("random", seed);
            game_start(&game, "random", seed, count);
            for (size_t i = 0; i < scaled(40000); i++)
                (void)game_serve(&game);
            fill_evenly(parts, count);
            game_check(&game, parts);
            lbroute_router_destroy(game.router);
        }
    }
}

/* Weights do not matter, drained targets get nothing. */
static void check_eligible(size_t count, size_t picks)
{
    struct game game;
    double parts[MOST];
    size_t eligible = count - (count + 2) / 3;
    check_context("random over the eligible", count);
    game_start(&game, "random", 3, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_I(lbroute_target_set_weight(game.router, game.targets[i],
                                          i % 3 ? (double)i : 0, 0),
                LBROUTE_OK);
        parts[i] = i % 3 ? 1.0 / (double)eligible : 0;
    }
    for (size_t i = 0; i < picks; i++)
        (void)game_serve(&game);
    game_check(&game, parts);
    lbroute_router_destroy(game.router);
}

static void random_is_uniform_over_the_eligible(void **state)
{
    (void)state;
    check_eligible(9, scaled(60000));
    check_eligible(MOST, scaled(200000));
}

/* What was drawn says nothing about what is drawn next. */
static void random_draws_are_independent(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    struct game game;
    uint64_t pairs[COUNT * COUNT] = {0};
    double parts[COUNT * COUNT];
    check_context("pairs of draws", 0);
    game_start(&game, "random", 11, COUNT);
    size_t before = game_serve(&game);
    for (size_t i = 0; i < scaled(100000); i++) {
        size_t now = game_serve(&game);
        pairs[before * COUNT + now]++;
        before = now;
    }
    fill_evenly(parts, COUNT * COUNT);
    CHECK(chi_square(pairs, parts, COUNT * COUNT) <
          chi_square_limit(COUNT * (COUNT - 1)));
    lbroute_router_destroy(game.router);
}

/* --- power_of_two -------------------------------------------------------- */

/* Every pair is as likely; the lower of the two wins, a tie is split. */
static void fill_by_pairs(const double *loads, size_t count, double *parts)
{
    double pair = 2.0 / ((double)count * (double)(count - 1));
    for (size_t i = 0; i < count; i++)
        parts[i] = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (loads[i] < loads[j]) {
                parts[i] += pair;
            } else if (loads[j] < loads[i]) {
                parts[j] += pair;
            } else {
                parts[i] += pair / 2;
                parts[j] += pair / 2;
            }
        }
    }
}

static void check_power_of_two(const double *loads, const double *weights,
                               size_t count, uint64_t seed)
{
    struct game game;
    double relative[MOST];
    double parts[MOST];
    check_context("power_of_two", seed);
    game_start(&game, "power_of_two", seed, count);
    for (size_t i = 0; i < count; i++) {
        api_gauges(game.router, game.targets[i], loads[i], 0, 0);
        CHECK_I(lbroute_target_set_weight(game.router, game.targets[i],
                                          weights[i], 0),
                LBROUTE_OK);
        relative[i] = loads[i] / weights[i];
    }
    for (size_t i = 0; i < scaled(60000); i++)
        (void)game_serve(&game);
    fill_by_pairs(relative, count, parts);
    game_check(&game, parts);
    lbroute_router_destroy(game.router);
}

static void power_of_two_has_its_closed_form(void **state)
{
    (void)state;
    static const double mixed[FEW] = {5, 1, 1, 9, 1, 0, 5, 5, 2, 0, 3, 30};
    static const double weights[FEW] = {5, 1, 2, 3,   1,   1,
                                        1, 5, 2, 0.1, 0.5, 30};
    double equal[MOST];
    double idle[MOST];
    double rising[MOST];
    double slowly[MOST];
    for (size_t i = 0; i < MOST; i++) {
        equal[i] = 1;
        idle[i] = 0;
        rising[i] = (double)i;
        slowly[i] = 3 + (double)i / 16;
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_power_of_two(rising, equal, 2, seed);
        check_power_of_two(rising, equal, 4, seed);
        check_power_of_two(rising, equal, FEW, seed);
        check_power_of_two(rising, equal, MOST, seed);
        check_power_of_two(slowly, equal, 5, seed);
        check_power_of_two(idle, equal, 6, seed);
        check_power_of_two(mixed, equal, FEW, seed);
        check_power_of_two(mixed, weights, FEW, seed);
    }
}

/* --- Ties and seeds ------------------------------------------------------ */

/* The first choice of routers that differ by their seed alone; the last target
 * is drained, or excluded by the request. */
static void check_first_choice(const char *strategy, int exclude)
{
    enum { COUNT = 8 };
    struct game game;
    uint64_t served[COUNT] = {0};
    double parts[COUNT];
    check_context(strategy, 0);
    for (uint64_t seed = 1; seed <= scaled(10000); seed++) {
        game_start(&game, strategy, seed, COUNT);
        if (exclude)
            game.excluded = &game.targets[COUNT - 1];
        else
            CHECK_I(lbroute_target_drain(game.router, game.targets[COUNT - 1],
                                         1, 0),
                    LBROUTE_OK);
        served[game_serve(&game)]++;
        lbroute_router_destroy(game.router);
    }
    fill_evenly(parts, COUNT - 1);
    parts[COUNT - 1] = 0;
    CHECK(chi_square(served, parts, COUNT) < chi_square_limit(COUNT - 2));
}

static void first_choices_are_uniform_over_seeds(void **state)
{
    (void)state;
    static const char *const strategies[] = {
        "random", "power_of_two", "least_connections", "consistent_hash",
        "sticky_session"};
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        check_first_choice(strategies[i], 0);
        check_first_choice(strategies[i], 1);
    }
}

/* Number of the order in which four targets served, 0 to 23. */
static size_t serve_round(struct game *game)
{
    size_t order[4];
    size_t number = 0;
    for (size_t i = 0; i < 4; i++) {
        order[i] = game_serve(game);
        size_t rank = order[i];
        for (size_t j = 0; j < i; j++) {
            CHECK(order[j] != order[i]);
            rank -= order[j] < order[i];
        }
        number = number * (4 - i) + rank;
    }
    return number;
}

/* Idle targets serve in an order that is drawn anew in each round. */
static void tied_targets_serve_in_random_order(void **state)
{
    (void)state;
    uint64_t orders[3][PERMUTATIONS] = {{0}};
    uint64_t repeats[2] = {0, 0};
    double parts[PERMUTATIONS];
    const double of_repeats[2] = {1.0 / 24, 23.0 / 24};
    check_context("orders", 0);
    for (uint64_t seed = 1; seed <= scaled(10000); seed++) {
        struct game game;
        game_start(&game, "least_connections", seed, 4);
        size_t first = serve_round(&game);
        size_t second = serve_round(&game);
        orders[0][first]++;
        orders[1][second]++;
        orders[2][serve_round(&game)]++;
        repeats[first != second]++;
        lbroute_router_destroy(game.router);
    }
    fill_evenly(parts, PERMUTATIONS);
    for (int round = 0; round < 3; round++)
        CHECK(chi_square(orders[round], parts, PERMUTATIONS) <
              chi_square_limit(PERMUTATIONS - 1));
    CHECK(chi_square(repeats, of_repeats, 2) < chi_square_limit(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_is_uniform),
        cmocka_unit_test(random_is_uniform_over_the_eligible),
        cmocka_unit_test(random_draws_are_independent),
        cmocka_unit_test(power_of_two_has_its_closed_form),
        cmocka_unit_test(first_choices_are_uniform_over_seeds),
        cmocka_unit_test(tied_targets_serve_in_random_order),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
