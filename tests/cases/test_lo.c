/* SPDX-License-Identifier: MIT */
/* Field reports LO: adapters that are held, active, or wished for. */
#include <stdio.h>
#include <string.h>

#include "support/page.h"
#include "support/test.h"

enum { A, B, C, D, E };

static struct fleet fleet;

static void ask(const char *adapter)
{
    fleet.request.adapter = adapter;
    fleet.request.adapter_len = adapter ? strlen(adapter) : 0;
}

/* Where a request for |adapter| would go, and by which rule. */
static size_t where(const char *adapter)
{
    size_t index;

    ask(adapter);
    index = fleet_pick_frozen(&fleet);
    ask(NULL);
    return index;
}

static const char *rule(void)
{
    return lbroute_rule_name(fleet.decision.rule);
}

/* Says what a target was seen with, or (complete) holds; |names| end with
 * NULL. */
static void say(size_t index, int complete, int32_t slots,
                const char *const *names)
{
    size_t lengths[128];
    size_t count = 0;

    for (; names[count]; count++)
        lengths[count] = strlen(names[count]);
    assert_int_equal((complete ? lbroute_set_adapters : lbroute_note_adapters)(
                         fleet.router, fleet.targets[index], names, lengths,
                         count, slots, fleet.now),
                     LBROUTE_OK);
}

static void say_one(size_t index, int complete, int32_t slots, const char *name)
{
    const char *names[] = {name, NULL};

    say(index, complete, slots, names);
}

static void scrape(size_t index, const char *running, const char *waiting,
                   int slots)
{
    char page[512];

    snprintf(page, sizeof page,
             "vllm:lora_requests_info{max_lora=\"%d\",running_lora_adapters="
             "\"%s\",waiting_lora_adapters=\"%s\"} 1.7907e+09\n",
             slots, running, waiting);
    page_feed(&fleet, index, page);
}

static void open_lora(size_t targets)
{
    fleet_open(&fleet, "lora_aware", targets, 1);
}

/* Serves a request for |adapter| on a target. */
static void serve_on(size_t index, const char *adapter, int kind)
{
    ask(adapter);
    fleet_send(&fleet, index, kind);
    ask(NULL);
}

/* ---- LO-01 ---- */

static void lo_01_active_is_not_resident(void **state)
{
    (void)state;
    open_lora(3);
    fleet.now = 100 * TEST_S;
    serve_on(B, "z", LBROUTE_EVENT_SUCCESS);
    fleet.now += 5 * TEST_S;
    scrape(A, "x,y", "x,y", 4);
    scrape(B, "", "", 4);
    scrape(C, "w,v,u,t", "", 4);
    assert_int_equal(fleet_stats(&fleet, A).adapters, 2);
    assert_int_equal(fleet_stats(&fleet, A).max_adapters, 4);
    assert_int_equal(where("y"), A);
    assert_string_equal(rule(), "lora_aware");
    assert_int_equal(where("z"), B);
    for (int i = 0; i < 50; i++) {
        ask("q");
        assert_true(fleet_pick(&fleet) != C);
        assert_string_equal(rule(), "lora_slot");
        fleet_settle_last(&fleet, LBROUTE_EVENT_CANCEL);
    }
    fleet_close(&fleet);
}

/* What is not listed any more is idle, not gone; a complete list says so, and
 * so does one that fills all slots with others. */
static void lo_01_kind_idle_is_still_held(void **state)
{
    (void)state;
    open_lora(2);
    scrape(A, "x", "", 2);
    fleet.now += 5 * TEST_S;
    scrape(A, "", "", 2);
    assert_int_equal(where("x"), A);
    assert_string_equal(rule(), "lora_aware");
    scrape(A, "y,z", "", 2);
    assert_int_equal(where("y"), A);
    assert_int_equal(where("z"), A);
    where("x");
    assert_string_equal(rule(), "least_connections");
    say_one(A, 1, 2, "x");
    assert_int_equal(where("x"), A);
    assert_string_equal(rule(), "lora_aware");
    assert_int_equal(where("y"), A);
    assert_string_equal(rule(), "lora_slot");
    fleet_close(&fleet);
}

