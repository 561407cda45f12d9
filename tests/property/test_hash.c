/* SPDX-License-Identifier: MIT */
/*
 * `consistent_hash`: what moves when the fleet changes, and what must not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "check.h"
#include "prng.h"
#include "statistics.h"

enum { KEYS = 20000, MOST = 16, NOBODY = 255 };

/* Which target, by number, each key goes to. */
struct map {
    size_t keys;
    uint8_t owner[KEYS];
    int32_t rule[KEYS];
};

struct ring {
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target targets[MOST]; /* by number; 0: not there */
    const char *tier;
    uint64_t now;
};

static struct map first;
static struct map second;

static void ring_start(struct ring *ring, uint64_t seed)
{
    lbroute_router_options options;
    memset(ring, 0, sizeof *ring);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    memset(options.digest_key, 1, sizeof options.digest_key);
    CHECK_I(lbroute_router_create(&options, &ring->router), LBROUTE_OK);
    ring->pool = api_pool(ring->router, "pool", "consistent_hash");
    ring->tier = "";
}

static void ring_add(struct ring *ring, size_t number, double weight)
{
    char name[64];
    snprintf(name, sizeof name, "http://127.0.0.1:%zu", 9001 + number);
    lbroute_target_options options;
    api_target_options(&options, ring->pool, name, weight);
    options.tier = ring->tier;
    options.tier_len = strlen(ring->tier);
    CHECK_I(lbroute_target_add(ring->router, &options, ring->now,
                               &ring->targets[number]),
            LBROUTE_OK);
}

static void ring_fill(struct ring *ring, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ring_add(ring, i, 1);
}

static void ring_remove(struct ring *ring, size_t number)
{
    CHECK_I(lbroute_target_remove(ring->router, ring->targets[number]),
            LBROUTE_OK);
    ring->targets[number] = 0;
}

static size_t number_of(const struct ring *ring, lbroute_target target)
{
    for (size_t i = 0; i < MOST; i++) {
        if (ring->targets[i] == target)
            return i;
    }
    return NOBODY;
}

static void key_request(const struct ring *ring, size_t key, char text[32],
                        lbroute_request *request)
{
    snprintf(text, 32, "session %zu", key);
    api_request(request, ring->pool);
    api_set_session(request, text);
    request->tier = ring->tier;
    request->tier_len = strlen(ring->tier);
}

static void ring_map_except(const struct ring *ring, struct map *map,
                            const lbroute_target *excluded)
{
    map->keys = scaled(KEYS);
    if (map->keys > KEYS)
        map->keys = KEYS;
    for (size_t key = 0; key < map->keys; key++) {
        char text[32];
        lbroute_request request;
        lbroute_decision decision;
        key_request(ring, key, text, &request);
        request.exclude = excluded;
        request.exclude_len = excluded != NULL;
        api_pick(ring->router, &request, ring->now, &decision);
        map->owner[key] = (uint8_t)number_of(ring, decision.target);
        map->rule[key] = decision.rule;
        api_settle(ring->router, decision.ticket, LBROUTE_EVENT_CANCEL,
                   ring->now);
    }
}

static void ring_map(const struct ring *ring, struct map *map)
{
    ring_map_except(ring, map, NULL);
}

static void check_same_map(const struct map *a, const struct map *b)
{
    for (size_t key = 0; key < a->keys; key++) {
        check_step(key);
        CHECK_U(a->owner[key], b->owner[key]);
    }
}

/* Between two maps only keys of one target may differ. */
static void check_moved_from(const struct map *before, const struct map *after,
                             size_t number)
{
    for (size_t key = 0; key < before->keys; key++) {
        check_step(key);
        if (before->owner[key] != number)
            CHECK_U(after->owner[key], before->owner[key]);
        else
            CHECK(after->owner[key] != number);
    }
}

