/* SPDX-License-Identifier: MIT */
/* Bad arguments: NULL, numbers out of range, contradictions. Every call gives
 * the documented code and changes nothing. */
#include <math.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "busy.h"

/* ---- NULL ---- */

/* One of each struct, prepared. */
struct structs {
    lbroute_router_options router;
    lbroute_pool_options pool;
    lbroute_pool_info pool_info;
    lbroute_param_info param;
    lbroute_target_options target;
    lbroute_target_info target_info;
    lbroute_request request;
    lbroute_decision decision;
    lbroute_candidate candidate;
    lbroute_event event;
    lbroute_stats stats;
    lbroute_target_stats target_stats;
    lbroute_share share;
};

static void prepare(struct structs *s, const struct busy *busy)
{
    lbroute_router_options_init(&s->router, sizeof s->router);
    s->router.seed = 1;
    lbroute_pool_options_init(&s->pool, sizeof s->pool);
    s->pool.name = "new";
    s->pool.name_len = 3;
    lbroute_pool_info_init(&s->pool_info, sizeof s->pool_info);
    lbroute_param_info_init(&s->param, sizeof s->param);
    lbroute_target_options_init(&s->target, sizeof s->target);
    s->target.name = "new";
    s->target.name_len = 3;
    s->target.pool = busy->pools[0];
    lbroute_target_info_init(&s->target_info, sizeof s->target_info);
    lbroute_request_init(&s->request, sizeof s->request);
    s->request.pool = busy->pools[0];
    lbroute_decision_init(&s->decision, sizeof s->decision);
    lbroute_candidate_init(&s->candidate, sizeof s->candidate);
    lbroute_event_init(&s->event, sizeof s->event);
    s->event.ticket = busy->open_ticket;
    s->event.kind = LBROUTE_EVENT_SUCCESS;
    lbroute_stats_init(&s->stats, sizeof s->stats);
    lbroute_target_stats_init(&s->target_stats, sizeof s->target_stats);
    lbroute_share_init(&s->share, sizeof s->share);
}

/* Every init function and destroy take NULL and do nothing. */
static void bad_null_to_init(void **state)
{
    (void)state;
    lbroute_router_options_init(NULL, sizeof(lbroute_router_options));
    lbroute_pool_options_init(NULL, sizeof(lbroute_pool_options));
    lbroute_pool_info_init(NULL, sizeof(lbroute_pool_info));
    lbroute_param_info_init(NULL, sizeof(lbroute_param_info));
    lbroute_target_options_init(NULL, sizeof(lbroute_target_options));
    lbroute_target_info_init(NULL, sizeof(lbroute_target_info));
    lbroute_request_init(NULL, sizeof(lbroute_request));
    lbroute_decision_init(NULL, sizeof(lbroute_decision));
    lbroute_candidate_init(NULL, sizeof(lbroute_candidate));
    lbroute_event_init(NULL, sizeof(lbroute_event));
    lbroute_stats_init(NULL, sizeof(lbroute_stats));
    lbroute_target_stats_init(NULL, sizeof(lbroute_target_stats));
    lbroute_share_init(NULL, sizeof(lbroute_share));
    lbroute_client_share_init(NULL, sizeof(lbroute_client_share));
    lbroute_diag_init(NULL, sizeof(lbroute_diag));
    lbroute_restore_result_init(NULL, sizeof(lbroute_restore_result));
    lbroute_router_destroy(NULL);
}

#define NO_ROUTER(call) assert_int_equal((call), LBROUTE_ERR_INVALID)

