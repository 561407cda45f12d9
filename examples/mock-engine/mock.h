/* SPDX-License-Identifier: MIT */
/*
 * A mock engine: an inference server without a model, for tests and demos of
 * what stands in front of one. It speaks HTTP as vLLM does, takes the time that
 * a measured engine would take (the model of lbroute-replay, in real time), and
 * publishes the KV events of its prefix cache.
 *
 *     routes ─▶ gate ─▶ job ─▶ pace ─▶ engine model
 *              faults    │               │ log
 *                        ▼               ▼
 *                     dialect         kv_journal ─▶ kv_publisher (ZeroMQ)
 *
 * Served: POST /v1/chat/completions, /v1/completions, /v1/responses and
 * /v1/messages (streamed or not), /v1/messages/count_tokens, /v1/embeddings,
 * /tokenize, /v1/load_lora_adapter and /v1/unload_lora_adapter; GET /v1/models,
 * /health, /version, /metrics. Beside that, for tests:
 *
 *     POST /mock/faults   what goes wrong from now on (faults.h); GET: what
 * does GET  /mock/state    counts, and the latest request
 *
 * which a port of their own serves, too, whatever goes wrong on the other.
 *
 * Prompts are cut into tokens by tokens.h, in the order of prompt.h; answers
 * follow from the prompt as answer.h says. `max_tokens` and its like set the
 * length of an answer to the token; without them it is that of --answer-tokens
 * and ends by itself. With --instant nothing is simulated: answers come at
 * once, nothing is cached, and there are no KV events.
 */
#ifndef LBROUTE_MOCK_MOCK_H
#define LBROUTE_MOCK_MOCK_H

#include "faults.h"
#include "kv_journal.h"
#include "options.h"
#include "pace.h"
#include "replay/vllm_page.h"

#include <event2/http.h>

struct held;
struct job;

/** What happened so far. */
struct counts {
    uint64_t received;  /**< Requests for answers. */
    uint64_t completed; /**< Answered in full. */
    uint64_t rejected;  /**< Refused by what they are. */
    uint64_t cancelled; /**< Their clients went away. */
    uint64_t prompt_tokens;
    uint64_t cached_tokens;
    uint64_t output_tokens;
    uint32_t open;         /**< Answers under way. */
    uint32_t open_streams; /**< Of these, streams. */
};

struct mock {
    struct options options;
    uint32_t max_model_len;
    struct event_base *base;
    struct evhttp *http;
    struct evhttp *control;
    struct evhttp_bound_socket *socket; /**< NULL while it refuses. */
    uint16_t port;
    struct event *accept_again; /**< When it no longer refuses. */

    struct block_table *table;
    struct kv_journal journal;
    struct pace *pace;
    struct faults faults;
    struct counts counts;
    struct vllm_page page;
    json_t *latest;    /**< Latest request, NULL before there was one. */
    struct job *jobs;  /**< Under way, a list. */
    struct held *held; /**< Delayed or hung before they became one, a list. */
    uint64_t next_id;
};

/** Makes a server of options, which it takes over, and binds its ports. Returns
 * false, having said why, if it cannot. Release it in any case. */
bool mock_init(struct mock *mock, const struct options *options);

void mock_release(struct mock *mock);

/** Does at once what faults say of the server itself. */
void mock_apply_faults(struct mock *mock);

#endif
