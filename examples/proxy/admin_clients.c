/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "gateway.h"
#include "json_parts.h"

#include <stdlib.h>
#include <string.h>

/* Most rows (a client on a target) that are gathered, and clients that are
 * told one by one: the largest. */
enum { ROWS_MAX = 65536, CLIENTS_MAX = 100 };

struct row {
    lbroute_target target;
    lbroute_client_share share;
};

struct rows {
    struct row *items;
    size_t count, room;
    size_t left_out;
};

/* A client's rows stand side by side: items[first] to items[first + count]. */
struct client {
    size_t first, count;
    double blocks;
};

static bool make_room(struct rows *rows, size_t more)
{
    size_t room = rows->room ? rows->room : 256;
    struct row *items;

    while (room < rows->count + more)
        room *= 2;
    if (room == rows->room)
        return true;
    items = realloc(rows->items, room * sizeof(*items));
    if (items == NULL)
        return false;
    rows->items = items;
    rows->room = room;
    return true;
}

static bool read_shares(struct admin_call *call, lbroute_target target,
                        lbroute_client_share *shares, size_t count,
                        struct rows *rows)
{
    for (size_t i = 0; i < count; i++)
        lbroute_client_share_init(&shares[i], sizeof(shares[i]));
    lbroute_target_clients(call->gateway->router, target, call->now, shares,
                           count, NULL);
    if (!make_room(rows, count))
        return false;
    for (size_t i = 0; i < count; i++)
        rows->items[rows->count++] = (struct row){target, shares[i]};
    return true;
}

static bool gather_target(struct admin_call *call, lbroute_target target,
                          struct rows *rows)
{
    lbroute_client_share *shares;
    size_t count = 0, room = ROWS_MAX - rows->count;
    bool done;

    lbroute_target_clients(call->gateway->router, target, call->now, NULL, 0,
                           &count);
    if (count > room) {
        rows->left_out += count - room;
        count = room;
    }
    if (count == 0)
        return true;
    shares = calloc(count, sizeof(*shares));
    if (shares == NULL)
        return false;
    done = read_shares(call, target, shares, count, rows);
    free(shares);
    return done;
}

static int by_client(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->share.client != b->share.client)
        return a->share.client < b->share.client ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

static int by_blocks(const void *left, const void *right)
{
    const struct client *a = left, *b = right;

    if (a->blocks != b->blocks)
        return a->blocks > b->blocks ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Groups sorted rows; `clients` has room for one each. */
static size_t group(const struct rows *rows, struct client *clients)
{
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const lbroute_client_share *share = &rows->items[i].share;

        if (i == 0 || rows->items[i - 1].share.client != share->client)
            clients[count++] = (struct client){.first = i};
        clients[count - 1].count++;
        clients[count - 1].blocks += share->blocks;
    }
    qsort(clients, count, sizeof(*clients), by_blocks);
    return count;
}

static json_t *on_target(lbroute_router *router, const struct row *row)
{
    json_t *object = json_object();
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof(info));
    lbroute_target_get_info(router, row->target, &info);
    json_put(object, "target", json_words(info.name));
    json_put(object, "blocks", json_figure(row->share.blocks));
    json_put(object, "share", json_figure(row->share.share));
    json_put(object, "evicted", json_count(row->share.evicted));
    json_put(object, "idle_ms", json_ms(row->share.idle_ns));
    return object;
}

static json_t *one_client(lbroute_router *router, const struct rows *rows,
                          const struct client *client)
{
    const struct row *first = &rows->items[client->first];
    json_t *object = json_object(), *targets = json_array();

    for (size_t i = 0; i < client->count; i++)
        json_array_append_new(targets, on_target(router, &first[i]));
    json_put(object, "client", json_digest(first->share.client));
    json_put(object, "blocks", json_figure(client->blocks));
    json_put(object, "targets", targets);
    return object;
}

static json_t *answer(lbroute_router *router, const struct rows *rows,
                      const struct client *clients, size_t count)
{
    json_t *object = json_object(), *array = json_array();
    double others = 0.0;

    for (size_t i = 0; i < count; i++) {
        if (i < CLIENTS_MAX)
            json_array_append_new(array, one_client(router, rows, &clients[i]));
        else
            others += clients[i].blocks;
    }
    json_put(object, "clients", array);
    json_put(object, "other_clients",
             json_count(count > CLIENTS_MAX ? count - CLIENTS_MAX : 0));
    json_put(object, "other_blocks", json_figure(others));
    json_put(object, "left_out", json_count(rows->left_out));
    return object;
}

static bool gather(struct admin_call *call, struct rows *rows)
{
    lbroute_target target = 0;

    if (!make_room(rows, 1))
        return false;
    while (lbroute_target_next(call->gateway->router, 0, target, &target) ==
           LBROUTE_OK)
        if (!gather_target(call, target, rows))
            return false;
    qsort(rows->items, rows->count, sizeof(*rows->items), by_client);
    return true;
}

json_t *admin_get_clients(struct admin_call *call)
{
    struct rows rows = {NULL, 0, 0, 0};
    struct client *clients = NULL;
    json_t *object = NULL;

    if (gather(call, &rows))
        clients = calloc(rows.count + 1, sizeof(*clients));
    if (clients != NULL)
        object = answer(call->gateway->router, &rows, clients,
                        group(&rows, clients));
    free(clients);
    free(rows.items);
    return object;
}
