/* SPDX-License-Identifier: MIT */
#include "shim.h"

int lbrpy_pick_request(lbroute_router *router, const lbroute_request *request,
                       uint64_t now, lbroute_decision *decision)
{
    lbroute_decision_init(decision, sizeof *decision);
    return lbroute_pick(router, request, now, decision);
}

int lbrpy_pick(lbroute_router *router, lbroute_pool pool, uint64_t now,
               const char *model, size_t model_len, const char *session,
               size_t session_len, const char *client, size_t client_len,
               const char *prompt, size_t prompt_len, int64_t input_tokens,
               const lbroute_target *exclude, size_t exclude_len,
               lbroute_decision *decision)
{
    lbroute_request request;

    lbroute_request_init(&request, sizeof request);
    request.pool = pool;
    request.model = model;
    request.model_len = model_len;
    request.session = session;
    request.session_len = session_len;
    request.client = client;
    request.client_len = client_len;
    request.prompt = prompt;
    request.prompt_len = prompt_len;
    request.input_tokens = input_tokens;
    request.exclude = exclude;
    request.exclude_len = exclude_len;
    return lbrpy_pick_request(router, &request, now, decision);
}

int lbrpy_settle(lbroute_router *router, const lbroute_decision *decision,
                 int32_t kind, uint64_t now)
{
    lbroute_event event;

    lbroute_event_init(&event, sizeof event);
    event.ticket = decision->ticket;
    event.kind = kind;
    return lbroute_observe(router, &event, now);
}