static void no_router_setup(struct busy *busy, struct structs *s)
{
    lbroute_target target = busy->fleet.targets[0];
    lbroute_pool pool = busy->pools[0], out = 0;
    double value = 0;

    NO_ROUTER(lbroute_pool_add(NULL, &s->pool, &out));
    NO_ROUTER(lbroute_pool_update(NULL, pool, "random", 6));
    NO_ROUTER(lbroute_pool_remove(NULL, pool));
    NO_ROUTER(lbroute_pool_find(NULL, "pool", 4, &out));
    NO_ROUTER(lbroute_pool_next(NULL, 0, &out));
    NO_ROUTER(lbroute_pool_get_info(NULL, pool, &s->pool_info));
    NO_ROUTER(lbroute_pool_set(NULL, pool, "session.ttl", 1));
    NO_ROUTER(lbroute_pool_get(NULL, pool, "session.ttl", &value));
    NO_ROUTER(lbroute_target_add(NULL, &s->target, 0, &out));
    NO_ROUTER(lbroute_target_update(NULL, target, &s->target, 0));
    NO_ROUTER(lbroute_target_set_weight(NULL, target, 1, 0));
    NO_ROUTER(lbroute_target_drain(NULL, target, 1, 0));
    NO_ROUTER(lbroute_target_bench(NULL, target, 1, 0));
    NO_ROUTER(lbroute_target_remove(NULL, target));
    NO_ROUTER(lbroute_target_find(NULL, "A", 1, &out));
    NO_ROUTER(lbroute_target_next(NULL, pool, 0, &out));
    NO_ROUTER(lbroute_target_get_info(NULL, target, &s->target_info));
    NO_ROUTER(lbroute_set_gauge(NULL, target, 0, 1, 0));
    NO_ROUTER(lbroute_set_gauges(NULL, target, &value, 1, 1, 0));
    NO_ROUTER(lbroute_set_adapters(NULL, target, NULL, NULL, 0, -1, 0));
    NO_ROUTER(lbroute_note_adapters(NULL, target, NULL, NULL, 0, -1, 0));
    NO_ROUTER(lbroute_set_occupancy(NULL, target, 0, 1, 0));
    NO_ROUTER(lbroute_ingest_metrics(NULL, target, "", 0, 0, NULL));
    assert_int_equal(out, 0);
}

static void no_router_use(struct busy *busy, struct structs *s)
{
    size_t count = 0;
    char name[64], value[64];
    size_t name_len = 0, value_len = 0;

    NO_ROUTER(lbroute_pick(NULL, &s->request, 0, &s->decision));
    NO_ROUTER(
        lbroute_explain(NULL, &s->request, 0, &s->decision, NULL, 0, &count));
    NO_ROUTER(lbroute_observe(NULL, &s->event, 0));
    NO_ROUTER(lbroute_tick(NULL, 0));
    assert_true(lbroute_next_deadline(NULL) == UINT64_MAX);
    NO_ROUTER(lbroute_decision_header(NULL, &busy->fleet.decision, 0, name, 64,
                                      &name_len, value, 64, &value_len));
    NO_ROUTER(lbroute_get_stats(NULL, &s->stats));
    NO_ROUTER(lbroute_get_target_stats(NULL, busy->fleet.targets[0], 0,
                                       &s->target_stats));
    NO_ROUTER(
        lbroute_pool_shares(NULL, busy->pools[0], 0, &s->share, 1, &count));
}

/* No router. */
static void bad_null_router(void **state)
{
    struct busy busy;
    struct structs s;
    (void)state;

    busy_open(&busy, "weighted");
    prepare(&s, &busy);
    no_router_setup(&busy, &s);
    no_router_use(&busy, &s);
    busy_close(&busy);
}

#define INVALID(call) REFUSED(busy, LBROUTE_ERR_INVALID, call)

static void null_setup_arguments(struct busy *busy, struct structs *s)
{
    lbroute_router *router = busy->fleet.router;
    lbroute_target target = busy->fleet.targets[0];
    lbroute_pool pool = busy->pools[0], out = 0;
    double value = 0;

    INVALID(lbroute_pool_add(router, NULL, &out));
    INVALID(lbroute_pool_add(router, &s->pool, NULL));
    INVALID(lbroute_pool_update(router, pool, NULL, 6));
    INVALID(lbroute_pool_find(router, NULL, 4, &out));
    INVALID(lbroute_pool_find(router, "pool", 4, NULL));
    INVALID(lbroute_pool_next(router, 0, NULL));
    INVALID(lbroute_pool_get_info(router, pool, NULL));
    INVALID(lbroute_param_get_info(0, NULL));
    INVALID(lbroute_pool_set(router, pool, NULL, 1));
    INVALID(lbroute_pool_get(router, pool, NULL, &value));
    INVALID(lbroute_pool_get(router, pool, "session.ttl", NULL));
    INVALID(lbroute_target_add(router, NULL, busy->fleet.now, &out));
    INVALID(lbroute_target_add(router, &s->target, busy->fleet.now, NULL));
    INVALID(lbroute_target_update(router, target, NULL, busy->fleet.now));
    INVALID(lbroute_target_find(router, NULL, 1, &out));
    INVALID(lbroute_target_find(router, "A", 1, NULL));
    INVALID(lbroute_target_next(router, pool, 0, NULL));
    INVALID(lbroute_target_get_info(router, target, NULL));
    assert_int_equal(out, 0);
}

