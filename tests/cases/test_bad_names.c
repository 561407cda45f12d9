/* SPDX-License-Identifier: MIT */
/* Bad and odd names: empty, too long, control characters, bytes that are no
 * text, names of nothing. */
#include <string.h>

#include "busy.h"

static char huge[100000];

static void add_with_name(struct busy *busy, const char *name, size_t len,
                          int code)
{
    struct fleet *fleet = &busy->fleet;
    lbroute_pool_options pool;
    lbroute_target_options target;
    uint64_t out = 0;

    lbroute_pool_options_init(&pool, sizeof pool);
    pool.name = name;
    pool.name_len = len;
    REFUSED(busy, code, lbroute_pool_add(fleet->router, &pool, &out));
    fleet_target_options(fleet, &target);
    target.name = name;
    target.name_len = len;
    REFUSED(busy, code,
            lbroute_target_add(fleet->router, &target, fleet->now, &out));
    assert_int_equal(out, 0);
}

/* No name, one that is too long, one that would break a header or a log. */
static void names_refused(void **state)
{
    struct busy busy;
    (void)state;

    memset(huge, 'n', sizeof huge);
    busy_open(&busy, "weighted");
    add_with_name(&busy, NULL, 0, LBROUTE_ERR_NAME);
    add_with_name(&busy, "", 0, LBROUTE_ERR_NAME);
    add_with_name(&busy, "abc", 0, LBROUTE_ERR_NAME);
    add_with_name(&busy, NULL, 3, LBROUTE_ERR_INVALID);
    add_with_name(&busy, huge, 256, LBROUTE_ERR_NAME);
    add_with_name(&busy, huge, 257, LBROUTE_ERR_NAME);
    add_with_name(&busy, huge, 65536 + 3, LBROUTE_ERR_NAME);
    add_with_name(&busy, huge, sizeof huge, LBROUTE_ERR_NAME);
    add_with_name(&busy, "\0", 1, LBROUTE_ERR_NAME);
    add_with_name(&busy, "a\0b", 3, LBROUTE_ERR_NAME);
    add_with_name(&busy, "abc\0", 4, LBROUTE_ERR_NAME);
    add_with_name(&busy, "a\r\nb", 4, LBROUTE_ERR_NAME);
    add_with_name(&busy, "\x1b[2J", 4, LBROUTE_ERR_NAME);
    add_with_name(&busy, "\x7f", 1, LBROUTE_ERR_NAME);
    busy_close(&busy);
}

/* The same for tiers and models, which may be empty, when added and when
 * updated. */
static void names_refused_for_tier_and_model(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int code;
    } bad[] = {
        {"x\ny", 3, LBROUTE_ERR_NAME},  {"x\0y", 3, LBROUTE_ERR_NAME},
        {huge, 256, LBROUTE_ERR_NAME},  {huge, sizeof huge, LBROUTE_ERR_NAME},
        {NULL, 1, LBROUTE_ERR_INVALID}, {"\t", 1, LBROUTE_ERR_NAME},
    };
    struct busy busy;
    (void)state;

    memset(huge, 'n', sizeof huge);
    busy_open(&busy, "weighted");
    for (size_t i = 0; i < 2 * sizeof bad / sizeof *bad; i++) {
        lbroute_target_options options;
        lbroute_target out = 0;
        int as_tier = i % 2 == 0;
        fleet_target_options(&busy.fleet, &options);
        options.name = "new";
        options.name_len = 3;
        options.tier = as_tier ? bad[i / 2].text : NULL;
        options.tier_len = as_tier ? bad[i / 2].len : 0;
        options.model = as_tier ? NULL : bad[i / 2].text;
        options.model_len = as_tier ? 0 : bad[i / 2].len;
        REFUSED(&busy, bad[i / 2].code,
                lbroute_target_add(busy.fleet.router, &options, busy.fleet.now,
                                   &out));
        REFUSED(&busy, bad[i / 2].code,
                lbroute_target_update(busy.fleet.router, busy.fleet.targets[0],
                                      &options, busy.fleet.now));
    }
    busy_close(&busy);
}