static double part_of(const struct map *map, size_t number)
{
    size_t own = 0;
    for (size_t key = 0; key < map->keys; key++)
        own += map->owner[key] == number;
    return (double)own / (double)map->keys;
}

static void removal_moves_only_own_keys(void **state)
{
    (void)state;
    struct ring ring;
    check_context("removal", 0);
    ring_start(&ring, 1);
    ring_fill(&ring, 10);
    ring_map(&ring, &first);
    for (size_t number = 0; number < 10; number++) {
        ring_remove(&ring, number);
        ring_map(&ring, &second);
        check_moved_from(&first, &second, number);
        ring_add(&ring, number, 1);
        ring_map(&ring, &second);
        check_same_map(&first, &second);
    }
    lbroute_router_destroy(ring.router);
}

static void adding_takes_only_its_part(void **state)
{
    (void)state;
    struct ring ring;
    check_context("adding", 0);
    ring_start(&ring, 1);
    ring_fill(&ring, 10);
    for (size_t number = 10; number < MOST; number++) {
        ring_map(&ring, &first);
        ring_add(&ring, number, 1);
        ring_map(&ring, &second);
        check_moved_from(&second, &first, number);
        double part = part_of(&second, number) * (double)(number + 1);
        CHECK_NEAR(part, 1, 0.5);
    }
    lbroute_router_destroy(ring.router);
}

/* The same names in other orders, with other weights, tier, loads, seed. */
static void only_names_count(void **state)
{
    (void)state;
    struct ring plain;
    struct ring other;
    check_context("names", 0);
    ring_start(&plain, 1);
    ring_fill(&plain, 12);
    ring_map(&plain, &first);
    ring_start(&other, 99);
    other.tier = "gold";
    ring_add(&other, 15, 1);
    for (size_t i = 12; i > 0; i--)
        ring_add(&other, i - 1, (double)i / 3);
    ring_remove(&other, 15);
    ring_remove(&other, 3);
    ring_add(&other, 3, 7);
    for (size_t i = 0; i < 12; i += 2)
        api_gauges(other.router, other.targets[i], 10 * (double)i, 3, 0);
    ring_map(&other, &second);
    check_same_map(&first, &second);
    lbroute_router_destroy(plain.router);
    lbroute_router_destroy(other.router);
}

static void check_spread(const struct map *before, const struct map *after,
                         size_t number, size_t count)
{
    size_t moved[MOST] = {0};
    for (size_t key = 0; key < before->keys; key++) {
        int own = before->owner[key] == number;
        moved[after->owner[key]] += (size_t)own;
        CHECK_I(after->rule[key],
                own ? LBROUTE_RULE_RING_NEXT : LBROUTE_RULE_CONSISTENT_HASH);
    }
    for (size_t i = 0; i < count; i++)
        CHECK_I(moved[i] > 0, i != number);
}

enum out { DRAINED, WEIGHTLESS, BENCHED, EXCLUDED, WAYS_OUT };

static void take_out(struct ring *ring, size_t number, enum out way, int out)
{
    lbroute_target target = ring->targets[number];
    if (way == DRAINED)
        CHECK_I(lbroute_target_drain(ring->router, target, out, ring->now),
                LBROUTE_OK);
    else if (way == WEIGHTLESS)
        CHECK_I(lbroute_target_set_weight(ring->router, target, out ? 0 : 1,
                                          ring->now),
                LBROUTE_OK);
    else if (way == BENCHED)
        CHECK_I(lbroute_target_bench(ring->router, target, out ? SECOND : 0,
                                     ring->now),
                LBROUTE_OK);
}

/* An ineligible owner passes each key to where it would go if the owner were
 * removed, and gets its keys back. */
