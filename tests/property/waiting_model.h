/* SPDX-License-Identifier: MIT */
/*
 * A naive waiting room: who waits, in which order they go, what clients have
 * had. It knows no library.
 */
#ifndef LBROUTE_TESTS_PROPERTY_WAITING_MODEL_H
#define LBROUTE_TESTS_PROPERTY_WAITING_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { ROOM_CLIENTS = 6, ROOM_MOST = 64, ROOM_TRIES = 4 };

enum room_state { ROOM_WAITS, ROOM_OVER };

/** What a client has had; its number is its index. */
struct room_client {
    int known;       /**< 0: forgotten, or never seen. */
    uint64_t number; /**< Of the times that it was forgotten. */
    double counter;
};

struct room_waiter {
    enum room_state state;
    uint64_t tag, place;
    size_t client, model; /**< `model` tells those apart that suit others; those
                           * that nobody serves are one. */
    int priority;
    double input, output; /**< Tokens that it says it will use. */
    double cost;
    uint64_t arrived, expiry;
    int by_deadline;
    uint32_t excluded; /**< Bits of targets. */
};

struct room {
    struct room_waiter waiters[ROOM_MOST];
    size_t count; /**< Both states, in the order of arrival. */
    struct room_client clients[ROOM_CLIENTS];
    double floor;
    uint64_t aging;
    double input_cost, output_cost;
};

/** Whether a waiter can go, for room_first(). */
typedef int room_suits(const struct room_waiter *waiter, void *user);

size_t room_waiting(const struct room *room);

/** Adds a waiter at the end; its client is lifted if it was idle. */
void room_enter(struct room *room, const struct room_waiter *waiter);

/** Ends the waiting of those whose time is over. */
void room_expire(struct room *room, uint64_t now);

/**
 * Whom to serve next of those who suit, or NULL. Those that come before in the
 * order but do not suit are passed over: at most ROOM_TRIES of what a client
 * has waiting for a model and priority, then others first.
 */
struct room_waiter *room_first(const struct room *room, uint64_t now,
                               room_suits *suits, void *user);

struct room_waiter *room_tagged(const struct room *room, uint64_t tag);

/** Takes one out who was served: its client pays. */
void room_serve(struct room *room, struct room_waiter *waiter);
/** Takes one out who was not. */
void room_drop(struct room *room, struct room_waiter *waiter);

/** A client that is still the `number`th of its kind used more than it paid. */
void room_correct(struct room *room, size_t client, uint64_t number,
                  double difference);

/** Nobody has ever been here. */
void room_reset(struct room *room);

#endif
