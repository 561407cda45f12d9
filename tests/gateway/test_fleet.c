/* SPDX-License-Identifier: MIT */
/* What a reload changes of the router, and what it leaves alone. Engines are
 * never called here. */
#include "support/test.h"

#include "fleet.h"
#include "gateway.h"
#include "support/alloc.h"
#include "upstream.h"
#include "yaml_file.h"

#include <stdlib.h>
#include <string.h>

#define POOLS "pools: [{name: p, strategy: round_robin}, {name: q}]\n"
#define A "  - {name: a, pool: p, url: \"http://h:1\", model: m}\n"
#define B "  - {name: b, pool: p, url: \"http://h:2\", model: m}\n"
#define C "  - {name: c, pool: p, url: \"http://h:3\", model: m}\n"

struct bench {
    struct gateway gateway;
    struct test_alloc alloc;
};

static uint64_t now = TEST_S;
static size_t pools_open;

/* Stand in for parts that this test does without. */
uint64_t gateway_now(void)
{
    return now;
}

struct upstream_pool *upstream_pool_new(struct backend *backend)
{
    pools_open++;
    return (struct upstream_pool *)(void *)backend;
}

void upstream_pool_free(struct upstream_pool *pool)
{
    assert_non_null(pool);
    pools_open--;
}

static void open_bench(struct bench *bench, uint32_t max_targets)
{
    lbroute_router_options options;

    *bench = (struct bench){0};
    test_alloc_init(&bench->alloc);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 7;
    options.single_threaded = 1;
    options.max_targets = max_targets;
    test_alloc_hook(&bench->alloc, &options.allocator);
    assert_int_equal(lbroute_router_create(&options, &bench->gateway.router),
                     LBROUTE_OK);
}

static void close_bench(struct bench *bench)
{
    lbroute_target target;
    lbroute_pool pool;

    fleet_release(&bench->gateway);
    assert_int_equal(lbroute_target_next(bench->gateway.router, 0, 0, &target),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_pool_next(bench->gateway.router, 0, &pool),
                     LBROUTE_ERR_NOT_FOUND);
    lbroute_router_destroy(bench->gateway.router);
    config_free(bench->gateway.config);
    assert_int_equal(pools_open, 0);
    yaml_file_remove();
}

/* As the gateway does it: the old configuration goes after the new one came. */
static bool try_apply(struct bench *bench, const char *text)
{
    struct config *config = yaml_load(text);
    char error[256] = "";

    if (!fleet_apply(&bench->gateway, config, error, sizeof error)) {
        assert_true(error[0] != '\0');
        config_free(config);
        return false;
    }
    config_free(bench->gateway.config);
    bench->gateway.config = config;
    return true;
}

static void apply(struct bench *bench, const char *text)
{
    assert_true(try_apply(bench, text));
}

static struct backend *backend_of(struct bench *bench, const char *name)
{
    struct backend *backend = fleet_find(bench->gateway.fleet, name);

    assert_non_null(backend);
    assert_string_equal(backend->name, name);
    assert_string_equal(backend->settings->name, name);
    return backend;
}

static lbroute_target_info info_of(struct bench *bench, const char *name)
{
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof info);
    assert_int_equal(lbroute_target_get_info(bench->gateway.router,
                                             backend_of(bench, name)->target,
                                             &info),
                     LBROUTE_OK);
    assert_string_equal(info.name, name);
    assert_ptr_equal(info.user, backend_of(bench, name));
    return info;
}

static lbroute_target_stats stats_of(struct bench *bench, const char *name)
{
    lbroute_target_stats stats;

    lbroute_target_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_target_stats(bench->gateway.router,
                                              backend_of(bench, name)->target,
                                              now, &stats),
                     LBROUTE_OK);
    return stats;
}

static lbroute_pool pool_of(struct bench *bench, const char *name)
{
    lbroute_pool pool = 0;

    assert_int_equal(
        lbroute_pool_find(bench->gateway.router, name, strlen(name), &pool),
        LBROUTE_OK);
    return pool;
}

