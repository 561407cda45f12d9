/* SPDX-License-Identifier: MIT */
/* policy/request: from a caller's struct to a checked request. */
#include "policy/request.h"

#include <string.h>

#include "base/hash.h"
#include "support/test.h"

struct fixture {
    lbroute_router *router;
    lbroute_request request;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    assert_int_equal(lbroute_router_create(&options, &fixture.router), 0);
    lbroute_request_init(&fixture.request, sizeof fixture.request);
    fixture.request.pool = 1;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    lbroute_router_destroy(fixture->router);
    return 0;
}

static int read_in(const struct fixture *fixture, const void *request,
                   struct lbr_ask *ask)
{
    struct lbr_request_space space;
    int result = lbr_request_read(fixture->router, request, &space, ask);

    /* The copy ends here; nothing below looks at it. */
    ask->request = NULL;
    return result;
}

static struct lbr_ask ask_for(const struct fixture *fixture)
{
    struct lbr_ask ask;

    assert_int_equal(read_in(fixture, &fixture->request, &ask), LBROUTE_OK);
    return ask;
}

static void check_result(const struct fixture *fixture, int wanted)
{
    struct lbr_ask ask;

    assert_int_equal(read_in(fixture, &fixture->request, &ask), wanted);
}

static void nothing_is_known_of_an_empty_request(void **state)
{
    const struct fixture *fixture = *state;
    struct lbr_ask ask = ask_for(fixture);

    assert_true(ask.sticky_digest == 0);
    assert_int_equal(ask.key_source.length, 0);
    assert_true(ask.input_tokens == LBR_TOKENS_UNKNOWN);
}

static void a_pool_or_a_model_is_needed(void **state)
{
    struct fixture *fixture = *state;

    fixture->request.pool = 0;
    check_result(fixture, LBROUTE_ERR_INVALID);
    fixture->request.model = "m";
    fixture->request.model_len = 1;
    check_result(fixture, LBROUTE_OK);
}

static void lengths_need_bytes(void **state)
{
    struct fixture *fixture = *state;
    lbroute_request *request = &fixture->request;
    size_t *const lengths[] = {&request->model_len,        &request->tier_len,
                               &request->session_len,      &request->client_len,
                               &request->conversation_len, &request->prompt_len,
                               &request->exclude_len};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        *lengths[i] = 1;
        check_result(fixture, LBROUTE_ERR_INVALID);
        *lengths[i] = 0;
    }
    check_result(fixture, LBROUTE_OK);
}

static void numbers_have_ranges(void **state)
{
    static const lbroute_target excluded[1025] = {0};
    struct fixture *fixture = *state;

    fixture->request.input_tokens = -2;
    check_result(fixture, LBROUTE_ERR_RANGE);
    fixture->request.input_tokens = INT64_MIN;
    check_result(fixture, LBROUTE_ERR_RANGE);
    fixture->request.input_tokens = INT64_MAX;
    check_result(fixture, LBROUTE_OK);
    fixture->request.exclude = excluded;
    fixture->request.exclude_len = 1024;
    check_result(fixture, LBROUTE_OK);
    fixture->request.exclude_len = 1025;
    check_result(fixture, LBROUTE_ERR_RANGE);
}

/* Tokens given, else bytes / 4. */
static void input_is_estimated(void **state)
{
    static const char prompt[400] = {0};
    struct fixture *fixture = *state;

    fixture->request.prompt = prompt;
    fixture->request.prompt_len = sizeof prompt;
    assert_true(ask_for(fixture).input_tokens == 100);
    fixture->request.input_tokens = 7;
    assert_true(ask_for(fixture).input_tokens == 7);
    fixture->request.input_tokens = 0;
    assert_true(ask_for(fixture).input_tokens == 0);
}

static void digests_are_keyed_by_kind(void **state)
{
    struct fixture *fixture = *state;
    uint64_t session;
    uint64_t client;

    fixture->request.client = "same";
    fixture->request.client_len = 4;
    client = ask_for(fixture).sticky_digest;
    fixture->request.session = "same";
    fixture->request.session_len = 4;
    session = ask_for(fixture).sticky_digest;
    assert_true(session != 0);
    assert_true(client != 0);
    assert_true(session != client);

    /* The session is what counts where both are given. */
    fixture->request.client = "else";
    assert_true(ask_for(fixture).sticky_digest == session);
    fixture->request.client_len = 0;
    assert_true(ask_for(fixture).sticky_digest == session);
    fixture->request.session = "more";
    assert_true(ask_for(fixture).sticky_digest != session);
}

