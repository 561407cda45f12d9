/* SPDX-License-Identifier: MIT */
/* Bad handles: stale, forged, none, and of another kind. Each is "not found",
 * never a crash and never another object. */
#include <string.h>

#include <lbroute/ingest.h>

#include "busy.h"

#define NOT_FOUND(call) REFUSED(busy, LBROUTE_ERR_NOT_FOUND, call)

static void not_a_pool(struct busy *busy, lbroute_pool pool)
{
    lbroute_router *router = busy->fleet.router;
    lbroute_pool_info info;
    lbroute_target_options options;
    lbroute_target out = 0;
    lbroute_share share;
    size_t count = 0;
    double value = 77;

    lbroute_pool_info_init(&info, sizeof info);
    lbroute_share_init(&share, sizeof share);
    NOT_FOUND(lbroute_pool_update(router, pool, "random", 6));
    NOT_FOUND(lbroute_pool_remove(router, pool));
    NOT_FOUND(lbroute_pool_get_info(router, pool, &info));
    NOT_FOUND(lbroute_pool_set(router, pool, "session.ttl", 1));
    NOT_FOUND(lbroute_pool_get(router, pool, "session.ttl", &value));
    NOT_FOUND(
        lbroute_pool_shares(router, pool, busy->fleet.now, &share, 1, &count));
    assert_near(value, 77, 0);
    assert_int_equal(info.name_len, 0);
    if (pool == 0)
        return; /* "No pool" means something in what follows. */
    NOT_FOUND(lbroute_target_next(router, pool, 0, &out));
    lbroute_target_options_init(&options, sizeof options);
    options.name = "new";
    options.name_len = 3;
    options.pool = pool;
    NOT_FOUND(lbroute_target_add(router, &options, busy->fleet.now, &out));
    NOT_FOUND(lbroute_target_update(router, busy->fleet.targets[0], &options,
                                    busy->fleet.now));
    assert_int_equal(out, 0);
}

static void not_a_pool_to_pick(struct busy *busy, lbroute_pool pool)
{
    lbroute_router *router = busy->fleet.router;
    lbroute_request request;
    lbroute_decision decision, before;
    size_t count = 77;

    lbroute_request_init(&request, sizeof request);
    request.pool = pool;
    before = decision = busy->fleet.decision;
    NOT_FOUND(lbroute_pick(router, &request, busy->fleet.now, &decision));
    NOT_FOUND(lbroute_explain(router, &request, busy->fleet.now, &decision,
                              NULL, 0, &count));
    assert_memory_equal(&decision, &before, sizeof before);
    assert_int_equal(count, 77);
}

static void not_a_target(struct busy *busy, lbroute_target target)
{
    lbroute_router *router = busy->fleet.router;
    uint64_t now = busy->fleet.now;
    lbroute_target_info info;
    lbroute_target_stats stats;
    lbroute_target_options options;
    const double gauges[] = {3};
    const char *adapter = "a";
    const char *page = "vllm:num_requests_running 3\n";
    size_t length = 1;

    lbroute_target_info_init(&info, sizeof info);
    lbroute_target_stats_init(&stats, sizeof stats);
    fleet_target_options(&busy->fleet, &options);
    NOT_FOUND(lbroute_target_update(router, target, &options, now));
    NOT_FOUND(lbroute_target_set_weight(router, target, 2, now));
    NOT_FOUND(lbroute_target_drain(router, target, 1, now));
    NOT_FOUND(lbroute_target_bench(router, target, TEST_S, now));
    NOT_FOUND(lbroute_target_bench(router, target, 0, now));
    NOT_FOUND(lbroute_target_remove(router, target));
    NOT_FOUND(lbroute_target_get_info(router, target, &info));
    NOT_FOUND(lbroute_get_target_stats(router, target, now, &stats));
    NOT_FOUND(lbroute_set_gauge(router, target, 0, 3, now));
    NOT_FOUND(lbroute_set_gauges(router, target, gauges, 1, 1, now));
    NOT_FOUND(
        lbroute_set_adapters(router, target, &adapter, &length, 1, 4, now));
    NOT_FOUND(
        lbroute_note_adapters(router, target, &adapter, &length, 1, 4, now));
    NOT_FOUND(lbroute_set_occupancy(router, target, 0.5, 1, now));
    NOT_FOUND(
        lbroute_ingest_metrics(router, target, page, strlen(page), now, NULL));
    NOT_FOUND(lbroute_ingest_metrics(router, target, NULL, 0, now, NULL));
    assert_string_equal(info.name, "");
    assert_int_equal(stats.picks, 0);
}