static double parameter(struct bench *bench, const char *pool, const char *name)
{
    double value = -1;

    assert_int_equal(lbroute_pool_get(bench->gateway.router,
                                      pool_of(bench, pool), name, &value),
                     LBROUTE_OK);
    return value;
}

static const char *strategy(struct bench *bench, const char *pool)
{
    lbroute_pool_info info;

    lbroute_pool_info_init(&info, sizeof info);
    assert_int_equal(lbroute_pool_get_info(bench->gateway.router,
                                           pool_of(bench, pool), &info),
                     LBROUTE_OK);
    return info.strategy;
}

static lbroute_decision pick(struct bench *bench, const char *pool)
{
    lbroute_request request;
    lbroute_decision decision;

    lbroute_request_init(&request, sizeof request);
    request.pool = pool_of(bench, pool);
    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(
        lbroute_pick(bench->gateway.router, &request, now, &decision),
        LBROUTE_OK);
    return decision;
}

static const char *picked(struct bench *bench, const char *pool)
{
    lbroute_decision decision = pick(bench, pool);
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_CANCEL;
    assert_int_equal(lbroute_observe(bench->gateway.router, &event, now),
                     LBROUTE_OK);
    return ((struct backend *)decision.user)->name;
}

static void test_first_time(void **state)
{
    struct bench bench;
    struct backend *a;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, "pools: [{name: p, strategy: least_connections,\n"
                  "  parameters: {load.signal_ttl: 3}}]\n"
                  "targets:\n"
                  "  - {name: a, pool: p, url: \"https://h:1/x/\", model: m,\n"
                  "     tier: t, price_key: k, weight: 2.5,\n"
                  "     max_concurrency: 9, max_input_tokens: 1000}\n" B);
    assert_int_equal(bench.gateway.fleet->count, 2);
    a = backend_of(&bench, "a");
    assert_ptr_equal(bench.gateway.fleet->backends, a);
    assert_ptr_equal(a->next, backend_of(&bench, "b"));
    assert_string_equal(a->host, "h");
    assert_string_equal(a->base_path, "/x");
    assert_int_equal(a->port, 1);
    assert_true(a->tls);
    assert_null(a->api_key);
    assert_int_equal(a->references, 1);
    assert_string_equal(strategy(&bench, "p"), "least_connections");
    assert_near(parameter(&bench, "p", "load.signal_ttl"), 3, 0);
    assert_true(info_of(&bench, "a").pool == pool_of(&bench, "p"));
    assert_near(info_of(&bench, "a").weight, 2.5, 0);
    assert_int_equal(info_of(&bench, "a").max_concurrency, 9);
    assert_int_equal(info_of(&bench, "a").max_input_tokens, 1000);
    assert_string_equal(info_of(&bench, "a").tier, "t");
    assert_string_equal(info_of(&bench, "a").model, "m");
    assert_string_equal(info_of(&bench, "a").price_key, "k");
    close_bench(&bench);
}

/* The rotation goes on where it was, and what is in flight stays counted. */
static void test_the_same_again(void **state)
{
    struct bench bench;
    struct backend *a;
    lbroute_target target;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, POOLS "targets:\n" A B C);
    a = backend_of(&bench, "a");
    target = a->target;
    pick(&bench, "p");
    assert_string_equal(picked(&bench, "p"), "b");
    apply(&bench, POOLS "targets:\n" A B C);
    assert_ptr_equal(backend_of(&bench, "a"), a);
    assert_true(a->target == target);
    assert_int_equal(stats_of(&bench, "a").in_flight, 1);
    assert_string_equal(picked(&bench, "p"), "c");
    assert_string_equal(picked(&bench, "p"), "a");
    close_bench(&bench);
}

/* Other settings, another pool: what is in flight goes along. */
static void test_changes_keep_counts(void **state)
{
    struct bench bench;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, POOLS "targets:\n" A B);
    pick(&bench, "p");
    apply(&bench, POOLS "targets:\n" B
                        "  - {name: a, pool: q, url: \"http://h:1\", model: n,"
                        " max_concurrency: 5}\n");
    assert_int_equal(stats_of(&bench, "a").in_flight, 1);
    assert_true(info_of(&bench, "a").pool == pool_of(&bench, "q"));
    assert_string_equal(info_of(&bench, "a").model, "n");
    assert_int_equal(info_of(&bench, "a").max_concurrency, 5);
    assert_ptr_equal(bench.gateway.fleet->backends, backend_of(&bench, "b"));
    close_bench(&bench);
}

