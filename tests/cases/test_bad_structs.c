/* SPDX-License-Identifier: MIT */
/* Bad and odd struct sizes: callers compiled against an older or newer header,
 * and callers that forgot the init function. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "busy.h"

#define GUARD 0x5a

/* ---- init functions ---- */

typedef void init_function(void *object, size_t size);

/* Each init function with an untyped pointer. */
#define INIT(name)                                                             \
    static void init_##name(void *object, size_t size)                         \
    {                                                                          \
        lbroute_##name##_init(object, size);                                   \
    }
INIT(router_options)
INIT(pool_options)
INIT(pool_info)
INIT(param_info)
INIT(target_options)
INIT(target_info)
INIT(request)
INIT(decision)
INIT(candidate)
INIT(event)
INIT(stats)
INIT(target_stats)
INIT(client_share)
INIT(share)
INIT(scorer_options)
INIT(scorer_stats)
INIT(diag)
INIT(kv_event)
INIT(kv_batch)
INIT(kv_result)
INIT(kv_source_stats)
INIT(restore_result)

static const struct {
    init_function *init;
    size_t size;
} inits[] = {
    {init_router_options, sizeof(lbroute_router_options)},
    {init_pool_options, sizeof(lbroute_pool_options)},
    {init_pool_info, sizeof(lbroute_pool_info)},
    {init_param_info, sizeof(lbroute_param_info)},
    {init_target_options, sizeof(lbroute_target_options)},
    {init_target_info, sizeof(lbroute_target_info)},
    {init_request, sizeof(lbroute_request)},
    {init_decision, sizeof(lbroute_decision)},
    {init_candidate, sizeof(lbroute_candidate)},
    {init_event, sizeof(lbroute_event)},
    {init_stats, sizeof(lbroute_stats)},
    {init_target_stats, sizeof(lbroute_target_stats)},
    {init_client_share, sizeof(lbroute_client_share)},
    {init_share, sizeof(lbroute_share)},
    {init_scorer_options, sizeof(lbroute_scorer_options)},
    {init_scorer_stats, sizeof(lbroute_scorer_stats)},
    {init_diag, sizeof(lbroute_diag)},
    {init_kv_event, sizeof(lbroute_kv_event)},
    {init_kv_batch, sizeof(lbroute_kv_batch)},
    {init_kv_result, sizeof(lbroute_kv_result)},
    {init_kv_source_stats, sizeof(lbroute_kv_source_stats)},
    {init_restore_result, sizeof(lbroute_restore_result)},
};

static void expect_only(const unsigned char *bytes, size_t from, size_t to,
                        unsigned char value)
{
    for (size_t i = from; i < to; i++)
        assert_int_equal(bytes[i], value);
}

/* Nothing is written beyond the size that the caller gave; what this library
 * does not know is zeroed; the size is noted. */
static void structs_init_within_size(void **state)
{
    enum { ROOM = 4096 };
    unsigned char *bytes = malloc(ROOM);
    (void)state;

    assert_non_null(bytes);
    for (size_t s = 0; s < sizeof inits / sizeof *inits; s++) {
        for (size_t size = 0; size <= inits[s].size + 64; size++) {
            size_t stated = 0;
            memset(bytes, GUARD, ROOM);
            inits[s].init(bytes, size);
            expect_only(bytes, size, ROOM, GUARD);
            if (size < sizeof stated)
                continue;
            memcpy(&stated, bytes, sizeof stated);
            assert_int_equal(stated, size);
            if (size > inits[s].size)
                expect_only(bytes, inits[s].size, size, 0);
        }
    }
    free(bytes);
}

/* ---- structs that go in ---- */

/* Structs that are longer than this library's. */
struct longer {
    struct {
        lbroute_router_options known;
        unsigned char tail[64];
    } router;
    struct {
        lbroute_pool_options known;
        unsigned char tail[64];
    } pool;
    struct {
        lbroute_target_options known;
        unsigned char tail[64];
    } target;
    struct {
        lbroute_request known;
        unsigned char tail[64];
    } request;
    struct {
        lbroute_event known;
        unsigned char tail[64];
    } event;
};

