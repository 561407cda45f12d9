/* SPDX-License-Identifier: MIT */
/* KV events over real sockets, from a publisher in the same loop. What it has
 * published is in its journal; what it loses on the way, or has forgotten, is
 * up to each test. */
#include "support/test.h"

#include "fleet.h"
#include "gateway.h"
#include "kv_source.h"
#include "support/pack.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { BLOCK = 16, MOST = 20000 };

struct stage {
    struct gateway gateway;
    struct backend backend;
    struct config_kv_source settings;
    struct kv_source *source;
    void *zmq, *theirs; /* Ours, and the publisher's. */
    void *publisher, *replayer;
    char events[64], replay[64];
    uint64_t next;       /* Number of the next batch. */
    uint64_t kept;       /* The journal begins here. */
    uint64_t asked;      /* Replays that were asked for. */
    uint64_t asked_from; /* The latest. */
    uint64_t answer_end; /* The next answer ends before; 0: with the latest. */
    uint64_t turns;      /* Of the loop. */
    bool deaf;           /* Replays are not answered. */
    bool babbles;        /* They are, with broken payloads. */
    double began;        /* The publisher's clock at its first batch. */
};

uint64_t gateway_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * TEST_S + (uint64_t)now.tv_nsec;
}

/* Sockets that a test has no use for. */
static void *bind_any(void *zmq, int type, char *endpoint)
{
    void *socket = zmq_socket(zmq, type);
    int none = 0, most = 0;
    size_t size = 64;

    assert_non_null(socket);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &most, sizeof most);
    assert_int_equal(zmq_bind(socket, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size),
                     0);
    return socket;
}

static void add_target(struct stage *stage)
{
    lbroute_target_options options;

    lbroute_target_options_init(&options, sizeof options);
    options.name = "a";
    options.name_len = 1;
    options.model = "m";
    options.model_len = 1;
    assert_int_equal(lbroute_target_add(stage->gateway.router, &options,
                                        gateway_now(), &stage->backend.target),
                     LBROUTE_OK);
}

static void open_stage(struct stage *stage)
{
    lbroute_router_options options;

    *stage = (struct stage){0};
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 7;
    options.single_threaded = 1;
    assert_int_equal(lbroute_router_create(&options, &stage->gateway.router),
                     LBROUTE_OK);
    stage->gateway.base = event_base_new();
    stage->backend.gateway = &stage->gateway;
    stage->backend.name = (char[]){'a', '\0'};
    add_target(stage);
    stage->zmq = zmq_ctx_new();
    stage->theirs = zmq_ctx_new();
    stage->publisher = bind_any(stage->theirs, ZMQ_XPUB, stage->events);
    stage->replayer = bind_any(stage->theirs, ZMQ_ROUTER, stage->replay);
    stage->settings = (struct config_kv_source){stage->events, stage->replay};
}

static void close_stage(struct stage *stage)
{
    kv_source_free(stage->source);
    zmq_close(stage->publisher);
    zmq_close(stage->replayer);
    zmq_ctx_term(stage->zmq);
    zmq_ctx_term(stage->theirs);
    event_base_free(stage->gateway.base);
    lbroute_router_destroy(stage->gateway.router);
}

/* A batch that stores one block, of tokens of its own. */
static void write_batch(struct pack *pack, double time, uint64_t seq)
{
    pack_array(pack, 3);
    pack_double(pack, time);
    pack_array(pack, 1);
    pack_array(pack, 7);
    pack_str(pack, "BlockStored");
    pack_array(pack, 1);
    pack_uint(pack, seq + 1);
    pack_nil(pack);
    pack_range(pack, seq * BLOCK, BLOCK);
    pack_uint(pack, BLOCK);
    pack_nil(pack);
    pack_str(pack, "GPU");
    pack_uint(pack, 0);
}

static void send_number(void *socket, uint64_t number)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (56 - 8 * i));
    assert_int_equal(zmq_send(socket, bytes, 8, ZMQ_SNDMORE), 8);
}

static void send_batch(struct stage *stage, void *socket, uint64_t seq,
                       bool broken)
{
    struct pack pack = {0};

    write_batch(&pack, stage->began + (double)seq, seq);
    send_number(socket, seq);
    zmq_send(socket, pack.bytes, pack.length - broken, 0);
    pack_free(&pack);
}

