/* SPDX-License-Identifier: MIT */
/* A mock engine in this process, a client of it, and a router that hears its KV
 * events.
 *
 *     client ──HTTP──▶ mock ──PUB──▶ scene ──▶ router (fleet, one target)
 *                        ╰──ROUTER──▶ ╯
 *
 * One event loop serves both sides of the connections. A call that should
 * succeed and does not fails the running test. */
#ifndef TESTS_GATEWAY_MOCK_SCENE_H
#define TESTS_GATEWAY_MOCK_SCENE_H

#include "mock-engine/mock.h"

#include <lbroute/ingest.h>

#include "support/fleet.h"

struct scene {
    struct mock mock;
    struct evhttp_connection *client;
    void *zmq;
    void *events;
    void *replay;
    uint64_t heard;           /* Number behind the latest batch that came. */
    bool deaf;                /* Batches that come are not taken over. */
    struct fleet fleet;       /* Its target 0 is the mock. */
    lbroute_diag diag;        /* Of all batches. */
    lbroute_kv_result result; /* Of the latest one. */
};

/* Starts an engine with these options, up to a NULL, beside those for KV
 * events. */
void scene_open(struct scene *scene, const char *const *options);

void scene_close(struct scene *scene);

/* Has a prompt of token ids answered; gives how many of them were cached, once
 * all events about it came. */
int64_t scene_ask(struct scene *scene, const char *model,
                  const uint32_t *tokens, size_t count, unsigned answer);

/* Asks for the batches from a number on, and gives how many came before the
 * end. They are taken over. */
size_t scene_replay(struct scene *scene, uint64_t from);

/* Leading blocks of a prompt that the router believes to be there; -1: it does
 * not know. */
int64_t scene_resident(struct scene *scene, const char *adapter,
                       const uint32_t *tokens, size_t count);

#endif
