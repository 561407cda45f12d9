/* SPDX-License-Identifier: MIT */
/* Field reports HD: decision headers and reject reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/fleet.h"
#include "support/test.h"

#define A 0
#define B 1
#define C 2

/* ---- reading headers ---- */

struct header {
    char name[300];
    char value[4096];
};

static int read_header(struct fleet *fleet, const lbroute_decision *decision,
                       size_t index, struct header *header)
{
    size_t name_len = 0, value_len = 0;
    int code = lbroute_decision_header(
        fleet->router, decision, index, header->name, sizeof header->name,
        &name_len, header->value, sizeof header->value, &value_len);

    if (code == LBROUTE_OK) {
        assert_int_equal(strlen(header->name), name_len);
        assert_int_equal(strlen(header->value), value_len);
    }
    return code;
}

/* Finds a header by the part of its name after the prefix; NULL: it is not
 * there. The value lives until the next call. */
static const char *find_header(struct fleet *fleet,
                               const lbroute_decision *decision,
                               const char *name)
{
    static struct header header;
    int code;

    for (size_t i = 0;
         (code = read_header(fleet, decision, i, &header)) == LBROUTE_OK; i++) {
        assert_true(i < 32);
        assert_int_equal(strncmp(header.name, "X-Lbroute-", 10), 0);
        if (strcmp(header.name + 10, name) == 0)
            return header.value;
    }
    assert_int_equal(code, LBROUTE_ERR_NOT_FOUND);
    return NULL;
}

static void expect_header(struct fleet *fleet, const lbroute_decision *decision,
                          const char *name, const char *wanted)
{
    const char *value = find_header(fleet, decision, name);

    if (wanted == NULL) {
        assert_null(value);
    } else {
        assert_non_null(value);
        assert_string_equal(value, wanted);
    }
}

/* ---- the reported cases ---- */

/* A session whose ring goes A, B, C. */
static void find_ring_order_abc(struct fleet *fleet, char session[32])
{
    for (int i = 0; i < 1000; i++) {
        size_t first, second;
        snprintf(session, 32, "s%d", i);
        fleet_session(fleet, session);
        fleet->request.exclude_len = 0;
        first = fleet_explain(fleet);
        fleet->request.exclude = fleet->targets;
        fleet->request.exclude_len = 1;
        second = fleet_explain(fleet);
        fleet->request.exclude_len = 0;
        if (first == A && second == B)
            return;
    }
    fail_msg("no session found");
}

/* B is picked as A is full, fails, and a retry without B goes to C. */
static void serve_and_retry(struct fleet *fleet, const char *first_rule,
                            const char *second_rule)
{
    lbroute_decision first, second;

    fleet_set_limit(fleet, A, 1);
    fleet_hold(fleet, A, 1);
    assert_int_equal(fleet_pick(fleet), B);
    first = fleet->decision;
    expect_header(fleet, &first, "Server", "B");
    expect_header(fleet, &first, "Algorithm", first_rule);
    expect_header(fleet, &first, "In-Flight", "1/32");
    fleet_settle_last(fleet, LBROUTE_EVENT_FAILURE);

    fleet->request.exclude = &fleet->targets[B];
    fleet->request.exclude_len = 1;
    assert_int_equal(fleet_pick(fleet), C);
    second = fleet->decision;
    fleet_hold(fleet, B, 5);
    for (int i = 0; i < 2; i++) {
        expect_header(fleet, &first, "Server", "B");
        expect_header(fleet, &first, "Algorithm", first_rule);
        expect_header(fleet, &first, "In-Flight", "1/32");
        expect_header(fleet, &second, "Server", "C");
        expect_header(fleet, &second, "Algorithm", second_rule);
        expect_header(fleet, &second, "In-Flight", "1/32");
        expect_header(fleet, &second, "Pool", "pool");
        expect_header(fleet, &second, "Reject-Reason", NULL);
    }
}

/* The header named the planned server, or was overwritten by a later attempt.
 * The rule that really decided is the next ring point under consistent_hash,
 * least connections under sticky_session. */
static void hd_01_header_names_the_planned(void **state)
{
    struct fleet fleet;
    char session[32];
    (void)state;

    fleet_open(&fleet, "consistent_hash", 3, 1);
    find_ring_order_abc(&fleet, session);
    serve_and_retry(&fleet, "ring_next", "ring_next");
    fleet_close(&fleet);

    fleet_open(&fleet, "sticky_session", 3, 1);
    fleet_session(&fleet, "s1");
    fleet_send(&fleet, A, LBROUTE_EVENT_SUCCESS);
    fleet_gauge(&fleet, A, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, B, LBROUTE_GAUGE_RUNNING, 0);
    fleet_gauge(&fleet, C, LBROUTE_GAUGE_RUNNING, 9);
    serve_and_retry(&fleet, "least_connections", "least_connections");
    fleet_close(&fleet);
}

