/* SPDX-License-Identifier: MIT */
#include "state/request_copy.h"

#include <stddef.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* Where the parts go: counted first, then written. */
struct cursor {
    unsigned char *base; /* NULL: only count */
    size_t at;
    int overflow;
};

/* Moves |count| objects of |size| bytes to the cursor. Returns where they are
 * now. Parts begin at whole words. */
static const void *put(struct cursor *cursor, const void *objects, size_t count,
                       size_t size)
{
    size_t at = cursor->at;

    if (!count)
        return NULL;
    if (count > (SIZE_MAX / 2 - at) / size) {
        cursor->overflow = 1;
        return NULL;
    }
    cursor->at += (count * size + WORD - 1) / WORD * WORD;
    if (!cursor->base)
        return NULL;
    memcpy(cursor->base + at, objects, count * size);
    return cursor->base + at;
}

static void put_items(struct cursor *cursor, lbroute_request *request)
{
    size_t count = request->mm_item_count;
    lbroute_mm_item *items;
    size_t i;

    items = (lbroute_mm_item *)(uintptr_t)put(cursor, request->mm_items, count,
                                              sizeof *items);
    for (i = 0; i < count; i++) {
        const void *id = put(cursor, request->mm_items[i].id,
                             request->mm_items[i].id_len, 1);

        if (items)
            items[i].id = id;
    }
    request->mm_items = items;
}

static void put_prompt(struct cursor *cursor, lbroute_request *request)
{
    request->blocks =
        put(cursor, request->blocks, request->blocks_len, sizeof(uint64_t));
    request->tokens =
        put(cursor, request->tokens, request->tokens_len, sizeof(uint32_t));
    request->prompt = put(cursor, request->prompt, request->prompt_len, 1);
    put_items(cursor, request);
}

/* What it is known by, but for the prompt. */
static void put_rest(struct cursor *cursor, lbroute_request *request)
{
    request->exclude = put(cursor, request->exclude, request->exclude_len,
                           sizeof(lbroute_target));
    request->lookup_targets = put(cursor, request->lookup_targets,
                                  request->lookup_len, sizeof(lbroute_target));
    request->lookup_tokens = put(cursor, request->lookup_tokens,
                                 request->lookup_len, sizeof(uint64_t));
    request->model = put(cursor, request->model, request->model_len, 1);
    request->tier = put(cursor, request->tier, request->tier_len, 1);
    request->session = put(cursor, request->session, request->session_len, 1);
    request->client = put(cursor, request->client, request->client_len, 1);
    request->conversation =
        put(cursor, request->conversation, request->conversation_len, 1);
    request->adapter = put(cursor, request->adapter, request->adapter_len, 1);
    request->salt = put(cursor, request->salt, request->salt_len, 1);
}

static void drop_prompt(lbroute_request *request)
{
    request->prompt = NULL;
    request->tokens = NULL;
    request->blocks = NULL;
    request->mm_items = NULL;
    request->prompt_len = request->tokens_len = request->blocks_len = 0;
    request->mm_item_count = 0;
}

/* Moves all parts of |request|, which then points to where they are. */
static void put_all(struct cursor *cursor, lbroute_request *request,
                    int with_prompt)
{
    cursor->at = sizeof(struct lbr_request_copy);
    if (!with_prompt)
        drop_prompt(request);
    put_rest(cursor, request);
    put_prompt(cursor, request);
}

size_t lbr_request_copy_size(const lbroute_request *request, int with_prompt)
{
    struct cursor cursor = {NULL, 0, 0};
    lbroute_request scratch = *request;

    put_all(&cursor, &scratch, with_prompt);
    return cursor.overflow ? 0 : cursor.at;
}

void lbr_request_copy_fill(struct lbr_request_copy *copy,
                           const lbroute_request *request, int with_prompt,
                           int64_t input_tokens)
{
    struct cursor cursor = {NULL, 0, 0};

    cursor.base = (unsigned char *)copy;
    copy->request = *request;
    copy->request.size = sizeof copy->request;
    put_all(&cursor, &copy->request, with_prompt);
    if (!with_prompt)
        copy->request.input_tokens = input_tokens;
}
