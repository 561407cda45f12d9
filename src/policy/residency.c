/* SPDX-License-Identifier: MIT */
#include "policy/residency.h"

enum lbr_residency lbr_residency_of(const struct lbr_pick *pick,
                                    uint32_t position)
{
    const struct lbr_adapters *adapters =
        &lbr_pick_target(pick, position)->adapters;
    uint64_t ttl = pick->scope.pool->params.lora_ttl;

    if (lbr_adapters_hold(adapters, pick->ask->adapter, pick->now, ttl))
        return LBR_RESIDENT;
    switch (lbr_adapters_room(adapters, pick->now, ttl)) {
    case LBR_ADAPTER_ROOM:
        return LBR_RESIDENCY_ROOM;
    case LBR_ADAPTER_FULL:
        return LBR_RESIDENCY_FULL;
    default:
        return LBR_RESIDENCY_UNSURE;
    }
}

double lbr_residency_score(enum lbr_residency residency)
{
    static const double scores[] = {1, 0.5, 0.25, 0};

    return scores[residency];
}