/* Checks that no byte of any header could break a line or a terminal. */
static void expect_clean(struct fleet *fleet, const lbroute_decision *decision)
{
    struct header header;

    for (size_t i = 0; read_header(fleet, decision, i, &header) == LBROUTE_OK;
         i++) {
        for (const char *c = header.name; *c != '\0'; c++)
            assert_true(*c > ' ' && *c < 127 && *c != ':');
        for (const char *c = header.value; *c != '\0'; c++)
            assert_true(*c >= ' ' && *c < 127);
    }
}

/* One call with buffers of |room| bytes: fits as a whole, or writes nothing
 * and says what it needs. */
static void render_into(struct fleet *fleet, const lbroute_decision *decision,
                        size_t index, size_t room)
{
    char name[4096 + 8], value[4096 + 8];
    struct header whole;
    size_t name_len = 0, value_len = 0;
    int code;

    assert_int_equal(read_header(fleet, decision, index, &whole), LBROUTE_OK);
    memset(name, '#', sizeof name);
    memset(value, '#', sizeof value);
    code = lbroute_decision_header(fleet->router, decision, index, name, room,
                                   &name_len, value, room, &value_len);
    assert_int_equal(name_len, strlen(whole.name));
    assert_int_equal(value_len, strlen(whole.value));
    if (name_len < room && value_len < room) {
        assert_int_equal(code, LBROUTE_OK);
        assert_string_equal(name, whole.name);
        assert_string_equal(value, whole.value);
    } else {
        assert_int_equal(code, LBROUTE_ERR_BUFFER);
        assert_int_equal(name[0], '#');
        assert_int_equal(value[0], '#');
    }
    for (size_t i = room; i < room + 8; i++)
        assert_true(name[i] == '#' && value[i] == '#');
}

static void render_everything(struct fleet *fleet,
                              const lbroute_decision *decision)
{
    static const size_t rooms[] = {0, 1, 2, 16, 17, 64, 255, 256, 4096};
    struct header header;

    expect_clean(fleet, decision);
    for (size_t i = 0; read_header(fleet, decision, i, &header) == LBROUTE_OK;
         i++) {
        for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++)
            render_into(fleet, decision, i, rooms[r]);
        render_into(fleet, decision, i, strlen(header.value));
        render_into(fleet, decision, i, strlen(header.value) + 1);
        render_into(fleet, decision, i, strlen(header.name));
        render_into(fleet, decision, i, strlen(header.name) + 1);
    }
}

static void expect_name_refused(struct fleet *fleet, const char *name,
                                size_t len)
{
    lbroute_target_options target_options;
    lbroute_pool_options pool_options;
    lbroute_target target = 0;
    lbroute_pool pool = 0;

    fleet_target_options(fleet, &target_options);
    target_options.name = name;
    target_options.name_len = len;
    assert_int_equal(
        lbroute_target_add(fleet->router, &target_options, 0, &target),
        LBROUTE_ERR_NAME);
    lbroute_pool_options_init(&pool_options, sizeof pool_options);
    pool_options.name = name;
    pool_options.name_len = len;
    assert_int_equal(lbroute_pool_add(fleet->router, &pool_options, &pool),
                     LBROUTE_ERR_NAME);
    assert_int_equal(target, 0);
    assert_int_equal(pool, 0);
}

