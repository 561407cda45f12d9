/* SPDX-License-Identifier: MIT */
/*
 * A target as JSON: settings, health, load, caches, signals, latency.
 *
 *     target_view (router) ─┐
 *     journal_index ────────┼──▶ {"name": …, "state": …, …}
 *     backend ──────────────┘
 */
#ifndef LBROUTE_PROXY_TARGET_JSON_H
#define LBROUTE_PROXY_TARGET_JSON_H

#include <lbroute/lbroute.h>

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;
struct journal_record;
struct target_view;

/** The journal's records by target, read once for all targets. Valid until
 * something is added to the journal. */
struct journal_index {
    struct journal_index_entry {
        lbroute_target target;
        const struct journal_record *record;
    } * entries;
    size_t count;
};

/** Its `entries` are freed by the caller; false: out of memory. */
bool journal_index_make(struct journal_index *index, struct journal *journal);

json_t *target_json(lbroute_router *router, const struct journal_index *index,
                    const struct target_view *view, uint64_t now);

#endif