/* A backend that is still in use lives on without its target. */
static void test_removal(void **state)
{
    struct bench bench;
    struct backend *b;
    lbroute_target target;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, POOLS "targets:\n" A B C);
    b = backend_of(&bench, "b");
    target = b->target;
    backend_hold(b);
    assert_int_equal(lbroute_set_gauge(bench.gateway.router, target,
                                       LBROUTE_GAUGE_RUNNING, 3, now),
                     LBROUTE_OK);
    apply(&bench, POOLS "targets:\n" A C);
    assert_null(fleet_find(bench.gateway.fleet, "b"));
    assert_int_equal(bench.gateway.fleet->count, 2);
    assert_int_equal(lbroute_target_remove(bench.gateway.router, target),
                     LBROUTE_ERR_NOT_FOUND);
    assert_true(b->target == 0);
    assert_null(b->settings);
    assert_int_equal(b->references, 1);
    assert_int_equal(pools_open, 3);
    backend_drop(b);
    assert_int_equal(pools_open, 2);
    apply(&bench, POOLS "targets:\n" A B C);
    assert_int_equal(stats_of(&bench, "b").gauge_age_ns[LBROUTE_GAUGE_RUNNING],
                     -1);
    close_bench(&bench);
}

static void test_pools_come_and_go(void **state)
{
    struct bench bench;
    lbroute_pool pool;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, POOLS "targets:\n" A);
    apply(&bench, "pools: [{name: r}]\n"
                  "targets:\n"
                  "  - {name: a, pool: r, url: \"http://h:1\", model: m}\n");
    assert_true(info_of(&bench, "a").pool == pool_of(&bench, "r"));
    assert_int_equal(lbroute_pool_find(bench.gateway.router, "p", 1, &pool),
                     LBROUTE_ERR_NOT_FOUND);
    assert_int_equal(lbroute_pool_find(bench.gateway.router, "q", 1, &pool),
                     LBROUTE_ERR_NOT_FOUND);
    close_bench(&bench);
}

static void test_new_address(void **state)
{
    static const char *const urls[] = {"http://g:1", "http://h:9",
                                       "https://h:1", "http://h:1/base"};

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct bench bench;
        struct backend *old;
        char text[256];

        open_bench(&bench, 16);
        apply(&bench, POOLS "targets:\n" A B);
        old = backend_of(&bench, "a");
        backend_hold(old);
        pick(&bench, "p");
        snprintf(text, sizeof text,
                 POOLS "targets:\n  - {name: a, pool: p, url: \"%s\", "
                       "model: m}\n" B,
                 urls[i]);
        apply(&bench, text);
        assert_ptr_not_equal(backend_of(&bench, "a"), old);
        assert_true(old->target == 0);
        assert_int_equal(stats_of(&bench, "a").in_flight, 0);
        backend_drop(old);
        close_bench(&bench);
    }
}

/* What an operator set holds until the file says something new of it. */
static void test_operator(void **state)
{
    struct bench bench;
    lbroute_router *router;

    (void)state;
    open_bench(&bench, 16);
    router = bench.gateway.router;
    apply(&bench, POOLS "targets:\n" A B);
    lbroute_target_set_weight(router, backend_of(&bench, "a")->target, 5, now);
    lbroute_target_drain(router, backend_of(&bench, "a")->target, 1, now);
    lbroute_pool_update(router, pool_of(&bench, "p"), "random", 6);
    lbroute_pool_set(router, pool_of(&bench, "p"), "queue.depth", 9);
    lbroute_pool_set(router, pool_of(&bench, "q"), "queue.depth", 8);
    apply(&bench, POOLS "retries: 1\ntargets:\n" A B C);
    assert_near(info_of(&bench, "a").weight, 5, 0);
    assert_int_equal(info_of(&bench, "a").draining, 1);
    assert_string_equal(strategy(&bench, "p"), "random");
    assert_near(parameter(&bench, "p", "queue.depth"), 9, 0);
    apply(&bench,
          "pools: [{name: p, strategy: weighted,\n"
          "  parameters: {queue.depth: 2}}, {name: q}]\n"
          "targets:\n"
          "  - {name: a, pool: p, url: \"http://h:1\", model: m, weight: 3}\n");
    assert_near(info_of(&bench, "a").weight, 3, 0);
    assert_int_equal(info_of(&bench, "a").draining, 1);
    assert_string_equal(strategy(&bench, "p"), "weighted");
    assert_near(parameter(&bench, "p", "queue.depth"), 2, 0);
    assert_near(parameter(&bench, "q", "queue.depth"), 8, 0);
    close_bench(&bench);
}