static void null_use_arguments(struct busy *busy, struct structs *s)
{
    lbroute_router *router = busy->fleet.router;
    const lbroute_decision *decision = &busy->fleet.decision;
    uint64_t now = busy->fleet.now;
    char name[64], value[1024];
    size_t name_len = 0, value_len = 0, count = 0;

    INVALID(lbroute_pick(router, NULL, now, &s->decision));
    INVALID(lbroute_pick(router, &s->request, now, NULL));
    INVALID(lbroute_explain(router, NULL, now, &s->decision, NULL, 0, &count));
    INVALID(lbroute_explain(router, &s->request, now, NULL, NULL, 0, &count));
    INVALID(lbroute_explain(router, &s->request, now, &s->decision, NULL, 1,
                            &count));
    INVALID(lbroute_observe(router, NULL, now));
    INVALID(lbroute_decision_header(router, NULL, 0, name, 64, &name_len, value,
                                    1024, &value_len));
    INVALID(lbroute_decision_header(router, decision, 0, NULL, 64, &name_len,
                                    value, 1024, &value_len));
    INVALID(lbroute_decision_header(router, decision, 0, name, 64, NULL, value,
                                    1024, &value_len));
    INVALID(lbroute_decision_header(router, decision, 0, name, 64, &name_len,
                                    NULL, 1024, &value_len));
    INVALID(lbroute_decision_header(router, decision, 0, name, 64, &name_len,
                                    value, 1024, NULL));
    INVALID(lbroute_get_stats(router, NULL));
    INVALID(
        lbroute_get_target_stats(router, busy->fleet.targets[0], now, NULL));
    INVALID(lbroute_pool_shares(router, busy->pools[0], now, NULL, 1, &count));
}

/* Every other pointer that must be there. */
static void bad_null_arguments(void **state)
{
    struct busy busy;
    struct structs s;
    (void)state;

    busy_open(&busy, "weighted");
    prepare(&s, &busy);
    null_setup_arguments(&busy, &s);
    null_use_arguments(&busy, &s);
    busy_close(&busy);
}

/* Pointers that may be NULL. */
static void bad_null_is_allowed(void **state)
{
    struct busy busy;
    struct structs s;
    (void)state;

    busy_open(&busy, "weighted");
    prepare(&s, &busy);
    assert_int_equal(lbroute_explain(busy.fleet.router, &s.request,
                                     busy.fleet.now, &s.decision, NULL, 0,
                                     NULL),
                     LBROUTE_OK);
    assert_int_equal(lbroute_pool_shares(busy.fleet.router, busy.pools[0],
                                         busy.fleet.now, NULL, 0, NULL),
                     LBROUTE_OK);
    assert_int_equal(
        lbroute_pool_update(busy.fleet.router, busy.pools[0], NULL, 0),
        LBROUTE_OK);
    busy_close(&busy);
}

static void broken_request(struct busy *busy, lbroute_request *request)
{
    lbroute_decision decision, before;

    before = decision = busy->fleet.decision;
    REFUSED(
        busy, LBROUTE_ERR_INVALID,
        lbroute_pick(busy->fleet.router, request, busy->fleet.now, &decision));
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_explain(busy->fleet.router, request, busy->fleet.now,
                            &decision, NULL, 0, NULL));
    assert_memory_equal(&decision, &before, sizeof before);
}

/* A length without a pointer, in each string of a request; neither pool nor
 * model. */
