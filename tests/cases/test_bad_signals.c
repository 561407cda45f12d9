/* SPDX-License-Identifier: MIT */
/* Bad reports of engines: refused as a whole, with nothing changed. */
#include <math.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "busy.h"

static struct busy busy;
static lbroute_router *router;
static lbroute_target target;

static void open_busy(const char *strategy)
{
    busy_open(&busy, strategy);
    router = busy.fleet.router;
    target = busy.fleet.targets[0];
}

/* ---- gauges ---- */

#define GAUGES(code, values, count, given)                                     \
    REFUSED(&busy, code,                                                       \
            lbroute_set_gauges(router, target, values, count, given,           \
                               busy.fleet.now))

static void bad_gauge_reports(void **state)
{
    double values[LBROUTE_GAUGE_COUNT + 1] = {1, 2, 0.5, 4, 3, 100, 16, 0};
    (void)state;

    open_busy("least_connections");
    GAUGES(LBROUTE_ERR_INVALID, NULL, 1, 1);
    GAUGES(LBROUTE_ERR_INVALID, NULL, 0, 0);
    GAUGES(LBROUTE_ERR_INVALID, values, 2, 0);
    GAUGES(LBROUTE_ERR_INVALID, values, 0, 1);
    GAUGES(LBROUTE_ERR_INVALID, values, 2, 4);
    GAUGES(LBROUTE_ERR_INVALID, values, LBROUTE_GAUGE_COUNT, 0x80);
    GAUGES(LBROUTE_ERR_INVALID, values, LBROUTE_GAUGE_COUNT, UINT32_MAX);
    GAUGES(LBROUTE_ERR_INVALID, values, LBROUTE_GAUGE_COUNT + 1, 1);
    GAUGES(LBROUTE_ERR_INVALID, values, SIZE_MAX, 1);
    for (int gauge = 0; gauge < LBROUTE_GAUGE_COUNT; gauge++) {
        const double bad[] = {-1, (double)INFINITY, -(double)INFINITY, 1e300};
        double kept = values[gauge];

        for (size_t i = 0; i < 4; i++) {
            values[gauge] = bad[i];
            GAUGES(LBROUTE_ERR_RANGE, values, LBROUTE_GAUGE_COUNT, 0x7f);
        }
        values[gauge] = kept;
    }
    busy_close(&busy);
}

/* What is not given is not looked at. */
static void gauges_not_given(void **state)
{
    const double values[] = {-1, 3, (double)INFINITY};
    (void)state;

    open_busy("least_connections");
    assert_int_equal(lbroute_set_gauges(router, target, values, 3, 2, 0),
                     LBROUTE_OK);
    assert_near(fleet_stats(&busy.fleet, 0).gauges[LBROUTE_GAUGE_WAITING], 3,
                0);
    fleet_close(&busy.fleet);
    fleet_close(&busy.twin);
}

/* ---- adapters ---- */

#define ADAPTERS(code, names, lengths, count, most)                            \
    do {                                                                       \
        REFUSED(&busy, code,                                                   \
                lbroute_set_adapters(router, target, names, lengths, count,    \
                                     most, busy.fleet.now));                   \
        REFUSED(&busy, code,                                                   \
                lbroute_note_adapters(router, target, names, lengths, count,   \
                                      most, busy.fleet.now));                  \
    } while (0)

static void bad_adapters(void **state)
{
    static char longest[LBROUTE_NAME_MAX + 1];
    const char *names[] = {"good", "bad", "good"};
    size_t lengths[] = {4, 3, 4};
    (void)state;

    memset(longest, 'x', sizeof longest);
    open_busy("lora_aware");
    ADAPTERS(LBROUTE_ERR_INVALID, NULL, lengths, 3, 4);
    ADAPTERS(LBROUTE_ERR_INVALID, names, NULL, 3, 4);
    ADAPTERS(LBROUTE_ERR_RANGE, names, lengths, 3, -2);
    ADAPTERS(LBROUTE_ERR_RANGE, NULL, NULL, 0, INT32_MIN);
    names[1] = NULL;
    ADAPTERS(LBROUTE_ERR_INVALID, names, lengths, 3, 4);
    lengths[1] = 0;
    ADAPTERS(LBROUTE_ERR_NAME, names, lengths, 3, 4);
    names[1] = "";
    ADAPTERS(LBROUTE_ERR_NAME, names, lengths, 3, 4);
    names[1] = "a\nb";
    lengths[1] = 3;
    ADAPTERS(LBROUTE_ERR_NAME, names, lengths, 3, 4);
    names[1] = longest;
    lengths[1] = sizeof longest;
    ADAPTERS(LBROUTE_ERR_NAME, names, lengths, 3, 4);
    busy_close(&busy);
}

/* The ends of what is accepted. */
static void adapters_at_their_bounds(void **state)
{
    static const char *names[1000];
    static size_t lengths[1000];
    static char longest[LBROUTE_NAME_MAX];
    (void)state;

    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < 1000; i++) {
        names[i] = longest;
        lengths[i] = 1 + i % LBROUTE_NAME_MAX;
    }
    open_busy("lora_aware");
    assert_int_equal(lbroute_set_adapters(router, target, names, lengths, 1000,
                                          INT32_MAX, busy.fleet.now),
                     LBROUTE_OK);
    assert_int_equal(fleet_stats(&busy.fleet, 0).adapters,
                     LBROUTE_ADAPTERS_MAX);
    assert_int_equal(
        lbroute_set_adapters(router, target, NULL, NULL, 0, 0, busy.fleet.now),
        LBROUTE_OK);
    assert_int_equal(fleet_stats(&busy.fleet, 0).adapters, 0);
    assert_int_equal(fleet_stats(&busy.fleet, 0).max_adapters, 0);
    fleet_close(&busy.fleet);
    fleet_close(&busy.twin);
}

