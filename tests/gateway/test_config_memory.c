/* SPDX-License-Identifier: MIT */
/* Every allocation of configuration, fleet, prices and signals fails once:
 * then there is an error, all is as before, and nothing leaks (which the
 * sanitizers see). */
#include "support/test.h"

#include "config.h"
#include "fleet.h"
#include "gateway.h"
#include "scarce.h"
#include "signals.h"
#include "upstream.h"
#include "yaml_file.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000 };

static const char *example, *catalog;
static size_t pools_open;

/* Stand in for parts that this test does without. */
uint64_t gateway_now(void)
{
    return TEST_S;
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

struct upstream_call *upstream_send(struct upstream_pool *pool,
                                    const struct upstream_request *request,
                                    const struct upstream_listener *listener,
                                    void *context)
{
    (void)pool;
    (void)request;
    (void)listener;
    (void)context;
    return NULL;
}

void upstream_cancel(struct upstream_call *call)
{
    (void)call;
}

static void open_gateway(struct gateway *gateway)
{
    lbroute_router_options options;

    *gateway = (struct gateway){0};
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 7;
    assert_int_equal(lbroute_router_create(&options, &gateway->router),
                     LBROUTE_OK);
    gateway->base = event_base_new();
}

static void close_gateway(struct gateway *gateway)
{
    fleet_release(gateway);
    lbroute_router_destroy(gateway->router);
    event_base_free(gateway->base);
    assert_int_equal(pools_open, 0);
}

static struct config *load_example(void)
{
    struct config_error error;
    struct config *config = config_load(example, &error);

    assert_non_null(config);
    return config;
}

static void test_config(void **state)
{
    uint64_t n;
    bool failed = true;

    (void)state;
    for (n = 0; failed && n < MOST; n++) {
        struct config_error error;
        struct config *config;

        scarce_fail(n);
        config = config_load(example, &error);
        failed = scarce_end();
        assert_int_equal(config == NULL, failed);
        if (failed)
            assert_string_equal(error.text, "out of memory");
        config_free(config);
    }
    assert_true(!failed && n > 50);
}

static void test_cluster(void **state)
{
    static const char text[] =
        "router: {digest_key_env: LBROUTE_TEST_KEY}\n"
        "cluster: {redis: \"redis://user:password@[::1]\"}\n";
    uint64_t n;
    bool failed = true;

    (void)state;
    setenv("LBROUTE_TEST_KEY", "00112233445566778899aabbccddeeff", 1);
    for (n = 0; failed && n < MOST; n++) {
        struct config_error error;
        struct config *config;

        scarce_fail(n);
        config = config_parse("cluster.yaml", text, strlen(text), &error);
        failed = scarce_end();
        assert_int_equal(config == NULL, failed);
        if (failed)
            assert_string_equal(error.text, "out of memory");
        config_free(config);
    }
    assert_true(!failed && n > 10);
}

static void test_fleet(void **state)
{
    static const char text[] =
        "pools: [{name: p}]\n"
        "targets:\n"
        "  - {name: engine-0, pool: p, url: \"http://h:1\", model: m,\n"
        "     api_key_env: LBROUTE_TEST_KEY}\n"
        "  - {name: b, pool: p, url: \"http://h:2\", model: m}\n";
    uint64_t n;
    bool failed = true;
    char error[128];

    (void)state;
    setenv("LBROUTE_TEST_KEY", "key", 1);
    for (n = 0; failed && n < MOST; n++) {
        struct config *first = load_example(), *second = yaml_load(text);
        struct gateway gateway;
        bool good;

        open_gateway(&gateway);
        assert_true(fleet_apply(&gateway, first, error, sizeof error));
        gateway.config = first;
        scarce_fail(n);
        good = fleet_apply(&gateway, second, error, sizeof error);
        failed = scarce_end();
        assert_int_equal(good, !failed);
        assert_int_equal(gateway.fleet->count, failed ? 1 : 2);
        assert_ptr_equal(gateway.fleet->backends->settings,
                         (failed ? first : second)->targets);
        gateway.config = failed ? first : second;
        close_gateway(&gateway);
        config_free(first);
        config_free(second);
    }
    assert_true(!failed && n > 5);
}

static void test_prices(void **state)
{
    uint64_t n;
    bool failed = true;
    char error[128];

    (void)state;
    for (n = 0; failed && n < MOST; n++) {
        struct gateway gateway;
        lbroute_stats stats;
        bool good;

        open_gateway(&gateway);
        scarce_fail(n);
        good = prices_load(&gateway, catalog, error, sizeof error);
        failed = scarce_end();
        assert_int_equal(good, !failed);
        lbroute_stats_init(&stats, sizeof stats);
        lbroute_get_stats(gateway.router, &stats);
        assert_int_equal(stats.prices > 0, good);
        close_gateway(&gateway);
    }
    assert_true(!failed && n > 5);
}

/* What cannot begin now begins with the next reload. */
static void test_signals(void **state)
{
    uint64_t n;
    bool failed = true;
    char error[128];

    (void)state;
    for (n = 0; failed && n < MOST; n++) {
        struct config *config = load_example();
        struct gateway gateway;
        struct signals *signals;

        open_gateway(&gateway);
        assert_true(fleet_apply(&gateway, config, error, sizeof error));
        gateway.config = config;
        scarce_fail(n);
        signals = signals_create(&gateway);
        if (signals != NULL)
            signals_apply(signals, config);
        failed = scarce_end();
        if (signals != NULL)
            signals_apply(signals, config);
        signals_destroy(signals);
        close_gateway(&gateway);
        config_free(config);
    }
    assert_true(!failed && n > 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),  cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_fleet),   cmocka_unit_test(test_prices),
        cmocka_unit_test(test_signals),
    };
    int failed;

    if (argc != 3)
        return EXIT_FAILURE;
    example = argv[1];
    catalog = argv[2];
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    yaml_file_remove();
    return failed;
}
