/* SPDX-License-Identifier: MIT */
/*
 * Sends batches of KV events over ZeroMQ as vLLM does.
 *
 *     PUB     topic │ number │ batch               to all, once
 *     ROUTER  client │ empty │ number          ──▶ what is kept from there on:
 *             client │ empty │ number │ batch  …
 *             client │ empty │ 2^64 - 1 │ empty    the end
 *
 * Numbers are 8 bytes, big-endian, from 0 on. The last batches are kept in a
 * ring.
 */
#ifndef LBROUTE_MOCK_KV_PUBLISHER_H
#define LBROUTE_MOCK_KV_PUBLISHER_H

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_publisher;

struct kv_publisher_options {
    const char *host; /**< An address of this machine. */
    int events_port;  /**< 0: any. */
    int replay_port;  /**< Likewise. */
    const char *topic;
    size_t kept; /**< Batches in the ring, at least 1. */
};

/** Binds both sockets. Returns NULL, having said why, if it cannot. */
struct kv_publisher *kv_publisher_create(
    struct event_base *base, const struct kv_publisher_options *options);

void kv_publisher_destroy(struct kv_publisher *publisher);

/** Sends the next batch. */
void kv_publisher_send(struct kv_publisher *publisher, const void *batch,
                       size_t length);

/** The next batches get their numbers and are kept, but not sent. */
void kv_publisher_lose(struct kv_publisher *publisher, uint64_t batches);

/** Where it is bound. */
const char *kv_publisher_events(const struct kv_publisher *publisher);
const char *kv_publisher_replay(const struct kv_publisher *publisher);

/** The next number, how many batches were lost, and replays asked for. */
uint64_t kv_publisher_next(const struct kv_publisher *publisher);
uint64_t kv_publisher_lost(const struct kv_publisher *publisher);
uint64_t kv_publisher_replays(const struct kv_publisher *publisher);

#endif
