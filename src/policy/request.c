/* SPDX-License-Identifier: MIT */
#include "policy/request.h"

#include "base/abi.h"
#include "base/blocks.h"
#include "base/hash.h"
#include "policy/route.h"

#define MOST_EXCLUSIONS 1024
#define MOST_LOOKUPS 65536
#define MOST_ITEMS 65536
#define BYTES_PER_TOKEN 4
#define TOKENS_PER_BLOCK 16
/* Longer prompts are compared by their head: more than any target remembers. */
#define MOST_BLOCKS ((size_t)65536)

static void set_defaults(lbroute_request *request)
{
    memset(request, 0, sizeof *request);
    request->input_tokens = -1;
    request->output_tokens = request->cached_tokens = -1;
}

void lbroute_request_init(lbroute_request *request, size_t size)
{
    lbroute_request defaults;

    set_defaults(&defaults);
    lbr_abi_init(request, size, &defaults, sizeof defaults);
}

/* Items one after the other, each of which is called something and takes some
 * room: then a prompt is walked along once. */
static int check_items(const lbroute_request *request)
{
    uint64_t end = 0;
    size_t i;

    for (i = 0; i < request->mm_item_count; i++) {
        const lbroute_mm_item *item = &request->mm_items[i];

        if (!item->id)
            return LBROUTE_ERR_INVALID;
        if (!item->id_len || !item->count || item->begin < end ||
            item->count > UINT64_MAX - item->begin)
            return LBROUTE_ERR_RANGE;
        end = item->begin + item->count;
    }
    return LBROUTE_OK;
}

static int check(const lbroute_request *request)
{
    if (lbr_text_broken(request->model, request->model_len) ||
        lbr_text_broken(request->tier, request->tier_len) ||
        lbr_text_broken(request->session, request->session_len) ||
        lbr_text_broken(request->client, request->client_len) ||
        lbr_text_broken(request->conversation, request->conversation_len) ||
        lbr_text_broken(request->prompt, request->prompt_len) ||
        lbr_text_broken(request->tokens, request->tokens_len) ||
        lbr_text_broken(request->blocks, request->blocks_len) ||
        lbr_text_broken(request->adapter, request->adapter_len) ||
        lbr_text_broken(request->salt, request->salt_len) ||
        lbr_text_broken(request->exclude, request->exclude_len) ||
        lbr_text_broken(request->lookup_targets, request->lookup_len) ||
        lbr_text_broken(request->lookup_tokens, request->lookup_len) ||
        lbr_text_broken(request->mm_items, request->mm_item_count))
        return LBROUTE_ERR_INVALID;
    if (!request->pool && !request->model_len)
        return LBROUTE_ERR_INVALID;
    if (request->tokens_len > SIZE_MAX / 64 ||
        request->blocks_len > SIZE_MAX / 64)
        return LBROUTE_ERR_RANGE;
    if (request->input_tokens < -1 || request->output_tokens < -1 ||
        request->cached_tokens < -1 || request->exclude_len > MOST_EXCLUSIONS ||
        request->lookup_len > MOST_LOOKUPS ||
        request->mm_item_count > MOST_ITEMS ||
        (uint32_t)request->priority - (uint32_t)LBROUTE_PRIORITY_MIN >
            (uint32_t)(LBROUTE_PRIORITY_MAX - LBROUTE_PRIORITY_MIN))
        return LBROUTE_ERR_RANGE;
    return check_items(request);
}

/* 0 is kept for "not given". */
static uint64_t digest_of(const struct lbr_digest_key *key, const void *bytes,
                          size_t length)
{
    uint64_t digest = lbr_digest(*key, bytes, length);

    return digest ? digest : 1;
}

uint64_t lbr_client_digest(const struct lbroute_router *router,
                           const void *client, size_t length)
{
    return digest_of(&router->client_key, client, length);
}

