/* SPDX-License-Identifier: MIT */
/* What a router has learned, as bytes (see envelope.h), and back. The first
 * section is that of the targets' names.
 *
 * Bytes are gone through three times, by the same code:
 *
 *     CHECK   nothing but the bytes      any fault: nothing has happened yet
 *     TAKE    all that needs memory      without it: what was taken is undone
 *     SET     all that does not          cannot fail
 *
 * Only what nothing is known of yet is restored: a target without a pick, a
 * source that was not heard, a key without a price. So undoing is forgetting,
 * and newer knowledge is never overwritten by older. */
#ifndef LBR_STATE_SNAPSHOT_H
#define LBR_STATE_SNAPSHOT_H

#include "state/envelope.h"
#include "state/router.h"

/* Kinds of sections; never given to anything else. */
enum lbr_section {
    LBR_SECTION_TARGETS = 1,
    LBR_SECTION_KEY = 2,
    LBR_SECTION_HEALTH = 3,
    LBR_SECTION_TURNS = 4,
    LBR_SECTION_SHARES = 5,
    LBR_SECTION_LATENCY = 6,
    LBR_SECTION_ADAPTERS = 7,
    LBR_SECTION_PRICES = 8,
    LBR_SECTION_SESSIONS = 9,
    LBR_SECTION_PREFIXES = 10, /* one for each group */
    LBR_SECTION_KV = 11,
    LBR_SECTION_POOLS = 12
};

/* ---- saving ---- */

struct lbr_saving {
    struct lbroute_router *router;
    struct lbr_writer *writer;
    void **targets; /* struct lbr_target, by number; void to be sorted */
    uint32_t target_count;
    size_t section; /* where the length of the present one stands */
    int failed;     /* no memory */
};

void lbr_section_begin(struct lbr_saving *saving, enum lbr_section kind);
void lbr_section_end(struct lbr_saving *saving);

void lbr_save_pools(struct lbr_saving *saving);
void lbr_save_health(struct lbr_saving *saving);
void lbr_save_turns(struct lbr_saving *saving);
void lbr_save_shares(struct lbr_saving *saving);
void lbr_save_latency(struct lbr_saving *saving);
void lbr_save_adapters(struct lbr_saving *saving);
void lbr_save_prices(struct lbr_saving *saving);
void lbr_save_sessions(struct lbr_saving *saving);
void lbr_save_prefixes(struct lbr_saving *saving);
void lbr_save_kv(struct lbr_saving *saving);

/* Writes a snapshot of |router| at the writer's time. Returns 0 or
 * LBROUTE_ERR_NO_MEMORY. */
int lbr_snapshot_save(struct lbroute_router *router, struct lbr_writer *writer);

/* ---- loading ---- */

enum lbr_load_stage { LBR_LOAD_CHECK, LBR_LOAD_TAKE, LBR_LOAD_SET };

/* A target of the snapshot. */
struct lbr_restored {
    struct lbr_target *target; /* NULL: the router has none of that name */
    int fresh;                 /* nothing was sent there yet */
    int prefixes;              /* it was given some … */
    int first;                 /* … as the first of its group */
};

struct lbr_loading {
    enum lbr_load_stage stage;
    struct lbroute_router *router; /* NULL: only check */
    struct lbr_restored *targets;  /* by number; NULL: only check */
    uint32_t target_count;
    int same_key;
    uint32_t tries; /* that prefixes were put into, so far */
    lbroute_restore_result *result;
};

/* The target that a section goes on with, by its number; its `target` is NULL
 * where there is nothing to be restored. */
struct lbr_restored lbr_load_target(const struct lbr_loading *loading,
                                    uint32_t number);

/* Reads the number of a target. */
uint32_t lbr_get_target(const struct lbr_loading *loading,
                        struct lbr_reader *reader);

typedef void lbr_load_section(struct lbr_loading *loading,
                              struct lbr_reader *reader);

lbr_load_section lbr_load_pools, lbr_load_health, lbr_load_turns,
    lbr_load_shares, lbr_load_latency, lbr_load_adapters, lbr_load_prices,
    lbr_load_sessions, lbr_load_prefixes, lbr_load_kv;

/* What ends the stage TAKE: what was taken is given back, or kept. */
void lbr_conclude_prices(struct lbr_loading *loading, int kept);
void lbr_conclude_prefixes(struct lbr_loading *loading, int kept);
void lbr_conclude_kv(struct lbr_loading *loading, int kept);

/* Whether the bytes are a snapshot: LBROUTE_OK, LBROUTE_ERR_FORMAT, or
 * LBROUTE_ERR_UNSUPPORTED: of a later version altogether. */
int lbr_snapshot_check(const void *bytes, size_t length);

/* Restores from bytes that passed that, at |now|, |elapsed| after they were
 * written. Returns 0 or LBROUTE_ERR_NO_MEMORY; then nothing changed. */
int lbr_snapshot_load(struct lbroute_router *router, const void *bytes,
                      size_t length, uint64_t now, uint64_t elapsed,
                      lbroute_restore_result *result);

#endif