static void ineligible_owners_pass_keys_on(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    struct ring ring;
    ring_start(&ring, 1);
    ring_fill(&ring, COUNT);
    static struct map whole;
    ring_map(&ring, &whole);
    for (size_t number = 0; number < COUNT; number += 3) {
        ring_remove(&ring, number);
        ring_map(&ring, &first);
        ring_add(&ring, number, 1);
        for (int way = 0; way < WAYS_OUT; way++) {
            check_context("ways out", (uint64_t)way);
            take_out(&ring, number, (enum out)way, 1);
            ring_map_except(&ring, &second,
                            way == EXCLUDED ? &ring.targets[number] : NULL);
            check_same_map(&first, &second);
            check_spread(&whole, &second, number, COUNT);
            take_out(&ring, number, (enum out)way, 0);
            ring_map(&ring, &second);
            check_same_map(&whole, &second);
        }
    }
    lbroute_router_destroy(ring.router);
}

/* --- Bounded load -------------------------------------------------------- */

struct held {
    lbroute_ticket ticket;
    size_t number;
};

enum { HELD = 500 };

static struct bounded {
    struct ring ring;
    struct rng rng;
    size_t count;
    double factor;
    double weights[MOST]; /* 0: draining */
    uint32_t in_flight[MOST];
    size_t open;
    struct held held[HELD];
} bounded;

/* Most requests that a target may hold: a multiple of its fair share, by
 * weight, of all requests, the next one included. */
static uint32_t bound_of(size_t number)
{
    double sum = 0;
    for (size_t i = 0; i < bounded.count; i++)
        sum += bounded.weights[i];
    double fair = (double)(bounded.open + 1) * bounded.weights[number] / sum;
    return (uint32_t)ceil(bounded.factor * fair - 1e-9);
}

static void bounded_settle(void)
{
    size_t at = rng_below(&bounded.rng, (uint32_t)bounded.open);
    api_settle(bounded.ring.router, bounded.held[at].ticket,
               LBROUTE_EVENT_SUCCESS, 0);
    bounded.in_flight[bounded.held[at].number]--;
    bounded.held[at] = bounded.held[--bounded.open];
}

/* A few hot keys among many. */
static void bounded_pick(void)
{
    char text[32];
    size_t key =
        rng_below(&bounded.rng, rng_chance(&bounded.rng, 70) ? 3 : 1000);
    lbroute_request request;
    lbroute_decision decision;
    key_request(&bounded.ring, key, text, &request);
    api_pick(bounded.ring.router, &request, 0, &decision);
    size_t number = number_of(&bounded.ring, decision.target);
    size_t owner = first.owner[key];
    CHECK_I(number == owner, bounded.in_flight[owner] + 1 <= bound_of(owner));
    CHECK_I(decision.rule,
            number == owner ? first.rule[key] : LBROUTE_RULE_RING_NEXT);
    CHECK(++bounded.in_flight[number] <= bound_of(number));
    bounded.held[bounded.open].ticket = decision.ticket;
    bounded.held[bounded.open++].number = number;
}

static void bounded_start(uint64_t seed, double factor, size_t count)
{
    check_context("bounded", seed);
    memset(&bounded, 0, sizeof bounded);
    bounded.count = count;
    bounded.factor = factor;
    rng_seed(&bounded.rng, seed);
    ring_start(&bounded.ring, seed);
    for (size_t i = 0; i < count; i++) {
        bounded.weights[i] = 1;
        if (seed % 2 == 0)
            bounded.weights[i] = (double)rng_between(&bounded.rng, 1, 3);
        if (seed % 4 == 0 && i == 1)
            bounded.weights[i] = 0;
        ring_add(&bounded.ring, i, bounded.weights[i]);
    }
    ring_map(&bounded.ring, &first);
    api_set(bounded.ring.router, bounded.ring.pool, "consistent_hash.bounded",
            1);
    api_set(bounded.ring.router, bounded.ring.pool,
            "consistent_hash.load_bound", factor);
}

/* No target ever holds more than its bound, and a key leaves its owner only
 * when the owner is at the bound (or draining: then its keys have another
 * owner, see the first map, and report the next point). */
