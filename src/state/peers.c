/* SPDX-License-Identifier: MIT */
#include "state/peers.h"

#include "base/clock.h"
#include "state/peer_turns.h"
#include "state/router.h"

#define KIND_PEER 14 /* its handles meet no others */
#define CHUNK_BITS 2

/* Deltas before the latest one that are told apart. */
#define WINDOW 64

void lbr_peers_init(struct lbr_peers *peers, struct lbr_memory *memory,
                    uint32_t limit, uint64_t ttl)
{
    lbr_slab_init(&peers->slab, memory, KIND_PEER, sizeof(struct lbr_peer),
                  CHUNK_BITS, limit);
    lbr_list_init(&peers->heard);
    peers->ttl = ttl;
    peers->until = LBR_NEVER;
}

static struct lbr_peer *peer_of(const struct lbr_link *link)
{
    return LBR_OWNER(link, struct lbr_peer, heard);
}

static void free_rows(struct lbr_peers *peers, struct lbr_peer *peer)
{
    lbr_memory_free(peers->slab.memory, peer->rows, peer->row_count,
                    sizeof *peer->rows);
    peer->rows = NULL;
    peer->row_count = 0;
}

void lbr_peers_destroy(struct lbr_peers *peers)
{
    const struct lbr_link *link;

    for (link = peers->heard.next; link != &peers->heard; link = link->next)
        free_rows(peers, peer_of(link));
    lbr_slab_destroy(&peers->slab);
}

/* A delta has its rows made before those of the one before it go. */
size_t lbr_peers_estimate(uint32_t limit, size_t targets)
{
    return lbr_slab_estimate(sizeof(struct lbr_peer), CHUNK_BITS, limit) +
           ((size_t)limit + 1) * targets * sizeof(struct lbr_peer_row);
}

/* The one that was heard last is looked at first. */
struct lbr_peer *lbr_peer_find(const struct lbr_peers *peers, uint64_t origin)
{
    const struct lbr_link *link;

    for (link = peers->heard.previous; link != &peers->heard;
         link = link->previous)
        if (peer_of(link)->origin == origin)
            return peer_of(link);
    return NULL;
}

/* ---- load ---- */

/* Adds the rows of a peer to what their targets carry, or takes them away. */
static void count_rows(struct lbroute_router *router,
                       const struct lbr_peer *peer, int adds)
{
    uint32_t i;

    for (i = 0; i < peer->row_count; i++) {
        const struct lbr_peer_row *row = &peer->rows[i];
        struct lbr_target *target = lbr_router_target(router, row->target);

        if (!target)
            continue;
        if (adds)
            lbr_peer_load_add(&target->peers, row);
        else
            lbr_peer_load_take(&target->peers, row);
        lbr_latency_publish_work(target);
        lbr_target_stale(target);
    }
}

static void set_deadline(struct lbr_peers *peers)
{
    const struct lbr_link *link;

    peers->until = LBR_NEVER;
    for (link = peers->heard.next; link != &peers->heard; link = link->next)
        if (peer_of(link)->until < peers->until)
            peers->until = peer_of(link)->until;
}

void lbr_peer_set_load(struct lbroute_router *router, struct lbr_peer *peer,
                       struct lbr_peer_row *rows, uint32_t count,
                       uint64_t until)
{
    struct lbr_peers *peers = &router->sharing.peers;

    count_rows(router, peer, 0);
    lbr_peer_take_turns(router, peer, rows, count);
    free_rows(peers, peer);
    peer->rows = rows;
    peer->row_count = count;
    peer->until = until;
    count_rows(router, peer, 1);
    set_deadline(peers);
    if (peers->until < router->alarm)
        router->alarm = peers->until;
}

void lbr_peers_expire(struct lbroute_router *router)
{
    struct lbr_peers *peers = &router->sharing.peers;
    const struct lbr_link *link;

    if (router->clock < peers->until)
        return;
    for (link = peers->heard.next; link != &peers->heard; link = link->next)
        if (peer_of(link)->until <= router->clock)
            lbr_peer_set_load(router, peer_of(link), NULL, 0, LBR_NEVER);
}

