/* SPDX-License-Identifier: MIT */
/*
 * The mail between the routers of a run:
 *
 *     router ─export─▶ letter ──delay──▶ all others ─apply─▶
 *                                ╰─ lost, for each of them by chance
 *
 * All letters are under way for the same time, so the first that was sent is
 * the first that arrives.
 */
#ifndef LBROUTE_REPLAY_DELTA_MAIL_H
#define LBROUTE_REPLAY_DELTA_MAIL_H

#include "draw.h"
#include "host.h"

struct delta_letter {
    uint8_t *bytes;
    size_t length;
    uint32_t from;
    uint64_t sent_at;
};

/** What went over. */
struct delta_counts {
    uint64_t written; /**< Deltas. */
    uint64_t bytes;   /**< In them; each goes to all others. */
    uint64_t applied; /**< Deltas handed to a router, those of all routers. */
    uint64_t lost;    /**< Deltas that did not reach one of them. */
    uint64_t missing; /**< Gaps that routers saw in what they were told. */
    uint64_t prompts; /**< That routers took over, and the next two. */
    uint64_t sessions;
    uint64_t skipped; /**< Prompts and sessions that they did not. */
    uint64_t dropped; /**< Given up before they were told. */
};

struct delta_mail {
    double loss;
    struct draw draw;
    struct delta_letter *letters; /**< Under way: places [head, tail). */
    size_t head;
    size_t tail;
    size_t capacity;
    uint8_t *buffer;
    size_t buffer_capacity;
    struct delta_counts counts;
};

void delta_mail_init(struct delta_mail *mail, double loss, uint64_t seed);

void delta_mail_release(struct delta_mail *mail);

/** A router writes down all that it has to tell. Returns how many letters that
 * are, each of which is due at delta_mail_deliver(). */
size_t delta_mail_write(struct delta_mail *mail, struct host *host,
                        uint32_t from, uint64_t now);

/** The next letter arrives at all but its sender. */
void delta_mail_deliver(struct delta_mail *mail, struct host *const *hosts,
                        uint32_t count, uint64_t now);

/** A router ends: takes over what it counted itself. */
void delta_mail_count(struct delta_mail *mail, const struct host *host,
                      uint64_t now);

#endif
