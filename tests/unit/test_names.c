/* SPDX-License-Identifier: MIT */
/* api/names: every code has a text of its own, no number is unsafe. */
#include <limits.h>
#include <string.h>

#include "support/test.h"

#include <lbroute/lbroute.h>

typedef const char *name_of(int code);

/* All codes from |first| to |last| have texts, each its own, and none is the
 * one for codes that are not known. */
static void check_names(name_of *name, int first, int last, const char *unknown)
{
    for (int code = first; code <= last; code++) {
        assert_non_null(name(code));
        assert_true(strlen(name(code)) > 0);
        assert_string_not_equal(name(code), unknown);
        for (int other = first; other < code; other++)
            assert_string_not_equal(name(code), name(other));
    }
}

static void check_unknown(name_of *name, int first, int last,
                          const char *unknown)
{
    assert_string_equal(name(first - 1), unknown);
    assert_string_equal(name(last + 1), unknown);
    assert_string_equal(name(INT_MIN), unknown);
    assert_string_equal(name(INT_MIN + 1), unknown);
    assert_string_equal(name(INT_MAX), unknown);
}

static void results(void **state)
{
    (void)state;
    check_names(lbroute_strerror, LBROUTE_ERR_QUEUED, LBROUTE_OK,
                "unknown code");
    check_unknown(lbroute_strerror, LBROUTE_ERR_QUEUED, LBROUTE_OK,
                  "unknown code");
}

static void reasons(void **state)
{
    (void)state;
    check_names(lbroute_reason_name, 0, LBROUTE_REASON_COUNT - 1, "unknown");
    check_unknown(lbroute_reason_name, 0, LBROUTE_REASON_COUNT - 1, "unknown");
    assert_string_equal(lbroute_reason_name(LBROUTE_REASON_SATURATED),
                        "saturated");
}

static void rules(void **state)
{
    (void)state;
    check_names(lbroute_rule_name, 0, LBROUTE_RULE_COUNT - 1, "unknown");
    check_unknown(lbroute_rule_name, 0, LBROUTE_RULE_COUNT - 1, "unknown");
    assert_string_equal(lbroute_rule_name(LBROUTE_RULE_RING_NEXT), "ring_next");
}

/* Names of header values: lower case, no space. */
static void reasons_and_rules_are_words(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    (void)state;

    for (int code = 0; code < LBROUTE_REASON_COUNT; code++)
        assert_int_equal(strspn(lbroute_reason_name(code), letters),
                         strlen(lbroute_reason_name(code)));
    for (int code = 0; code < LBROUTE_RULE_COUNT; code++)
        assert_int_equal(strspn(lbroute_rule_name(code), letters),
                         strlen(lbroute_rule_name(code)));
}

static void strategies(void **state)
{
    static const char *const names[] = {"weighted",
                                        "round_robin",
                                        "random",
                                        "power_of_two",
                                        "least_connections",
                                        "consistent_hash",
                                        "sticky_session",
                                        "cache_aware",
                                        "kv_aware",
                                        "least_work",
                                        "precise_cache_aware",
                                        "lmcache_aware",
                                        "lora_aware",
                                        "cheapest",
                                        "fastest",
                                        "predicted_latency",
                                        "adaptive",
                                        "pipeline"};
    size_t count = sizeof names / sizeof names[0];
    (void)state;

    for (size_t i = 0; i < count; i++)
        assert_string_equal(lbroute_strategy_name(i), names[i]);
    assert_null(lbroute_strategy_name(count));
    assert_null(lbroute_strategy_name(SIZE_MAX));
}

/* The rule of a strategy that decided itself bears the strategy's name. */
static void strategies_are_rules(void **state)
{
    (void)state;
    for (size_t i = 0; lbroute_strategy_name(i); i++) {
        int rule = 0;

        while (rule < LBROUTE_RULE_COUNT &&
               strcmp(lbroute_rule_name(rule), lbroute_strategy_name(i)) != 0)
            rule++;
        assert_true(rule < LBROUTE_RULE_COUNT);
    }
}

static void version(void **state)
{
    (void)state;
    assert_string_equal(lbroute_version(), LBROUTE_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(reasons),
        cmocka_unit_test(rules),
        cmocka_unit_test(reasons_and_rules_are_words),
        cmocka_unit_test(strategies),
        cmocka_unit_test(strategies_are_rules),
        cmocka_unit_test(version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
