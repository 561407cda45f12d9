/* SPDX-License-Identifier: MIT */
/* More of the field reports CH: pins of sessions and clients. */
#include <stdio.h>
#include <string.h>

#include "support/fleet.h"
#include "support/test.h"

/* sticky_session holds a session to one target, and spreads new ones by load.
 * Sessions count over clients, clients where there is none. */
static void ch_kind_sticky_by_session_then_client(void **state)
{
    struct fleet fleet;
    size_t home, other;
    (void)state;

    fleet_open(&fleet, "sticky_session", 4, 5);
    fleet_session(&fleet, "s1");
    home = fleet_serve(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    for (int i = 0; i < 20; i++) {
        fleet_client(&fleet, i % 2 == 0 ? "c1" : "c2");
        assert_int_equal(fleet_serve(&fleet), home);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    }
    fleet_session(&fleet, NULL);
    fleet_client(&fleet, "a client of its own");
    fleet_hold(&fleet, home, 3);
    other = fleet_serve(&fleet);
    assert_true(other != home);
    fleet_hold(&fleet, other, 20);
    assert_int_equal(fleet_serve(&fleet), other);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    fleet_close(&fleet);
}

/* A pin lives for session.ttl after its last use, and is expired when exactly
 * that old. */
static void ch_kind_pin_expires(void **state)
{
    struct fleet fleet;
    size_t home;
    (void)state;

    fleet_open(&fleet, "sticky_session", 2, 5);
    fleet_param(&fleet, "session.ttl", 60);
    fleet_session(&fleet, "s1");
    home = fleet_serve(&fleet);
    fleet_hold(&fleet, home, 10);
    for (int i = 0; i < 5; i++) {
        fleet.now += 60 * TEST_S - 1;
        assert_int_equal(fleet_serve(&fleet), home);
    }
    fleet.now += 60 * TEST_S;
    assert_int_equal(fleet_serve(&fleet), 1 - home);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    fleet_close(&fleet);
}

/* A target removed and added again under its name owns no old sessions. */
static void ch_kind_pin_dies_with_its_target(void **state)
{
    struct fleet fleet;
    size_t home;
    (void)state;

    fleet_open(&fleet, "sticky_session", 2, 5);
    fleet_session(&fleet, "s1");
    home = fleet_serve(&fleet);
    assert_int_equal(fleet_totals(&fleet).sessions, 1);
    fleet_remove(&fleet, home);
    assert_int_equal(fleet_totals(&fleet).sessions, 0);
    fleet_add_again(&fleet, home);
    fleet_hold(&fleet, home, 1);
    assert_int_equal(fleet_serve(&fleet), 1 - home);
    fleet_close(&fleet);
}

/* One session in two pools has a pin in each. */
static void ch_kind_pins_per_pool(void **state)
{
    struct fleet fleet;
    lbroute_pool pools[2];
    size_t homes[2];
    (void)state;

    fleet_open(&fleet, "sticky_session", 3, 1);
    pools[0] = fleet.pool;
    pools[1] = fleet_add_pool(&fleet, "second", "sticky_session");
    for (size_t i = 0; i < 3; i++)
        fleet_add(&fleet);
    fleet_session(&fleet, "s1");
    for (size_t p = 0; p < 2; p++) {
        fleet.request.pool = pools[p];
        homes[p] = fleet_serve(&fleet);
        assert_int_equal(homes[p] / 3, p);
    }
    for (size_t i = 0; i < 40; i++) {
        fleet.request.pool = pools[i % 2];
        assert_int_equal(fleet_serve(&fleet), homes[i % 2]);
        assert_int_equal(fleet.decision.rule, LBROUTE_RULE_STICKY_SESSION);
    }
    assert_int_equal(fleet_totals(&fleet).sessions, 2);
    fleet_close(&fleet);
}

/* Only success pins: a session whose first request failed is free to go. */
static void ch_kind_only_success_pins(void **state)
{
    static const int kinds[] = {
        LBROUTE_EVENT_FAILURE,      LBROUTE_EVENT_OVERLOAD,
        LBROUTE_EVENT_CLIENT_ERROR, LBROUTE_EVENT_CANCEL,
        LBROUTE_EVENT_TIMEOUT,      LBROUTE_EVENT_FIRST_TOKEN};
    (void)state;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct fleet fleet;
        fleet_open(&fleet, "sticky_session", 2, 1);
        fleet_session(&fleet, "s1");
        fleet_send(&fleet, 0, kinds[k]);
        assert_int_equal(fleet_totals(&fleet).sessions, 0);
        fleet_session(&fleet, NULL);
        fleet_hold(&fleet, 0, 5);
        fleet_session(&fleet, "s1");
        assert_int_equal(fleet_pick(&fleet), 1);
        fleet_close(&fleet);
    }
}