static void bad_null_with_length(void **state)
{
    struct busy busy;
    struct structs s;
    size_t *lengths[7];
    (void)state;

    busy_open(&busy, "consistent_hash");
    prepare(&s, &busy);
    lengths[0] = &s.request.model_len;
    lengths[1] = &s.request.tier_len;
    lengths[2] = &s.request.session_len;
    lengths[3] = &s.request.client_len;
    lengths[4] = &s.request.conversation_len;
    lengths[5] = &s.request.prompt_len;
    lengths[6] = &s.request.exclude_len;
    for (size_t i = 0; i < 7; i++) {
        *lengths[i] = 1;
        broken_request(&busy, &s.request);
        *lengths[i] = 0;
    }
    s.request.pool = 0;
    broken_request(&busy, &s.request);
    busy_close(&busy);
}

/* ---- numbers ---- */

/* Weights that are no weights, by each call that takes one. */
static void bad_weights(void **state)
{
    const double bad[] = {(double)NAN,
                          -(double)NAN,
                          -1,
                          -1e-300,
                          (double)INFINITY,
                          -(double)INFINITY,
                          1e-7,
                          9.99e-7,
                          1.0001e9,
                          1e300,
                          5e-324};
    struct busy busy;
    struct structs s;
    lbroute_target out = 0;
    (void)state;

    busy_open(&busy, "weighted");
    prepare(&s, &busy);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.target.weight = bad[i];
        REFUSED(&busy, LBROUTE_ERR_RANGE,
                lbroute_target_add(busy.fleet.router, &s.target, busy.fleet.now,
                                   &out));
        REFUSED(&busy, LBROUTE_ERR_RANGE,
                lbroute_target_update(busy.fleet.router, busy.fleet.targets[0],
                                      &s.target, busy.fleet.now));
        REFUSED(&busy, LBROUTE_ERR_RANGE,
                lbroute_target_set_weight(busy.fleet.router,
                                          busy.fleet.targets[0], bad[i],
                                          busy.fleet.now));
        assert_int_equal(out, 0);
    }
    busy_close(&busy);
}

/* The ends of the range are inside it. */
static void bad_weights_at_the_ends(void **state)
{
    static const double good[] = {0, 1e-6, 1e9, 1};
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 2, 1);
    for (size_t i = 0; i < 4; i++) {
        fleet_set_weight(&fleet, 0, good[i]);
        fleet_serve(&fleet);
        assert_near(fleet_stats(&fleet, 0).weight, good[i], 0);
    }
    fleet_close(&fleet);
}

/* Gauges: infinite, negative, more than a cache, unknown kinds. */
static void bad_gauges(void **state)
{
    static const int unknown[] = {-1,   LBROUTE_GAUGE_COUNT, 7,        8,
                                  1000, INT32_MAX,           INT32_MIN};
    const double bad[] = {(double)INFINITY, -(double)INFINITY, -1, -1e-9};
    struct busy busy;
    lbroute_router *router;
    lbroute_target target;
    (void)state;

    busy_open(&busy, "least_connections");
    router = busy.fleet.router;
    target = busy.fleet.targets[0];
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
        for (size_t i = 0; i < 4; i++)
            REFUSED(&busy, LBROUTE_ERR_RANGE,
                    lbroute_set_gauge(router, target, gauge, bad[i],
                                      busy.fleet.now));
    }
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_set_gauge(router, target, LBROUTE_GAUGE_KV_USAGE, 1.001,
                              busy.fleet.now));
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_set_gauge(router, target, LBROUTE_GAUGE_RUNNING, 1e300,
                              busy.fleet.now));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        REFUSED(
            &busy, LBROUTE_ERR_INVALID,
            lbroute_set_gauge(router, target, unknown[i], 0.5, busy.fleet.now));
    busy_close(&busy);
}

/* NaN is no error: it says that a gauge is not known. */
static void bad_gauge_nan_is_unknown(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "least_connections", 2, 1);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, 5);
    fleet_gauge(&fleet, 0, LBROUTE_GAUGE_RUNNING, (double)NAN);
    assert_true(isnan(fleet_stats(&fleet, 0).gauges[LBROUTE_GAUGE_RUNNING]));
    assert_near(fleet_stats(&fleet, 0).load, 0, 0);
    fleet_close(&fleet);
}

