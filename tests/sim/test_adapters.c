/* SPDX-License-Identifier: MIT */
/* LoRA adapters: slots, engines and fleets by hand, how they are drawn, and
 * what the router reads of them. A block has 16 tokens; a step of the engine
 * takes 10 ms + 1 ms a prefill token, and each adapter it loads 500 ms. */
#include <math.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "engine_drive.h"
#include "replay/adapter_slots.h"
#include "replay/fleet.h"
#include "replay/vllm_page.h"
#include "replay/workload_adapters.h"

#include "support/rng.h"
#include "support/test.h"

enum { BLOCK = 16 };

static const struct engine_spec plain = {
    .name = "plain",
    .cache_tokens = 1600,
    .fixed_ms = 10.0,
    .token_us = 1000.0,
};

struct fixture {
    struct workload work;
    struct engine_options engine;
    struct drive drive;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){0};
    workload_init(&fixture.work, BLOCK);
    fixture.engine.spec = &plain;
    fixture.engine.block_tokens = BLOCK;
    fixture.engine.adapter_load_ms = 500.0;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    drive_release(&fixture->drive);
    workload_release(&fixture->work);
    return 0;
}

static void add(struct fixture *fixture, double at_s, uint32_t adapter,
                uint32_t input, uint32_t output)
{
    struct work_request request = {.at_s = at_s,
                                   .input_tokens = input,
                                   .output_tokens = output,
                                   .adapter = adapter,
                                   .follows = WORK_FOLLOWS_NONE};
    struct work_content content = {NULL, 0, NULL, 0};

    workload_add(&fixture->work, &request, &content);
}

static const struct drive_times *drive(struct fixture *fixture, uint32_t slots)
{
    fixture->engine.adapter_slots = slots;
    fixture->engine.distinct_ids = fixture->work.distinct_ids;
    fixture->drive = drive_engine(&fixture->engine, &fixture->work);
    return fixture->drive.times;
}

/* --- Slots --------------------------------------------------------------- */

static bool serve(struct adapter_slots *slots, uint32_t adapter)
{
    bool loaded;

    assert_true(adapter_slots_admit(slots, adapter));
    loaded = adapter_slots_begin(slots, adapter);
    adapter_slots_end(slots, adapter);
    return loaded;
}

static void the_one_used_longest_ago_goes(void **state)
{
    struct adapter_slots slots;

    (void)state;
    adapter_slots_init(&slots, 2);
    assert_true(serve(&slots, 1));
    assert_true(serve(&slots, 2));
    assert_false(serve(&slots, 1));
    assert_true(serve(&slots, 3)); /* instead of 2 */
    assert_false(serve(&slots, 1));
    assert_false(serve(&slots, 3));
    assert_true(serve(&slots, 2)); /* instead of 1 */
    assert_true(serve(&slots, 1));
    adapter_slots_release(&slots);
}

static void who_is_in_use_stays(void **state)
{
    struct adapter_slots slots;

    (void)state;
    adapter_slots_init(&slots, 2);
    assert_true(adapter_slots_begin(&slots, 1));
    assert_false(adapter_slots_begin(&slots, 1));
    assert_true(serve(&slots, 2));
    assert_true(serve(&slots, 3)); /* 2 goes, though 1 is older */
    assert_true(adapter_slots_begin(&slots, 4));
    assert_false(adapter_slots_admit(&slots, 3));
    assert_true(adapter_slots_admit(&slots, 1));
    assert_true(adapter_slots_admit(&slots, ADAPTER_NONE));
    adapter_slots_end(&slots, 1);
    assert_false(adapter_slots_admit(&slots, 3));
    adapter_slots_end(&slots, 1);
    assert_true(serve(&slots, 3));
    adapter_slots_release(&slots);
}

/* --- Engine -------------------------------------------------------------- */

/* One that is there costs nothing; without an adapter nothing is loaded. */
static void loads_are_counted_and_take_time(void **state)
{
    struct fixture *fixture = *state;
    static const uint32_t adapters[] = {1, 1, 2, 0, 1, 3, 1, 2};
    static const int loads[] = {1, 0, 1, 0, 0, 1, 0, 1};
    const struct drive_times *times;

    for (int i = 0; i < 8; i++)
        add(fixture, 10.0 * i, adapters[i], 100, 1);
    times = drive(fixture, 2);
    assert_int_equal(fixture->drive.adapter_loads, 4);
    for (int i = 0; i < 8; i++)
        assert_near(times[i].first_token - times[i].arrived,
                    110.0 + 500.0 * loads[i], 1e-6);
}