/* A text of 2,000 bytes that all have, then what tells |number| from others. */
static void set_conversation(struct fleet *fleet, size_t number)
{
    static char key[2032];

    memset(key, 'x', 2000);
    snprintf(key + 2000, 32, "image %zu", number);
    fleet->request.conversation = key;
    fleet->request.conversation_len = strlen(key);
}

/* CH-08: conversations with the same text that differ in an image or a tool
 * result spread, also those of one client, and each stays where it is. */
static void ch_08_images_tell_conversations_apart(void **state)
{
    enum { TALKS = 200 };
    static const char *const strategies[] = {"consistent_hash",
                                             "sticky_session"};
    size_t homes[TALKS];
    (void)state;

    for (size_t s = 0; s < 2; s++) {
        struct fleet fleet;
        fleet_open(&fleet, strategies[s], 4, 5);
        fleet_client(&fleet, "one client");
        fleet_prompt(&fleet, "the same text");
        for (size_t i = 0; i < TALKS; i++) {
            set_conversation(&fleet, i);
            homes[i] = fleet_serve(&fleet);
        }
        for (size_t i = 0; i < 4; i++)
            assert_in_range(fleet.picks[i], TALKS * 12 / 100, TALKS * 40 / 100);
        for (size_t i = 0; i < TALKS; i++) {
            set_conversation(&fleet, TALKS - 1 - i);
            assert_int_equal(fleet_serve(&fleet), homes[TALKS - 1 - i]);
            assert_int_equal(fleet.decision.rule,
                             s ? LBROUTE_RULE_STICKY_SESSION
                               : LBROUTE_RULE_CONSISTENT_HASH);
        }
        fleet_close(&fleet);
    }
}

/* A session counts over the conversation, a conversation over the client. */
static void ch_kind_session_before_conversation(void **state)
{
    struct fleet fleet;
    size_t home;
    (void)state;

    fleet_open(&fleet, "sticky_session", 3, 5);
    fleet_session(&fleet, "s1");
    home = fleet_serve(&fleet);
    for (size_t i = 0; i < 10; i++) {
        set_conversation(&fleet, i);
        assert_int_equal(fleet_serve(&fleet), home);
    }
    fleet_session(&fleet, NULL);
    fleet_client(&fleet, "c1");
    set_conversation(&fleet, 77);
    fleet_hold(&fleet, home, 5);
    assert_true(fleet_serve(&fleet) != home);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    fleet.request.conversation_len = 0;
    fleet_serve(&fleet);
    assert_int_equal(fleet.decision.rule, LBROUTE_RULE_LEAST_CONNECTIONS);
    fleet_close(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ch_kind_sticky_by_session_then_client),
        cmocka_unit_test(ch_kind_pin_expires),
        cmocka_unit_test(ch_kind_pin_dies_with_its_target),
        cmocka_unit_test(ch_kind_pins_per_pool),
        cmocka_unit_test(ch_kind_only_success_pins),
        cmocka_unit_test(ch_08_images_tell_conversations_apart),
        cmocka_unit_test(ch_kind_session_before_conversation),
    };
    return cmocka_run_group_tests_name("CH, sticky", tests, NULL, NULL);
}