/* A configured line break went into a header and split it. */
static void hd_02_line_breaks_split_headers(void **state)
{
    static char huge[100000];
    lbroute_target_options options;
    lbroute_target target = 0;
    struct fleet fleet;
    (void)state;

    memset(huge, 'n', sizeof huge);
    fleet_open(&fleet, "sticky_session", 0, 1);
    expect_name_refused(&fleet, "a\r\nX-Evil: 1", 12);
    expect_name_refused(&fleet, "po\0ol", 5);
    expect_name_refused(&fleet, huge, sizeof huge);
    fleet_target_options(&fleet, &options);
    options.name = "t";
    options.name_len = 1;
    options.tier = "x\ny";
    options.tier_len = 3;
    assert_int_equal(lbroute_target_add(fleet.router, &options, 0, &target),
                     LBROUTE_ERR_NAME);
    assert_int_equal(fleet_totals(&fleet).targets, 0);

    fleet_add_named(&fleet, "s\xc3\xa9rver-\xe6\x9c\x8d");
    fleet_session(&fleet, "id\r\nX-Evil: 1");
    fleet_client(&fleet, "sk-very-secret-key\r\n");
    for (int i = 0; i < 2; i++) {
        const char *server;
        assert_int_equal(fleet_serve(&fleet), A);
        render_everything(&fleet, &fleet.decision);
        server = find_header(&fleet, &fleet.decision, "Server");
        assert_non_null(server);
        assert_int_equal(strcasecmp(server, "s%C3%A9rver-%E6%9C%8D"), 0);
    }

    /* Such a tier cannot be configured, so nobody serves it. */
    fleet.request.tier = "x\ny";
    fleet.request.tier_len = 3;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    assert_int_equal(fleet.code, LBROUTE_ERR_NO_TARGET);
    render_everything(&fleet, &fleet.decision);
    fleet_close(&fleet);
}

/* ---- more of the same kind ---- */

/* Each control character, in each place, in names, tiers, models and the
 * header prefix. */
static void hd_kind_every_control_character(void **state)
{
    lbroute_router_options router_options;
    lbroute_router *router = NULL;
    lbroute_target_options options;
    lbroute_target target = 0;
    struct fleet fleet;
    char text[4] = "abc";
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    for (int c = 0; c < 128; c = c == 31 ? 127 : c + 1) {
        for (size_t place = 0; place < 3; place++) {
            memcpy(text, "abc", 4);
            text[place] = (char)c;
            expect_name_refused(&fleet, text, 3);
            for (int field = 0; field < 2; field++) {
                fleet_target_options(&fleet, &options);
                options.name = "t";
                options.name_len = 1;
                options.tier = text;
                options.tier_len = field == 0 ? 3 : 0;
                options.model = text;
                options.model_len = field == 1 ? 3 : 0;
                assert_int_equal(
                    lbroute_target_add(fleet.router, &options, 0, &target),
                    LBROUTE_ERR_NAME);
            }
            lbroute_router_options_init(&router_options, sizeof router_options);
            router_options.seed = 1;
            router_options.header_prefix = text;
            router_options.header_prefix_len = 3;
            assert_int_equal(lbroute_router_create(&router_options, &router),
                             LBROUTE_ERR_NAME);
            assert_null(router);
        }
    }
    assert_int_equal(fleet_totals(&fleet).targets, 0);
    assert_int_equal(fleet_totals(&fleet).pools, 1);
    fleet_close(&fleet);
}

/* Longest names of bytes that each take three in a header. */
static void hd_kind_longest_escapes(void **state)
{
    char name[256];
    struct fleet fleet;
    (void)state;

    for (int c = 128; c < 256; c++) {
        memset(name, c, 255);
        name[255] = '\0';
        fleet_open(&fleet, "weighted", 0, 1);
        fleet_add_pool(&fleet, name, "random");
        fleet_add_named(&fleet, name);
        assert_int_equal(fleet_serve(&fleet), A);
        assert_int_equal(strlen(find_header(&fleet, &fleet.decision, "Server")),
                         3 * 255);
        if (c % 16 == 0)
            render_everything(&fleet, &fleet.decision);
        fleet_close(&fleet);
    }
}

/* Under every strategy the header names the server and rule of its decision,
 * after the pick and after all that follows, and explain says the same. */
static void headers_follow_decisions(const char *strategy)
{
    enum { PICKS = 30 };
    static lbroute_decision decisions[PICKS];
    struct fleet fleet;
    char name[32], in_flight[32], session[32];
    size_t served[PICKS];

    fleet_open(&fleet, strategy, 4, 3);
    for (size_t i = 0; i < PICKS; i++) {
        lbroute_decision explained;
        snprintf(session, sizeof session, "s%zu", i % 5);
        fleet_session(&fleet, i % 3 == 0 ? NULL : session);
        lbroute_decision_init(&explained, sizeof explained);
        assert_int_equal(lbroute_explain(fleet.router, &fleet.request,
                                         fleet.now, &explained, NULL, 0, NULL),
                         LBROUTE_OK);
        served[i] = fleet_pick(&fleet);
        decisions[i] = fleet.decision;
        assert_int_equal(explained.target, fleet.decision.target);
        assert_int_equal(explained.ticket, 0);
        expect_header(&fleet, &explained, "Algorithm",
                      lbroute_rule_name(fleet.decision.rule));
        if (i % 3 == 1)
            fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    }
    fleet_settle_all(&fleet, LBROUTE_EVENT_SUCCESS);
    for (size_t i = 0; i < 4; i++)
        fleet_remove(&fleet, i);
    for (size_t i = 0; i < PICKS; i++) {
        fleet_name(served[i], name);
        snprintf(in_flight, sizeof in_flight, "%u/32",
                 (unsigned)decisions[i].in_flight);
        expect_header(&fleet, &decisions[i], "Server", name);
        expect_header(&fleet, &decisions[i], "Algorithm",
                      lbroute_rule_name(decisions[i].rule));
        expect_header(&fleet, &decisions[i], "In-Flight", in_flight);
        assert_int_equal(decisions[i].sticky_digest != 0, i % 3 != 0);
    }
    fleet_close(&fleet);
}

