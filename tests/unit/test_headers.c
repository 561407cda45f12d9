/* SPDX-License-Identifier: MIT */
/* api/headers: a decision as header lines, whatever the buffers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/test.h"

#include <lbroute/lbroute.h>

#define MOST_VALUE 1024

struct fixture {
    lbroute_router *router;
    lbroute_decision decision;
    char prefix[LBROUTE_NAME_MAX + 1];
};

static void set_prefix(struct fixture *fixture, const char *prefix)
{
    lbroute_router_options options;

    lbroute_router_destroy(fixture->router);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.header_prefix = prefix;
    options.header_prefix_len = strlen(prefix);
    assert_int_equal(lbroute_router_create(&options, &fixture->router), 0);
    snprintf(fixture->prefix, sizeof fixture->prefix, "%s", prefix);
}

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture.router = NULL;
    set_prefix(&fixture, "X-Lbroute-");
    lbroute_decision_init(&fixture.decision, sizeof fixture.decision);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    lbroute_router_destroy(fixture->router);
    return 0;
}

/* Copies the value of the header called |suffix|; returns whether there is
 * one. */
static int header(const struct fixture *fixture, const char *suffix,
                  char *value)
{
    char name[MOST_VALUE];
    size_t name_len;
    size_t value_len;
    int found = 0;

    for (size_t i = 0;
         lbroute_decision_header(fixture->router, &fixture->decision, i, name,
                                 sizeof name, &name_len, value, MOST_VALUE,
                                 &value_len) == LBROUTE_OK;
         i++) {
        assert_int_equal(strlen(name), name_len);
        assert_int_equal(strlen(value), value_len);
        assert_memory_equal(name, fixture->prefix, strlen(fixture->prefix));
        found = strcmp(name + strlen(fixture->prefix), suffix) == 0;
        if (found)
            break;
    }
    return found;
}

static void check(const struct fixture *fixture, const char *suffix,
                  const char *wanted)
{
    char value[MOST_VALUE];

    assert_true(header(fixture, suffix, value));
    assert_string_equal(value, wanted);
}

static void check_none(const struct fixture *fixture, const char *suffix)
{
    char value[MOST_VALUE];

    assert_false(header(fixture, suffix, value));
}

static void name_target(lbroute_decision *decision, const char *name)
{
    snprintf(decision->target_name, sizeof decision->target_name, "%s", name);
    decision->target_name_len = (uint32_t)strlen(name);
}

static void nothing_decided(void **state)
{
    static const char *const suffixes[] = {
        "Server",        "Pool",      "Weight",  "In-Flight",
        "Wait-Ms",       "Algorithm", "Sticky",  "Prefix",
        "Reject-Reason", "Kv-Blocks", "Kv-State"};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        check_none(fixture, suffixes[i]);
}

static void an_accepted_request(void **state)
{
    struct fixture *fixture = *state;
    lbroute_decision *decision = &fixture->decision;

    decision->target = 7;
    name_target(decision, "gpu-0");
    decision->pool = 9;
    strcpy(decision->pool_name, "chat");
    decision->pool_name_len = 4;
    decision->rule = LBROUTE_RULE_RING_NEXT;
    decision->weight = 1.5;
    decision->in_flight = 3;
    decision->max_concurrency = 32;
    decision->wait_ns = 0;
    decision->sticky_digest = UINT64_C(0x00000000deadbeef);
    decision->prefix_matched = 12;
    decision->prefix_total = 40;
    check(fixture, "Server", "gpu-0");
    check(fixture, "Pool", "chat");
    check(fixture, "Weight", "1.5");
    check(fixture, "In-Flight", "3/32");
    check(fixture, "Wait-Ms", "0");
    check(fixture, "Algorithm", "ring_next");
    check(fixture, "Sticky", "00000000deadbeef");
    check(fixture, "Prefix", "12/40");
    check_none(fixture, "Reject-Reason");
}

static void a_rejected_request(void **state)
{
    struct fixture *fixture = *state;
    lbroute_decision *decision = &fixture->decision;

    decision->reason = LBROUTE_REASON_SATURATED;
    decision->in_flight = 64;
    decision->max_concurrency = 64;
    check(fixture, "Reject-Reason", "saturated");
    check(fixture, "In-Flight", "64/64");
    check_none(fixture, "Server");
    check_none(fixture, "Weight");
    check_none(fixture, "Algorithm");
}

static void weights_in_decimals(void **state)
{
    static const struct {
        double weight;
        const char *text;
    } cases[] = {{1, "1"},
                 {10, "10"},
                 {0.3, "0.3"},
                 {0.05, "0.05"},
                 {2.25, "2.25"},
                 {1e-6, "0.000001"},
                 {1e9, "1000000000"},
                 {0.123456, "0.123456"},
                 {1.0 / 3, "0.333333"},
                 {2.0 / 3, "0.666667"},
                 {0.9999999, "1"},
                 {100.01, "100.01"}};
    struct fixture *fixture = *state;

    fixture->decision.target = 7;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->decision.weight = cases[i].weight;
        check(fixture, "Weight", cases[i].text);
    }
}

