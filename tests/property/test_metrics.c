/* SPDX-License-Identifier: MIT */
/*
 * Metrics pages against what they were written from: any engine, any spelling,
 * any order, with the noise of real pages; cut short and damaged at random.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lbroute/ingest.h>

#include "api.h"
#include "check.h"
#include "heap.h"
#include "prng.h"

enum {
    LINES_MOST = 400,
    LINE_ROOM = 400,
    SERIES_MOST = 4,
    PAGE_ROOM = LINES_MOST * LINE_ROOM
};

/* --- What engines print --------------------------------------------------- */

enum how { SUM, MEAN, LARGEST };

struct spelling {
    int gauge;
    enum how how;
    const char *label;    /* that every series has; NULL: none */
    const char *names[4]; /* the preferred one first */
};

struct engine {
    const char *name;
    struct spelling spellings[8];
};

static const struct engine engines[] = {
    {"vllm",
     {{LBROUTE_GAUGE_RUNNING, SUM, NULL, {"vllm:num_requests_running"}},
      {LBROUTE_GAUGE_WAITING, SUM, NULL, {"vllm:num_requests_waiting"}},
      {LBROUTE_GAUGE_KV_USAGE,
       MEAN,
       NULL,
       {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"}},
      {LBROUTE_GAUGE_PREFIX_QUERIES,
       SUM,
       NULL,
       {"vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries",
        "vllm:gpu_prefix_cache_queries_total",
        "vllm:gpu_prefix_cache_queries"}},
      {LBROUTE_GAUGE_PREFIX_HITS,
       SUM,
       NULL,
       {"vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits",
        "vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits"}}}},
    {"sglang",
     {{LBROUTE_GAUGE_RUNNING, SUM, NULL, {"sglang:num_running_reqs"}},
      {LBROUTE_GAUGE_WAITING, SUM, NULL, {"sglang:num_queue_reqs"}},
      {LBROUTE_GAUGE_KV_USAGE, LARGEST, NULL, {"sglang:token_usage"}},
      {LBROUTE_GAUGE_PREFIX_QUERIES,
       SUM,
       NULL,
       {"sglang:prompt_tokens_total", "sglang:prompt_tokens"}},
      {LBROUTE_GAUGE_PREFIX_HITS,
       SUM,
       NULL,
       {"sglang:cached_tokens_total", "sglang:cached_tokens"}}}},
    {"trtllm",
     {{LBROUTE_GAUGE_RUNNING, SUM, NULL, {"trtllm_num_requests_running"}},
      {LBROUTE_GAUGE_WAITING, SUM, NULL, {"trtllm_num_requests_waiting"}},
      {LBROUTE_GAUGE_KV_USAGE, MEAN, NULL, {"trtllm_kv_cache_utilization"}},
      {LBROUTE_GAUGE_PREFIX_HITS,
       SUM,
       NULL,
       {"trtllm_prompt_cached_tokens_total", "trtllm_prompt_cached_tokens"}},
      {LBROUTE_GAUGE_KV_BLOCKS, SUM, NULL, {"trtllm_kv_cache_max_blocks"}},
      {LBROUTE_GAUGE_BLOCK_TOKENS,
       LARGEST,
       NULL,
       {"trtllm_kv_cache_tokens_per_block"}}}},
    {"triton",
     {{LBROUTE_GAUGE_RUNNING,
       SUM,
       "request_type=\"scheduled\"",
       {"nv_trt_llm_request_metrics"}},
      {LBROUTE_GAUGE_WAITING,
       SUM,
       "request_type=\"waiting\"",
       {"nv_trt_llm_request_metrics"}},
      {LBROUTE_GAUGE_KV_USAGE,
       MEAN,
       "kv_cache_block_type=\"fraction\"",
       {"nv_trt_llm_kv_cache_block_metrics"}}}},
    {"tgi",
     {{LBROUTE_GAUGE_RUNNING, SUM, NULL, {"tgi_batch_current_size"}},
      {LBROUTE_GAUGE_WAITING, SUM, NULL, {"tgi_queue_size"}}}},
    {"llama.cpp",
     {{LBROUTE_GAUGE_RUNNING, SUM, NULL, {"llamacpp:requests_processing"}},
      {LBROUTE_GAUGE_WAITING, SUM, NULL, {"llamacpp:requests_deferred"}},
      {LBROUTE_GAUGE_KV_USAGE, MEAN, NULL, {"llamacpp:kv_cache_usage_ratio"}}}},
};

enum { ENGINES = sizeof engines / sizeof engines[0] };

/* --- Pages ---------------------------------------------------------------- */

static struct page {
    char lines[LINES_MOST][LINE_ROOM];
    size_t count;
    size_t samples; /* lines that are neither empty nor comments */
    size_t used;    /* of these, the ones with a known name */
    double wanted[LBROUTE_GAUGE_COUNT]; /* NaN: not on the page */
    char text[PAGE_ROOM];
    size_t length;
} page;

static struct run {
    struct rng rng;
    struct heap heap;
    lbroute_router *router;
    lbroute_pool pool;
    lbroute_target target;
    lbroute_diag diag;
} run;

static const char *blank(void)
{
    static const char *const blanks[] = {"", " ", "\t", "  ", " \t "};
    return blanks[rng_below(&run.rng, 5)];
}

static char *new_line(void)
{
    CHECK(page.count < LINES_MOST);
    return page.lines[page.count++];
}

/* Labels of series `number`, in one of two orders; the set is the same. */
static void put_labels(char *line, size_t room, const char *fixed, int number,
                       int model)
{
    static const char *const models[] = {"a", "org/{x}, y=1} 99",
                                         "q\\\"uote\\\\", "# EOF"};
    char parts[3][100];
    int first = (int)rng_below(&run.rng, 2);
    snprintf(parts[0], sizeof parts[0], "engine%s=%s\"%d\"", blank(), blank(),
             number);
    snprintf(parts[1], sizeof parts[1], "model_name=\"%s\"", models[model]);
    snprintf(parts[2], sizeof parts[2], "%s%s", fixed ? "," : "",
             fixed ? fixed : "");
    snprintf(line, room, "{%s%s%s,%s%s%s%s%s}", blank(), parts[first], blank(),
             parts[1 - first], blank(), parts[2], blank(),
             rng_chance(&run.rng, 20) ? "," : "");
}

/* A value that is exact in binary, written in one of many ways. */
static void put_value(char *text, size_t room, double value)
{
    static const char *const forms[] = {"%.10g", "%.4f",   "%e",
                                        "%.17g", "%+.10g", "%.3E"};
    char form[16];
    char back[64];
    snprintf(form, sizeof form, "%s", forms[rng_below(&run.rng, 6)]);
    snprintf(back, sizeof back, form, value);
    if (strtod(back, NULL) != value) /* that form would lose digits */
        snprintf(back, sizeof back, "%.17g", value);
    snprintf(text, room, "%s", back);
}

static const char *tail(void)
{
    static const char *const tails[] = {"",
                                        "",
                                        "",
                                        " ",
                                        " 1700000000000",
                                        "\t-5",
                                        " 1.69e9 # {trace=\"x\"} 1",
                                        " # {a=\"}\"} 5.9 1.69e9",
                                        " #  5.9 1.69e9"};
    return tails[rng_below(&run.rng, 9)];
}

static void put_series(const char *name, const char *fixed, int number,
                       int model, double value)
{
    char labels[300];
    char number_text[64];
    put_labels(labels, sizeof labels, fixed, number, model);
    put_value(number_text, sizeof number_text, value);
    snprintf(new_line(), LINE_ROOM, "%s%s%s%s%s%s%s", blank(), name, blank(),
             labels, blank(), number_text, tail());
    page.samples++;
    page.used++;
}

static double draw_value(int gauge)
{
    if (gauge == LBROUTE_GAUGE_KV_USAGE)
        return rng_below(&run.rng, 65) / 64.0;
    return rng_below(&run.rng, 400) / 4.0;
}

/* Some series of one name; gives their figure. Now and then one is repeated. */
static double put_name(const struct spelling *spelling, const char *name)
{
    int count = 1 + (int)rng_below(&run.rng, SERIES_MOST);
    double sum = 0;
    double largest = 0;
    for (int i = 0; i < count; i++) {
        double value = draw_value(spelling->gauge);
        put_series(name, spelling->label, i / 2, i % 2, value);
        if (rng_chance(&run.rng, 10))
            put_series(name, spelling->label, i / 2, i % 2, value);
        sum += value;
        largest = value > largest ? value : largest;
    }
    if (spelling->how == LARGEST)
        return largest;
    return spelling->how == SUM ? sum : sum / count;
}

static void put_spelling(const struct spelling *spelling)
{
    double wanted = (double)NAN;
    for (int i = 0; i < 4 && spelling->names[i]; i++) {
        double figure;
        if (!rng_chance(&run.rng, 60))
            continue;
        figure = put_name(spelling, spelling->names[i]);
        if (isnan(wanted))
            wanted = figure;
    }
    page.wanted[spelling->gauge] = wanted;
}

/* What every page has besides. */
static void put_noise(void)
{
    static const char *const noise[] = {
        "# HELP vllm:num_requests_waiting 5 things",
        "# TYPE vllm:num_requests_waiting gauge",
        "#",
        "",
        "   \t",
        "# a\rb"};
    static const char *const strangers[] = {
        "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 40",
        "xvllm:num_requests_waiting 77",
        "vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\"} 5.0",
        "process_cpu_seconds_total 12.5",
        "nv_trt_llm_request_metrics{request_type=\"max\"} 512",
        "up NaN"};
    for (uint32_t i = rng_below(&run.rng, 12); i > 0; i--)
        snprintf(new_line(), LINE_ROOM, "%s", noise[rng_below(&run.rng, 6)]);
    for (uint32_t i = rng_below(&run.rng, 12); i > 0; i--) {
        snprintf(new_line(), LINE_ROOM, "%s",
                 strangers[rng_below(&run.rng, 6)]);
        page.samples++;
    }
}

static void draw_page(void)
{
    const struct engine *engine = &engines[rng_below(&run.rng, ENGINES)];
    page.count = page.samples = page.used = 0;
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        page.wanted[gauge] = (double)NAN;
    for (int i = 0; i < 8 && engine->spellings[i].names[0]; i++)
        put_spelling(&engine->spellings[i]);
    put_noise();
}

static void shuffle_lines(void)
{
    char swap[LINE_ROOM];
    for (size_t i = page.count; i > 1; i--) {
        size_t j = rng_below(&run.rng, (uint32_t)i);
        memcpy(swap, page.lines[i - 1], LINE_ROOM);
        memcpy(page.lines[i - 1], page.lines[j], LINE_ROOM);
        memcpy(page.lines[j], swap, LINE_ROOM);
    }
}

/* The lines with ends of one kind, or mixed ones, or none after the last. */
static void write_text(void)
{
    uint32_t ends = rng_below(&run.rng, 3);
    page.length = 0;
    for (size_t i = 0; i < page.count; i++) {
        int cr = ends == 1 || (ends == 2 && rng_chance(&run.rng, 50));
        page.length +=
            (size_t)snprintf(page.text + page.length, PAGE_ROOM - page.length,
                             "%s%s", page.lines[i], cr ? "\r\n" : "\n");
    }
    if (page.length > 0 && rng_chance(&run.rng, 30))
        page.length--;
}

/* --- Runs ----------------------------------------------------------------- */

static void start(const char *what, uint64_t seed)
{
    lbroute_router_options options;
    check_context(what, seed);
    rng_seed(&run.rng, seed);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    heap_attach(&run.heap, &options);
    CHECK_I(lbroute_router_create(&options, &run.router), LBROUTE_OK);
    run.pool = api_pool(run.router, "pool", "lora_aware");
    run.target = api_target(run.router, run.pool, "target", 1);
    lbroute_diag_init(&run.diag, sizeof run.diag);
}

static void stop(void)
{
    lbroute_router_destroy(run.router);
    CHECK_U(run.heap.live, 0);
}

/* Feeds bytes from memory of exactly their length. */
static int feed(const char *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    int result;
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    result = lbroute_ingest_metrics(run.router, run.target, copy, length, 0,
                                    &run.diag);
    free(copy);
    return result;
}

static void check_gauges(double tolerance)
{
    lbroute_target_stats stats = api_target_stats(run.router, run.target, 0);
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
        /* SGLang's capacity, which is counted in tokens, is not drawn. */
        if (isnan(page.wanted[gauge]))
            CHECK_SAME(stats.gauges[gauge], page.wanted[gauge]);
        else
            CHECK_NEAR(stats.gauges[gauge], page.wanted[gauge], tolerance);
    }
}

static void pages_say_what_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(3000); seed++) {
        start("pages", seed);
        draw_page();
        for (int order = 0; order < 3; order++) {
            int result;
            check_step((uint64_t)order);
            write_text();
            result = feed(page.text, page.length);
            CHECK_I(result, page.used ? LBROUTE_OK : LBROUTE_ERR_NO_NEWS);
            CHECK_U(run.diag.accepted, page.used);
            CHECK_U(run.diag.accepted + run.diag.skipped, page.samples);
            CHECK_U(run.diag.broken, 0);
            CHECK_I(run.diag.offset, -1);
            CHECK_I(run.diag.line, -1);
            check_gauges(1e-12);
            shuffle_lines();
        }
        stop();
    }
}