static void hd_kind_headers_follow_decisions(void **state)
{
    (void)state;
    fleet_for_each_strategy(headers_follow_decisions);
}

static void expect_rejection(struct fleet *fleet, int reason)
{
    assert_int_equal(fleet_pick(fleet), FLEET_NONE);
    assert_int_equal(fleet->decision.reason, reason);
    expect_header(fleet, &fleet->decision, "Reject-Reason",
                  lbroute_reason_name(reason));
    expect_header(fleet, &fleet->decision, "Server", NULL);
    expect_header(fleet, &fleet->decision, "Pool", "pool");
    render_everything(fleet, &fleet->decision);
}

/* A rejection says why and names no server; a success gives no reason. One
 * decision struct serves for both in turn. */
static void hd_kind_reject_reasons(void **state)
{
    struct fleet fleet;
    (void)state;

    fleet_open(&fleet, "weighted", 0, 1);
    expect_rejection(&fleet, LBROUTE_REASON_NO_TARGETS);
    fleet_add_limit(&fleet, 1);
    fleet_pick(&fleet);
    expect_header(&fleet, &fleet.decision, "Reject-Reason", NULL);
    expect_header(&fleet, &fleet.decision, "Server", "A");
    expect_rejection(&fleet, LBROUTE_REASON_SATURATED);
    fleet_settle_last(&fleet, LBROUTE_EVENT_SUCCESS);
    fleet_drain(&fleet, A, 1);
    expect_rejection(&fleet, LBROUTE_REASON_DRAINING);
    fleet_drain(&fleet, A, 0);
    fleet.request.tier = "gold";
    fleet.request.tier_len = 4;
    expect_rejection(&fleet, LBROUTE_REASON_TIER);
    fleet.request.tier_len = 0;
    fleet.request.exclude = fleet.targets;
    fleet.request.exclude_len = 1;
    expect_rejection(&fleet, LBROUTE_REASON_EXCLUDED);
    fleet.request.exclude_len = 0;
    fleet_pick(&fleet);
    expect_header(&fleet, &fleet.decision, "Reject-Reason", NULL);
    fleet_close(&fleet);
}

/* The sticky header tells sessions apart, repeats for one session, depends on
 * the router's key and shows nothing of the id. */
static void hd_kind_only_digests_leave(void **state)
{
    static const char *const ids[] = {"user@example.org", "sk-12345678", "0",
                                      "user@example.orh"};
    lbroute_router_options options;
    struct fleet fleet;
    char seen[2][4][64];
    (void)state;

    for (uint64_t seed = 1; seed <= 2; seed++) {
        lbroute_router_options_init(&options, sizeof options);
        options.seed = seed;
        fleet_open_options(&fleet, &options, "sticky_session");
        fleet_add(&fleet);
        for (size_t i = 0; i < 8; i++) {
            const char *sticky;
            fleet_session(&fleet, ids[i % 4]);
            fleet_serve(&fleet);
            sticky = find_header(&fleet, &fleet.decision, "Sticky");
            assert_non_null(sticky);
            assert_true(strlen(sticky) >= 8);
            /* A single digit may stand in a digest by chance. */
            if (i % 4 != 2)
                assert_null(strstr(sticky, ids[i % 4]));
            if (i < 4)
                snprintf(seen[seed - 1][i], 64, "%s", sticky);
            else
                assert_string_equal(sticky, seen[seed - 1][i - 4]);
        }
        fleet_session(&fleet, NULL);
        fleet_serve(&fleet);
        expect_header(&fleet, &fleet.decision, "Sticky", NULL);
        fleet_close(&fleet);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_string_not_equal(seen[0][i], seen[1][i]);
        assert_string_not_equal(seen[0][i], seen[0][(i + 1) % 4]);
    }
}

