/* SPDX-License-Identifier: MIT */
/* Pins: which target a session (or client) was last served by. Bounded; the
 * least recently used pin goes first.
 *
 *     map: key ─▶ pin      used: oldest … newest      target: its pins
 */
#ifndef LBR_STATE_SESSION_H
#define LBR_STATE_SESSION_H

#include "containers/list.h"
#include "containers/map.h"
#include "containers/slab.h"

struct lbr_session {
    struct lbr_slot slot; /* spare: being restored */
    struct lbr_link used;
    struct lbr_link siblings; /* pins of the same target */
    uint64_t key;             /* digest of session or client, and pool's name */
    lbroute_target target;
    uint64_t used_at;
};

struct lbr_sessions {
    struct lbr_slab slab;
    struct lbr_map by_key;
    struct lbr_link used; /* least recently used first */
};

void lbr_sessions_init(struct lbr_sessions *sessions, struct lbr_memory *memory,
                       uint32_t limit);
void lbr_sessions_destroy(struct lbr_sessions *sessions);

/* The pin of |key|, or NULL. */
struct lbr_session *lbr_sessions_known(const struct lbr_sessions *sessions,
                                       uint64_t key);

/* The pin of |key| that was used less than |ttl| before |now|, or NULL. */
struct lbr_session *lbr_sessions_find(const struct lbr_sessions *sessions,
                                      uint64_t key, uint64_t now, uint64_t ttl);

/* Renews a pin. */
void lbr_sessions_touch(struct lbr_sessions *sessions,
                        struct lbr_session *session, uint64_t now);

/* Pins |key| to a target, whose pins are listed at |siblings|. Without memory
 * the pin used longest ago makes room. */
void lbr_sessions_learn(struct lbr_sessions *sessions, uint64_t key,
                        lbroute_target target, struct lbr_link *siblings,
                        uint64_t now);

/* Pins a key that is not pinned yet, as if it had been used before all others.
 * Returns 0, LBROUTE_ERR_EXISTS, LBROUTE_ERR_LIMIT or LBROUTE_ERR_NO_MEMORY.
 * What was pinned so is dropped again, or |kept|, by the second. */
int lbr_sessions_restore(struct lbr_sessions *sessions, uint64_t key,
                         lbroute_target target, struct lbr_link *siblings,
                         uint64_t used_at);
void lbr_sessions_conclude(struct lbr_sessions *sessions, int kept);

/* Drops all pins listed at |siblings|. */
void lbr_sessions_purge(struct lbr_sessions *sessions,
                        struct lbr_link *siblings);

size_t lbr_sessions_estimate(uint32_t limit);

#endif