/* Two adapters in one step are loaded one after the other, and delay a third
 * request that needs none. */
static void a_load_delays_the_whole_step(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    add(fixture, 0.0, 0, 10, 3);
    add(fixture, 0.005, 1, 100, 1);
    add(fixture, 0.005, 2, 100, 1);
    times = drive(fixture, 2);
    assert_near(times[0].first_token, 20.0, 1e-6);
    assert_near(times[1].first_token, 20.0 + 10.0 + 200.0 + 1000.0, 1e-6);
    assert_near(times[2].first_token, times[1].first_token, 1e-6);
    assert_near(times[0].last_token, times[1].first_token + 10.0, 1e-6);
}

/* With one slot the second has to wait until nobody needs the first's adapter;
 * the third, which does, and the fourth, which needs none, pass by. */
static void who_finds_no_slot_is_passed_over(void **state)
{
    struct fixture *fixture = *state;
    const struct drive_times *times;

    add(fixture, 0.0, 1, 100, 3);
    add(fixture, 0.0, 2, 100, 1);
    add(fixture, 0.0, 1, 100, 1);
    add(fixture, 0.0, 0, 100, 1);
    times = drive(fixture, 1);
    assert_near(times[0].first_token, 10.0 + 300.0 + 500.0, 1e-6);
    assert_near(times[2].first_token, 810.0, 1e-6);
    assert_near(times[3].first_token, 810.0, 1e-6);
    assert_near(times[0].last_token, 830.0, 1e-6);
    assert_near(times[1].first_token, 830.0 + 110.0 + 500.0, 1e-6);
    assert_int_equal(fixture->drive.adapter_loads, 2);
}

/* Whatever the order, and with preemptions, everybody is served. */
static void nobody_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    struct test_rng rng = {7};
    const struct drive_times *times;

    for (int i = 0; i < 400; i++)
        add(fixture, 0.05 * i, (uint32_t)(test_rng_below(&rng, 6)),
            1 + (uint32_t)(test_rng_below(&rng, 400)),
            1 + (uint32_t)(test_rng_below(&rng, 300)));
    times = drive(fixture, 2);
    for (int i = 0; i < 400; i++)
        assert_true(times[i].last_token >= times[i].first_token &&
                    times[i].first_token > times[i].arrived);
    assert_true(fixture->drive.preemptions > 0);
    assert_in_range(fixture->drive.adapter_loads, 5, 400);
}

/* --- Drawing ------------------------------------------------------------- */

static void draw(struct workload *work, uint32_t adapters, double skew,
                 uint64_t seed)
{
    struct adapter_options options = {adapters, skew, seed};

    workload_draw_adapters(work, &options);
}

/* Shares of 1 / r^skew, within five standard deviations. */
static void adapters_follow_a_power_law(void **state)
{
    static const double skews[] = {0.0, 1.0, 2.0};
    enum { REQUESTS = 20000, ADAPTERS = 5 };
    struct fixture *fixture = *state;

    for (int i = 0; i < REQUESTS; i++)
        add(fixture, i, 0, 100, 1);
    for (size_t i = 0; i < sizeof skews / sizeof skews[0]; i++) {
        double counts[ADAPTERS] = {0};
        double sum = 0.0;

        draw(&fixture->work, ADAPTERS, skews[i], 3);
        for (int k = 0; k < REQUESTS; k++) {
            assert_in_range(fixture->work.requests[k].adapter, 1, ADAPTERS);
            counts[fixture->work.requests[k].adapter - 1]++;
        }
        for (int r = 1; r <= ADAPTERS; r++)
            sum += pow(r, -skews[i]);
        for (int r = 1; r <= ADAPTERS; r++) {
            double share = pow(r, -skews[i]) / sum;

            assert_near(counts[r - 1], REQUESTS * share,
                        5.0 * sqrt(REQUESTS * share * (1.0 - share)));
        }
    }
}