static void prepare_longer(struct longer *longer, const struct busy *busy)
{
    lbroute_router_options_init(&longer->router.known, sizeof longer->router);
    longer->router.known.seed = 1;
    lbroute_pool_options_init(&longer->pool.known, sizeof longer->pool);
    longer->pool.known.name = "new";
    longer->pool.known.name_len = 3;
    lbroute_target_options_init(&longer->target.known, sizeof longer->target);
    longer->target.known.name = "new";
    longer->target.known.name_len = 3;
    longer->target.known.pool = busy->pools[0];
    lbroute_request_init(&longer->request.known, sizeof longer->request);
    longer->request.known.pool = busy->pools[0];
    lbroute_event_init(&longer->event.known, sizeof longer->event);
    longer->event.known.ticket = busy->open_ticket;
    longer->event.known.kind = LBROUTE_EVENT_FIRST_TOKEN;
}

static void mark_tails(struct longer *longer, size_t at, unsigned char value)
{
    longer->router.tail[at] = value;
    longer->pool.tail[at] = value;
    longer->target.tail[at] = value;
    longer->request.tail[at] = value;
    longer->event.tail[at] = value;
}

/* Sizes that no compiler gives. */
static const size_t odd_sizes[] = {0, 1, sizeof(size_t) / 2,
                                   sizeof(size_t) - 1};

static void unusable_sizes(struct busy *busy, size_t size)
{
    struct fleet *fleet = &busy->fleet;
    lbroute_pool_options pool;
    lbroute_target_options target;
    lbroute_request request;
    lbroute_event event;
    lbroute_decision decision;
    uint64_t out = 0;

    lbroute_pool_options_init(&pool, sizeof pool);
    pool.name = "new";
    pool.name_len = 3;
    pool.size = size;
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_pool_add(fleet->router, &pool, &out));
    fleet_target_options(fleet, &target);
    target.name = "new";
    target.name_len = 3;
    target.size = size;
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_target_add(fleet->router, &target, fleet->now, &out));
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_target_update(fleet->router, fleet->targets[0], &target,
                                  fleet->now));
    lbroute_decision_init(&decision, sizeof decision);
    request = fleet->request;
    request.size = size;
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_pick(fleet->router, &request, fleet->now, &decision));
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_explain(fleet->router, &request, fleet->now, &decision,
                            NULL, 0, NULL));
    lbroute_event_init(&event, sizeof event);
    event.ticket = busy->open_ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    event.size = size;
    REFUSED(busy, LBROUTE_ERR_INVALID,
            lbroute_observe(fleet->router, &event, fleet->now));
    assert_int_equal(out, 0);
}

/* Callers that did not use the init function. */
static void structs_unusable_sizes(void **state)
{
    lbroute_router_options options;
    lbroute_router *router = NULL;
    size_t bytes = 0;
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (size_t i = 0; i < sizeof odd_sizes / sizeof *odd_sizes; i++) {
        unusable_sizes(&busy, odd_sizes[i]);
        lbroute_router_options_init(&options, sizeof options);
        options.seed = 1;
        options.size = odd_sizes[i];
        assert_int_equal(lbroute_router_create(&options, &router),
                         LBROUTE_ERR_INVALID);
        assert_int_equal(lbroute_router_estimate(&options, &bytes),
                         LBROUTE_ERR_INVALID);
    }
    busy_close(&busy);
}

static void refuse_longer(struct busy *busy, struct longer *longer)
{
    struct fleet *fleet = &busy->fleet;
    lbroute_decision decision;
    lbroute_router *router = NULL;
    uint64_t out = 0;

    lbroute_decision_init(&decision, sizeof decision);
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_pool_add(fleet->router, &longer->pool.known, &out));
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_target_add(fleet->router, &longer->target.known, fleet->now,
                               &out));
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_target_update(fleet->router, fleet->targets[0],
                                  &longer->target.known, fleet->now));
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_pick(fleet->router, &longer->request.known, fleet->now,
                         &decision));
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_explain(fleet->router, &longer->request.known, fleet->now,
                            &decision, NULL, 0, NULL));
    REFUSED(busy, LBROUTE_ERR_UNSUPPORTED,
            lbroute_observe(fleet->router, &longer->event.known, fleet->now));
    assert_int_equal(lbroute_router_create(&longer->router.known, &router),
                     LBROUTE_ERR_UNSUPPORTED);
    assert_int_equal(out, 0);
}