/* What is true of any bytes. */
static void check_any(int result)
{
    lbroute_target_stats stats = api_target_stats(run.router, run.target, 0);
    uint64_t broken = 0;
    CHECK(result == LBROUTE_OK || result == LBROUTE_ERR_NO_NEWS);
    CHECK(result == LBROUTE_OK || run.diag.accepted == 0);
    for (int i = LBROUTE_DIAG_NAME; i <= LBROUTE_DIAG_TIMESTAMP; i++)
        broken += run.diag.reasons[i];
    CHECK_U(run.diag.broken, broken);
    CHECK_I(run.diag.line < 0, !broken);
    CHECK_I(run.diag.offset < 0, !broken);
    CHECK(stats.load >= 0 && isfinite(stats.load));
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++)
        CHECK(isnan(stats.gauges[gauge]) || stats.gauges[gauge] >= 0);
}

/* A page that is cut says what its whole lines say. */
static void every_truncation_is_read(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(20); seed++) {
        start("truncations", seed);
        draw_page();
        write_text();
        for (size_t length = 0; length <= page.length; length++) {
            check_step(length);
            check_any(feed(page.text, length));
            CHECK(run.diag.broken <= 1);
            CHECK(run.diag.accepted <= page.used);
        }
        stop();
    }
}

static void damage(void)
{
    static const char marks[] =
        "{}\"\\,=#\n\r \t:_-+.eENaInf0123456789\x80\xff";
    for (uint32_t i = rng_between(&run.rng, 1, 8); i > 0 && page.length; i--) {
        size_t at = rng_below(&run.rng, (uint32_t)page.length);
        uint32_t kind = rng_below(&run.rng, 4);
        if (kind == 0) {
            page.text[at] = (char)rng_below(&run.rng, 256);
        } else if (kind < 3) {
            page.text[at] = marks[rng_below(&run.rng, sizeof marks - 1)];
        } else {
            memmove(page.text + at, page.text + at + 1, page.length - at - 1);
            page.length--;
        }
    }
}