static void resident_blocks(void **state)
{
    struct fixture *fixture = *state;
    int64_t *blocks = fixture->decision.kv_blocks;

    check_none(fixture, "Kv-Blocks");
    blocks[LBROUTE_MEDIUM_GPU] = 12;
    blocks[LBROUTE_MEDIUM_HOST] = 3;
    blocks[LBROUTE_MEDIUM_DISK] = 0;
    check(fixture, "Kv-Blocks", "gpu=12;host=3;disk=0");
    blocks[LBROUTE_MEDIUM_GPU] = 0;
    check(fixture, "Kv-Blocks", "gpu=0;host=3;disk=0");
    for (int medium = 0; medium < LBROUTE_MEDIUM_COUNT; medium++)
        blocks[medium] = INT64_MAX;
    check(fixture, "Kv-Blocks",
          "gpu=9223372036854775807;host=9223372036854775807;"
          "disk=9223372036854775807");
    blocks[LBROUTE_MEDIUM_DISK] = INT64_MIN; /* broken */
    check(fixture, "Kv-Blocks",
          "gpu=9223372036854775807;host=9223372036854775807;disk=0");
    blocks[LBROUTE_MEDIUM_GPU] = -1;
    check_none(fixture, "Kv-Blocks");
}

static void states_of_sources(void **state)
{
    static const struct {
        int32_t state;
        const char *text;
    } cases[] = {{LBROUTE_KV_SOURCE_FRESH, "fresh"},
                 {LBROUTE_KV_SOURCE_GAP, "gap"},
                 {LBROUTE_KV_SOURCE_STALE, "stale"},
                 {LBROUTE_KV_SOURCE_RESTARTED, "restarted"}};
    static const int32_t none[] = {LBROUTE_KV_SOURCE_NONE,
                                   LBROUTE_KV_SOURCE_STATE_COUNT, -1, INT32_MIN,
                                   INT32_MAX};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->decision.kv_state = cases[i].state;
        check(fixture, "Kv-State", cases[i].text);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        fixture->decision.kv_state = none[i];
        check_none(fixture, "Kv-State");
    }
}

/* No caller's struct, however broken, may lead astray. */
static void numbers_beyond_sense(void **state)
{
    static const double weights[] = {-1, 1e300, (double)INFINITY,
                                     (double)-INFINITY, (double)NAN};
    char value[MOST_VALUE];
    struct fixture *fixture = *state;
    lbroute_decision *decision = &fixture->decision;

    decision->target = 7;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        decision->weight = weights[i];
        (void)header(fixture, "Weight", value);
    }
    decision->rule = INT32_MAX;
    decision->reason = INT32_MIN;
    decision->target_name_len = UINT32_MAX;
    decision->pool_name_len = UINT32_MAX;
    check(fixture, "Algorithm", "unknown");
    check(fixture, "Reject-Reason", "unknown");
}

static void waits_in_whole_milliseconds(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {1000000, "1"},
                 {1000001, "2"},
                 {INT64_C(30000000000), "30000"},
                 {INT64_MAX, "9223372036855"}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->decision.wait_ns = cases[i].ns;
        check(fixture, "Wait-Ms", cases[i].text);
    }
    fixture->decision.wait_ns = -1;
    check_none(fixture, "Wait-Ms");
}

static void largest_counts(void **state)
{
    struct fixture *fixture = *state;

    fixture->decision.target = 7;
    fixture->decision.in_flight = UINT32_MAX;
    fixture->decision.max_concurrency = UINT32_MAX;
    fixture->decision.prefix_matched = INT64_MAX;
    fixture->decision.prefix_total = INT64_MAX;
    fixture->decision.sticky_digest = UINT64_MAX;
    check(fixture, "In-Flight", "4294967295/4294967295");
    check(fixture, "Prefix", "9223372036854775807/9223372036854775807");
    check(fixture, "Sticky", "ffffffffffffffff");
    fixture->decision.max_concurrency = 0;
    check(fixture, "In-Flight", "4294967295");
}

