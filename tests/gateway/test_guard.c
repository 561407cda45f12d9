/* SPDX-License-Identifier: MIT */
/*
 * What is refused before anything is routed (RFC 9112 section 6, RFC 9110
 * section 5), what stays on one connection, and Retry-After.
 */
#include "guard.h"
#include "retry_after.h"

#include "support/test.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <string.h>

/* Judges headers given as "Name: value" lines. */
static bool judged(const char *target, bool bodyless, const char *const *lines)
{
    struct evkeyvalq headers;
    struct asked_error error = {0};
    TAILQ_INIT(&headers);
    for (; *lines; lines++) {
        char name[64];
        size_t colon = strcspn(*lines, ":");
        snprintf(name, sizeof name, "%.*s", (int)colon, *lines);
        const char *value = *lines + colon + 1;
        assert_int_equal(evhttp_add_header(&headers, name, value), 0);
    }
    bool good = guard_request(target, bodyless, &headers, &error);
    evhttp_clear_headers(&headers);
    assert_int_equal(error.status, good ? 0 : 400);
    assert_int_equal(error.text[0] != '\0', !good);
    return good;
}

#define JUDGE(...)                                                             \
    judged("/v1/x?a=b", false, (const char *[]){__VA_ARGS__, NULL})

static void test_framing(void **state)
{
    (void)state;
    assert_true(JUDGE("Host:a", "Content-Length:12"));
    assert_true(JUDGE("Host:a", "content-length:0"));
    assert_true(JUDGE("Transfer-Encoding:chunked"));
    assert_true(JUDGE("transfer-encoding:Chunked"));
    assert_true(JUDGE("Expect:100-Continue", "Content-Length:1"));

    assert_false(JUDGE("Content-Length:1", "Content-Length:1"));
    assert_false(JUDGE("Content-Length:1", "CONTENT-LENGTH:2"));
    assert_false(JUDGE("Content-Length:1", "Transfer-Encoding:chunked"));
    assert_false(
        JUDGE("Transfer-Encoding:chunked", "Transfer-Encoding:chunked"));
    assert_false(JUDGE("Transfer-Encoding:gzip, chunked"));
    assert_false(JUDGE("Transfer-Encoding:identity"));
    assert_false(JUDGE("Transfer-Encoding: chunked")); /* The value's own. */
    assert_false(JUDGE("Host:a", "Host:a"));
    assert_false(JUDGE("Expect:something"));
}