static void not_a_ticket(struct busy *busy, lbroute_ticket ticket)
{
    for (int kind = 1; kind < LBROUTE_EVENT_COUNT; kind++)
        NOT_FOUND(fleet_observe(&busy->fleet, ticket, kind));
}

/* Handles that name nothing. */
static const uint64_t forged[] = {
    0,
    1,
    2,
    99,
    UINT32_MAX,
    UINT64_C(1) << 32,
    UINT64_C(1) << 63,
    UINT64_C(0x8000000000000001),
    UINT64_MAX,
    UINT64_MAX - 1,
    UINT64_C(0x0101010101010101),
    UINT64_C(0x9e3779b97f4a7c15),
};

static void handles_forged(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        not_a_pool(&busy, forged[i]);
        if (forged[i] != 0)
            not_a_pool_to_pick(&busy, forged[i]);
        not_a_target(&busy, forged[i]);
        not_a_ticket(&busy, forged[i]);
    }
    busy_close(&busy);
}

/* One bit of a good handle turned, each in turn. */
static void handles_with_a_bit_turned(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t mask = UINT64_C(1) << bit;
        lbroute_pool pool = busy.pools[0] ^ mask;
        lbroute_target target = busy.fleet.targets[0] ^ mask;
        lbroute_ticket ticket = busy.fleet.held[0].ticket ^ mask;
        int exists = 0;
        if (pool != busy.pools[1])
            not_a_pool(&busy, pool);
        for (size_t i = 0; i < busy.fleet.count; i++)
            exists |= busy.fleet.targets[i] == target;
        if (!exists)
            not_a_target(&busy, target);
        exists = 0;
        for (size_t i = 0; i < busy.fleet.held_count; i++)
            exists |= busy.fleet.held[i].ticket == ticket;
        if (!exists)
            not_a_ticket(&busy, ticket);
    }
    busy_close(&busy);
}

/* Objects that are gone. */
static void handles_stale(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "sticky_session");
    not_a_pool(&busy, busy.gone_pool);
    not_a_pool_to_pick(&busy, busy.gone_pool);
    not_a_target(&busy, busy.gone_target);
    not_a_ticket(&busy, busy.gone_ticket);
    busy_close(&busy);
}

/* A good handle of one kind where another is wanted. */
static void handles_of_another_kind(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (size_t i = 0; i < busy.fleet.count; i++) {
        not_a_pool(&busy, busy.fleet.targets[i]);
        not_a_pool_to_pick(&busy, busy.fleet.targets[i]);
        not_a_ticket(&busy, busy.fleet.targets[i]);
    }
    for (size_t i = 0; i < busy.fleet.held_count; i++) {
        not_a_pool(&busy, busy.fleet.held[i].ticket);
        not_a_target(&busy, busy.fleet.held[i].ticket);
    }
    for (size_t i = 0; i < 2; i++) {
        not_a_target(&busy, busy.pools[i]);
        not_a_ticket(&busy, busy.pools[i]);
    }
    busy_close(&busy);
}

/* Slots that are used again and again: no old handle ever names a new object,
 * and none comes twice. */
