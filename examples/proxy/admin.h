/* SPDX-License-Identifier: MIT */
/*
 * The operator's port: metrics, a JSON interface, and the page that shows it.
 *
 *     GET  /                    the page (no outside resources)
 *     GET  /metrics             Prometheus text
 *     GET  /health              200, 503 while draining
 *     GET  /api/status          version, uptime, counts, kill switch
 *     GET  /api/pools           strategy, parameters, admission, queue, shares
 *     GET  /api/targets         settings, load, health, signals, latency
 *     POST /api/targets/NAME    {"weight": 2}, {"drain": true}, {"bench_s": 30}
 *     POST /api/pools/NAME      {"strategy": "…", "parameters": {"…": 1}}
 *     GET  /api/parameters      strategies, and what parameters mean
 *     GET  /api/clients         who holds what, by digest
 *     GET  /api/decisions       the recent ones, ?after=NUMBER
 *     GET  /api/decisions/N     one, with every candidate if it was explained
 *     POST /api/explain         {"path": "…", "headers": {…}, "body": {…}}
 *     POST /api/adaptive        {"enabled": false}: the kill switch
 *     POST /api/reload          as SIGHUP
 *
 * Changes here are not written to the configuration: a reload that changes the
 * same setting wins. Requests that change something must come with
 * Content-Type application/json, which no form of a foreign page can send, and
 * the Host must be a name of this port (against DNS rebinding).
 */
#ifndef LBROUTE_PROXY_ADMIN_H
#define LBROUTE_PROXY_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;
struct config_listen;
struct gateway;

/** Listens; NULL with a message if it can't. */
struct admin *admin_create(struct gateway *gateway,
                           const struct config_listen *listen, char *error,
                           size_t error_size);
/** Takes over a certificate that was renewed. */
void admin_apply(struct admin *admin, const struct config_listen *listen);

void admin_destroy(struct admin *admin);

/** The port that it listens on. */
uint16_t admin_port(const struct admin *admin);

#endif