static void publish(struct stage *stage, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        zmq_send(stage->publisher, "kv", 2, ZMQ_SNDMORE);
        send_batch(stage, stage->publisher, stage->next++, false);
    }
}

/* Published, but never sent. */
static void lose(struct stage *stage, uint64_t count)
{
    stage->next += count;
}

static void send_replay(struct stage *stage, const void *who, size_t who_len,
                        uint64_t from)
{
    uint64_t first = from > stage->kept ? from : stage->kept;
    uint64_t end = stage->answer_end > 0 ? stage->answer_end : stage->next;

    for (uint64_t seq = first; seq < end; seq++) {
        zmq_send(stage->replayer, who, who_len, ZMQ_SNDMORE);
        zmq_send(stage->replayer, "", 0, ZMQ_SNDMORE);
        zmq_send(stage->replayer, "kv", 2, ZMQ_SNDMORE);
        send_batch(stage, stage->replayer, seq, stage->babbles);
    }
    zmq_send(stage->replayer, who, who_len, ZMQ_SNDMORE);
    zmq_send(stage->replayer, "", 0, ZMQ_SNDMORE);
    send_number(stage->replayer, UINT64_MAX);
    zmq_send(stage->replayer, "", 0, 0);
    stage->answer_end = 0;
}

static void answer_replay(struct stage *stage)
{
    char who[256];
    unsigned char number[8];
    int len = zmq_recv(stage->replayer, who, sizeof who, ZMQ_DONTWAIT);

    if (len < 0)
        return;
    assert_int_equal(zmq_recv(stage->replayer, number, 8, 0), 0);
    assert_int_equal(zmq_recv(stage->replayer, number, 8, 0), 8);
    stage->asked++;
    stage->asked_from = 0;
    for (int i = 0; i < 8; i++)
        stage->asked_from = stage->asked_from << 8 | number[i];
    if (!stage->deaf)
        send_replay(stage, who, (size_t)len, stage->asked_from);
}

static lbroute_kv_source_stats stats_of(struct stage *stage)
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    if (lbroute_get_kv_source_stats(stage->gateway.router,
                                    stage->backend.target, 3, gateway_now(),
                                    &stats) != LBROUTE_OK)
        stats.state = LBROUTE_KV_SOURCE_NONE;
    return stats;
}