/* The newest series counts, wherever it stands; old ones are printed on. */
static void lo_01_kind_newest_series(void **state)
{
    static const char *const lines[] = {
        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"old\","
        "waiting_lora_adapters=\"\"} 1.7907e+09\n",
        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"new\","
        "waiting_lora_adapters=\"next\"} 1.79071e+09\n",
        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"nan\","
        "waiting_lora_adapters=\"\"} NaN\n"};
    char page[1024];
    (void)state;

    for (size_t first = 0; first < 3; first++) {
        open_lora(2);
        snprintf(page, sizeof page, "%s%s%s", lines[first],
                 lines[(first + 1) % 3], lines[(first + 2) % 3]);
        page_feed(&fleet, A, page);
        assert_int_equal(fleet_stats(&fleet, A).adapters, 2);
        assert_int_equal(where("new"), A);
        assert_string_equal(rule(), "lora_aware");
        assert_int_equal(where("next"), A);
        assert_string_equal(rule(), "lora_aware");
        where("old");
        assert_string_not_equal(rule(), "lora_aware");
        fleet_close(&fleet);
    }
}

/* Of two series of the same time one counts, the same in any order. */
static void lo_01_kind_series_of_one_time(void **state)
{
    static const char *const lines[] = {
        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"p\","
        "waiting_lora_adapters=\"\"} 1.7907e+09\n",
        "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"q,r\","
        "waiting_lora_adapters=\"\"} 1.7907e+09\n"};
    uint32_t adapters[2];
    char page[512];
    (void)state;

    for (size_t first = 0; first < 2; first++) {
        open_lora(1);
        snprintf(page, sizeof page, "%s%s", lines[first], lines[1 - first]);
        page_feed(&fleet, A, page);
        adapters[first] = fleet_stats(&fleet, A).adapters;
        fleet_close(&fleet);
    }
    assert_int_equal(adapters[0], adapters[1]);
    assert_in_range(adapters[0], 1, 2);
}

/* How many fit is unknown where the engine does not say, or no number. */
static void lo_01_kind_no_slots(void **state)
{
    static const char *const slots[] = {
        "", "max_lora=\"\",", "max_lora=\"many\",", "max_lora=\"-1\",",
        "max_lora=\"2147483648\","};
    char page[512];
    (void)state;

    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        open_lora(1);
        snprintf(page, sizeof page,
                 "vllm:lora_requests_info{%srunning_lora_adapters=\"x\","
                 "waiting_lora_adapters=\"\"} 1.7907e+09\n",
                 slots[i]);
        page_feed(&fleet, A, page);
        assert_int_equal(fleet_stats(&fleet, A).max_adapters, -1);
        assert_int_equal(fleet_stats(&fleet, A).adapters, 1);
        fleet_close(&fleet);
    }
}

/* Names as engines and simulators write them: counts, blanks, escapes, empty
 * ones, one that is no name. */
static void lo_01_kind_spellings(void **state)
{
    static const char *const held[] = {"sql-lora", "b",           "q\"uote",
                                       "a:b",      "back\\slash", "c"};
    (void)state;

    open_lora(2);
    scrape(A, "sql-lora:3, b ,,q\\\"uote", "a:b,back\\\\slash, c:12 ,line\\n",
           8);
    assert_int_equal(fleet_stats(&fleet, A).adapters, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(where(held[i]), A);
        assert_string_equal(rule(), "lora_aware");
    }
    assert_int_equal(page_diag.reasons[LBROUTE_DIAG_LIMIT], 1);
    fleet_close(&fleet);
}

/* A list is believed for lora_aware.ttl. */
static void lo_01_kind_lists_go_stale(void **state)
{
    (void)state;
    open_lora(2);
    fleet_param(&fleet, "lora_aware.ttl", 20);
    scrape(A, "x", "", 1);
    say_one(B, 1, 1, "y");
    fleet.now += 20 * TEST_S;
    assert_int_equal(where("x"), A);
    assert_int_equal(where("y"), B);
    assert_int_equal(fleet_stats(&fleet, A).adapters, 1);
    fleet.now += 1;
    where("x");
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(fleet_stats(&fleet, A).adapters, 0);
    assert_int_equal(fleet_stats(&fleet, A).max_adapters, 1);
    fleet_close(&fleet);
}

