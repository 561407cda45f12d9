/* SPDX-License-Identifier: MIT */
#include "residency.h"

#include <string.h>

void residency_init(struct residency *residency)
{
    memset(residency, 0, sizeof *residency);
    residency->slots = -1;
}

/* Whoever was seen longest ago makes room, unless a request needs it. */
static void give_up(struct residency *residency)
{
    for (;;) {
        int32_t held = 0;
        uint32_t oldest = RESIDENCY_ADAPTERS;
        for (uint32_t i = 0; i < RESIDENCY_ADAPTERS; i++) {
            int in_flight = residency->adapters[i].in_flight > 0;
            held += in_flight || residency->adapters[i].seen;
            if (in_flight || !residency->adapters[i].seen)
                continue;
            if (oldest == RESIDENCY_ADAPTERS ||
                residency->adapters[i].order <
                    residency->adapters[oldest].order)
                oldest = i;
        }
        if (residency->slots < 0 || held <= residency->slots ||
            oldest == RESIDENCY_ADAPTERS)
            return;
        residency->adapters[oldest].seen = 0;
    }
}

void residency_slots(struct residency *residency, int32_t slots, uint64_t now)
{
    residency->slots_at = now;
    if (slots < 0)
        return;
    residency->slots = slots;
    give_up(residency);
}

void residency_see(struct residency *residency, uint32_t adapter, uint64_t now)
{
    residency->adapters[adapter].seen = 1;
    residency->adapters[adapter].seen_at = now;
    residency->adapters[adapter].order = ++residency->sightings;
    give_up(residency);
}

void residency_forget(struct residency *residency)
{
    for (uint32_t i = 0; i < RESIDENCY_ADAPTERS; i++)
        residency->adapters[i].seen = 0;
}

void residency_sent(struct residency *residency, uint32_t adapter)
{
    residency->adapters[adapter].in_flight++;
}

void residency_ended(struct residency *residency, uint32_t adapter)
{
    /* One that was never seen is gone with its request: that fills nothing. */
    if (--residency->adapters[adapter].in_flight == 0 &&
        residency->adapters[adapter].seen)
        give_up(residency);
}

static int holds(const struct residency *residency, uint32_t adapter,
                 uint64_t now, uint64_t ttl)
{
    return residency->adapters[adapter].in_flight > 0 ||
           (residency->adapters[adapter].seen &&
            now - residency->adapters[adapter].seen_at <= ttl);
}

double residency_score(const struct residency *residency, uint32_t adapter,
                       uint64_t now, uint64_t ttl)
{
    int32_t held = 0;
    if (holds(residency, adapter, now, ttl))
        return 1;
    if (residency->slots < 0 || now - residency->slots_at > ttl)
        return 0.25;
    for (uint32_t i = 0; i < RESIDENCY_ADAPTERS; i++)
        held += holds(residency, i, now, ttl);
    return held < residency->slots ? 0.5 : 0;
}