/* Adds a target with a name and meets it again by all its bytes. */
static void add_and_find(struct fleet *fleet, const char *name, size_t len)
{
    lbroute_target_options options;
    lbroute_target_info info;
    lbroute_target found = 0;
    size_t index;

    fleet_target_options(fleet, &options);
    options.name = name;
    options.name_len = len;
    index = fleet_add_options(fleet, &options);
    assert_int_equal(lbroute_target_find(fleet->router, name, len, &found),
                     LBROUTE_OK);
    assert_int_equal(found, fleet->targets[index]);
    lbroute_target_info_init(&info, sizeof info);
    assert_int_equal(lbroute_target_get_info(fleet->router, found, &info),
                     LBROUTE_OK);
    assert_int_equal(strlen(info.name), len);
    assert_memory_equal(info.name, name, len);
    fleet_send(fleet, index, LBROUTE_EVENT_SUCCESS);
    assert_memory_equal(fleet->decision.target_name, name, len);
    assert_int_equal(fleet->decision.target_name_len, len);
}

/* Names that look odd but are names: the longest, blanks, any byte above 127,
 * a single character. */
static void names_accepted(void **state)
{
    static const char *const odd[] = {
        "x",
        " ",
        "a b",
        "~",
        "%",
        "s\xc3\xa9rver",
        "\xff\xfe",
        "\xe6\x9c\x8d\xe5\x8a\xa1",
        "http://10.0.0.1:8000/v1",
        "\"';--",
    };
    struct fleet fleet;
    (void)state;

    memset(huge, 'n', sizeof huge);
    fleet_open(&fleet, "round_robin", 0, 1);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        add_and_find(&fleet, odd[i], strlen(odd[i]));
    add_and_find(&fleet, huge, 255);
    fleet_close(&fleet);
}

/* A taken name gives the handle that has it, and changes nothing. */
static void names_taken(void **state)
{
    struct busy busy;
    lbroute_pool_options pool;
    lbroute_target_options target;
    uint64_t out = 0;
    (void)state;

    busy_open(&busy, "weighted");
    lbroute_pool_options_init(&pool, sizeof pool);
    pool.name = "second";
    pool.name_len = 6;
    pool.strategy = "round_robin";
    pool.strategy_len = 11;
    REFUSED(&busy, LBROUTE_ERR_EXISTS,
            lbroute_pool_add(busy.fleet.router, &pool, &out));
    assert_int_equal(out, busy.pools[1]);
    for (size_t i = 0; i < 6; i++) {
        char name[32];
        fleet_name(i, name);
        lbroute_target_options_init(&target, sizeof target);
        target.name = name;
        target.name_len = strlen(name);
        target.weight = 9;
        REFUSED(&busy, LBROUTE_ERR_EXISTS,
                lbroute_target_add(busy.fleet.router, &target, busy.fleet.now,
                                   &out));
        assert_int_equal(out, busy.fleet.targets[i]);
    }
    busy_close(&busy);
}

/* Strategies that do not exist, near misses included. */
static void names_of_no_strategy(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {
        {"Weighted", 8}, {"weighted ", 9},  {" weighted", 9},
        {"weighte", 7},  {"weighted\0", 9}, {"round-robin", 11},
        {"", 1},         {"\n", 1},         {huge, sizeof huge},
        {"none", 4},     {"cheapestt", 9},  {"random,weighted", 15},
    };
    struct busy busy;
    lbroute_pool_options pool;
    lbroute_pool out = 0;
    (void)state;

    memset(huge, 'w', sizeof huge);
    busy_open(&busy, "weighted");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lbroute_pool_options_init(&pool, sizeof pool);
        pool.name = "new";
        pool.name_len = 3;
        pool.strategy = bad[i].text;
        pool.strategy_len = bad[i].len;
        REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                lbroute_pool_add(busy.fleet.router, &pool, &out));
        REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                lbroute_pool_update(busy.fleet.router, busy.pools[0],
                                    bad[i].text, bad[i].len));
    }
    pool.strategy = NULL;
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_pool_add(busy.fleet.router, &pool, &out));
    assert_int_equal(out, 0);
    busy_close(&busy);
}