/* Every parameter: just outside its range, NaN, infinite; the ends are in. */
static void bad_parameters(void **state)
{
    struct busy busy;
    lbroute_param_info info;
    lbroute_router *router;
    lbroute_pool pool;
    double value;
    (void)state;

    busy_open(&busy, "consistent_hash");
    router = busy.fleet.router;
    pool = busy.pools[0];
    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++) {
        const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY,
                              nextafter(info.minimum, -1e300),
                              nextafter(info.maximum, 1e300)};
        for (size_t b = 0; b < 5; b++)
            REFUSED(&busy, LBROUTE_ERR_RANGE,
                    lbroute_pool_set(router, pool, info.name, bad[b]));
        assert_int_equal(lbroute_pool_get(router, pool, info.name, &value),
                         LBROUTE_OK);
        assert_near(value, info.default_value, 0);
        assert_int_equal(
            lbroute_pool_set(router, pool, info.name, info.minimum),
            LBROUTE_OK);
        assert_int_equal(
            lbroute_pool_set(router, pool, info.name, info.maximum),
            LBROUTE_OK);
        assert_int_equal(lbroute_pool_set(router, pool, info.name, value),
                         LBROUTE_OK);
    }
    busy_close(&busy);
}

/* Switches take 0 or 1 and nothing between. */
static void bad_half_a_switch(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "consistent_hash");
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pool_set(busy.fleet.router, busy.pools[0],
                             "consistent_hash.bounded", 0.5));
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pool_set(busy.fleet.router, busy.pools[0],
                             "consistent_hash.weighted_points", 0.999));
    busy_close(&busy);
}

/* Requests with numbers out of range. */
static void bad_request_numbers(void **state)
{
    static lbroute_target many[1025];
    static const int64_t tokens[] = {-2, -1000, INT64_MIN};
    struct busy busy;
    struct structs s;
    lbroute_decision before;
    (void)state;

    busy_open(&busy, "weighted");
    prepare(&s, &busy);
    before = s.decision = busy.fleet.decision;
    for (size_t i = 0; i < 3; i++) {
        s.request.input_tokens = tokens[i];
        REFUSED(&busy, LBROUTE_ERR_RANGE,
                lbroute_pick(busy.fleet.router, &s.request, busy.fleet.now,
                             &s.decision));
    }
    s.request.input_tokens = -1;
    s.request.exclude = many;
    s.request.exclude_len = 1025;
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pick(busy.fleet.router, &s.request, busy.fleet.now,
                         &s.decision));
    s.request.exclude_len = SIZE_MAX;
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pick(busy.fleet.router, &s.request, busy.fleet.now,
                         &s.decision));
    assert_memory_equal(&s.decision, &before, sizeof before);
    busy_close(&busy);
}

/* Drain and bench with odd arguments. */
static void bad_drain_argument(void **state)
{
    static const int bad[] = {-1, 2, INT32_MAX, INT32_MIN};
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (size_t i = 0; i < 4; i++)
        REFUSED(&busy, LBROUTE_ERR_INVALID,
                lbroute_target_drain(busy.fleet.router, busy.fleet.targets[0],
                                     bad[i], busy.fleet.now));
    busy_close(&busy);
}

/* Options of a router, one wrong at a time. */
static void expect_no_router(const lbroute_router_options *options, int code)
{
    lbroute_router *router = (lbroute_router *)1;
    size_t bytes = 77;

    assert_int_equal(lbroute_router_create(options, &router), code);
    assert_null(router);
    assert_int_equal(lbroute_router_estimate(options, &bytes), code);
    assert_int_equal(bytes, 77);
}

static void bad_bounds_of_router(const lbroute_router_options *good)
{
    static const uint32_t most[5] = {65536, 1048576, 16777215, 16777215, 1024};

    for (size_t i = 0; i < 5; i++) {
        lbroute_router_options bad = *good;
        uint32_t *bounds[5];
        bounds[0] = &bad.max_pools;
        bounds[1] = &bad.max_targets;
        bounds[2] = &bad.max_tickets;
        bounds[3] = &bad.max_sessions;
        bounds[4] = &bad.max_scorers;
        *bounds[i] = 0;
        expect_no_router(&bad, LBROUTE_ERR_RANGE);
        *bounds[i] = most[i] + 1;
        expect_no_router(&bad, LBROUTE_ERR_RANGE);
        *bounds[i] = UINT32_MAX;
        expect_no_router(&bad, LBROUTE_ERR_RANGE);
    }
}

