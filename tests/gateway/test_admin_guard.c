/* SPDX-License-Identifier: MIT */
#include "support/test.h"

#include "admin_guard.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <sys/queue.h>

static void test_names_of_the_port(void **state)
{
    static const struct {
        const char *address, *host;
        bool allowed;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:9000", true},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "localhost:1", true},
        {"127.0.0.1", "LocalHost", true},
        {"127.0.0.1", "[::1]:9000", true},
        {"127.0.0.1", "127.9.9.9", true},
        {"127.0.0.1", "127.0.-0.1", false},
        {"127.0.0.1", "+127. 0.0.1", false},
        {"127.0.0.1", "127.0.0.01", false},
        {"127.0.0.1", "10.0.0.1:9000", false},
        {"127.0.0.1", "evil.example:9000", false},
        {"127.0.0.1", "127.0.0.1.evil.example", false},
        {"127.0.0.1", "localhost.evil.example", false},
        {"127.0.0.1", "evil.example:localhost", false},
        {"127.0.0.1", "", false},
        {"127.0.0.1", ":9000", false},
        {"127.0.0.1", "[::1", false},
        {"127.0.0.1", "[::1]evil.example", false},
        {"127.0.0.1", NULL, false},
        {"10.0.0.5", "10.0.0.5:9000", true},
        {"10.0.0.5", "10.0.0.6:9000", false},
        {"0.0.0.0", "10.0.0.6:9000", true},
        {"0.0.0.0", "evil.example", false},
        {"::", "[2001:db8::1]:9000", true},
        {"2001:db8::1", "[2001:0db8:0::1]", true},
        {"2001:db8::1", "[2001:db8::2]", false},
        {"admin.internal", "admin.internal:9000", true},
        {"admin.internal", "other.internal", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (admin_guard_host(cases[i].host, cases[i].address) !=
            cases[i].allowed)
            fail_msg("%s on %s", cases[i].host, cases[i].address);
}

static void test_types(void **state)
{
    (void)state;
    assert_true(admin_guard_type("application/json"));
    assert_true(admin_guard_type("Application/JSON; charset=utf-8"));
    assert_true(admin_guard_type("application/json ;charset=utf-8"));
    assert_false(admin_guard_type(NULL));
    assert_false(admin_guard_type(""));
    assert_false(admin_guard_type("text/plain"));
    assert_false(admin_guard_type("application/jsonp"));
    assert_false(admin_guard_type("text/plain; application/json"));
    assert_false(admin_guard_type("application/x-www-form-urlencoded"));
}

static bool welcome(const char *site, const char *origin, const char *host)
{
    struct evkeyvalq headers;
    bool answer;

    TAILQ_INIT(&headers);
    if (site != NULL)
        evhttp_add_header(&headers, "Sec-Fetch-Site", site);
    if (origin != NULL)
        evhttp_add_header(&headers, "Origin", origin);
    evhttp_add_header(&headers, "Host", host);
    answer = admin_guard_origin(&headers);
    evhttp_clear_headers(&headers);
    return answer;
}

static void test_origins(void **state)
{
    const char *host = "127.0.0.1:9000";

    (void)state;
    assert_true(welcome(NULL, NULL, host));
    assert_true(welcome("none", NULL, host));
    assert_true(welcome("same-origin", "http://127.0.0.1:9000", host));
    assert_true(welcome(NULL, "https://127.0.0.1:9000", host));
    assert_false(welcome("cross-site", NULL, host));
    assert_false(welcome("same-site", NULL, host));
    assert_false(welcome(NULL, "http://evil.example", host));
    assert_false(welcome(NULL, "http://127.0.0.1:9001", host));
    assert_false(welcome(NULL, "null", host));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_the_port),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_origins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
