/* SPDX-License-Identifier: MIT */
/* api/lifecycle: bounds of a router, its birth and its end. */
#include <stdio.h>
#include <string.h>

#include "support/alloc.h"
#include "support/test.h"

#include <lbroute/lbroute.h>

static lbroute_router_options good_options(void)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    return options;
}

/* What create refuses, estimate refuses for the same reason. */
static void check_refused(const lbroute_router_options *options, int wanted)
{
    lbroute_router *router = (lbroute_router *)(uintptr_t)1;
    size_t bytes = 99;

    assert_int_equal(lbroute_router_create(options, &router), wanted);
    assert_null(router);
    assert_int_equal(lbroute_router_estimate(options, &bytes), wanted);
    assert_int_equal(bytes, 99);
}

static void check_accepted(const lbroute_router_options *options)
{
    lbroute_router *router = NULL;
    size_t bytes = 0;

    assert_int_equal(lbroute_router_create(options, &router), LBROUTE_OK);
    assert_non_null(router);
    lbroute_router_destroy(router);
    assert_int_equal(lbroute_router_estimate(options, &bytes), LBROUTE_OK);
    assert_true(bytes > 0);
}

static void the_documented_defaults(void **state)
{
    lbroute_router_options options = good_options();
    (void)state;

    assert_true(options.ticket_ttl == 600 * TEST_S);
    assert_int_equal(options.max_pools, 1024);
    assert_int_equal(options.max_targets, 16384);
    assert_int_equal(options.max_tickets, 1048576);
    assert_int_equal(options.max_sessions, 65536);
    assert_int_equal(options.max_scorers, 64);
    assert_int_equal(options.single_threaded, 0);
    assert_int_equal(options.header_prefix_len, strlen("X-Lbroute-"));
    assert_memory_equal(options.header_prefix, "X-Lbroute-",
                        options.header_prefix_len);
    check_accepted(&options);
}

static void a_seed_is_needed(void **state)
{
    lbroute_router_options options = good_options();
    lbroute_router *router = NULL;
    size_t bytes = 0;
    (void)state;

    options.seed = 0;
    assert_int_equal(lbroute_router_create(&options, &router),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_router_estimate(&options, &bytes), LBROUTE_OK);
}

static void check_bound(lbroute_router_options *options, uint32_t *bound,
                        uint32_t most)
{
    uint32_t good = *bound;

    *bound = 0;
    check_refused(options, LBROUTE_ERR_RANGE);
    *bound = most + 1;
    check_refused(options, LBROUTE_ERR_RANGE);
    *bound = UINT32_MAX;
    check_refused(options, LBROUTE_ERR_RANGE);
    *bound = 1;
    check_accepted(options);
    *bound = most;
    check_accepted(options);
    *bound = good;
}

static void bounds_have_ranges(void **state)
{
    lbroute_router_options options = good_options();
    (void)state;

    check_bound(&options, &options.max_pools, 65536);
    check_bound(&options, &options.max_targets, 1048576);
    check_bound(&options, &options.max_tickets, 16777215);
    check_bound(&options, &options.max_sessions, 16777215);
    check_bound(&options, &options.max_scorers, 1024);
    options.ticket_ttl = 0;
    check_refused(&options, LBROUTE_ERR_RANGE);
    options.ticket_ttl = 1;
    check_accepted(&options);
    options.ticket_ttl = UINT64_MAX;
    check_accepted(&options);
}

static void switches_and_reserved_fields(void **state)
{
    lbroute_router_options options = good_options();
    (void)state;

    options.single_threaded = 1;
    check_accepted(&options);
    options.single_threaded = 2;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options.single_threaded = -1;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options.single_threaded = 0;
    options.reserved0 = 1;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options.reserved0 = 0;
    options.reserved1 = 1;
    check_refused(&options, LBROUTE_ERR_INVALID);
}

static void half_an_allocator(void **state)
{
    lbroute_router_options options = good_options();
    struct test_alloc alloc;
    lbroute_allocator hook;
    (void)state;

    test_alloc_init(&alloc);
    test_alloc_hook(&alloc, &hook);
    options.allocator.allocate = hook.allocate;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options.allocator.allocate = NULL;
    options.allocator.release = hook.release;
    check_refused(&options, LBROUTE_ERR_INVALID);
}

static void prefixes_are_tokens(void **state)
{
    static const char *const bad[] = {"X-Lb ", "X:",       "X\n",
                                      "X\x7f", "\xc3\xa9", "a/b"};
    lbroute_router_options options = good_options();
    char longest[LBROUTE_NAME_MAX + 1];
    (void)state;

    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.header_prefix = bad[i];
        options.header_prefix_len = strlen(bad[i]);
        check_refused(&options, LBROUTE_ERR_NAME);
    }
    options.header_prefix = longest;
    options.header_prefix_len = LBROUTE_NAME_MAX + 1;
    check_refused(&options, LBROUTE_ERR_NAME);
    options.header_prefix_len = LBROUTE_NAME_MAX;
    check_accepted(&options);
    options.header_prefix = NULL;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options.header_prefix_len = 0;
    check_accepted(&options);
}