/* ---- caches ---- */

#define OCCUPANCY(code, occupancy, available)                                  \
    REFUSED(&busy, code,                                                       \
            lbroute_set_occupancy(router, target, occupancy, available,        \
                                  busy.fleet.now))

static void bad_occupancy(void **state)
{
    (void)state;
    open_busy("lmcache_aware");
    OCCUPANCY(LBROUTE_ERR_RANGE, -1e-9, 1);
    OCCUPANCY(LBROUTE_ERR_RANGE, 1.0000001, 1);
    OCCUPANCY(LBROUTE_ERR_RANGE, (double)INFINITY, 1);
    OCCUPANCY(LBROUTE_ERR_RANGE, -(double)INFINITY, 0);
    OCCUPANCY(LBROUTE_ERR_INVALID, 0.5, 2);
    OCCUPANCY(LBROUTE_ERR_INVALID, 0.5, -1);
    OCCUPANCY(LBROUTE_ERR_INVALID, (double)NAN, INT32_MAX);
    busy_close(&busy);
}

static void bad_lookups(void **state)
{
    lbroute_decision decision;
    lbroute_request request;
    uint64_t tokens = 5;
    (void)state;

    open_busy("lmcache_aware");
    lbroute_decision_init(&decision, sizeof decision);
    request = busy.fleet.request;
    request.lookup_len = 1;
    request.lookup_tokens = &tokens;
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_pick(router, &request, busy.fleet.now, &decision));
    request.lookup_targets = &target;
    request.lookup_tokens = NULL;
    REFUSED(&busy, LBROUTE_ERR_INVALID,
            lbroute_pick(router, &request, busy.fleet.now, &decision));
    request.lookup_tokens = &tokens;
    request.lookup_len = 65537;
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pick(router, &request, busy.fleet.now, &decision));
    request.lookup_len = SIZE_MAX;
    REFUSED(&busy, LBROUTE_ERR_RANGE,
            lbroute_pick(router, &request, busy.fleet.now, &decision));
    busy_close(&busy);
}

/* ---- metrics ---- */

static const char page[] = "vllm:num_requests_running 3\n";

static int feed(const void *text, size_t len, lbroute_diag *diag)
{
    return lbroute_ingest_metrics(router, target, text, len, busy.fleet.now,
                                  diag);
}

static void bad_metrics_calls(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 9, 15};
    lbroute_diag diag;
    (void)state;

    open_busy("least_connections");
    lbroute_diag_init(&diag, sizeof diag);
    REFUSED(&busy, LBROUTE_ERR_INVALID, feed(NULL, 1, &diag));
    REFUSED(&busy, LBROUTE_ERR_INVALID, feed(NULL, SIZE_MAX, NULL));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        diag.size = sizes[i];
        REFUSED(&busy, LBROUTE_ERR_INVALID, feed(page, sizeof page - 1, &diag));
    }
    diag.size = sizeof diag;
    REFUSED(&busy, LBROUTE_ERR_NO_NEWS, feed(NULL, 0, NULL));
    REFUSED(&busy, LBROUTE_ERR_NO_NEWS, feed("junk", 4, &diag));
    assert_int_equal(diag.broken, 1);
    assert_int_equal(diag.offset, 0);
    assert_int_equal(diag.line, 1);
    busy_close(&busy);
}

/* A diag of an older or newer caller, and none. */
static void diags_of_any_size(void **state)
{
    struct {
        lbroute_diag known;
        unsigned char tail[32];
    } longer;
    lbroute_diag diag;
    (void)state;

    open_busy("least_connections");
    assert_int_equal(feed(page, sizeof page - 1, NULL), LBROUTE_OK);
    lbroute_diag_init(&diag, sizeof diag);
    diag.size = offsetof(lbroute_diag, skipped);
    diag.skipped = 77;
    assert_int_equal(feed(page, sizeof page - 1, &diag), LBROUTE_OK);
    assert_int_equal(diag.accepted, 1);
    assert_int_equal(diag.skipped, 77);
    memset(&longer, 0x5a, sizeof longer);
    lbroute_diag_init(&longer.known, sizeof longer);
    memset(longer.tail, 0x5a, sizeof longer.tail);
    assert_int_equal(feed(page, sizeof page - 1, &longer.known), LBROUTE_OK);
    assert_int_equal(longer.known.accepted, 1);
    for (size_t i = 0; i < sizeof longer.tail; i++)
        assert_int_equal(longer.tail[i], 0x5a);
    fleet_close(&busy.fleet);
    fleet_close(&busy.twin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_gauge_reports),
        cmocka_unit_test(gauges_not_given),
        cmocka_unit_test(bad_adapters),
        cmocka_unit_test(adapters_at_their_bounds),
        cmocka_unit_test(bad_occupancy),
        cmocka_unit_test(bad_lookups),
        cmocka_unit_test(bad_metrics_calls),
        cmocka_unit_test(diags_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
