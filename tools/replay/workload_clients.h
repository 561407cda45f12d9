/* SPDX-License-Identifier: MIT */
/*
 * Whose each request of a workload is, and which of them are urgent. Traces
 * rarely say it, so the seed draws it: a client by its share of all requests.
 */
#ifndef LBROUTE_REPLAY_WORKLOAD_CLIENTS_H
#define LBROUTE_REPLAY_WORKLOAD_CLIENTS_H

#include "workload.h"

/** Room for the name of a client. */
enum { CLIENT_NAME_MAX = 64 };

struct client_share {
    char name[CLIENT_NAME_MAX];
    double share; /**< Of all requests; above 0. */
};

struct client_list {
    struct client_share *clients;
    size_t count;
    size_t capacity;
};

/** Reads the clients of a model from CSV whose header names the columns
 * `model`, `client` and `share`, in any order and among others. Returns false
 * after writing what is wrong to `error`; a list without clients is. */
bool client_list_read(const char *path, const char *model,
                      struct client_list *list, char *error, size_t error_size);

/** Frees the list. */
void client_list_release(struct client_list *list);

/** Draws a client for each session, and for each request that has none. The
 * list must outlive the workload. */
void workload_draw_clients(struct workload *workload,
                           const struct client_list *list, uint64_t seed);

/** Gives about this part of the requests priority 1 instead of 0. */
void workload_draw_priorities(struct workload *workload, double part,
                              uint64_t seed);

#endif