static void accept_longer(struct busy *busy, struct longer *longer)
{
    struct fleet *fleet = &busy->fleet;
    lbroute_decision decision;
    lbroute_router *router = NULL;
    uint64_t out = 0;

    lbroute_decision_init(&decision, sizeof decision);
    assert_int_equal(
        lbroute_observe(fleet->router, &longer->event.known, fleet->now),
        LBROUTE_OK);
    assert_int_equal(lbroute_explain(fleet->router, &longer->request.known,
                                     fleet->now, &decision, NULL, 0, NULL),
                     LBROUTE_OK);
    assert_int_equal(lbroute_router_create(&longer->router.known, &router),
                     LBROUTE_OK);
    assert_int_equal(lbroute_pool_add(router, &longer->pool.known, &out),
                     LBROUTE_OK);
    longer->target.known.pool = out;
    assert_int_equal(lbroute_target_add(router, &longer->target.known, 0, &out),
                     LBROUTE_OK);
    lbroute_router_destroy(router);
}

/* A newer caller's unknown fields: zero is fine, anything else is refused,
 * wherever it stands. */
static void structs_longer_in(void **state)
{
    struct busy busy;
    struct longer longer;
    (void)state;

    busy_open(&busy, "weighted");
    prepare_longer(&longer, &busy);
    for (size_t at = 0; at < 64; at += 9) {
        mark_tails(&longer, at, at % 2 == 0 ? 0x80 : 1);
        refuse_longer(&busy, &longer);
        mark_tails(&longer, at, 0);
    }
    accept_longer(&busy, &longer);
    busy_close(&busy);
}

/* An older caller's struct ends early, on a page of its own: what it lacks has
 * the default, and what lies behind it is not read. */
static void structs_shorter_in(void **state)
{
    size_t size = offsetof(lbroute_target_options, weight);
    lbroute_target_options *options = malloc(size), full;
    lbroute_target_info info;
    lbroute_request *request = malloc(offsetof(lbroute_request, model));
    struct fleet fleet;
    lbroute_target target = 0;
    (void)state;

    assert_non_null(options);
    assert_non_null(request);
    fleet_open(&fleet, "weighted", 1, 1);
    fleet_target_options(&fleet, &full);
    full.name = "short";
    full.name_len = 5;
    full.weight = 7;
    full.max_concurrency = 1;
    memcpy(options, &full, size);
    memcpy(options, &size, sizeof size);
    assert_int_equal(lbroute_target_add(fleet.router, options, 0, &target),
                     LBROUTE_OK);
    lbroute_target_info_init(&info, sizeof info);
    assert_int_equal(lbroute_target_get_info(fleet.router, target, &info),
                     LBROUTE_OK);
    assert_near(info.weight, 1, 0);
    assert_int_equal(info.max_concurrency, 32);
    assert_int_equal(info.max_input_tokens, 0);
    assert_string_equal(info.tier, "");

    size = offsetof(lbroute_request, model);
    lbroute_request_init(request, size);
    memcpy((char *)request + offsetof(lbroute_request, pool), &fleet.pool,
           sizeof fleet.pool);
    assert_int_equal(lbroute_pick(fleet.router, request, 0, &fleet.decision),
                     LBROUTE_OK);
    free(options);
    free(request);
    fleet_close(&fleet);
}

/* ---- structs that come out ---- */

/* Calls |read| with buffers of every length on the heap, so that a sanitizer
 * sees the end of each, and compares the part that fits. */
typedef int read_function(struct busy *busy, void *object);

static int read_pool_info(struct busy *busy, void *object)
{
    return lbroute_pool_get_info(busy->fleet.router, busy->pools[0], object);
}

