/* SPDX-License-Identifier: MIT */
#include "nginx.h"

static int is_in(const struct nginx *nginx, nginx_set set, size_t i)
{
    return nginx->peers[i].present && (set >> i & 1);
}

nginx_set nginx_usable(const struct nginx *nginx)
{
    nginx_set set = 0;

    for (size_t i = 0; i < NGINX_PEERS; i++)
        if (nginx->peers[i].present && nginx->peers[i].usable)
            set |= 1U << i;
    return set;
}

size_t nginx_peek(const struct nginx *nginx, nginx_set set, int64_t *bid)
{
    size_t best = NGINX_NONE;

    for (size_t i = 0; i < NGINX_PEERS; i++) {
        const struct nginx_peer *peer = &nginx->peers[i];
        int64_t own = peer->sum + peer->weight;

        if (!is_in(nginx, set, i))
            continue;
        if (best != NGINX_NONE &&
            (own < *bid ||
             (own == *bid && peer->order > nginx->peers[best].order)))
            continue;
        best = i;
        *bid = own;
    }
    return best;
}

size_t nginx_serve(struct nginx *nginx, nginx_set set)
{
    int64_t bid = 0;
    int64_t total = 0;
    size_t best = nginx_peek(nginx, set, &bid);

    for (size_t i = 0; i < NGINX_PEERS; i++) {
        if (!is_in(nginx, set, i))
            continue;
        nginx->peers[i].sum += nginx->peers[i].weight;
        total += nginx->peers[i].weight;
    }
    if (best != NGINX_NONE)
        nginx->peers[best].sum -= total;
    return best;
}