static uint64_t client_digest(const struct lbroute_router *router,
                              const lbroute_request *request)
{
    return lbr_client_digest(router, request->client, request->client_len);
}

static uint64_t sticky_digest(const struct lbroute_router *router,
                              const lbroute_request *request)
{
    if (request->session_len)
        return digest_of(&router->session_key, request->session,
                         request->session_len);
    return request->client_len ? client_digest(router, request) : 0;
}

static uint64_t count_tokens(const lbroute_request *request)
{
    if (request->input_tokens >= 0)
        return (uint64_t)request->input_tokens;
    if (request->tokens_len)
        return request->tokens_len;
    if (request->prompt_len)
        return (request->prompt_len + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
    if (request->blocks_len)
        return (uint64_t)request->blocks_len * TOKENS_PER_BLOCK;
    return LBR_TOKENS_UNKNOWN;
}

static struct lbr_prompt prompt_of(const lbroute_request *request)
{
    struct lbr_prompt prompt = {request->prompt, request->prompt_len, 1};

    if (request->blocks_len) {
        prompt.symbols = request->blocks;
        prompt.unit = (uint32_t)sizeof *request->blocks;
        prompt.length = request->blocks_len * sizeof *request->blocks;
    } else if (request->tokens_len) {
        prompt.symbols = request->tokens;
        prompt.unit = (uint32_t)sizeof *request->tokens;
        prompt.length = request->tokens_len * sizeof *request->tokens;
    }
    return prompt;
}

/* Prompts have something in common only if all of this is the same. */
static uint64_t prefix_root(const lbroute_request *request, uint32_t unit)
{
    uint64_t root = lbr_hash(request->model, request->model_len) + unit;

    if (request->adapter_len)
        root = lbr_hash_pair(
            root, lbr_hash_seeded(request->adapter, request->adapter_len, 1));
    if (request->salt_len)
        root = lbr_hash_pair(
            root, lbr_hash_seeded(request->salt, request->salt_len, 2));
    return root;
}

/* Session, else conversation, else the prompt as it was given. */
static struct lbr_text key_source(const struct lbr_ask *ask)
{
    const lbroute_request *request = ask->request;

    if (request->session_len)
        return lbr_text(request->session, request->session_len);
    if (request->conversation_len)
        return lbr_text(request->conversation, request->conversation_len);
    return lbr_text(ask->prompt.symbols, ask->prompt.length);
}

static void read_prompt(const struct lbroute_router *router,
                        struct lbr_ask *ask)
{
    const lbroute_request *request = ask->request;

    ask->client_digest = 0;
    ask->prefix_root = 0;
    ask->prompt = prompt_of(request);
    if (!ask->prompt.length)
        return;
    ask->prefix_root = prefix_root(request, ask->prompt.unit);
    if (request->client_len)
        ask->client_digest = client_digest(router, request);
}

int lbr_request_read(const struct lbroute_router *router,
                     const lbroute_request *request,
                     struct lbr_request_space *space, struct lbr_ask *ask)
{
    int result;

    /* The usual caller was compiled with this very struct. */
    if (!request || lbr_abi_size(request) != sizeof *request) {
        set_defaults(&space->copy);
        result = lbr_abi_read(&space->copy, sizeof space->copy, request);
        if (result)
            return result;
        request = &space->copy;
    }
    result = check(request);
    if (result)
        return result;
    ask->request = request;
    ask->sticky_digest = sticky_digest(router, request);
    read_prompt(router, ask);
    ask->key_source = key_source(ask);
    ask->ring_key_known = 0;
    ask->input_tokens = count_tokens(request);
    ask->adapter = 0;
    if (request->adapter_len)
        ask->adapter =
            lbr_adapter_digest(request->adapter, request->adapter_len);
    ask->hashed.block_bytes = 0;
    ask->hashed.near = space->blocks;
    ask->hashed.scratch = NULL;
    ask->chains.sizes = 0;
    ask->chains.count = 0;
    ask->chains.near = space->keys;
    ask->chains.scratch = NULL;
    ask->run = NULL;
    ask->rounds = 0;
    ask->explains = 0;
    ask->copy = NULL;
    ask->copy_failed = ask->arrived = 0;
    if (request->session_len)
        lbr_request_hash_key(ask); /* short: cheaper than asking */
    return LBROUTE_OK;
}

void lbr_request_hash_key(struct lbr_ask *ask)
{
    ask->ring_key = lbr_hash(ask->key_source.bytes, ask->key_source.length);
    ask->ring_key_known = 1;
}

/* ---- blocks ---- */

size_t lbr_request_block_bytes(const struct lbr_ask *ask,
                               struct lbr_block_sizes sizes)
{
    const struct lbr_prompt *prompt = &ask->prompt;
    size_t bytes =
        prompt->unit == 1 ? sizes.bytes : (size_t)sizes.tokens * prompt->unit;

    return prompt->unit == LBR_BLOCK || prompt->length < bytes ? 0 : bytes;
}

/* Borrows room for |count| hashes. Returns for how many there is room: those
 * near by if there is no memory. */
static size_t find_room(struct lbroute_router *router, struct lbr_ask *ask,
                        size_t count)
{
    struct lbr_hashed *hashed = &ask->hashed;

    if (hashed->scratch && hashed->room < count)
        lbr_request_release(router, ask);
    if (count > LBR_NEAR_BLOCKS && !hashed->scratch) {
        lbr_router_enter(router);
        hashed->scratch = lbr_scratch_take(&router->scratches,
                                           count * sizeof *hashed->scratch);
        (void)lbr_router_leave(router, 0);
        hashed->room = count;
    }
    if (hashed->scratch || count < LBR_NEAR_BLOCKS)
        return count;
    return LBR_NEAR_BLOCKS;
}

void lbr_request_hash_blocks(struct lbroute_router *router, struct lbr_ask *ask,
                             size_t block_bytes)
{
    struct lbr_hashed *hashed = &ask->hashed;
    size_t count = ask->prompt.length / block_bytes;

    if (count > MOST_BLOCKS)
        count = MOST_BLOCKS;
    hashed->count = find_room(router, ask, count);
    hashed->block_bytes = block_bytes;
    lbr_blocks_hash(ask->prompt.symbols, block_bytes, hashed->count,
                    lbr_hashed_blocks(hashed));
}

void lbr_request_release(struct lbroute_router *router, struct lbr_ask *ask)
{
    if (!ask->hashed.scratch)
        return;
    lbr_router_enter(router);
    lbr_scratch_give(&router->scratches, ask->hashed.scratch);
    (void)lbr_router_leave(router, 0);
    ask->hashed.scratch = NULL;
}

void lbr_request_publish(struct lbroute_router *router,
                         const struct lbr_pool *pool)
{
    const struct lbr_block_sizes *sizes = &pool->params.blocks;
    uint64_t value = 0;

    if (pool->uses & LBR_USES_TRIE && pool->trie_kind != LBR_TRIE_BYTES)
        value = (uint64_t)sizes->tokens << 32 | sizes->bytes;
    lbr_publish(lbr_router_block_sizes(router, pool->slot.handle), value);
    lbr_chains_publish(router, pool);
}

void lbr_request_foresee(struct lbroute_router *router, struct lbr_ask *ask)
{
    struct lbr_block_sizes sizes;
    uint64_t value;
    size_t block_bytes;

    if (!ask->prompt.length || !ask->request->pool)
        return;
    lbr_chains_foresee(router, ask);
    value =
        lbr_published_value(lbr_router_block_sizes(router, ask->request->pool));
    if (!value)
        return;
    sizes.tokens = (uint32_t)(value >> 32);
    sizes.bytes = (uint32_t)value;
    block_bytes = lbr_request_block_bytes(ask, sizes);
    if (block_bytes)
        lbr_request_hash_blocks(router, ask, block_bytes);
}