/* A known free slot goes before an unknown, that before a full target. */
static void lo_01_kind_order_of_standing(void **state)
{
    (void)state;
    open_lora(3);
    say_one(A, 0, 1, "x");
    assert_true(where("q") != A);
    assert_string_equal(rule(), "least_connections");
    say_one(C, 0, 2, "y");
    assert_int_equal(where("q"), C);
    assert_string_equal(rule(), "lora_slot");
    assert_near(fleet.decision.score, 0.5, 0);
    assert_int_equal(where("x"), A);
    assert_near(fleet.decision.score, 1, 0);
    fleet_close(&fleet);
}

/* Requests without an adapter go by load. */
static void lo_01_kind_no_adapter_no_rule(void **state)
{
    (void)state;
    open_lora(3);
    scrape(A, "x", "", 4);
    fleet_hold(&fleet, A, 1);
    fleet_hold(&fleet, B, 2);
    assert_int_equal(where(NULL), C);
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(where("x"), A);
    fleet_close(&fleet);
}

/* Success teaches, failure does not, and a request in flight counts while it
 * lasts: a burst for a new adapter does not load it everywhere. */
static void lo_01_kind_own_requests(void **state)
{
    static const int lessons[] = {
        LBROUTE_EVENT_FAILURE, LBROUTE_EVENT_CLIENT_ERROR, LBROUTE_EVENT_CANCEL,
        LBROUTE_EVENT_TIMEOUT, LBROUTE_EVENT_OVERLOAD};
    size_t home;
    (void)state;

    open_lora(4);
    for (size_t i = 0; i < 5; i++) {
        serve_on(B, "x", lessons[i]);
        assert_int_equal(fleet_stats(&fleet, B).adapters, 0);
    }
    fleet_close(&fleet);

    open_lora(4);
    ask("x");
    home = fleet_pick(&fleet);
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(fleet_pick(&fleet), home);
    assert_int_equal(fleet_pick(&fleet), home);
    assert_string_equal(rule(), "lora_aware");
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_settle_all(&fleet, LBROUTE_EVENT_FAILURE);
    assert_int_equal(fleet_stats(&fleet, home).adapters, 1);
    assert_int_equal(fleet_pick_frozen(&fleet), home);
    fleet.now += 61 * TEST_S;
    assert_int_equal(fleet_stats(&fleet, home).adapters, 0);
    fleet_close(&fleet);
}

/* A ticket that runs out no longer counts as held, and a look ahead sees it. */
static void lo_01_kind_expired_requests(void **state)
{
    size_t home;
    (void)state;

    open_lora(3);
    ask("x");
    home = fleet_pick(&fleet);
    assert_int_equal(fleet_stats(&fleet, home).adapters, 1);
    fleet.now += 601 * TEST_S;
    assert_int_equal(fleet_stats(&fleet, home).adapters, 0);
    fleet.now -= 601 * TEST_S;
    assert_int_equal(fleet_stats(&fleet, home).adapters, 1);
    fleet.now += 601 * TEST_S;
    assert_int_equal(lbroute_tick(fleet.router, fleet.now), LBROUTE_OK);
    assert_int_equal(fleet_stats(&fleet, home).adapters, 0);
    fleet.held_count = 0;
    fleet_close(&fleet);
}

/* A target that is removed takes its adapters along. */
static void lo_01_kind_removal_purges(void **state)
{
    (void)state;
    open_lora(2);
    scrape(A, "x,y", "", 4);
    fleet_remove(&fleet, A);
    fleet_add_again(&fleet, A);
    assert_int_equal(fleet_stats(&fleet, A).adapters, 0);
    assert_int_equal(fleet_stats(&fleet, A).max_adapters, -1);
    where("x");
    assert_string_equal(rule(), "least_connections");
    fleet_close(&fleet);
}

/* More adapters than are remembered: the latest are, and nothing breaks. */
static void lo_01_kind_many_adapters(void **state)
{
    char name[32];
    (void)state;

    open_lora(2);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "adapter-%d", i);
        serve_on(A, name, LBROUTE_EVENT_SUCCESS);
    }
    assert_int_equal(fleet_stats(&fleet, A).adapters, LBROUTE_ADAPTERS_MAX);
    assert_int_equal(where("adapter-999"), A);
    assert_string_equal(rule(), "lora_aware");
    where("adapter-935");
    assert_string_equal(rule(), "least_connections");
    assert_int_equal(where("adapter-936"), A);
    fleet_close(&fleet);
}

/* ---- LO-02 ---- */