static void turn(struct stage *stage)
{
    struct timespec pause = {0, 200000};

    answer_replay(stage);
    stage->turns++;
    event_base_loop(stage->gateway.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    nanosleep(&pause, NULL);
}

/* Until so many blocks are known, or for so long. */
static void run(struct stage *stage, uint64_t blocks, uint64_t limit)
{
    uint64_t start = gateway_now();
    lbroute_kv_source_stats stats;

    do {
        turn(stage);
        stats = stats_of(stage);
    } while (gateway_now() - start < limit &&
             (stats.blocks[LBROUTE_MEDIUM_GPU] != blocks ||
              stats.state != LBROUTE_KV_SOURCE_FRESH));
    assert_int_equal(stats.state, LBROUTE_KV_SOURCE_FRESH);
    assert_int_equal(stats.blocks[LBROUTE_MEDIUM_GPU], blocks);
}

static void settle(struct stage *stage, uint64_t time)
{
    uint64_t start = gateway_now();

    while (gateway_now() - start < time)
        turn(stage);
}

/* The publisher's process ends, and another one begins. */
static void restart(struct stage *stage)
{
    stage->began += 1e6;
    stage->next = 0;
    stage->kept = 0;
}

/* Subscribes, and waits until the publisher knows. */
static void begin(struct stage *stage)
{
    char said[8];
    uint64_t start = gateway_now();

    stage->source =
        kv_source_new(&stage->backend, 3, &stage->settings, stage->zmq);
    assert_non_null(stage->source);
    while (zmq_recv(stage->publisher, said, sizeof said, ZMQ_DONTWAIT) < 0) {
        assert_true(gateway_now() - start < 20 * TEST_S);
        turn(stage);
    }
    assert_int_equal(said[0], 1);
}

static void test_live(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    stage.settings.replay = (char[]){'\0'};
    begin(&stage);
    publish(&stage, 3);
    run(&stage, 3, 10 * TEST_S);
    assert_int_equal(stage.backend.kv_batches, 3);
    assert_int_equal(stage.backend.kv_gaps, 0);
    assert_int_equal(stage.backend.kv_replays, 0);
    assert_int_equal(stage.asked, 0);
    close_stage(&stage);
}

/* Whoever comes late is told what was said before. */
static void test_join(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    lose(&stage, 9);
    stage.kept = 4;
    begin(&stage);
    run(&stage, 5, 10 * TEST_S);
    assert_int_equal(stage.asked, 1);
    assert_true(stage.asked_from == 0);
    publish(&stage, 2);
    run(&stage, 7, 10 * TEST_S);
    assert_int_equal(stage.backend.kv_gaps, 0);
    assert_int_equal(stage.backend.kv_replays, 1);
    close_stage(&stage);
}

static void test_gap(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    lose(&stage, 2);
    publish(&stage, 1);
    run(&stage, 5, 10 * TEST_S);
    assert_int_equal(stage.asked, 2);
    assert_true(stage.asked_from == 2);
    assert_int_equal(stage.backend.kv_gaps, 1);
    assert_int_equal(stage.backend.kv_replays, 2);
    publish(&stage, 1);
    run(&stage, 6, 10 * TEST_S);
    close_stage(&stage);
}

/* Several at once: one is asked for after the other. */
static void test_gaps(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    for (int i = 0; i < 5; i++) {
        publish(&stage, 1);
        lose(&stage, 1);
        settle(&stage, 20 * TEST_MS);
    }
    publish(&stage, 1);
    run(&stage, 11, 20 * TEST_S);
    assert_true(stage.backend.kv_replays <= 8);
    close_stage(&stage);
}

/* What went missing while another hole was filled is asked for, too. */
static void test_gap_during_replay(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    lose(&stage, 1);
    publish(&stage, 1);
    lose(&stage, 1);
    publish(&stage, 1);
    stage.answer_end = 3;
    run(&stage, 6, 10 * TEST_S);
    assert_int_equal(stage.asked, 3);
    assert_true(stage.asked_from == 4);
    close_stage(&stage);
}

/* What the engine has no more leaves an empty memory, which then grows. */
static void test_gap_for_good(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    lose(&stage, 2);
    stage.kept = stage.next;
    publish(&stage, 1);
    run(&stage, 0, 10 * TEST_S);
    publish(&stage, 3);
    run(&stage, 3, 10 * TEST_S);
    close_stage(&stage);
}

static void test_no_replay(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    stage.settings.replay = (char[]){'\0'};
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    lose(&stage, 1);
    publish(&stage, 1);
    run(&stage, 0, 10 * TEST_S);
    assert_int_equal(stage.backend.kv_gaps, 1);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    close_stage(&stage);
}

static void test_restart(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 5);
    run(&stage, 5, 10 * TEST_S);
    restart(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    assert_int_equal(stats_of(&stage).restarts, 1);
    close_stage(&stage);
}

/* The first batches after a restart went missing: they are asked for. */
static void test_restart_with_gap(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 9);
    run(&stage, 9, 10 * TEST_S);
    settle(&stage, TEST_S);
    restart(&stage);
    lose(&stage, 2);
    publish(&stage, 1);
    run(&stage, 3, 10 * TEST_S);
    assert_true(stage.asked_from == 0);
    close_stage(&stage);
}

/* The whole publisher goes and comes back at the same address. */
static void test_reconnect(void **state)
{
    struct stage stage;
    char said[8];
    uint64_t start;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    zmq_close(stage.publisher);
    settle(&stage, 300 * TEST_MS);
    stage.publisher = zmq_socket(stage.theirs, ZMQ_XPUB);
    start = gateway_now();
    while (zmq_bind(stage.publisher, stage.events) != 0) {
        assert_true(gateway_now() - start < 10 * TEST_S);
        turn(&stage);
    }
    restart(&stage);
    while (zmq_recv(stage.publisher, said, sizeof said, ZMQ_DONTWAIT) < 0) {
        assert_true(gateway_now() - start < 20 * TEST_S);
        turn(&stage);
    }
    publish(&stage, 1);
    run(&stage, 1, 10 * TEST_S);
    close_stage(&stage);
}