static void count_ended(struct lbroute_router *router, uint64_t then, int adds)
{
    const struct lbr_peers *peers = &router->sharing.peers;
    const struct lbr_link *link;

    if (then < peers->until)
        return;
    for (link = peers->heard.next; link != &peers->heard; link = link->next)
        if (peer_of(link)->until <= then)
            count_rows(router, peer_of(link), adds);
}

void lbr_peers_hide(struct lbroute_router *router, uint64_t then)
{
    count_ended(router, then, 0);
}

void lbr_peers_show(struct lbroute_router *router, uint64_t then)
{
    count_ended(router, then, 1);
}

uint32_t lbr_peers_counting(const struct lbr_peers *peers, uint64_t now)
{
    const struct lbr_link *link;
    uint32_t count = 0;

    for (link = peers->heard.next; link != &peers->heard; link = link->next)
        count +=
            peer_of(link)->until != LBR_NEVER && peer_of(link)->until > now;
    return count;
}

/* ---- peers ---- */

static void drop_oldest(struct lbroute_router *router)
{
    struct lbr_peers *peers = &router->sharing.peers;
    struct lbr_peer *peer;

    if (lbr_list_empty(&peers->heard))
        return;
    peer = peer_of(peers->heard.next);
    lbr_peer_set_load(router, peer, NULL, 0, LBR_NEVER);
    lbr_list_remove(&peer->heard);
    lbr_slab_give(&peers->slab, peer);
}

struct lbr_peer *lbr_peer_add(struct lbroute_router *router, uint64_t origin)
{
    struct lbr_peers *peers = &router->sharing.peers;
    struct lbr_peer *peer;
    void *object;

    if (lbr_slab_take(&peers->slab, &object)) {
        drop_oldest(router);
        if (lbr_slab_take(&peers->slab, &object))
            return NULL;
    }
    peer = object;
    peer->origin = origin;
    peer->first = peer->latest = peer->before = 0;
    peer->until = LBR_NEVER;
    peer->rows = NULL;
    peer->row_count = 0;
    lbr_list_append(&peers->heard, &peer->heard);
    return peer;
}

/* ---- which deltas have come ---- */

/* Bit of a delta before the latest; 0: too old to have one. */
static uint64_t bit_of(const struct lbr_peer *peer, uint64_t sequence)
{
    uint64_t age = peer->latest - sequence;

    return age <= WINDOW ? UINT64_C(1) << (WINDOW - age) : 0;
}

int lbr_peer_has(const struct lbr_peer *peer, uint64_t sequence)
{
    uint64_t bit;

    if (!peer->latest || sequence > peer->latest)
        return 0;
    if (sequence == peer->latest)
        return 1;
    bit = bit_of(peer, sequence);
    return !bit || peer->before & bit;
}

static void advance(struct lbr_peer *peer, uint64_t sequence)
{
    uint64_t steps = sequence - peer->latest;

    /* The one that was the latest so far enters at the top. */
    peer->before = steps < WINDOW ? peer->before >> steps : 0;
    if (peer->latest && steps <= WINDOW)
        peer->before |= UINT64_C(1) << (WINDOW - steps);
    peer->latest = sequence;
}

void lbr_peer_note(struct lbr_peers *peers, struct lbr_peer *peer,
                   uint64_t sequence)
{
    if (!peer->first || sequence < peer->first)
        peer->first = sequence;
    if (sequence > peer->latest)
        advance(peer, sequence);
    else
        peer->before |= bit_of(peer, sequence);
    lbr_list_remove(&peer->heard);
    lbr_list_append(&peers->heard, &peer->heard);
}

/* Those before the first that came are not missed: nobody listened yet. */
uint32_t lbr_peer_missing(const struct lbr_peer *peer, uint64_t sequence)
{
    uint64_t from = peer->latest > WINDOW ? peer->latest - WINDOW : 1;
    uint32_t missing = 0;
    uint64_t i;

    for (i = from < peer->first ? peer->first : from; i < sequence; i++)
        missing += !lbr_peer_has(peer, i);
    return missing;
}