/* A session keeps its adapter; seeds differ. */
static void a_session_has_one_adapter(void **state)
{
    enum { SESSIONS = 50, TURNS = 4 };
    struct fixture *fixture = *state;
    uint64_t drawn[SESSIONS];
    int differ = 0;

    for (int i = 0; i < SESSIONS * TURNS; i++) {
        add(fixture, i, 0, 100, 1);
        fixture->work.requests[i].session = (uint64_t)(i % SESSIONS) + 1;
    }
    draw(&fixture->work, 8, 0.0, 1);
    for (int i = 0; i < SESSIONS; i++)
        drawn[i] = fixture->work.requests[i].adapter;
    for (int i = 0; i < SESSIONS * TURNS; i++)
        assert_int_equal(fixture->work.requests[i].adapter,
                         drawn[i % SESSIONS]);
    draw(&fixture->work, 8, 0.0, 2);
    for (int i = 0; i < SESSIONS; i++)
        differ += fixture->work.requests[i].adapter != drawn[i];
    assert_in_range(differ, SESSIONS / 2, SESSIONS);
}

/* Sixty-four equal prompts of two blocks: equal ids under the same adapter,
 * others under another. */
static void adapters_separate_content(void **state)
{
    enum { PROMPTS = 64 };
    struct fixture *fixture = *state;
    const struct work_request *requests;
    const uint32_t *ids;
    uint32_t known[2] = {workload_fresh_id(&fixture->work),
                         workload_fresh_id(&fixture->work)};
    struct work_content content = {known, 2, NULL, 0};

    for (int i = 0; i < PROMPTS; i++) {
        struct work_request request = {.at_s = i,
                                       .input_tokens = 2 * BLOCK,
                                       .output_tokens = 1,
                                       .follows = WORK_FOLLOWS_NONE};

        workload_add(&fixture->work, &request, &content);
    }
    draw(&fixture->work, 3, 0.0, 1);
    requests = fixture->work.requests;
    ids = fixture->work.ids;
    assert_int_equal(fixture->work.distinct_ids, 3 * 2);
    for (int i = 1; i < PROMPTS; i++)
        for (int k = 0; k < 2; k++)
            assert_int_equal(ids[requests[i].first_id + (size_t)k] ==
                                 ids[requests[0].first_id + (size_t)k],
                             requests[i].adapter == requests[0].adapter);
}

/* --- Fleet --------------------------------------------------------------- */

/* Loads of a fleet of two, each with one slot, whose requests come one after
 * the other. */
static uint64_t fleet_loads(struct fixture *fixture, const char *strategy)
{
    struct fleet_defaults defaults = {&plain, 0, 0};
    struct fleet_options options = {
        .scrape_s = 0.5, .adapter_slots = 1, .adapter_load_s = 0.5};
    struct fleet_spec fleet;
    struct fleet_log log;
    char error[256];
    uint64_t loads;

    assert_true(fleet_spec_parse("2", &defaults, &fleet, error, sizeof error));
    options.host.fleet = &fleet;
    options.host.strategy = strategy;
    options.host.seed = 1;
    options.host.max_requests = fixture->work.count;
    fleet_run(&fixture->work, &options, &log);
    loads = log.targets[0].adapter_loads + log.targets[1].adapter_loads;
    fleet_log_release(&log);
    fleet_spec_release(&fleet);
    return loads;
}

/* a a b b a a b b …: who goes round comes to each target with the other
 * adapter each time. With affinity each target keeps one. */
static void affinity_saves_loads(void **state)
{
    enum { ROUNDS = 10 };
    struct fixture *fixture = *state;

    for (int i = 0; i < 4 * ROUNDS; i++)
        add(fixture, 2.0 * i, i % 4 < 2 ? 1 : 2, 100, 1);
    fixture->work.adapters = 2;
    assert_int_equal(fleet_loads(fixture, "weighted"), 4 * ROUNDS);
    assert_int_equal(fleet_loads(fixture, "lora_aware"), 2);
}

/* --- Page ---------------------------------------------------------------- */

static void ignore(void *context, struct engine_request *request,
                   enum engine_event event)
{
    (void)context;
    (void)request;
    (void)event;
}

static lbroute_target make_target(lbroute_router **router)
{
    lbroute_router_options options;
    lbroute_target_options target;
    lbroute_target handle;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    assert_int_equal(lbroute_router_create(&options, router), LBROUTE_OK);
    lbroute_target_options_init(&target, sizeof target);
    target.name = "engine";
    target.name_len = strlen(target.name);
    assert_int_equal(lbroute_target_add(*router, &target, 0, &handle),
                     LBROUTE_OK);
    return handle;
}

