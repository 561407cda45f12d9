/* SPDX-License-Identifier: MIT */
/*
 * All that the router says of its targets at one moment, gathered once for a
 * page that shows it.
 *
 *     lbroute_target_next ──▶ info, stats, latency, share ──▶ view, view, …
 */
#ifndef LBROUTE_PROXY_TARGET_VIEW_H
#define LBROUTE_PROXY_TARGET_VIEW_H

#include <lbroute/lbroute.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most targets on a page: what it costs to gather grows by their square, and
 * the same thread serves requests. */
enum { TARGET_VIEWS_MAX = 2000 };

struct backend;

struct target_view {
    lbroute_target target;
    lbroute_target_info info;
    lbroute_target_stats stats;
    lbroute_latency_model latency[LBROUTE_LATENCY_COUNT];
    lbroute_share share; /**< Unknown numbers where it has no pool. */
    const struct backend *backend;
    char pool[256]; /**< Name; empty: none. */
};

struct target_views {
    struct target_view *items;
    size_t count;
    size_t left_out; /**< Targets beyond #TARGET_VIEWS_MAX. */
};

/** Targets of a router, an upper bound of the candidates of any request. */
size_t target_count(lbroute_router *router);

/** Gathers; false: out of memory. */
bool target_views_gather(struct target_views *views, lbroute_router *router,
                         uint64_t now);
void target_views_release(struct target_views *views);

/** What keeps a target from getting requests, the strongest first. */
enum target_state {
    TARGET_OK,
    TARGET_DRAINING,
    TARGET_BENCHED,
    TARGET_FULL,
    TARGET_TRIAL, /**< One request at a time until one succeeds. */
    TARGET_STATE_COUNT
};

enum target_state target_view_state(const struct target_view *view);

/** "ok", "draining", … */
const char *target_state_name(int state);

#endif