/* Damage never costs more than the lines it touches. */
static void damage_is_local(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scaled(10000); seed++) {
        start("damage", seed);
        draw_page();
        write_text();
        damage();
        check_any(feed(page.text, page.length));
        /* Each change breaks at most two lines, or makes two of one. */
        CHECK(run.diag.broken <= 16);
        stop();
    }
}

/* --- Memory --------------------------------------------------------------- */

static void put_adapters(const char *running)
{
    snprintf(new_line(), LINE_ROOM,
             "vllm:lora_requests_info{max_lora=\"8\",running_lora_adapters="
             "\"%s\",waiting_lora_adapters=\"\"} 1.7907e+09",
             running);
    page.samples++;
    page.used++;
}

/* Once warm no page takes memory; before, it is for the adapters only, and
 * without it nothing changes. */
static void pages_allocate_nothing(void **state)
{
    lbroute_target_stats stats;
    uint64_t calls;
    (void)state;
    start("memory", 1);
    calls = run.heap.calls;
    for (int i = 0; i < 200; i++) {
        draw_page();
        write_text();
        (void)feed(page.text, page.length);
    }
    CHECK_U(run.heap.calls, calls);
    draw_page();
    put_adapters("a,b,c");
    write_text();
    run.heap.fail_at = run.heap.calls + 1;
    stats = api_target_stats(run.router, run.target, 0);
    CHECK_I(feed(page.text, page.length), LBROUTE_ERR_NO_MEMORY);
    CHECK_SAME(api_target_stats(run.router, run.target, 0).load, stats.load);
    CHECK_U(api_target_stats(run.router, run.target, 0).adapters, 0);
    CHECK_I(feed(page.text, page.length), LBROUTE_OK);
    CHECK_U(api_target_stats(run.router, run.target, 0).adapters, 3);
    for (int i = 0; i < 200; i++) {
        calls = i < 10 ? run.heap.calls : calls;
        draw_page();
        put_adapters(i % 2 ? "d,e,f" : i % 3 ? "g,h" : "i,j,k,l");
        write_text();
        CHECK_I(feed(page.text, page.length), LBROUTE_OK);
    }
    CHECK_U(run.heap.calls, calls);
    stop();
}