static lbroute_target_stats read_page(struct vllm_page *page,
                                      const struct engine *engine)
{
    lbroute_router *router;
    lbroute_target target = make_target(&router);
    lbroute_target_stats stats;
    lbroute_diag diag;

    lbroute_diag_init(&diag, sizeof diag);
    vllm_page_write(page, engine, TEST_S);
    assert_int_equal(lbroute_ingest_metrics(router, target, page->text,
                                            page->length, TEST_S, &diag),
                     LBROUTE_OK);
    assert_int_equal(diag.broken, 0);
    assert_int_equal(diag.skipped, 0);
    for (int i = 0; i < LBROUTE_DIAG_COUNT; i++)
        assert_int_equal(diag.reasons[i], 0);
    lbroute_target_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_target_stats(router, target, TEST_S, &stats),
                     LBROUTE_OK);
    lbroute_router_destroy(router);
    return stats;
}

/* Three run with two adapters, a fourth waits for its own. All have the same
 * prompt of two blocks, and those behind the first find one: the last token is
 * computed again. */
static void the_router_reads_the_page(void **state)
{
    struct fixture *fixture = *state;
    struct engine_request requests[4] = {{0}};
    uint32_t ids[] = {0, 1, 2};
    static const uint32_t adapters[] = {1, 2, 1, 3};
    struct vllm_page page;
    struct engine *engine;
    lbroute_target_stats stats;
    double ms;

    fixture->engine.adapter_slots = 2;
    fixture->engine.distinct_ids = 3;
    engine = engine_create(&fixture->engine);
    vllm_page_init(&page, 3);
    for (int i = 0; i < 4; i++) {
        requests[i].ids = ids;
        requests[i].input_tokens = 32;
        requests[i].output_tokens = 8;
        requests[i].adapter = adapters[i];
        engine_submit(engine, &requests[i]);
        if (i == 0) {
            assert_true(engine_start_step(engine, &ms));
            engine_finish_step(engine, ignore, NULL);
        }
    }
    assert_true(engine_start_step(engine, &ms));
    stats = read_page(&page, engine);
    assert_near(stats.gauges[LBROUTE_GAUGE_RUNNING], 3.0, 0.0);
    assert_near(stats.gauges[LBROUTE_GAUGE_WAITING], 1.0, 0.0);
    assert_near(stats.gauges[LBROUTE_GAUGE_KV_USAGE], engine_kv_usage(engine),
                1e-15);
    assert_near(stats.gauges[LBROUTE_GAUGE_PREFIX_QUERIES], 96.0, 0.0);
    assert_near(stats.gauges[LBROUTE_GAUGE_PREFIX_HITS], 32.0, 0.0);
    assert_near(stats.gauges[LBROUTE_GAUGE_KV_BLOCKS], 100.0, 0.0);
    assert_near(stats.gauges[LBROUTE_GAUGE_BLOCK_TOKENS], 16.0, 0.0);
    assert_int_equal(stats.max_adapters, 2);
    assert_int_equal(stats.adapters, 2);
    assert_non_null(strstr(page.text, "{max_lora=\"2\",running_lora_adapters="
                                      "\"adapter-1,adapter-2\","
                                      "waiting_lora_adapters=\"adapter-3\"} 1"
                                      "\n"));
    vllm_page_release(&page);
    engine_destroy(engine);
}

/* Where nobody asks for an adapter, nothing is said of any. */
static void the_page_without_adapters(void **state)
{
    struct fixture *fixture = *state;
    struct vllm_page page;
    struct engine *engine;

    fixture->engine.distinct_ids = 1;
    engine = engine_create(&fixture->engine);
    vllm_page_init(&page, 0);
    assert_int_equal(read_page(&page, engine).max_adapters, -1);
    assert_null(strstr(page.text, "lora"));
    vllm_page_release(&page);
    engine_destroy(engine);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_one_used_longest_ago_goes),
        CASE(who_is_in_use_stays),
        CASE(loads_are_counted_and_take_time),
        CASE(a_load_delays_the_whole_step),
        CASE(who_finds_no_slot_is_passed_over),
        CASE(nobody_is_forgotten),
        CASE(adapters_follow_a_power_law),
        CASE(a_session_has_one_adapter),
        CASE(adapters_separate_content),
        CASE(affinity_saves_loads),
        CASE(the_router_reads_the_page),
        CASE(the_page_without_adapters),
    };

    return cmocka_run_group_tests_name("adapters", tests, NULL, NULL);
}
