/* SPDX-License-Identifier: MIT */
/*
 * What the files of the admin port share.
 *
 *     request ──admin.c──▶ guard ──▶ resource ──▶ handler ──▶ JSON
 */
#ifndef LBROUTE_PROXY_ADMIN_PARTS_H
#define LBROUTE_PROXY_ADMIN_PARTS_H

#include <lbroute/lbroute.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

struct evkeyvalq;
struct gateway;
struct target_view;

/** A request to the JSON interface. */
struct admin_call {
    struct gateway *gateway;
    const char *name;        /**< What stands behind the resource, decoded. */
    struct evkeyvalq *query; /**< ?key=value */
    json_t *body;            /**< Of a POST, an object; else NULL. */
    uint64_t now;
    int status; /**< Of the answer (200). */
};

/** Answers a call with a new JSON value; NULL: out of memory. */
typedef json_t *admin_handler(struct admin_call *call);

admin_handler admin_get_status, admin_get_pools, admin_get_parameters,
    admin_get_targets, admin_get_clients, admin_get_decisions,
    admin_get_decision;
admin_handler admin_post_pool, admin_post_target, admin_post_explain,
    admin_post_adaptive, admin_post_reload;

/** What is shared with other gateways; null: nothing. */
json_t *admin_cluster_json(const struct gateway *gateway, uint64_t now);

/** An answer with a status and what is wrong, in one sentence. */
json_t *admin_refuse(struct admin_call *call, int status, const char *format,
                     ...);

/** The first key of the body that is not among `known` (ended by NULL), or
 * NULL: a typing error must not pass for success. */
const char *admin_unknown_key(const struct admin_call *call,
                              const char *const *known);

/** A number of the query; `otherwise` if it is not there or none. */
uint64_t admin_query_number(const struct admin_call *call, const char *key,
                            uint64_t otherwise);

#endif
