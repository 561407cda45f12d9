/* SPDX-License-Identifier: MIT */
/*
 * What can be asked of a server besides answers. Each is a gate_handler.
 */
#ifndef LBROUTE_MOCK_PAGES_H
#define LBROUTE_MOCK_PAGES_H

#include "gate.h"

void page_health(struct mock *mock, struct evhttp_request *request,
                 const struct fault_plan *plan, const void *data);
void page_version(struct mock *mock, struct evhttp_request *request,
                  const struct fault_plan *plan, const void *data);
void page_models(struct mock *mock, struct evhttp_request *request,
                 const struct fault_plan *plan, const void *data);
void page_metrics(struct mock *mock, struct evhttp_request *request,
                  const struct fault_plan *plan, const void *data);

/** Loads an adapter: {"lora_name": NAME}. */
void page_load_adapter(struct mock *mock, struct evhttp_request *request,
                       const struct fault_plan *plan, const void *data);
void page_unload_adapter(struct mock *mock, struct evhttp_request *request,
                         const struct fault_plan *plan, const void *data);

/** The tokens of a prompt: {"model", "prompt" or "messages"}. */
void page_tokenize(struct mock *mock, struct evhttp_request *request,
                   const struct fault_plan *plan, const void *data);

/** The number of tokens of a conversation, in Anthropic's API. */
void page_count_tokens(struct mock *mock, struct evhttp_request *request,
                       const struct fault_plan *plan, const void *data);

/** Vectors that follow from their texts alone (answer_embed()). */
void page_embeddings(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data);

/** Of /mock: what goes wrong, and what happened. */
void page_set_faults(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data);
void page_get_faults(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data);
void page_state(struct mock *mock, struct evhttp_request *request,
                const struct fault_plan *plan, const void *data);

#endif
