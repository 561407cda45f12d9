/* SPDX-License-Identifier: MIT */
#include "mock_scene.h"

#include <event2/http.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "support/test.h"

enum { BATCH_MAX = 1 << 20, WAIT_S = 10 };

/* ---- events ---- */

static uint64_t read_number(const unsigned char *bytes)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The next part of a message; -1: there is no message. */
static int receive(void *socket, unsigned char *bytes, size_t size)
{
    int length = zmq_recv(socket, bytes, size, ZMQ_DONTWAIT);

    assert_true(length <= (int)size);
    return length;
}

static void take_over(struct scene *scene, uint64_t number, const void *batch,
                      size_t length)
{
    lbroute_kv_result_init(&scene->result, sizeof scene->result);
    assert_int_equal(
        lbroute_ingest_kv_events(scene->fleet.router, scene->fleet.targets[0],
                                 0, number, batch, length, scene->fleet.now,
                                 &scene->result, &scene->diag),
        LBROUTE_OK);
}

/* Two parts: number and batch. */
static uint64_t receive_batch(struct scene *scene, void *socket)
{
    static unsigned char batch[BATCH_MAX];
    unsigned char number[8];
    int length;

    assert_int_equal(receive(socket, number, sizeof number), 8);
    length = receive(socket, batch, sizeof batch);
    assert_true(length >= 0);
    if (!scene->deaf)
        take_over(scene, read_number(number), batch, (size_t)length);
    return read_number(number);
}

static void hear(struct scene *scene)
{
    unsigned char topic[16];

    while (receive(scene->events, topic, sizeof topic) >= 0)
        scene->heard = receive_batch(scene, scene->events) + 1;
}

/* ---- loop ---- */

static void turn(struct scene *scene)
{
    struct timespec wait = {0, 200000};

    event_base_loop(scene->mock.base, EVLOOP_NONBLOCK);
    hear(scene);
    nanosleep(&wait, NULL);
}

/* All but those that the mock was told to lose. */
static bool heard_all(const struct scene *scene)
{
    return scene->heard + scene->mock.faults.drop_kv_events >=
           kv_publisher_next(scene->mock.journal.publisher);
}

static void hear_all(struct scene *scene)
{
    time_t end = time(NULL) + WAIT_S;

    while (!heard_all(scene) && time(NULL) < end)
        turn(scene);
    assert_true(heard_all(scene));
}

/* ---- requests ---- */

struct reply {
    bool came;
    int64_t cached;
};

static void on_reply(struct evhttp_request *request, void *context)
{
    struct reply *reply = context;
    struct evbuffer *body;
    json_t *value;
    json_t *details;

    assert_non_null(request);
    assert_int_equal(evhttp_request_get_response_code(request), 200);
    body = evhttp_request_get_input_buffer(request);
    value = json_loadb((const char *)evbuffer_pullup(body, -1),
                       evbuffer_get_length(body), 0, NULL);
    details = json_object_get(json_object_get(value, "usage"),
                              "prompt_tokens_details");
    reply->cached =
        json_integer_value(json_object_get(details, "cached_tokens"));
    reply->came = true;
    json_decref(value);
}

static void send_request(struct scene *scene, const char *model,
                         const uint32_t *tokens, size_t count, unsigned answer,
                         struct reply *reply)
{
    struct evhttp_request *request = evhttp_request_new(on_reply, reply);
    json_t *prompt = json_array();
    json_t *body;
    char *text;

    for (size_t i = 0; i < count; i++)
        json_array_append_new(prompt, json_integer(tokens[i]));
    body = json_pack("{s:s,s:o,s:i}", "model", model, "prompt", prompt,
                     "max_tokens", (int)answer);
    text = json_dumps(body, 0);
    evbuffer_add(evhttp_request_get_output_buffer(request), text, strlen(text));
    free(text);
    json_decref(body);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Host", "x");
    assert_int_equal(evhttp_make_request(scene->client, request,
                                         EVHTTP_REQ_POST, "/v1/completions"),
                     0);
}

int64_t scene_ask(struct scene *scene, const char *model,
                  const uint32_t *tokens, size_t count, unsigned answer)
{
    struct reply reply = {false, -1};
    time_t end = time(NULL) + WAIT_S;

    send_request(scene, model, tokens, count, answer, &reply);
    while (!reply.came && time(NULL) < end)
        turn(scene);
    assert_true(reply.came);
    hear_all(scene);
    return reply.cached;
}