/* A parameter that the file no longer gives is at its default again. */
static void test_parameter_goes(void **state)
{
    struct bench bench;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, "pools: [{name: p, parameters: {queue.depth: 2,\n"
                  "  load.signal_ttl: 3}}]\n");
    apply(&bench, "pools: [{name: p, parameters: {load.signal_ttl: 3}}]\n");
    assert_near(parameter(&bench, "p", "queue.depth"), 4, 0);
    assert_near(parameter(&bench, "p", "load.signal_ttl"), 3, 0);
    close_bench(&bench);
}

static void test_api_key(void **state)
{
    static const char with_key[] =
        "targets:\n  - {name: a, url: \"http://h:1\", model: m,\n"
        "     api_key_env: LBROUTE_TEST_KEY}\n";
    struct bench bench;

    (void)state;
    setenv("LBROUTE_TEST_KEY", "one", 1);
    open_bench(&bench, 16);
    apply(&bench, with_key);
    assert_string_equal(backend_of(&bench, "a")->api_key, "one");
    setenv("LBROUTE_TEST_KEY", "two", 1);
    apply(&bench, with_key);
    assert_string_equal(backend_of(&bench, "a")->api_key, "two");
    apply(&bench, "targets: [{name: a, url: \"http://h:1\", model: m}]\n");
    assert_null(backend_of(&bench, "a")->api_key);
    close_bench(&bench);
}

/* All is as before, to the handles, weights and parameters. */
static void check_as_before(struct bench *bench, struct backend *a)
{
    lbroute_pool pool;

    assert_ptr_equal(backend_of(bench, "a"), a);
    assert_ptr_equal(a->settings, bench->gateway.config->targets);
    assert_int_equal(bench->gateway.fleet->count, 2);
    assert_near(info_of(bench, "a").weight, 5, 0);
    assert_true(info_of(bench, "a").pool == pool_of(bench, "p"));
    assert_string_equal(info_of(bench, "a").model, "m");
    assert_string_equal(strategy(bench, "p"), "round_robin");
    assert_near(parameter(bench, "p", "queue.depth"), 4, 0);
    assert_int_equal(lbroute_pool_find(bench->gateway.router, "r", 1, &pool),
                     LBROUTE_ERR_NOT_FOUND);
    assert_null(fleet_find(bench->gateway.fleet, "d"));
    assert_int_equal(pools_open, 2);
}

static const char after[] =
    "pools: [{name: p, strategy: kv_aware, parameters: {queue.depth: 1}},\n"
    "  {name: q}, {name: r}]\n"
    "targets:\n"
    "  - {name: a, pool: r, url: \"http://h:1\", model: n, weight: 4}\n"
    "  - {name: d, pool: r, url: \"http://h:4\", model: n}\n"
    "  - {name: e, pool: r, url: \"http://h:5\", model: n}\n" B;

static void test_too_many(void **state)
{
    struct bench bench;
    struct backend *a;

    (void)state;
    open_bench(&bench, 3);
    apply(&bench, POOLS "targets:\n" A B);
    a = backend_of(&bench, "a");
    lbroute_target_set_weight(bench.gateway.router, a->target, 5, now);
    assert_false(try_apply(&bench, after));
    check_as_before(&bench, a);
    close_bench(&bench);
}