static void run_bounded(uint64_t seed, double factor, size_t count)
{
    bounded_start(seed, factor, count);
    for (size_t i = 0; i < scaled(3000); i++) {
        check_step(i);
        if (bounded.open == HELD ||
            (bounded.open > 0 && rng_chance(&bounded.rng, 45)))
            bounded_settle();
        else
            bounded_pick();
    }
    lbroute_router_destroy(bounded.ring.router);
}

static void bounded_load_is_never_exceeded(void **state)
{
    (void)state;
    for (size_t seed = 1; seed <= 8; seed++) {
        run_bounded(seed, 1.25, 2 + seed);
        run_bounded(seed, 1, 7);
        run_bounded(seed, 2, 5);
    }
}

/* Loads need not be whole numbers; when nobody is within the bound the first
 * point serves, and says so. */
static void fractions_of_load_keep_the_owner(void **state)
{
    (void)state;
    struct ring ring;
    check_context("fractions", 0);
    ring_start(&ring, 1);
    ring_fill(&ring, 2);
    ring_map(&ring, &first);
    api_set(ring.router, ring.pool, "consistent_hash.bounded", 1);
    api_set(ring.router, ring.pool, "consistent_hash.load_bound", 1);
    api_gauges(ring.router, ring.targets[0], 0.5, 0, 0);
    api_gauges(ring.router, ring.targets[1], 0.5, 0, 0);
    ring_map(&ring, &second);
    check_same_map(&first, &second);
    for (size_t key = 0; key < second.keys; key++)
        CHECK_I(second.rule[key], LBROUTE_RULE_CONSISTENT_HASH);
    lbroute_router_destroy(ring.router);
}

/* --- Shares -------------------------------------------------------------- */

/* Squared deviation of a target's part of the keys, relative to its variance:
 * the part of `points` random points among `all` has a beta distribution, and
 * the keys are a sample of it. */
static double deviation(const struct map *map, size_t number, double points,
                        double all)
{
    double part = points / all;
    double spread = part * (1 - part);
    double variance = spread / (all + 1) + spread / (double)map->keys;
    double difference = part_of(map, number) - part;
    return difference * difference / variance;
}

/* 100 points a target: the parts vary as those of 100 random points do, not
 * more (points that cluster) and not less. */
static void parts_vary_as_random_points_do(void **state)
{
    (void)state;
    enum { COUNT = 8, RINGS = 40 };
    double sum = 0;
    for (uint64_t ring_number = 0; ring_number < RINGS; ring_number++) {
        check_context("parts", ring_number);
        struct ring ring;
        ring_start(&ring, 1);
        for (size_t i = 0; i < COUNT; i++) {
            char name[64];
            snprintf(name, sizeof name, "ring %d-%zu", (int)ring_number, i);
            ring.targets[i] = api_target(ring.router, ring.pool, name, 1);
        }
        ring_map(&ring, &first);
        double of_ring = 0;
        for (size_t i = 0; i < COUNT; i++) {
            of_ring += deviation(&first, i, 100, 100 * COUNT);
            CHECK_NEAR(part_of(&first, i) * COUNT, 1, 0.5);
        }
        sum += of_ring * (COUNT - 1) / COUNT;
        lbroute_router_destroy(ring.router);
    }
    check_context("parts", 0);
    CHECK(sum < chi_square_limit(RINGS * (COUNT - 1)));
    CHECK(sum > chi_square_floor(RINGS * (COUNT - 1)));
}