/* ---- replay ---- */

static void ask_replay(struct scene *scene, uint64_t from)
{
    unsigned char number[8];

    for (int i = 8; i > 0; from >>= 8)
        number[--i] = (unsigned char)from;
    zmq_send(scene->replay, "", 0, ZMQ_SNDMORE);
    zmq_send(scene->replay, number, sizeof number, 0);
}

size_t scene_replay(struct scene *scene, uint64_t from)
{
    time_t end = time(NULL) + WAIT_S;
    unsigned char empty[1];
    size_t count = 0;

    ask_replay(scene, from);
    while (time(NULL) < end) {
        turn(scene);
        while (receive(scene->replay, empty, sizeof empty) == 0) {
            if (receive_batch(scene, scene->replay) == UINT64_MAX)
                return count;
            count++;
        }
    }
    fail_msg("no end of the replay");
    return 0;
}

/* ---- router ---- */

int64_t scene_resident(struct scene *scene, const char *adapter,
                       const uint32_t *tokens, size_t count)
{
    struct fleet *fleet = &scene->fleet;
    lbroute_candidate row;
    lbroute_decision decision;
    size_t rows = 0;

    lbroute_candidate_init(&row, sizeof row);
    lbroute_decision_init(&decision, sizeof decision);
    fleet->request.tokens = tokens;
    fleet->request.tokens_len = count;
    fleet->request.adapter = adapter;
    fleet->request.adapter_len = strlen(adapter);
    assert_int_equal(lbroute_explain(fleet->router, &fleet->request, fleet->now,
                                     &decision, &row, 1, &rows),
                     LBROUTE_OK);
    assert_int_equal(rows, 1);
    return row.kv_blocks[LBROUTE_MEDIUM_GPU];
}

/* ---- life ---- */

static void start_mock(struct scene *scene, const char *const *options)
{
    static char own[] = "--kv-events=0";
    char *arguments[32] = {own, own};
    int count = 2;
    struct options read;

    for (; *options != NULL; options++)
        arguments[count++] = (char *)(uintptr_t)*options;
    assert_int_equal(options_read(&read, count, arguments), OPTIONS_RUN);
    assert_true(mock_init(&scene->mock, &read));
}

static void *connect_to(struct scene *scene, int type, const char *endpoint)
{
    void *socket = zmq_socket(scene->zmq, type);
    int none = 0;

    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    if (type == ZMQ_SUB)
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

/* Who subscribes hears nothing for a while: asks until something comes, and
 * gets what came before that by a replay. */
static void begin_to_hear(struct scene *scene)
{
    uint32_t tokens[16];
    struct reply reply;

    scene->deaf = true;
    for (uint32_t i = 0; scene->heard == 0; i++) {
        assert_true(i < 10000);
        for (uint32_t k = 0; k < 16; k++)
            tokens[k] = 100000 + i;
        reply.came = false;
        send_request(scene, "mock-model", tokens, 16, 1, &reply);
        while (!reply.came)
            turn(scene);
        turn(scene);
    }
    hear_all(scene);
    scene->deaf = false;
    scene_replay(scene, 0);
}

void scene_open(struct scene *scene, const char *const *options)
{
    const struct kv_publisher *publisher;

    memset(scene, 0, sizeof *scene);
    lbroute_diag_init(&scene->diag, sizeof scene->diag);
    start_mock(scene, options);
    publisher = scene->mock.journal.publisher;
    scene->client = evhttp_connection_base_new(scene->mock.base, NULL,
                                               "127.0.0.1", scene->mock.port);
    scene->zmq = zmq_ctx_new();
    scene->events = connect_to(scene, ZMQ_SUB, kv_publisher_events(publisher));
    scene->replay =
        connect_to(scene, ZMQ_DEALER, kv_publisher_replay(publisher));
    fleet_open(&scene->fleet, "precise_cache_aware", 1, 1);
    fleet_param(&scene->fleet, "precise_cache_aware.count_copies", 1.0);
    begin_to_hear(scene);
}

void scene_close(struct scene *scene)
{
    fleet_close(&scene->fleet);
    evhttp_connection_free(scene->client);
    zmq_close(scene->events);
    zmq_close(scene->replay);
    zmq_ctx_term(scene->zmq);
    mock_release(&scene->mock);
}
