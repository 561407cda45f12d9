/* SPDX-License-Identifier: MIT */
#include "vllm_page.h"

#include "adapter_slots.h"
#include "grow.h"
#include "workload_adapters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As on the page of a server with one engine. */
#define LABELS "engine=\"0\",model_name=\"%s\""

static void add(struct vllm_page *page, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    page->text = grow_array(page->text, &page->capacity,
                            page->length + (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(page->text + page->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    page->length += (size_t)length;
}

static void add_head(struct vllm_page *page, const char *name, const char *type,
                     const char *help)
{
    add(page, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, type);
}

/* All digits, so that what is read is what was written. */
static void add_gauge(struct vllm_page *page, const char *name,
                      const char *help, double value)
{
    add_head(page, name, "gauge", help);
    add(page, "vllm:%s{" LABELS "} %.17g\n", name, page->model, value);
}

void vllm_page_add_counter(struct vllm_page *page, const char *name,
                           const char *help, uint64_t value)
{
    add_head(page, name, "counter", help);
    add(page, "vllm:%s{" LABELS "} %" PRIu64 "\n", name, page->model, value);
}

static void add_cache(struct vllm_page *page, const struct engine *engine)
{
    add_gauge(page, "kv_cache_usage_perc",
              "KV-cache usage. 1 means 100 percent usage.",
              engine_kv_usage(engine));
    vllm_page_add_counter(
        page, "prefix_cache_queries_total",
        "Prefix cache queries, in terms of number of queried tokens.",
        engine_queried(engine));
    vllm_page_add_counter(
        page, "prefix_cache_hits_total",
        "Prefix cache hits, in terms of number of cached tokens.",
        engine_found(engine));
    add_head(page, "cache_config_info", "gauge",
             "Information of the LLMEngine CacheConfig");
    add(page,
        "vllm:cache_config_info{block_size=\"%" PRIu32
        "\",enable_prefix_caching=\"True\",engine=\"0\","
        "num_gpu_blocks=\"%" PRIu32 "\"} 1.0\n",
        engine_block_tokens(engine), engine_blocks(engine));
}

/* Each name once, as on the page. */
static void list_adapter(void *context, uint32_t adapter)
{
    struct vllm_page *page = context;
    char numbered[ADAPTER_NAME_MAX];
    const char *name = numbered;

    if (adapter == ADAPTER_NONE || page->listed[adapter])
        return;
    page->listed[adapter] = true;
    if (page->names != NULL)
        name = page->names[adapter - 1];
    else
        adapter_name(adapter, numbered);
    add(page, "%s%s", page->text[page->length - 1] == '"' ? "" : ",", name);
}

static void add_list(struct vllm_page *page, const struct engine *engine,
                     const char *label, bool waiting)
{
    memset(page->listed, 0, (page->adapters + 1) * sizeof *page->listed);
    add(page, ",%s=\"", label);
    engine_list_adapters(engine, waiting, list_adapter, page);
    add(page, "\"");
}

/* The value is the time at which the lists were as they say. */
static void add_adapters(struct vllm_page *page, const struct engine *engine,
                         uint64_t now_ns)
{
    add_head(page, "lora_requests_info", "gauge",
             "Running stats on lora requests.");
    add(page, "vllm:lora_requests_info{max_lora=\"%" PRIu32 "\"",
        engine_adapter_slots(engine));
    add_list(page, engine, "running_lora_adapters", false);
    add_list(page, engine, "waiting_lora_adapters", true);
    add(page, "} %.17g\n", (double)now_ns / 1e9);
}

void vllm_page_init(struct vllm_page *page, uint32_t adapters)
{
    *page = (struct vllm_page){.adapters = adapters, .model = "replay"};
    page->listed = grow_zeroed((size_t)adapters + 1, sizeof *page->listed);
}

void vllm_page_write(struct vllm_page *page, const struct engine *engine,
                     uint64_t now_ns)
{
    page->length = 0;
    add_gauge(page, "num_requests_running",
              "Number of requests in model execution batches.",
              engine_running(engine));
    add_gauge(page, "num_requests_waiting",
              "Number of requests waiting to be processed.",
              engine_waiting(engine));
    add_cache(page, engine);
    if (engine_adapter_slots(engine) > 0)
        add_adapters(page, engine, now_ns);
}

void vllm_page_release(struct vllm_page *page)
{
    free(page->text);
    free(page->listed);
    *page = (struct vllm_page){0};
}