enum { OPEN = 40, ADAPTERS = 12, TARGETS = 6 };

/* A request with an adapter and a lookup; the one before the last OPEN is
 * settled. */
static void serve_adapter(const lbroute_target *targets,
                          lbroute_ticket open[OPEN], size_t step)
{
    char adapter[16];
    uint64_t tokens[TARGETS];
    lbroute_request request;
    lbroute_decision decision;
    api_request(&request, run.pool);
    request.adapter_len = (size_t)snprintf(
        adapter, sizeof adapter, "adapter-%u", rng_below(&run.rng, ADAPTERS));
    request.adapter = adapter;
    for (size_t i = 0; i < TARGETS; i++)
        tokens[i] = rng_below(&run.rng, 2000);
    request.lookup_targets = targets;
    request.lookup_tokens = tokens;
    request.lookup_len = TARGETS;
    if (open[step % OPEN])
        api_settle(run.router, open[step % OPEN],
                   rng_chance(&run.rng, 80) ? LBROUTE_EVENT_SUCCESS
                                            : LBROUTE_EVENT_FAILURE,
                   step * MILLISECOND);
    api_pick(run.router, &request, step * MILLISECOND, &decision);
    open[step % OPEN] = decision.ticket;
}

/* Lets a target hold every adapter once, so that its list is as long as it
 * gets. */
