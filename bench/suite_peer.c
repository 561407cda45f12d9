/* SPDX-License-Identifier: MIT */
/*
 * peer.nginx_swrr.N: the smooth weighted round-robin of nginx as it is usually
 * written, a scan over all peers for each pick. It counts no request in flight
 * and locks nothing, which favours it. Ten different weights.
 */
#include "fleet.h"

#include <stdlib.h>

typedef struct peer {
    int64_t weight;
    int64_t current;
} peer;

typedef struct peers {
    size_t count;
    peer *list;
} peers;

static size_t scan(peers *all)
{
    size_t best = 0;
    int64_t total = 0;

    for (size_t i = 0; i < all->count; i++) {
        peer *one = &all->list[i];

        one->current += one->weight;
        total += one->weight;
        if (one->current > all->list[best].current)
            best = i;
    }
    all->list[best].current -= total;
    return best;
}

static void *open_peers(const bench_case *test)
{
    peers *all = bench_alloc(1, sizeof *all);

    all->count = test->targets;
    all->list = bench_alloc(all->count, sizeof *all->list);
    for (size_t i = 0; i < all->count; i++)
        all->list[i].weight = (int64_t)bench_weight(i, test->distinct_weights);
    return all;
}

static void work_peers(void *fixture, unsigned lane, uint64_t operations)
{
    uint64_t sum = 0;

    (void)lane;
    for (uint64_t i = 0; i < operations; i++)
        sum += scan(fixture);
    bench_keep(sum);
}

static void close_peers(void *fixture)
{
    peers *all = fixture;

    free(all->list);
    free(all);
}

static const bench_kind swrr = {
    .open = open_peers, .work = work_peers, .close = close_peers};

void bench_suite_peer(bench_list *list)
{
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        bench_case *test = bench_list_add_sized(list, &swrr, "peer.nginx_swrr",
                                                bench_sizes[i]);

        test->distinct_weights = 10;
    }
}