/* A replay that nobody answers ends by itself, and what came meanwhile
 * counts. */
static void test_silence(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    stage.deaf = true;
    begin(&stage);
    publish(&stage, 3);
    settle(&stage, 200 * TEST_MS);
    assert_int_equal(stats_of(&stage).state, LBROUTE_KV_SOURCE_NONE);
    run(&stage, 3, 20 * TEST_S);
    lose(&stage, 1);
    publish(&stage, 1);
    run(&stage, 0, 20 * TEST_S);
    assert_int_equal(stage.asked, 2);
    close_stage(&stage);
}

static void publish_broken(struct stage *stage)
{
    zmq_send(stage->publisher, "kv", 2, ZMQ_SNDMORE);
    send_batch(stage, stage->publisher, stage->next++, true);
}

/* One that was cut short is asked for again. */
static void test_broken(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 1);
    run(&stage, 1, 10 * TEST_S);
    publish_broken(&stage);
    publish(&stage, 1);
    run(&stage, 3, 10 * TEST_S);
    assert_true(stage.asked_from == 1);
    close_stage(&stage);
}

/* One in two is broken, and no replay helps: a few, and no more. */
static void test_all_broken(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    stage.babbles = true;
    begin(&stage);
    for (int i = 0; i < 200; i++) {
        publish(&stage, 1);
        publish_broken(&stage);
        settle(&stage, 5 * TEST_MS);
    }
    assert_true(stage.asked <= 5);
    stage.babbles = false;
    settle(&stage, 2 * TEST_S);
    stage.kept = stage.next;
    publish(&stage, 2);
    settle(&stage, 3 * TEST_S);
    publish(&stage, 2);
    settle(&stage, TEST_S);
    assert_int_equal(stats_of(&stage).state, LBROUTE_KV_SOURCE_FRESH);
    close_stage(&stage);
}

/* Messages of another form are passed over. */
static void test_odd_messages(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 1);
    zmq_send(stage.publisher, "kv", 2, 0);
    zmq_send(stage.publisher, "", 0, 0);
    zmq_send(stage.publisher, "kv", 2, ZMQ_SNDMORE);
    zmq_send(stage.publisher, "123", 3, ZMQ_SNDMORE);
    zmq_send(stage.publisher, "x", 1, 0);
    zmq_send(stage.publisher, "kv", 2, ZMQ_SNDMORE);
    send_number(stage.publisher, UINT64_MAX);
    zmq_send(stage.publisher, "", 0, 0);
    publish(&stage, 1);
    run(&stage, 2, 10 * TEST_S);
    assert_int_equal(stage.backend.kv_gaps, 0);
    close_stage(&stage);
}

/* Others in the loop have their turn while many messages wait: in each at most
 * 64 are taken because of the descriptor, and as many because of the timer. */
static void test_flood(void **state)
{
    struct stage stage;
    uint64_t before;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 1);
    run(&stage, 1, 10 * TEST_S);
    before = stage.turns;
    publish(&stage, MOST);
    run(&stage, MOST + 1, 60 * TEST_S);
    assert_true((stage.turns - before) * 2 * 64 >= MOST);
    assert_int_equal(stage.backend.kv_gaps, 0);
    close_stage(&stage);
}

static void test_end(void **state)
{
    struct stage stage;
    struct config_kv_source other;

    (void)state;
    open_stage(&stage);
    begin(&stage);
    publish(&stage, 2);
    run(&stage, 2, 10 * TEST_S);
    other = stage.settings;
    assert_true(kv_source_is(stage.source, &other));
    other.replay = (char[]){'\0'};
    assert_false(kv_source_is(stage.source, &other));
    kv_source_free(stage.source);
    stage.source = NULL;
    assert_int_equal(stats_of(&stage).blocks[LBROUTE_MEDIUM_GPU], 0);
    other.events = (char[]){"tcp://no port"};
    assert_null(kv_source_new(&stage.backend, 3, &other, stage.zmq));
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_gap_during_replay),
        cmocka_unit_test(test_gap_for_good),
        cmocka_unit_test(test_no_replay),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_restart_with_gap),
        cmocka_unit_test(test_reconnect),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_all_broken),
        cmocka_unit_test(test_odd_messages),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