static void nothing_given(void **state)
{
    lbroute_router_options options = good_options();
    lbroute_router *router = NULL;
    (void)state;

    check_refused(NULL, LBROUTE_ERR_INVALID);
    options.size = 3;
    check_refused(&options, LBROUTE_ERR_INVALID);
    options = good_options();
    assert_int_equal(lbroute_router_create(&options, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_router_estimate(&options, NULL),
                     LBROUTE_ERR_INVALID);
    lbroute_router_destroy(NULL);
    assert_null(router);
}

/* An older caller ends after the seed, a newer one goes on. */
static void callers_of_other_versions(void **state)
{
    lbroute_router_options options = good_options();
    struct {
        lbroute_router_options options;
        uint64_t tail;
    } longer = {options, 0};
    (void)state;

    options.size = offsetof(lbroute_router_options, digest_key);
    memset(options.digest_key, 0xff,
           sizeof options - offsetof(lbroute_router_options, digest_key));
    check_accepted(&options);
    longer.options.size = sizeof longer;
    check_accepted(&longer.options);
    longer.tail = 1;
    check_refused(&longer.options, LBROUTE_ERR_UNSUPPORTED);
}

static void without_memory_there_is_no_router(void **state)
{
    lbroute_router_options options = good_options();
    lbroute_router *router = NULL;
    struct test_alloc alloc;
    int result;
    (void)state;

    test_alloc_init(&alloc);
    test_alloc_hook(&alloc, &options.allocator);
    for (uint64_t after = 0;; after++) {
        test_alloc_fail(&alloc, after, 1);
        result = lbroute_router_create(&options, &router);
        if (result == LBROUTE_OK)
            break;
        assert_int_equal(result, LBROUTE_ERR_NO_MEMORY);
        assert_null(router);
        assert_int_equal(alloc.live_blocks, 0);
    }
    lbroute_router_destroy(router);
    assert_true(alloc.failures > 0);
    assert_int_equal(alloc.live_bytes, 0);
}

/* A name of 255 bytes that ends in a number. */
static void long_name(char name[LBROUTE_NAME_MAX + 1], unsigned number)
{
    memset(name, 'n', LBROUTE_NAME_MAX);
    snprintf(name + LBROUTE_NAME_MAX - 6, 7, "%06u", number);
}

#define POOLS 3
#define TARGETS 60
#define RECORDS 200

static void fill_targets(lbroute_router *router, const lbroute_pool *pools)
{
    for (unsigned i = 0; i < TARGETS; i++) {
        char name[LBROUTE_NAME_MAX + 1];
        lbroute_target_options options;
        lbroute_target target;

        long_name(name, i);
        lbroute_target_options_init(&options, sizeof options);
        options.name = options.tier = options.model = name;
        options.name_len = options.tier_len = options.model_len =
            LBROUTE_NAME_MAX;
        if (i % 2)
            options.tier_len = options.model_len = 0;
        options.pool = pools[i % POOLS];
        options.max_concurrency = 0;
        assert_int_equal(lbroute_target_add(router, &options, 0, &target),
                         LBROUTE_OK);
    }
}

static void fill_pools(lbroute_router *router, lbroute_pool *pools)
{
    static const char *const strategies[POOLS] = {"consistent_hash",
                                                  "sticky_session", "weighted"};

    for (unsigned i = 0; i < POOLS; i++) {
        char name[LBROUTE_NAME_MAX + 1];
        lbroute_pool_options options;

        long_name(name, i);
        lbroute_pool_options_init(&options, sizeof options);
        options.name = name;
        options.name_len = LBROUTE_NAME_MAX;
        options.strategy = strategies[i];
        options.strategy_len = strlen(strategies[i]);
        assert_int_equal(lbroute_pool_add(router, &options, &pools[i]),
                         LBROUTE_OK);
    }
}

/* Opens every ticket, then pins every session. */
static void fill_records(lbroute_router *router, lbroute_pool pool)
{
    lbroute_ticket tickets[RECORDS];
    lbroute_decision decision;
    lbroute_event event;

    lbroute_decision_init(&decision, sizeof decision);
    lbroute_event_init(&event, sizeof event);
    for (size_t i = 0; i < RECORDS; i++) {
        lbroute_request request;

        lbroute_request_init(&request, sizeof request);
        request.pool = pool;
        request.session = &i;
        request.session_len = sizeof i;
        assert_int_equal(lbroute_pick(router, &request, 0, &decision),
                         LBROUTE_OK);
        tickets[i] = decision.ticket;
    }
    event.kind = LBROUTE_EVENT_SUCCESS;
    for (size_t i = 0; i < RECORDS; i++) {
        event.ticket = tickets[i];
        assert_int_equal(lbroute_observe(router, &event, 0), LBROUTE_OK);
    }
}

static void the_estimate_holds(void **state)
{
    lbroute_router_options options = good_options();
    lbroute_pool pools[POOLS];
    lbroute_router *router;
    struct test_alloc alloc;
    size_t bytes;
    (void)state;

    test_alloc_init(&alloc);
    test_alloc_hook(&alloc, &options.allocator);
    options.max_pools = POOLS;
    options.max_targets = TARGETS;
    options.max_tickets = options.max_sessions = RECORDS;
    assert_int_equal(lbroute_router_estimate(&options, &bytes), LBROUTE_OK);
    assert_int_equal(lbroute_router_create(&options, &router), LBROUTE_OK);
    fill_pools(router, pools);
    fill_targets(router, pools);
    fill_records(router, pools[1]);
    assert_true(alloc.peak_bytes <= bytes);
    lbroute_router_destroy(router);
    assert_int_equal(alloc.live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_defaults),
        cmocka_unit_test(a_seed_is_needed),
        cmocka_unit_test(bounds_have_ranges),
        cmocka_unit_test(switches_and_reserved_fields),
        cmocka_unit_test(half_an_allocator),
        cmocka_unit_test(prefixes_are_tokens),
        cmocka_unit_test(nothing_given),
        cmocka_unit_test(callers_of_other_versions),
        cmocka_unit_test(without_memory_there_is_no_router),
        cmocka_unit_test(the_estimate_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
