/* SPDX-License-Identifier: MIT */
#include "ingest/metric_names.h"

enum {
    RUNNING = LBROUTE_GAUGE_RUNNING,
    WAITING = LBROUTE_GAUGE_WAITING,
    USAGE = LBROUTE_GAUGE_KV_USAGE,
    QUERIES = LBROUTE_GAUGE_PREFIX_QUERIES,
    HITS = LBROUTE_GAUGE_PREFIX_HITS,
    BLOCKS = LBROUTE_GAUGE_KV_BLOCKS,
    BLOCK_TOKENS = LBROUTE_GAUGE_BLOCK_TOKENS,
    USED = LBR_TELLS_USED,
    ADAPTERS = LBR_TELLS_ADAPTERS
};

enum {
    SUM = LBR_TOTAL_SUM,
    MEAN = LBR_TOTAL_MEAN,
    MAX = LBR_TOTAL_MAX,
    ONE = LBR_TOTAL_ONE
};

#define NAMED(name)                                                            \
    {                                                                          \
        name, sizeof name - 1                                                  \
    }

/* clang-format off */
const struct lbr_metric lbr_metrics[LBR_METRICS] = {
    /* vLLM; the old spellings come after the new ones. */
    {NAMED("vllm:num_requests_running"), RUNNING, SUM, NULL, NULL},
    {NAMED("vllm:num_requests_waiting"), WAITING, SUM, NULL, NULL},
    {NAMED("vllm:kv_cache_usage_perc"), USAGE, MEAN, NULL, NULL},
    {NAMED("vllm:gpu_cache_usage_perc"), USAGE, MEAN, NULL, NULL},
    {NAMED("vllm:prefix_cache_queries_total"), QUERIES, SUM, NULL, NULL},
    {NAMED("vllm:prefix_cache_queries"), QUERIES, SUM, NULL, NULL},
    {NAMED("vllm:gpu_prefix_cache_queries_total"), QUERIES, SUM, NULL, NULL},
    {NAMED("vllm:gpu_prefix_cache_queries"), QUERIES, SUM, NULL, NULL},
    {NAMED("vllm:prefix_cache_hits_total"), HITS, SUM, NULL, NULL},
    {NAMED("vllm:prefix_cache_hits"), HITS, SUM, NULL, NULL},
    {NAMED("vllm:gpu_prefix_cache_hits_total"), HITS, SUM, NULL, NULL},
    {NAMED("vllm:gpu_prefix_cache_hits"), HITS, SUM, NULL, NULL},
    {NAMED("vllm:cache_config_info"), BLOCKS, SUM, "num_gpu_blocks", NULL},
    {NAMED("vllm:cache_config_info"), BLOCK_TOKENS, MAX, "block_size", NULL},
    {NAMED("vllm:lora_requests_info"), ADAPTERS, ONE, NULL, NULL},

    /* SGLang: each rank's usage is that of its fullest pool, and a request
     * needs room on all ranks. Its capacity is counted in tokens. */
    {NAMED("sglang:num_running_reqs"), RUNNING, SUM, NULL, NULL},
    {NAMED("sglang:num_queue_reqs"), WAITING, SUM, NULL, NULL},
    {NAMED("sglang:token_usage"), USAGE, MAX, NULL, NULL},
    {NAMED("sglang:prompt_tokens_total"), QUERIES, SUM, NULL, NULL},
    {NAMED("sglang:prompt_tokens"), QUERIES, SUM, NULL, NULL},
    {NAMED("sglang:cached_tokens_total"), HITS, SUM, NULL, NULL},
    {NAMED("sglang:cached_tokens"), HITS, SUM, NULL, NULL},
    {NAMED("sglang:num_used_tokens"), USED, SUM, NULL, NULL},
    {NAMED("sglang:max_total_num_tokens"), BLOCKS, SUM, NULL, NULL},
    {NAMED("sglang:max_total_num_tokens"), BLOCK_TOKENS, ONE, NULL, NULL},

    /* TensorRT-LLM, trtllm-serve. */
    {NAMED("trtllm_num_requests_running"), RUNNING, SUM, NULL, NULL},
    {NAMED("trtllm_num_requests_waiting"), WAITING, SUM, NULL, NULL},
    {NAMED("trtllm_kv_cache_utilization"), USAGE, MEAN, NULL, NULL},
    {NAMED("trtllm_prompt_cached_tokens_total"), HITS, SUM, NULL, NULL},
    {NAMED("trtllm_prompt_cached_tokens"), HITS, SUM, NULL, NULL},
    {NAMED("trtllm_kv_cache_used_blocks"), USED, SUM, NULL, NULL},
    {NAMED("trtllm_kv_cache_max_blocks"), BLOCKS, SUM, NULL, NULL},
    {NAMED("trtllm_kv_cache_tokens_per_block"), BLOCK_TOKENS, MAX, NULL, NULL},

    /* Triton with TensorRT-LLM. */
    {NAMED("nv_trt_llm_request_metrics"), RUNNING, SUM, "request_type", "scheduled"},
    {NAMED("nv_trt_llm_request_metrics"), WAITING, SUM, "request_type", "waiting"},
    {NAMED("nv_trt_llm_kv_cache_block_metrics"), USAGE, MEAN,
     "kv_cache_block_type", "fraction"},
    {NAMED("nv_trt_llm_kv_cache_block_metrics"), BLOCKS, SUM,
     "kv_cache_block_type", "max"},
    {NAMED("nv_trt_llm_kv_cache_block_metrics"), BLOCK_TOKENS, MAX,
     "kv_cache_block_type", "tokens_per"},
    {NAMED("nv_trt_llm_kv_cache_block_metrics"), USED, SUM,
     "kv_cache_block_type", "used"},

    /* TGI. */
    {NAMED("tgi_batch_current_size"), RUNNING, SUM, NULL, NULL},
    {NAMED("tgi_queue_size"), WAITING, SUM, NULL, NULL},

    /* llama.cpp; its newer builds print no usage. */
    {NAMED("llamacpp:requests_processing"), RUNNING, SUM, NULL, NULL},
    {NAMED("llamacpp:requests_deferred"), WAITING, SUM, NULL, NULL},
    {NAMED("llamacpp:kv_cache_usage_ratio"), USAGE, MEAN, NULL, NULL},
};
/* clang-format on */

int lbr_metric_goes_on(unsigned row)
{
    return row < LBR_METRICS &&
           lbr_text_equal(lbr_metrics[row].name, lbr_metrics[row - 1].name);
}

unsigned lbr_metric_find(struct lbr_text name)
{
    unsigned row = 0;

    while (row < LBR_METRICS && !lbr_text_equal(lbr_metrics[row].name, name))
        row++;
    return row;
}