/* Each allocation of the router fails once. */
static void test_no_memory(void **state)
{
    struct bench bench;
    struct backend *a;
    bool done = false;
    uint64_t n;

    (void)state;
    for (n = 0; !done && n < 1000; n++) {
        open_bench(&bench, 16);
        apply(&bench, POOLS "targets:\n" A B);
        a = backend_of(&bench, "a");
        lbroute_target_set_weight(bench.gateway.router, a->target, 5, now);
        pick(&bench, "p");
        test_alloc_fail(&bench.alloc, n, 1);
        done = try_apply(&bench, after);
        test_alloc_heal(&bench.alloc);
        if (!done)
            check_as_before(&bench, a);
        assert_int_equal(stats_of(&bench, "a").in_flight, 1);
        apply(&bench, after);
        assert_near(info_of(&bench, "a").weight, 4, 0);
        close_bench(&bench);
    }
    assert_true(done && n > 4);
}

/* Where engines have to be replaced, their old ones serve again. */
static void test_no_memory_replacing(void **state)
{
    static const char moved[] =
        POOLS "targets:\n"
              "  - {name: a, pool: p, url: \"http://g:1\", model: m2}\n"
              "  - {name: b, pool: p, url: \"http://g:2\", model: m3}\n";
    struct bench bench;
    bool done = false;
    uint64_t n;

    (void)state;
    for (n = 0; !done && n < 1000; n++) {
        open_bench(&bench, 16);
        apply(&bench, POOLS "targets:\n" A B);
        lbroute_target_drain(bench.gateway.router,
                             backend_of(&bench, "a")->target, 1, now);
        test_alloc_fail(&bench.alloc, n, 1);
        done = try_apply(&bench, moved);
        test_alloc_heal(&bench.alloc);
        assert_string_equal(backend_of(&bench, "a")->host, done ? "g" : "h");
        assert_string_equal(backend_of(&bench, "b")->host, done ? "g" : "h");
        assert_int_equal(info_of(&bench, "a").draining, !done);
        assert_string_equal(info_of(&bench, "b").model, done ? "m3" : "m");
        assert_int_equal(pools_open, 2);
        close_bench(&bench);
    }
    assert_true(done && n > 1);
}

static void check_route(struct bench *bench, const char *name, const char *pool,
                        const char *model, const char *adapter)
{
    struct fleet_route route;

    assert_true(fleet_resolve(&bench->gateway, name, &route));
    assert_true(route.pool == (pool[0] != '\0' ? pool_of(bench, pool) : 0));
    assert_string_equal(route.model, model);
    assert_string_equal(route.adapter, adapter);
}

static void test_resolve(void **state)
{
    struct bench bench;
    struct fleet_route route;

    (void)state;
    open_bench(&bench, 16);
    apply(&bench, POOLS "targets:\n" A B "adapters: [{name: l, model: m}]\n");
    check_route(&bench, "m", "", "m", "");
    check_route(&bench, "l", "", "m", "l");
    check_route(&bench, "", "", "m", "");
    assert_false(fleet_resolve(&bench.gateway, "x", &route));
    apply(&bench, POOLS "targets:\n" A
                        "  - {name: b, url: \"http://h:2\", model: n}\n");
    check_route(&bench, "n", "", "n", "");
    assert_false(fleet_resolve(&bench.gateway, "l", &route));
    assert_false(fleet_resolve(&bench.gateway, "", &route));
    apply(&bench, POOLS "default_pool: q\ntargets:\n" A B);
    check_route(&bench, "m", "", "m", "");
    check_route(&bench, "", "q", "", "");
    check_route(&bench, "x", "q", "", "");
    apply(&bench, POOLS "targets: []\n");
    assert_false(fleet_resolve(&bench.gateway, "", &route));
    assert_false(fleet_resolve(&bench.gateway, "m", &route));
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_time),
        cmocka_unit_test(test_the_same_again),
        cmocka_unit_test(test_changes_keep_counts),
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_pools_come_and_go),
        cmocka_unit_test(test_new_address),
        cmocka_unit_test(test_operator),
        cmocka_unit_test(test_parameter_goes),
        cmocka_unit_test(test_api_key),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_replacing),
        cmocka_unit_test(test_resolve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