static void check_key(const struct fixture *fixture, const char *wanted)
{
    struct lbr_ask ask = ask_for(fixture);

    assert_int_equal(ask.key_source.length, strlen(wanted));
    assert_memory_equal(ask.key_source.bytes, wanted, strlen(wanted));
    lbr_request_hash_key(&ask);
    assert_true(ask.ring_key_known);
    assert_true(ask.ring_key == lbr_hash(wanted, strlen(wanted)));
}

/* Session, else conversation, else prompt; never the client. */
static void the_ring_key(void **state)
{
    struct fixture *fixture = *state;

    fixture->request.client = "client";
    fixture->request.client_len = 6;
    check_key(fixture, "");
    fixture->request.prompt = "prompt";
    fixture->request.prompt_len = 6;
    check_key(fixture, "prompt");
    fixture->request.conversation = "conversation";
    fixture->request.conversation_len = 12;
    check_key(fixture, "conversation");
    fixture->request.session = "session";
    fixture->request.session_len = 7;
    check_key(fixture, "session");
}

static void odd_sizes_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct lbr_ask ask;

    assert_int_equal(read_in(fixture, NULL, &ask), LBROUTE_ERR_INVALID);
    for (size_t size = 0; size < sizeof fixture->request; size++) {
        fixture->request.size = size;
        if (size % sizeof(size_t) || !size)
            check_result(fixture, LBROUTE_ERR_INVALID);
    }
}

/* An older caller's struct ends where tiers were not yet known. What lies
 * behind it in memory is not looked at. */
static void a_shorter_struct(void **state)
{
    struct fixture *fixture = *state;
    lbroute_request *request = &fixture->request;
    size_t size = offsetof(lbroute_request, tier);
    struct lbr_ask ask;

    memset((char *)request + size, 0xff, sizeof *request - size);
    request->size = size;
    request->model = "m";
    request->model_len = 1;
    assert_int_equal(read_in(fixture, request, &ask), LBROUTE_OK);
    assert_true(ask.sticky_digest == 0);
    assert_int_equal(ask.key_source.length, 0);
    assert_true(ask.input_tokens == LBR_TOKENS_UNKNOWN);
}

/* Every size that cuts between two words gives the defaults for the rest. */
static void every_shorter_struct(void **state)
{
    const struct fixture *fixture = *state;
    size_t least = offsetof(lbroute_request, pool) + sizeof(lbroute_pool);

    for (size_t size = least; size < sizeof(lbroute_request);
         size += sizeof(size_t)) {
        lbroute_request request = fixture->request;
        struct lbr_ask ask;

        memset((char *)&request + size, 0xff, sizeof request - size);
        request.size = size;
        assert_int_equal(read_in(fixture, &request, &ask), LBROUTE_OK);
        assert_true(ask.input_tokens == LBR_TOKENS_UNKNOWN);
    }
}

static void a_longer_struct(void **state)
{
    const struct fixture *fixture = *state;
    struct {
        lbroute_request request;
        uint64_t tail[2];
    } longer = {fixture->request, {0, 0}};
    struct lbr_ask ask;

    longer.request.size = sizeof longer;
    longer.request.input_tokens = 5;
    assert_int_equal(read_in(fixture, &longer, &ask), LBROUTE_OK);
    assert_true(ask.input_tokens == 5);
    longer.tail[1] = 1;
    assert_int_equal(read_in(fixture, &longer, &ask), LBROUTE_ERR_UNSUPPORTED);
}

#define REQUEST_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REQUEST_TEST(nothing_is_known_of_an_empty_request),
        REQUEST_TEST(a_pool_or_a_model_is_needed),
        REQUEST_TEST(lengths_need_bytes),
        REQUEST_TEST(numbers_have_ranges),
        REQUEST_TEST(input_is_estimated),
        REQUEST_TEST(digests_are_keyed_by_kind),
        REQUEST_TEST(the_ring_key),
        REQUEST_TEST(odd_sizes_are_refused),
        REQUEST_TEST(a_shorter_struct),
        REQUEST_TEST(every_shorter_struct),
        REQUEST_TEST(a_longer_struct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
