/* SPDX-License-Identifier: MIT */
/*
 * What engines say, fetched for the router:
 *
 *     GET /metrics      every metrics_interval  ──▶ lbroute_ingest_metrics()
 *     ZeroMQ SUB        as they come            ──▶ lbroute_ingest_kv_events()
 *       gap ──▶ DEALER replay ──▶ the same; none left ──▶ lbroute_kv_clear()
 *     GET occupancy     every occupancy_interval ─▶ lbroute_set_occupancy()
 *     catalog of prices on start and on reload  ──▶ lbroute_set_price()
 *
 * Failures are counted and tried again; the router then knows that nothing is
 * known. Scrapes of many targets are spread over the interval.
 */
#ifndef LBROUTE_PROXY_SIGNALS_H
#define LBROUTE_PROXY_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct gateway;
struct signals;

struct signals *signals_create(struct gateway *gateway);
void signals_destroy(struct signals *signals);

/** Follows the fleet after fleet_apply(): begins with new targets, ends with
 * removed ones, and leaves the others' subscriptions alone. */
void signals_apply(struct signals *signals, const struct config *config);

/** Reads a catalog into the router: LiteLLM's or models.dev's JSON, or a table
 * of price_table.py, told apart by content. Prices that it lacks are removed;
 * an empty path removes all. Returns false with a message; then all prices are
 * as before. */
bool prices_load(struct gateway *gateway, const char *path, char *error,
                 size_t error_size);

#endif