/* The same prompt under another adapter, or none, is another prompt. */
static void lo_02_adapters_part_caches(void **state)
{
    static const char *const adapters[] = {"x", NULL, "y"};
    (void)state;

    fleet_open(&fleet, "cache_aware", 3, 1);
    fleet_prompt(&fleet, "the same long prompt for everybody, word by word");
    for (size_t i = A; i <= C; i++)
        serve_on(i, adapters[i], LBROUTE_EVENT_SUCCESS);
    for (size_t i = A; i <= C; i++) {
        assert_int_equal(where(adapters[i]), i);
        assert_int_equal(fleet.decision.prefix_matched,
                         fleet.decision.prefix_total);
    }
    where("z");
    assert_int_equal(fleet.decision.prefix_matched, 0);
    fleet_close(&fleet);
}

/* ---- LO-03 ---- */

static void open_lo_03(void)
{
    lbroute_target_options options;

    fleet_open(&fleet, "lora_aware", 0, 1);
    fleet_add_limit(&fleet, 2);
    fleet_add_limit(&fleet, 2);
    fleet_add(&fleet);
    fleet_target_options(&fleet, &options);
    options.tier = "gold";
    options.tier_len = 4;
    fleet_add_options(&fleet, &options);
    fleet_add_weight(&fleet, 0);
    say_one(A, 1, 4, "x");
    say_one(B, 1, 4, "x");
    say_one(E, 1, 4, "x");
}

static void lo_03_busy_homes(void **state)
{
    (void)state;
    open_lo_03();
    fleet_hold(&fleet, A, 2);
    fleet_hold(&fleet, B, 2);
    assert_int_equal(where("x"), C);
    ask("x");
    assert_int_equal(fleet_pick(&fleet), C);
    fleet_settle_last(&fleet, LBROUTE_EVENT_CANCEL);
    fleet_settle(&fleet, A, LBROUTE_EVENT_SUCCESS);
    assert_int_equal(where("x"), A);
    assert_string_equal(rule(), "lora_aware");
    fleet_close(&fleet);
}

/* Without any free slot in the pool it fails as any other request does; with
 * only cold targets it is served. */
static void lo_03_kind_never_a_constraint(void **state)
{
    (void)state;
    open_lo_03();
    fleet_hold(&fleet, A, 2);
    fleet_hold(&fleet, B, 2);
    fleet_drain(&fleet, C, 1);
    ask("x");
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_SATURATED);
    fleet_drain(&fleet, C, 0);
    assert_int_equal(fleet_pick_frozen(&fleet), C);
    fleet_close(&fleet);
}

/* A hot adapter gets as many homes as it needs: of 24 requests at once on four
 * targets no target gets more than the window allows. */
static void lo_03_kind_hot_adapter_spreads(void **state)
{
    uint32_t most = 0, least = UINT32_MAX;
    (void)state;

    open_lora(4);
    say_one(A, 1, 4, "x");
    ask("x");
    for (int i = 0; i < 24; i++)
        assert_true(fleet_pick(&fleet) != FLEET_NONE);
    for (size_t i = A; i <= D; i++) {
        uint32_t load = fleet_in_flight(&fleet, i);

        most = load > most ? load : most;
        least = load < least ? load : least;
    }
    assert_true(least >= 1);
    assert_true(most <= least + 3 || most <= least * 3 / 2 + 1);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lo_01_active_is_not_resident),
        cmocka_unit_test(lo_01_kind_idle_is_still_held),
        cmocka_unit_test(lo_01_kind_newest_series),
        cmocka_unit_test(lo_01_kind_series_of_one_time),
        cmocka_unit_test(lo_01_kind_no_slots),
        cmocka_unit_test(lo_01_kind_spellings),
        cmocka_unit_test(lo_01_kind_lists_go_stale),
        cmocka_unit_test(lo_01_kind_order_of_standing),
        cmocka_unit_test(lo_01_kind_no_adapter_no_rule),
        cmocka_unit_test(lo_01_kind_own_requests),
        cmocka_unit_test(lo_01_kind_expired_requests),
        cmocka_unit_test(lo_01_kind_removal_purges),
        cmocka_unit_test(lo_01_kind_many_adapters),
        cmocka_unit_test(lo_02_adapters_part_caches),
        cmocka_unit_test(lo_03_busy_homes),
        cmocka_unit_test(lo_03_kind_never_a_constraint),
        cmocka_unit_test(lo_03_kind_hot_adapter_spreads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