static void bad_router_options(void **state)
{
    lbroute_router_options good, bad;
    struct test_alloc alloc;
    (void)state;

    expect_no_router(NULL, LBROUTE_ERR_INVALID);
    lbroute_router_options_init(&good, sizeof good);
    good.seed = 1;
    assert_int_equal(lbroute_router_create(&good, NULL), LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_router_estimate(&good, NULL), LBROUTE_ERR_INVALID);
    test_alloc_init(&alloc);
    bad = good;
    test_alloc_hook(&alloc, &bad.allocator);
    bad.allocator.allocate = NULL;
    expect_no_router(&bad, LBROUTE_ERR_INVALID);
    bad = good;
    test_alloc_hook(&alloc, &bad.allocator);
    bad.allocator.release = NULL;
    expect_no_router(&bad, LBROUTE_ERR_INVALID);
    bad = good;
    bad.ticket_ttl = 0;
    expect_no_router(&bad, LBROUTE_ERR_RANGE);
    bad = good;
    bad.header_prefix = NULL;
    expect_no_router(&bad, LBROUTE_ERR_INVALID);
    bad_bounds_of_router(&good);
}

/* A seed is required to create, not to estimate. */
static void bad_seed(void **state)
{
    lbroute_router_options options;
    lbroute_router *router = (lbroute_router *)1;
    size_t bytes = 0;
    (void)state;

    lbroute_router_options_init(&options, sizeof options);
    assert_int_equal(lbroute_router_create(&options, &router),
                     LBROUTE_ERR_INVALID);
    assert_null(router);
    assert_int_equal(lbroute_router_estimate(&options, &bytes), LBROUTE_OK);
    assert_true(bytes > 0);
}

/* A header prefix that is no token. */
static void bad_header_prefix(void **state)
{
    static char longest[256];
    const char *const bad[] = {"X Y-", "X:",     "X-\r\n", "X\tY",
                               "\x7f", "X-\xc3", "X\"-",   "(X)",
                               "X,Y",  "X/Y",    longest};
    lbroute_router_options options;
    (void)state;

    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        options.header_prefix = bad[i];
        options.header_prefix_len =
            bad[i] == longest ? sizeof longest : strlen(bad[i]);
        expect_no_router(&options, LBROUTE_ERR_NAME);
    }
}

/* ---- texts ---- */

/* Names of codes outside their range. */
static void bad_codes(void **state)
{
    static const int odd[] = {1, 5, -16, -100, INT32_MAX, INT32_MIN};
    (void)state;

    for (int code = 0; code >= LBROUTE_ERR_QUEUED; code--)
        assert_true(strlen(lbroute_strerror(code)) > 0);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_string_equal(lbroute_strerror(odd[i]), "unknown code");
    assert_string_equal(lbroute_reason_name(-1), "unknown");
    assert_string_equal(lbroute_reason_name(LBROUTE_REASON_COUNT), "unknown");
    assert_string_equal(lbroute_reason_name(INT32_MIN), "unknown");
    assert_string_equal(lbroute_rule_name(-1), "unknown");
    assert_string_equal(lbroute_rule_name(LBROUTE_RULE_COUNT), "unknown");
    assert_string_equal(lbroute_rule_name(INT32_MAX), "unknown");
    assert_null(lbroute_strategy_name(1000));
    assert_null(lbroute_strategy_name(SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_null_to_init),
        cmocka_unit_test(bad_null_router),
        cmocka_unit_test(bad_null_arguments),
        cmocka_unit_test(bad_null_is_allowed),
        cmocka_unit_test(bad_null_with_length),
        cmocka_unit_test(bad_weights),
        cmocka_unit_test(bad_weights_at_the_ends),
        cmocka_unit_test(bad_gauges),
        cmocka_unit_test(bad_gauge_nan_is_unknown),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_half_a_switch),
        cmocka_unit_test(bad_request_numbers),
        cmocka_unit_test(bad_drain_argument),
        cmocka_unit_test(bad_router_options),
        cmocka_unit_test(bad_seed),
        cmocka_unit_test(bad_header_prefix),
        cmocka_unit_test(bad_codes),
    };
    return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