static void test_lengths(void **state)
{
    (void)state;
    static const char *const BAD[] = {"",
                                      "+1",
                                      "-1",
                                      "0x1",
                                      "1 ",
                                      " 1",
                                      "1,1",
                                      "1.",
                                      "1e3",
                                      "a",
                                      "1000000000000000000"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        assert_false(guard_is_length(BAD[i]));
    assert_true(guard_is_length("0"));
    assert_true(guard_is_length("007"));
    assert_true(guard_is_length("999999999999999999"));
}

static void test_characters(void **state)
{
    (void)state;
    assert_true(JUDGE("X!#$%&'*+-.^_`|~9:tab\tand \"quotes\" \xc3\xa4"));
    assert_false(JUDGE("Content-Length :1"));
    assert_false(JUDGE("X(:1"));
    assert_false(JUDGE(":1"));
    assert_false(JUDGE("X\xc3\xa4:1"));
    assert_false(JUDGE("X:a\x01"));
    assert_false(JUDGE("X:a\x7f"));
}

static void test_targets(void **state)
{
    (void)state;
    const char *none[] = {NULL};
    assert_true(judged("/", false, none));
    assert_true(judged("/v1/models/a%2Fb?x=%20", false, none));
    assert_false(judged("http://a/v1", false, none));
    assert_false(judged("*", false, none));
    assert_false(judged("", false, none));
    assert_false(judged("a:443", false, none));
    assert_false(judged("/a b", false, none));
    assert_false(judged("/a\tb", false, none));
    assert_false(judged("/a#b", false, none));
    assert_false(judged("/a\\b", false, none));
    assert_false(judged("/\xc3\xa4", false, none));
}

/* libevent would take such a body for the next request. */
static void test_no_body(void **state)
{
    (void)state;
    const char *none[] = {"Host:a", NULL};
    const char *length[] = {"Content-Length:0", NULL};
    const char *chunks[] = {"Transfer-Encoding:chunked", NULL};
    assert_true(judged("/", true, none));
    assert_false(judged("/", true, length));
    assert_false(judged("/", true, chunks));
}

static void test_hop_headers(void **state)
{
    (void)state;
    static const char *const HOP[] = {"connection",
                                      "Keep-Alive",
                                      "TE",
                                      "trailer",
                                      "Transfer-Encoding",
                                      "Upgrade",
                                      "Proxy-Connection",
                                      "Proxy-Authorization",
                                      "proxy-authenticate",
                                      "Host",
                                      "Content-Length",
                                      "Expect",
                                      "X-One",
                                      "x-two"};
    static const char *const OWN[] = {
        "Content-Type", "Authorization", "Accept", "Date",
        "X-On",         "X-Three",       "Cookie", "Hostage"};
    struct evkeyvalq headers;
    TAILQ_INIT(&headers);
    evhttp_add_header(&headers, "Connection", "close, x-one");
    evhttp_add_header(&headers, "connection", ",\tX-Two ,");
    struct guard_hops hops;
    assert_true(guard_read_hops(&hops, &headers));
    for (size_t i = 0; i < sizeof HOP / sizeof *HOP; i++)
        assert_true(guard_is_hop_header(HOP[i], &hops));
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        assert_false(guard_is_hop_header(OWN[i], &hops));
    evhttp_clear_headers(&headers);
}

/* The status for so many headers of a kind; 0: none is wrong. */
static int status_of(size_t count, const char *name, const char *value)
{
    struct evkeyvalq headers;
    struct asked_error error = {0};
    TAILQ_INIT(&headers);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(evhttp_add_header(&headers, name, value), 0);
    bool good = guard_request("/", false, &headers, &error);
    evhttp_clear_headers(&headers);
    assert_int_equal(good, error.status == 0);
    return error.status;
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(status_of(GUARD_HEADERS_MAX, "a", ""), 0);
    assert_int_equal(status_of(GUARD_HEADERS_MAX + 1, "a", ""), 431);
    assert_int_equal(status_of(GUARD_HOPS_MAX / 2, "Connection", "a, b"), 0);
    assert_int_equal(status_of(GUARD_HOPS_MAX / 2 + 1, "Connection", "a, b"),
                     400);
    assert_int_equal(status_of(GUARD_HEADERS_MAX, "Connection", " ,\t"), 0);
}

/* The example date of RFC 9110 section 5.6.7, in its three forms. */
static void test_retry_after(void **state)
{
    (void)state;
    const time_t date = 784111777; /* 1994-11-06 08:49:37 UTC */
    const time_t before = date - 30;
    const int64_t second = 1000000000;
    assert_int_equal(retry_after_ns("00000000000", 0), 0);
    assert_int_equal(retry_after_ns("0", 0), 0);
    assert_int_equal(retry_after_ns("120", 0), 120 * second);
    assert_int_equal(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", before),
                     30 * second);
    assert_int_equal(retry_after_ns("Sunday, 06-Nov-94 08:49:37 GMT", before),
                     30 * second);
    assert_int_equal(retry_after_ns("Sun Nov  6 08:49:37 1994", before),
                     30 * second);
    assert_int_equal(
        retry_after_ns("Thu, 29 Feb 2024 00:00:00 GMT", 1709164800 - 1),
        second);
    assert_int_equal(
        retry_after_ns("Fri, 01 Mar 2024 00:00:00 GMT", 1709251200 - 1),
        second);
    assert_int_equal(retry_after_ns("Sun, 06 Nov 1994 08:49:37 GMT", date + 9),
                     0);
    /* However long it says, a year is enough. */
    assert_int_equal(retry_after_ns("99999999999999999999", 0),
                     INT64_C(366) * 86400 * second);
}

static void test_bad_retry_after(void **state)
{
    (void)state;
    static const char *const BAD[] = {"",
                                      " ",
                                      "-1",
                                      "1.5",
                                      "5 s",
                                      "soon",
                                      "Sun, 06 Nov 1994",
                                      "Sun, 06 Foo 1994 08:49:37 GMT",
                                      "Sun, 32 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 25:49:37 GMT"};
    assert_int_equal(retry_after_ns(NULL, 0), -1);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        assert_int_equal(retry_after_ns(BAD[i], 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_no_body),
        cmocka_unit_test(test_hop_headers),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_bad_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