static void hold_all_adapters(lbroute_target target)
{
    char names[ADAPTERS][16];
    const char *pointers[ADAPTERS];
    size_t lengths[ADAPTERS];
    for (unsigned i = 0; i < ADAPTERS; i++) {
        lengths[i] =
            (size_t)snprintf(names[i], sizeof names[i], "adapter-%u", i);
        pointers[i] = names[i];
    }
    CHECK_I(lbroute_set_adapters(run.router, target, pointers, lengths,
                                 ADAPTERS, -1, 0),
            LBROUTE_OK);
}

static void warm_adapters_allocate_nothing(void **state)
{
    static const char *const strategies[] = {"lora_aware", "lmcache_aware"};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        lbroute_target targets[TARGETS];
        lbroute_ticket open[OPEN] = {0};
        uint64_t calls = 0;
        start(strategies[s], 1);
        run.pool = api_pool(run.router, "warm", strategies[s]);
        api_targets(run.router, run.pool, TARGETS, targets);
        for (size_t i = 0; i < TARGETS; i++)
            hold_all_adapters(targets[i]);
        for (size_t step = 0; step < scaled(50000); step++) {
            check_step(step);
            calls = step < 2000 ? run.heap.calls : calls;
            serve_adapter(targets, open, step);
            CHECK_I(lbroute_set_occupancy(run.router, targets[step % TARGETS],
                                          0.5, 1, step * MILLISECOND),
                    LBROUTE_OK);
            if (step >= 2000)
                CHECK_U(run.heap.calls, calls);
        }
        stop();
    }
}

/* Memory that is missing for an adapter costs no pick. */
static void adapters_without_memory(void **state)
{
    (void)state;
    for (uint64_t fail_at = 1; fail_at < 12; fail_at++) {
        lbroute_target targets[TARGETS];
        lbroute_ticket open[OPEN] = {0};
        start("adapters without memory", fail_at);
        run.pool = api_pool(run.router, "pool 2", "lora_aware");
        api_targets(run.router, run.pool, TARGETS, targets);
        serve_adapter(targets, open, 0); /* the first ticket takes memory */
        run.heap.fail_at = run.heap.calls + fail_at;
        for (size_t step = 1; step < 200; step++)
            serve_adapter(targets, open, step);
        for (size_t i = 0; i < OPEN; i++)
            api_settle(run.router, open[i], LBROUTE_EVENT_CANCEL, SECOND);
        stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_say_what_was_written),
        cmocka_unit_test(every_truncation_is_read),
        cmocka_unit_test(damage_is_local),
        cmocka_unit_test(pages_allocate_nothing),
        cmocka_unit_test(warm_adapters_allocate_nothing),
        cmocka_unit_test(adapters_without_memory),
    };
    return cmocka_run_group_tests(tests, check_use_cmocka, NULL);
}
