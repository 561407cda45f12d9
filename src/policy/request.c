/* SPDX-License-Identifier: MIT */
#include "policy/request.h"

#include "base/abi.h"
#include "base/hash.h"

#define MOST_EXCLUSIONS 1024
#define BYTES_PER_TOKEN 4

static void set_defaults(lbroute_request *request)
{
    memset(request, 0, sizeof *request);
    request->input_tokens = -1;
}

void lbroute_request_init(lbroute_request *request, size_t size)
{
    lbroute_request defaults;

    set_defaults(&defaults);
    lbr_abi_init(request, size, &defaults, sizeof defaults);
}

static int check(const lbroute_request *request)
{
    if (lbr_text_broken(request->model, request->model_len) ||
        lbr_text_broken(request->tier, request->tier_len) ||
        lbr_text_broken(request->session, request->session_len) ||
        lbr_text_broken(request->client, request->client_len) ||
        lbr_text_broken(request->conversation, request->conversation_len) ||
        lbr_text_broken(request->prompt, request->prompt_len) ||
        lbr_text_broken(request->exclude, request->exclude_len))
        return LBROUTE_ERR_INVALID;
    if (!request->pool && !request->model_len)
        return LBROUTE_ERR_INVALID;
    if (request->input_tokens < -1 || request->exclude_len > MOST_EXCLUSIONS)
        return LBROUTE_ERR_RANGE;
    return LBROUTE_OK;
}

/* 0 is kept for "not given". */
static uint64_t sticky_digest(const struct lbroute_router *router,
                              const lbroute_request *request)
{
    uint64_t digest;

    if (request->session_len)
        digest = lbr_digest(router->session_key, request->session,
                            request->session_len);
    else if (request->client_len)
        digest = lbr_digest(router->client_key, request->client,
                            request->client_len);
    else
        return 0;
    return digest ? digest : 1;
}

static uint64_t count_tokens(const lbroute_request *request)
{
    if (request->input_tokens >= 0)
        return (uint64_t)request->input_tokens;
    if (request->prompt_len)
        return (request->prompt_len + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
    return LBR_TOKENS_UNKNOWN;
}

static struct lbr_text key_source(const lbroute_request *request)
{
    if (request->session_len)
        return lbr_text(request->session, request->session_len);
    if (request->conversation_len)
        return lbr_text(request->conversation, request->conversation_len);
    return lbr_text(request->prompt, request->prompt_len);
}

int lbr_request_read(const struct lbroute_router *router,
                     const lbroute_request *request, lbroute_request *copy,
                     struct lbr_ask *ask)
{
    int result;

    /* The usual caller was compiled with this very struct. */
    if (!request || lbr_abi_size(request) != sizeof *copy) {
        set_defaults(copy);
        result = lbr_abi_read(copy, sizeof *copy, request);
        if (result)
            return result;
        request = copy;
    }
    result = check(request);
    if (result)
        return result;
    ask->request = request;
    ask->sticky_digest = sticky_digest(router, request);
    ask->key_source = key_source(request);
    ask->ring_key_known = 0;
    ask->input_tokens = count_tokens(request);
    ask->run = NULL;
    ask->rounds = 0;
    ask->explains = 0;
    if (request->session_len)
        lbr_request_hash_key(ask); /* short: cheaper than asking */
    return LBROUTE_OK;
}

void lbr_request_hash_key(struct lbr_ask *ask)
{
    ask->ring_key = lbr_hash(ask->key_source.bytes, ask->key_source.length);
    ask->ring_key_known = 1;
}
