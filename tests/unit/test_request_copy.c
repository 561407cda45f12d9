/* SPDX-License-Identifier: MIT */
/* state/request_copy: a copy has everything, in a piece of its own. */
#include "state/request_copy.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct parts {
    char texts[8][8];
    lbroute_target targets[3];
    uint64_t found[3], blocks[2];
    uint32_t tokens[3];
    char ids[2][4];
    lbroute_mm_item items[2];
};

static void fill(struct parts *parts, lbroute_request *request)
{
    for (size_t i = 0; i < 8; i++)
        memset(parts->texts[i], 'a' + (int)i, 8);
    for (size_t i = 0; i < 3; i++) {
        parts->targets[i] = 10 + i;
        parts->found[i] = 20 + i;
        parts->tokens[i] = 30 + (uint32_t)i;
    }
    parts->blocks[0] = 40;
    parts->blocks[1] = 41;
    memcpy(parts->ids, "xyzuvw", 6);
    lbroute_request_init(request, sizeof *request);
    request->pool = 5;
    request->model = parts->texts[0];
    request->tier = parts->texts[1];
    request->session = parts->texts[2];
    request->client = parts->texts[3];
    request->conversation = parts->texts[4];
    request->prompt = parts->texts[5];
    request->adapter = parts->texts[6];
    request->salt = parts->texts[7];
    request->model_len = 1;
    request->tier_len = 2;
    request->session_len = 3;
    request->client_len = 4;
    request->conversation_len = 5;
    request->prompt_len = 6;
    request->adapter_len = 7;
    request->salt_len = 8;
    request->exclude = parts->targets;
    request->exclude_len = 2;
    request->lookup_targets = parts->targets;
    request->lookup_tokens = parts->found;
    request->lookup_len = 3;
    request->tokens = parts->tokens;
    request->tokens_len = 3;
    request->blocks = parts->blocks;
    request->blocks_len = 2;
    for (size_t i = 0; i < 2; i++)
        parts->items[i] = (lbroute_mm_item){parts->ids[i], 3, i, 1};
    request->mm_items = parts->items;
    request->mm_item_count = 2;
    request->priority = -3;
    request->deadline = 77;
    request->tag = 88;
}

/* Exactly as large as was said, so that a sanitizer sees more. */
static struct lbr_request_copy *copy_of(const lbroute_request *request,
                                        int with_prompt)
{
    struct lbr_request_copy *copy =
        malloc(lbr_request_copy_size(request, with_prompt));

    assert_non_null(copy);
    lbr_request_copy_fill(copy, request, with_prompt, 55);
    return copy;
}

static void check_rest(const lbroute_request *copy)
{
    assert_memory_equal(copy->model, "a", 1);
    assert_memory_equal(copy->tier, "bb", 2);
    assert_memory_equal(copy->session, "ccc", 3);
    assert_memory_equal(copy->client, "dddd", 4);
    assert_memory_equal(copy->conversation, "eeeee", 5);
    assert_memory_equal(copy->adapter, "ggggggg", 7);
    assert_memory_equal(copy->salt, "hhhhhhhh", 8);
    assert_int_equal(copy->exclude_len, 2);
    assert_int_equal(copy->exclude[1], 11);
    assert_int_equal(copy->lookup_len, 3);
    assert_int_equal(copy->lookup_targets[2], 12);
    assert_int_equal(copy->lookup_tokens[2], 22);
    assert_int_equal(copy->pool, 5);
    assert_int_equal(copy->priority, -3);
    assert_int_equal(copy->deadline, 77);
    assert_int_equal(copy->tag, 88);
    assert_int_equal(copy->size, sizeof *copy);
}

static void everything(void **state)
{
    struct parts parts;
    lbroute_request request;
    struct lbr_request_copy *copy;
    (void)state;

    fill(&parts, &request);
    copy = copy_of(&request, 1);
    memset(&parts, 0, sizeof parts);
    check_rest(&copy->request);
    assert_memory_equal(copy->request.prompt, "ffffff", 6);
    assert_int_equal(copy->request.tokens[2], 32);
    assert_int_equal(copy->request.blocks[1], 41);
    assert_memory_equal(copy->request.mm_items[0].id, "xyz", 3);
    assert_int_equal(copy->request.mm_items[1].begin, 1);
    assert_int_equal(copy->request.input_tokens, -1);
    free(copy);
}

static void without_the_prompt(void **state)
{
    struct parts parts;
    lbroute_request request;
    struct lbr_request_copy *copy;
    (void)state;

    fill(&parts, &request);
    assert_true(lbr_request_copy_size(&request, 0) <
                lbr_request_copy_size(&request, 1));
    copy = copy_of(&request, 0);
    memset(&parts, 0, sizeof parts);
    check_rest(&copy->request);
    assert_int_equal(copy->request.prompt_len, 0);
    assert_int_equal(copy->request.tokens_len, 0);
    assert_int_equal(copy->request.blocks_len, 0);
    assert_int_equal(copy->request.mm_item_count, 0);
    assert_int_equal(copy->request.input_tokens, 55);
    free(copy);
}

static void nothing(void **state)
{
    lbroute_request request;
    struct lbr_request_copy *copy;
    (void)state;

    lbroute_request_init(&request, sizeof request);
    assert_int_equal(lbr_request_copy_size(&request, 1),
                     sizeof(struct lbr_request_copy));
    copy = copy_of(&request, 1);
    assert_null(copy->request.prompt);
    assert_null(copy->request.mm_items);
    free(copy);
}

/* Lengths that no address space holds. */
static void too_large(void **state)
{
    lbroute_request request;
    (void)state;

    lbroute_request_init(&request, sizeof request);
    request.prompt = "";
    request.prompt_len = SIZE_MAX;
    assert_int_equal(lbr_request_copy_size(&request, 1), 0);
    request.prompt_len = SIZE_MAX / 2;
    request.client = "";
    request.client_len = SIZE_MAX / 2;
    assert_int_equal(lbr_request_copy_size(&request, 1), 0);
    assert_int_equal(lbr_request_copy_size(&request, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything),
        cmocka_unit_test(without_the_prompt),
        cmocka_unit_test(nothing),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests_name("request_copy", tests, NULL, NULL);
}