static int read_param_info(struct busy *busy, void *object)
{
    (void)busy;
    return lbroute_param_get_info(0, object);
}

static int read_target_info(struct busy *busy, void *object)
{
    return lbroute_target_get_info(busy->fleet.router, busy->fleet.targets[0],
                                   object);
}

static int read_explanation(struct busy *busy, void *object)
{
    return lbroute_explain(busy->fleet.router, &busy->fleet.request,
                           busy->fleet.now, object, NULL, 0, NULL);
}

static int read_candidate(struct busy *busy, void *object)
{
    lbroute_decision decision;
    lbroute_decision_init(&decision, sizeof decision);
    return lbroute_explain(busy->fleet.router, &busy->fleet.request,
                           busy->fleet.now, &decision, object, 1, NULL);
}

static int read_stats(struct busy *busy, void *object)
{
    return lbroute_get_stats(busy->fleet.router, object);
}

static int read_target_stats(struct busy *busy, void *object)
{
    return lbroute_get_target_stats(busy->fleet.router, busy->fleet.targets[0],
                                    busy->fleet.now, object);
}

static int read_share(struct busy *busy, void *object)
{
    return lbroute_pool_shares(busy->fleet.router, busy->pools[0],
                               busy->fleet.now, object, 1, NULL);
}

static const struct {
    init_function *init;
    read_function *read;
    size_t size;
} reads[] = {
    {init_pool_info, read_pool_info, sizeof(lbroute_pool_info)},
    {init_param_info, read_param_info, sizeof(lbroute_param_info)},
    {init_target_info, read_target_info, sizeof(lbroute_target_info)},
    {init_decision, read_explanation, sizeof(lbroute_decision)},
    {init_candidate, read_candidate, sizeof(lbroute_candidate)},
    {init_stats, read_stats, sizeof(lbroute_stats)},
    {init_target_stats, read_target_stats, sizeof(lbroute_target_stats)},
    {init_share, read_share, sizeof(lbroute_share)},
};

static void read_with_size(struct busy *busy, size_t which, size_t size)
{
    size_t whole = reads[which].size;
    unsigned char *object = malloc(size), *wanted = malloc(whole);

    assert_non_null(object);
    assert_non_null(wanted);
    reads[which].init(wanted, whole);
    assert_int_equal(reads[which].read(busy, wanted), LBROUTE_OK);
    reads[which].init(object, size);
    assert_int_equal(reads[which].read(busy, object), LBROUTE_OK);
    assert_memory_equal(object, &size, sizeof size);
    assert_memory_equal(object + sizeof size, wanted + sizeof size,
                        (size < whole ? size : whole) - sizeof size);
    if (size > whole)
        expect_only(object, whole, size, 0);
    free(object);
    free(wanted);
}

/* Shorter and longer outputs get the part they have room for. */
static void structs_out_within_size(void **state)
{
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
        for (size_t size = sizeof(size_t); size <= reads[r].size + 64;
             size += sizeof(size_t))
            read_with_size(&busy, r, size);
    }
    busy_close(&busy);
}

/* Outputs without a usable size. */
static void structs_unusable_out(void **state)
{
    unsigned char *bytes = calloc(1, 4096);
    struct busy busy;
    (void)state;

    assert_non_null(bytes);
    busy_open(&busy, "weighted");
    for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
        for (size_t i = 0; i < sizeof odd_sizes / sizeof *odd_sizes; i++) {
            memset(bytes, GUARD, 4096);
            memcpy(bytes, &odd_sizes[i], sizeof odd_sizes[i]);
            REFUSED(&busy, LBROUTE_ERR_INVALID, reads[r].read(&busy, bytes));
            expect_only(bytes, sizeof(size_t), 4096, GUARD);
        }
    }
    free(bytes);
    busy_close(&busy);
}