static void parts_follow_weights_on_request(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    static const double weights[COUNT] = {1, 2, 0.5, 4, 1, 3.5};
    struct ring ring;
    check_context("weighted points", 0);
    ring_start(&ring, 1);
    for (size_t i = 0; i < COUNT; i++)
        ring_add(&ring, i, weights[i]);
    ring_map(&ring, &first);
    api_set(ring.router, ring.pool, "consistent_hash.weighted_points", 1);
    ring_map(&ring, &second);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(deviation(&second, i, 100 * weights[i], 1200) < 4.9 * 4.9);

    CHECK_I(lbroute_target_set_weight(ring.router, ring.targets[0], 2, 0),
            LBROUTE_OK);
    static struct map heavier;
    ring_map(&ring, &heavier);
    for (size_t key = 0; key < heavier.keys; key++)
        CHECK(heavier.owner[key] == 0 ||
              heavier.owner[key] == second.owner[key]);
    CHECK(part_of(&heavier, 0) > part_of(&second, 0));

    api_set(ring.router, ring.pool, "consistent_hash.weighted_points", 0);
    ring_map(&ring, &second);
    check_same_map(&first, &second);
    lbroute_router_destroy(ring.router);
}

/* --- Keys ---------------------------------------------------------------- */

struct key {
    const char *session;
    const char *client;
    const char *conversation;
    const char *prompt;
};

static lbroute_target place_key(const struct ring *ring, const struct key *key,
                                int rule)
{
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, ring->pool);
    request.session = key->session;
    request.session_len = strlen(key->session);
    request.client = key->client;
    request.client_len = strlen(key->client);
    request.conversation = key->conversation;
    request.conversation_len = strlen(key->conversation);
    request.prompt = key->prompt;
    request.prompt_len = strlen(key->prompt);
    api_pick(ring->router, &request, 0, &decision);
    CHECK_I(decision.rule, rule);
    api_settle(ring->router, decision.ticket, LBROUTE_EVENT_CANCEL, 0);
    return decision.target;
}

/* Whether the target changes while only the part that `part` points at does. */
static int depends_on(const struct ring *ring, struct key *key,
                      const char **part)
{
    char text[32];
    lbroute_target before = 0;
    int changed = 0;
    *part = text;
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "a text that ends in %d", i);
        lbroute_target now = place_key(ring, key, LBROUTE_RULE_CONSISTENT_HASH);
        CHECK_U(place_key(ring, key, LBROUTE_RULE_CONSISTENT_HASH), now);
        changed |= before != 0 && before != now;
        before = now;
    }
    *part = "";
    return changed;
}

/* The session, else the conversation, else the prompt; never the client. */
static void the_key_is_the_best_one_known(void **state)
{
    (void)state;
    struct ring ring;
    check_context("keys", 0);
    ring_start(&ring, 1);
    ring_fill(&ring, 8);
    struct key key = {"", "", "", ""};
    CHECK(depends_on(&ring, &key, &key.prompt));
    key.prompt = "p";
    CHECK(!depends_on(&ring, &key, &key.client));
    CHECK(depends_on(&ring, &key, &key.conversation));
    key.conversation = "c";
    CHECK(!depends_on(&ring, &key, &key.prompt));
    CHECK(depends_on(&ring, &key, &key.session));
    key.session = "s";
    CHECK(!depends_on(&ring, &key, &key.prompt));
    CHECK(!depends_on(&ring, &key, &key.conversation));
    CHECK(!depends_on(&ring, &key, &key.client));

    struct key none = {"", "", "", ""};
    for (int i = 0; i < 8; i++)
        (void)place_key(&ring, &none, LBROUTE_RULE_LEAST_CONNECTIONS);
    for (size_t i = 0; i < 8; i++)
        CHECK(api_target_stats(ring.router, ring.targets[i], 0).picks > 0);
    lbroute_router_destroy(ring.router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removal_moves_only_own_keys),
        cmocka_unit_test(adding_takes_only_its_part),
        cmocka_unit_test(only_names_count),
        cmocka_unit_test(ineligible_owners_pass_keys_on),
        cmocka_unit_test(bounded_load_is_never_exceeded),
        cmocka_unit_test(fractions_of_load_keep_the_owner),
        cmocka_unit_test(parts_vary_as_random_points_do),
        cmocka_unit_test(parts_follow_weights_on_request),
        cmocka_unit_test(the_key_is_the_best_one_known),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