static void handles_never_come_twice(void **state)
{
    enum { KEPT = 256 };
    static uint64_t old_targets[KEPT], old_pools[KEPT];
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    for (size_t i = 0; i < 20000; i++) {
        lbroute_pool_options options;
        lbroute_pool pool = 0;
        lbroute_target target = fleet.targets[0];
        lbroute_pool_options_init(&options, sizeof options);
        options.name = "again";
        options.name_len = 5;
        assert_int_equal(lbroute_pool_add(fleet.router, &options, &pool),
                         LBROUTE_OK);
        for (size_t k = 0; k < KEPT && k < i; k++)
            assert_true(old_targets[k] != target && old_pools[k] != pool);
        if (i >= KEPT) {
            assert_int_equal(
                lbroute_target_remove(fleet.router, old_targets[i % KEPT]),
                LBROUTE_ERR_NOT_FOUND);
            assert_int_equal(
                lbroute_pool_remove(fleet.router, old_pools[i % KEPT]),
                LBROUTE_ERR_NOT_FOUND);
        }
        old_targets[i % KEPT] = target;
        old_pools[i % KEPT] = pool;
        assert_int_equal(lbroute_pool_remove(fleet.router, pool), LBROUTE_OK);
        fleet_remove(&fleet, 0);
        fleet_add_again(&fleet, 0);
    }
    fleet_close(&fleet);
}

/* Stale, forged and repeated handles in an exclude list are ignored. */
static void handles_in_exclude_list(void **state)
{
    struct busy busy;
    lbroute_target list[8];
    size_t first;
    (void)state;

    busy_open(&busy, "round_robin");
    first = fleet_explain(&busy.fleet);
    list[0] = busy.gone_target;
    list[1] = 0;
    list[2] = UINT64_MAX;
    list[3] = busy.pools[0];
    list[4] = busy.open_ticket;
    list[5] = busy.fleet.targets[5]; /* Of another pool. */
    list[6] = list[7] = busy.gone_target;
    busy.fleet.request.exclude = list;
    busy.fleet.request.exclude_len = 8;
    assert_int_equal(fleet_explain(&busy.fleet), first);
    list[6] = list[7] = busy.fleet.targets[first];
    assert_true(fleet_explain(&busy.fleet) != first);
    busy.fleet.request.exclude_len = 0;
    busy_close(&busy);
}

/* Walks go on from objects that were removed meanwhile, and end. */
static void handles_in_walks(void **state)
{
    struct fleet fleet;
    lbroute_target at = 0;
    lbroute_pool pool = 0;
    size_t seen = 0;
    (void)state;

    fleet_open(&fleet, "weighted", 40, 1);
    while (lbroute_target_next(fleet.router, fleet.pool, at, &at) ==
           LBROUTE_OK) {
        assert_int_equal(lbroute_target_remove(fleet.router, at), LBROUTE_OK);
        seen++;
    }
    assert_int_equal(seen, 40);
    assert_int_equal(fleet_totals(&fleet).targets, 0);
    assert_int_equal(lbroute_target_next(fleet.router, 0, at, &at),
                     LBROUTE_ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        lbroute_target_next(fleet.router, 0, forged[i], &at);
        lbroute_pool_next(fleet.router, forged[i], &pool);
    }
    assert_int_equal(lbroute_pool_next(fleet.router, 0, &pool), LBROUTE_OK);
    assert_int_equal(lbroute_pool_remove(fleet.router, pool), LBROUTE_OK);
    assert_int_equal(lbroute_pool_next(fleet.router, pool, &pool),
                     LBROUTE_ERR_NOT_FOUND);
    fleet_close(&fleet);
}

/* A pool with targets cannot be removed. */
static void handles_pool_in_use(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    REFUSED(&busy, LBROUTE_ERR_BUSY,
            lbroute_pool_remove(busy.fleet.router, busy.pools[0]));
    REFUSED(&busy, LBROUTE_ERR_BUSY,
            lbroute_pool_remove(busy.fleet.router, busy.pools[1]));
    busy_close(&busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_forged),
        cmocka_unit_test(handles_with_a_bit_turned),
        cmocka_unit_test(handles_stale),
        cmocka_unit_test(handles_of_another_kind),
        cmocka_unit_test(handles_never_come_twice),
        cmocka_unit_test(handles_in_exclude_list),
        cmocka_unit_test(handles_in_walks),
        cmocka_unit_test(handles_pool_in_use),
    };
    return cmocka_run_group_tests_name("bad handles", tests, NULL, NULL);
}