/* Bytes above 126 are escaped, all below stand for themselves. */
static void names_are_escaped(void **state)
{
    struct fixture *fixture = *state;

    for (int byte = 0x20; byte < 256; byte++) {
        char name[4] = {'a', (char)byte, 'b', '\0'};
        char wanted[8];
        char value[MOST_VALUE];

        if (byte == 0x7f)
            continue; /* a control character: no name */
        if (byte > 126)
            snprintf(wanted, sizeof wanted, "a%%%02xb", (unsigned)byte);
        else
            snprintf(wanted, sizeof wanted, "a%cb", byte);
        name_target(&fixture->decision, name);
        assert_true(header(fixture, "Server", value));
        assert_int_equal(strlen(value), strlen(wanted));
        for (size_t i = 0; wanted[i]; i++)
            assert_true(value[i] == wanted[i] ||
                        (byte > 126 && value[i] == wanted[i] - 'a' + 'A'));
    }
}

static void the_longest_name_and_prefix(void **state)
{
    char prefix[LBROUTE_NAME_MAX + 1];
    char value[MOST_VALUE];
    struct fixture *fixture = *state;

    memset(prefix, 'p', LBROUTE_NAME_MAX);
    prefix[LBROUTE_NAME_MAX] = '\0';
    set_prefix(fixture, prefix);
    memset(fixture->decision.target_name, 0xff, LBROUTE_NAME_MAX);
    fixture->decision.target_name_len = LBROUTE_NAME_MAX;
    assert_true(header(fixture, "Server", value));
    assert_int_equal(strlen(value), 3 * LBROUTE_NAME_MAX);
    set_prefix(fixture, "");
    assert_true(header(fixture, "Server", value));
}

#define NAME "X-Lbroute-Server"
#define VALUE "gpu-0"
#define UNTOUCHED 0x7e

/* A buffer that is one too small, or the other, gets nothing written. */
static void check_capacities(const struct fixture *fixture, size_t name_cap,
                             size_t value_cap)
{
    int fits = name_cap > strlen(NAME) && value_cap > strlen(VALUE);
    char name[sizeof NAME + 2];
    char value[sizeof VALUE + 2];
    size_t name_len = 99;
    size_t value_len = 99;
    int result;

    memset(name, UNTOUCHED, sizeof name);
    memset(value, UNTOUCHED, sizeof value);
    result = lbroute_decision_header(
        fixture->router, &fixture->decision, 0, name_cap ? name : NULL,
        name_cap, &name_len, value_cap ? value : NULL, value_cap, &value_len);
    assert_int_equal(result, fits ? LBROUTE_OK : LBROUTE_ERR_BUFFER);
    assert_int_equal(name_len, strlen(NAME));
    assert_int_equal(value_len, strlen(VALUE));
    if (fits) {
        assert_string_equal(name, NAME);
        assert_string_equal(value, VALUE);
    }
    for (size_t i = fits ? sizeof NAME : 0; i < sizeof name; i++)
        assert_int_equal(name[i], UNTOUCHED);
    for (size_t i = fits ? sizeof VALUE : 0; i < sizeof value; i++)
        assert_int_equal(value[i], UNTOUCHED);
}

static void every_buffer_size(void **state)
{
    struct fixture *fixture = *state;

    name_target(&fixture->decision, VALUE);
    for (size_t name_cap = 0; name_cap <= sizeof NAME + 2; name_cap++)
        for (size_t value_cap = 0; value_cap <= sizeof VALUE + 2; value_cap++)
            check_capacities(fixture, name_cap, value_cap);
}

static void broken_calls(void **state)
{
    char text[MOST_VALUE];
    size_t length;
    struct fixture *fixture = *state;
    const lbroute_decision *decision = &fixture->decision;
    lbroute_router *router = fixture->router;

    name_target(&fixture->decision, VALUE);
    assert_int_equal(lbroute_decision_header(NULL, decision, 0, text, 99,
                                             &length, text, 99, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, NULL, 0, text, 99, &length,
                                             text, 99, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, decision, 0, text, 99,
                                             NULL, text, 99, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, decision, 0, text, 99,
                                             &length, text, 99, NULL),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, decision, 0, NULL, 99,
                                             &length, text, 99, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, decision, 0, text, 99,
                                             &length, NULL, 99, &length),
                     LBROUTE_ERR_INVALID);
    assert_int_equal(lbroute_decision_header(router, decision, SIZE_MAX, text,
                                             99, &length, text, 99, &length),
                     LBROUTE_ERR_NOT_FOUND);
}

#define HEADER_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEADER_TEST(nothing_decided),
        HEADER_TEST(an_accepted_request),
        HEADER_TEST(a_rejected_request),
        HEADER_TEST(weights_in_decimals),
        HEADER_TEST(resident_blocks),
        HEADER_TEST(states_of_sources),
        HEADER_TEST(numbers_beyond_sense),
        HEADER_TEST(waits_in_whole_milliseconds),
        HEADER_TEST(largest_counts),
        HEADER_TEST(names_are_escaped),
        HEADER_TEST(the_longest_name_and_prefix),
        HEADER_TEST(every_buffer_size),
        HEADER_TEST(broken_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