/* Weights are plain decimal numbers that say what they are. */
static void hd_kind_weights_read_back(void **state)
{
    static const double weights[] = {1, 0.5, 3, 0.1, 2.75, 1e-6, 1e9, 123456.5};
    (void)state;

    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        struct fleet fleet;
        const char *value;
        char *end;
        double read;
        fleet_open(&fleet, "weighted", 0, 1);
        fleet_add_weight(&fleet, weights[i]);
        fleet_serve(&fleet);
        value = find_header(&fleet, &fleet.decision, "Weight");
        assert_non_null(value);
        assert_null(strchr(value, ','));
        read = strtod(value, &end);
        assert_int_equal(*end, '\0');
        assert_near(read / weights[i], 1, 1e-3);
        fleet_close(&fleet);
    }
}

/* The prefix is the host's, also an empty one and the longest. */
static void hd_kind_prefixes(void **state)
{
    static char longest[256];
    const char *const prefixes[] = {"", "x-", "Gateway-1.", longest};
    lbroute_router_options options;
    struct fleet fleet;
    struct header header;
    (void)state;

    memset(longest, 'p', 255);
    for (size_t p = 0; p < 4; p++) {
        size_t len = strlen(prefixes[p]);
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        options.header_prefix = prefixes[p];
        options.header_prefix_len = len;
        fleet_open_options(&fleet, &options, "weighted");
        fleet_add(&fleet);
        fleet_serve(&fleet);
        assert_int_equal(read_header(&fleet, &fleet.decision, 0, &header),
                         LBROUTE_OK);
        assert_memory_equal(header.name, prefixes[p], len);
        assert_string_equal(header.name + len, "Server");
        fleet_close(&fleet);
    }
}

/* What is said of the prompt is what the target knew of it when it was picked,
 * under the rule that really decided. */
static void hd_kind_prefix_of_a_pick(void **state)
{
    struct fleet fleet;
    lbroute_decision cold, warm, pinned;
    size_t home;
    (void)state;

    fleet_open(&fleet, "cache_aware", 3, 1);
    fleet_prompt(&fleet, "once upon a time");
    home = fleet_serve(&fleet);
    cold = fleet.decision;
    fleet_prompt(&fleet, "once upon a time there was");
    fleet_session(&fleet, "s1");
    assert_int_equal(fleet_serve(&fleet), home);
    warm = fleet.decision;
    fleet_prompt(&fleet, "once upon another day");
    assert_int_equal(fleet_serve(&fleet), home);
    pinned = fleet.decision;
    expect_header(&fleet, &cold, "Prefix", "0/16");
    expect_header(&fleet, &cold, "Algorithm", "least_warmed");
    expect_header(&fleet, &cold, "Sticky", NULL);
    expect_header(&fleet, &warm, "Prefix", "16/26");
    expect_header(&fleet, &warm, "Algorithm", "cache_aware");
    expect_header(&fleet, &pinned, "Prefix", "11/21");
    expect_header(&fleet, &pinned, "Algorithm", "sticky_session");
    fleet_prompt(&fleet, NULL);
    fleet_session(&fleet, NULL);
    fleet_serve(&fleet);
    expect_header(&fleet, &fleet.decision, "Prefix", "0/0");
    fleet.request.exclude = fleet.targets;
    fleet.request.exclude_len = 3;
    assert_int_equal(fleet_pick(&fleet), FLEET_NONE);
    expect_header(&fleet, &fleet.decision, "Prefix", NULL);
    expect_header(&fleet, &fleet.decision, "Algorithm", NULL);
    fleet.request.exclude_len = 0;
    fleet_strategy(&fleet, "weighted");
    fleet_prompt(&fleet, "once upon a time");
    fleet_serve(&fleet);
    expect_header(&fleet, &fleet.decision, "Prefix", NULL);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hd_01_header_names_the_planned),
        cmocka_unit_test(hd_02_line_breaks_split_headers),
        cmocka_unit_test(hd_kind_every_control_character),
        cmocka_unit_test(hd_kind_longest_escapes),
        cmocka_unit_test(hd_kind_headers_follow_decisions),
        cmocka_unit_test(hd_kind_reject_reasons),
        cmocka_unit_test(hd_kind_only_digests_leave),
        cmocka_unit_test(hd_kind_weights_read_back),
        cmocka_unit_test(hd_kind_prefixes),
        cmocka_unit_test(hd_kind_prefix_of_a_pick),
    };
    return cmocka_run_group_tests_name("HD", tests, NULL, NULL);
}