/* A short decision is enough to pick with, and to read headers from. */
static void structs_short_decision(void **state)
{
    size_t sizes[3] = {offsetof(lbroute_decision, pool),
                       offsetof(lbroute_decision, target_name_len),
                       offsetof(lbroute_decision, pool_name)};
    struct fleet fleet;
    char name[64], value[1024];
    (void)state;

    fleet_open(&fleet, "weighted", 2, 1);
    for (size_t i = 0; i < 3; i++) {
        lbroute_decision *decision = malloc(sizes[i]);
        lbroute_ticket ticket;
        int code = LBROUTE_OK;
        assert_non_null(decision);
        lbroute_decision_init(decision, sizes[i]);
        assert_int_equal(
            lbroute_pick(fleet.router, &fleet.request, 0, decision),
            LBROUTE_OK);
        for (size_t index = 0; code == LBROUTE_OK && index < 32; index++) {
            size_t name_len = 0, value_len = 0;
            code = lbroute_decision_header(fleet.router, decision, index, name,
                                           sizeof name, &name_len, value,
                                           sizeof value, &value_len);
        }
        assert_int_equal(code, LBROUTE_ERR_NOT_FOUND);
        memcpy(&ticket,
               (const char *)decision + offsetof(lbroute_decision, ticket),
               sizeof ticket);
        assert_int_equal(fleet_observe(&fleet, ticket, LBROUTE_EVENT_SUCCESS),
                         LBROUTE_OK);
        free(decision);
    }
    fleet_close(&fleet);
}

/* Decisions that no call of the library made: lengths that lie, names without
 * an end. Anything may come out, but only from inside the struct. */
static void structs_forged_decision(void **state)
{
    static const uint32_t lengths[] = {0, 1, 255, 256, 257, 100000, UINT32_MAX};
    struct fleet fleet;
    char name[300], value[4096];
    (void)state;

    fleet_open(&fleet, "weighted", 1, 1);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        lbroute_decision *decision = malloc(sizeof *decision);
        assert_non_null(decision);
        memset(decision, 0xff, sizeof *decision);
        decision->size = sizeof *decision;
        decision->target_name_len = lengths[l];
        decision->pool_name_len = lengths[l];
        for (size_t index = 0; index < 32; index++) {
            size_t name_len = 0, value_len = 0;
            int code = lbroute_decision_header(fleet.router, decision, index,
                                               name, sizeof name, &name_len,
                                               value, sizeof value, &value_len);
            if (code == LBROUTE_OK) {
                assert_int_equal(strlen(name), name_len);
                assert_int_equal(strlen(value), value_len);
            }
        }
        free(decision);
    }
    fleet_close(&fleet);
}

/* All elements of an array have the first one's size, and each must state a
 * usable one. */
static void structs_bad_array_elements(void **state)
{
    lbroute_candidate candidates[5];
    lbroute_share shares[5];
    lbroute_decision decision;
    struct busy busy;
    (void)state;

    busy_open(&busy, "weighted");
    lbroute_decision_init(&decision, sizeof decision);
    for (size_t bad = 0; bad < 5; bad++) {
        for (size_t i = 0; i < 5; i++) {
            lbroute_candidate_init(&candidates[i], sizeof candidates[i]);
            lbroute_share_init(&shares[i], sizeof shares[i]);
        }
        candidates[bad].size = 0;
        shares[bad].size = 0;
        REFUSED(&busy, LBROUTE_ERR_INVALID,
                lbroute_explain(busy.fleet.router, &busy.fleet.request,
                                busy.fleet.now, &decision, candidates, 5,
                                NULL));
        REFUSED(&busy, LBROUTE_ERR_INVALID,
                lbroute_pool_shares(busy.fleet.router, busy.pools[0],
                                    busy.fleet.now, shares, 5, NULL));
    }
    busy_close(&busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_init_within_size),
        cmocka_unit_test(structs_unusable_sizes),
        cmocka_unit_test(structs_longer_in),
        cmocka_unit_test(structs_shorter_in),
        cmocka_unit_test(structs_out_within_size),
        cmocka_unit_test(structs_unusable_out),
        cmocka_unit_test(structs_short_decision),
        cmocka_unit_test(structs_forged_decision),
        cmocka_unit_test(structs_bad_array_elements),
    };
    return cmocka_run_group_tests_name("bad structs", tests, NULL, NULL);
}