/* Parameters that do not exist. */
static void names_of_no_parameter(void **state)
{
    static const char *const bad[] = {"",
                                      "session",
                                      "session.",
                                      ".ttl",
                                      "session.ttl ",
                                      "Session.TTL",
                                      "session.ttls",
                                      "%s%n",
                                      huge};
    struct busy busy;
    (void)state;

    memset(huge, 's', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    busy_open(&busy, "weighted");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 77;
        REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                lbroute_pool_set(busy.fleet.router, busy.pools[0], bad[i], 1));
        REFUSED(
            &busy, LBROUTE_ERR_NOT_FOUND,
            lbroute_pool_get(busy.fleet.router, busy.pools[0], bad[i], &value));
        assert_near(value, 77, 0);
    }
    busy_close(&busy);
}

/* Looking for what is not there, or what cannot be there. */
static void names_not_found(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {
        {"nobody", 6},       {"", 0},     {NULL, 0},  {"a", 1},
        {"A ", 2},           {"A\0", 2},  {"poo", 3}, {"pool\0", 5},
        {huge, sizeof huge}, {"gone", 4},
    };
    struct busy busy;
    (void)state;

    memset(huge, 'A', sizeof huge);
    busy_open(&busy, "weighted");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t out = 77;
        REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                lbroute_pool_find(busy.fleet.router, bad[i].text, bad[i].len,
                                  &out));
        REFUSED(&busy, LBROUTE_ERR_NOT_FOUND,
                lbroute_target_find(busy.fleet.router, bad[i].text, bad[i].len,
                                    &out));
        assert_int_equal(out, 77);
    }
    busy_close(&busy);
}

/* Requests for models and tiers that cannot be anybody's are rejected like
 * those that are nobody's. */
static void names_in_requests(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } odd[] = {{"nobody's", 8},
               {"x\r\ny", 4},
               {"m\0", 2},
               {huge, sizeof huge},
               {"\xff", 1}};
    struct fleet fleet;
    (void)state;

    memset(huge, 'm', sizeof huge);
    fleet_open(&fleet, "weighted", 2, 1);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        fleet.request.pool = fleet.pool;
        fleet.request.tier = odd[i].text;
        fleet.request.tier_len = odd[i].len;
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
        assert_int_equal(fleet.decision.reason, LBROUTE_REASON_TIER);
        fleet.request.tier_len = 0;
        fleet.request.pool = 0;
        fleet.request.model = odd[i].text;
        fleet.request.model_len = odd[i].len;
        assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
        assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
        assert_int_equal(fleet.decision.reason, LBROUTE_REASON_NO_TARGETS);
        fleet.request.model_len = 0;
    }
    assert_int_equal(fleet_totals(&fleet).open_tickets, 0);
    fleet_close(&fleet);
}

static void any_bytes(const char *strategy)
{
    struct fleet fleet;

    fleet_open(&fleet, strategy, 3, 1);
    for (int byte = 0; byte < 256; byte += 15) {
        memset(huge, byte, sizeof huge);
        for (size_t len = 0; len <= sizeof huge; len = len * 9 + 1) {
            fleet.request.session = huge;
            fleet.request.session_len = len;
            fleet.request.client = huge;
            fleet.request.client_len = len;
            fleet.request.conversation = huge;
            fleet.request.conversation_len = len;
            fleet.request.prompt = huge;
            fleet.request.prompt_len = len;
            assert_true(fleet_serve(&fleet) != FLEET_NONE);
        }
    }
    fleet_close(&fleet);
}

/* Sessions, clients, conversations and prompts are bytes: all are fine, of any
 * length. */
static void names_of_sessions_are_bytes(void **state)
{
    (void)state;
    fleet_for_each_strategy(any_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_refused),
        cmocka_unit_test(names_refused_for_tier_and_model),
        cmocka_unit_test(names_accepted),
        cmocka_unit_test(names_taken),
        cmocka_unit_test(names_of_no_strategy),
        cmocka_unit_test(names_of_no_parameter),
        cmocka_unit_test(names_not_found),
        cmocka_unit_test(names_in_requests),
        cmocka_unit_test(names_of_sessions_are_bytes),
    };
    return cmocka_run_group_tests_name("bad names", tests, NULL, NULL);
}
