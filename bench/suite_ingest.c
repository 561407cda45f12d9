/* SPDX-License-Identifier: MIT */
/*
 * What engines report, from the bytes to the router:
 *
 *     ingest.metrics      a metrics page of some 20 kB, as vLLM prints one
 */
#include "fleet.h"

#include <lbroute/ingest.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_ROOM = 1 << 16, HISTOGRAMS = 10, BUCKETS = 14 };

#define LABELS "engine=\"0\",model_name=\"example/Model-7B-Instruct\""

typedef struct page {
    bench_fleet *fleet;
    lbroute_target target;
    char *text;
    size_t length;
} page;

static void put(page *self, const char *text)
{
    self->length += (size_t)snprintf(self->text + self->length,
                                     PAGE_ROOM - self->length, "%s", text);
}

/* A metric with its two comment lines and one series. */
static void put_single(page *self, const char *name, const char *type,
                       double value)
{
    char lines[512];

    snprintf(lines, sizeof lines,
             "# HELP %s A figure of the engine, told in a few words.\n"
             "# TYPE %s %s\n%s{" LABELS "} %.17g\n",
             name, name, type, name, value);
    put(self, lines);
}

static void put_histogram(page *self, const char *name)
{
    char line[512];

    snprintf(line, sizeof line,
             "# HELP %s Histogram of a time, in seconds.\n"
             "# TYPE %s histogram\n%s_sum{" LABELS "} 1234.5678901234567\n",
             name, name, name);
    put(self, line);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        snprintf(line, sizeof line, "%s_bucket{" LABELS ",le=\"%g\"} %d.0\n",
                 name, 0.001 * (double)(1 << bucket), 100 * bucket);
        put(self, line);
    }
    snprintf(line, sizeof line, "%s_count{" LABELS "} 1400.0\n", name);
    put(self, line);
}

static void put_page(page *self)
{
    static const char *const histograms[HISTOGRAMS] = {
        "vllm:time_to_first_token_seconds",
        "vllm:inter_token_latency_seconds",
        "vllm:e2e_request_latency_seconds",
        "vllm:request_queue_time_seconds",
        "vllm:request_time_per_output_token_seconds",
        "vllm:request_inference_time_seconds",
        "vllm:request_prefill_time_seconds",
        "vllm:request_decode_time_seconds",
        "vllm:request_prompt_tokens",
        "vllm:request_generation_tokens"};

    put_single(self, "process_resident_memory_bytes", "gauge", 1.5e9);
    put_single(self, "vllm:num_requests_running", "gauge", 12);
    put_single(self, "vllm:num_requests_waiting", "gauge", 3);
    put_single(self, "vllm:kv_cache_usage_perc", "gauge", 0.4271);
    put_single(self, "vllm:prefix_cache_queries_total", "counter", 8128902);
    put_single(self, "vllm:prefix_cache_hits_total", "counter", 5044416);
    put_single(self, "vllm:generation_tokens_total", "counter", 7557572);
    put(self,
        "vllm:cache_config_info{block_size=\"16\"," LABELS
        ",num_gpu_blocks=\"27000\"} 1.0\n"
        "vllm:lora_requests_info{max_lora=\"4\",running_lora_adapters=\"sql,"
        "chat\",waiting_lora_adapters=\"chat\"} 1.7907e+09\n");
    for (size_t i = 0; i < HISTOGRAMS; i++)
        put_histogram(self, histograms[i]);
}

static void *open_page(const bench_case *test)
{
    page *self = bench_alloc(1, sizeof *self);

    self->fleet = bench_fleet_open(test);
    self->target = self->fleet->lanes[0]->decision.target;
    self->text = bench_alloc(1, PAGE_ROOM);
    put_page(self);
    return self;
}

static void work_page(void *fixture, unsigned lane_number, uint64_t operations)
{
    page *self = fixture;
    bench_lane *lane = self->fleet->lanes[lane_number];
    lbroute_diag diag;

    lbroute_diag_init(&diag, sizeof diag);
    for (uint64_t i = 0; i < operations; i++)
        bench_check(lbroute_ingest_metrics(lane->router, self->target,
                                           self->text, self->length, lane->now,
                                           &diag),
                    "ingest_metrics");
    bench_keep(diag.accepted);
}

static void close_page(void *fixture)
{
    page *self = fixture;

    bench_fleet_close(self->fleet);
    free(self->text);
    free(self);
}

static const bench_kind metrics = {
    .open = open_page, .work = work_page, .close = close_page};

void bench_suite_ingest(bench_list *list)
{
    bench_case *test = bench_list_add(list, &metrics, "ingest.metrics");

    test->strategy = "least_connections";
    test->targets = 10;
    test->budget_ns = 20000;
}
