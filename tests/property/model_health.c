/* SPDX-License-Identifier: MIT */
#include "model_health.h"

int model_health_benched(const struct model_health *health, uint64_t now)
{
    return health->unproven && now < health->until;
}

int model_health_on_trial(const struct model_health *health, uint64_t now)
{
    return health->unproven && now >= health->until;
}

void model_health_success(struct model_health *health)
{
    health->failures = 0;
    health->strikes = 0;
    health->benches = 0;
    health->unproven = 0;
}

/* The later deadline wins. */
static void begin(struct model_health *health, uint64_t duration, uint64_t now,
                  uint64_t last_order)
{
    uint64_t until = now + duration;
    if (!health->unproven || health->until < until)
        health->until = until;
    health->unproven = 1;
    health->strikes = 0;
    health->began = last_order;
}

static uint64_t next_duration(const struct model_health *health,
                              const struct model_health_rules *rules)
{
    uint64_t duration = rules->bench_time;
    for (uint32_t i = 0; i < health->benches && duration < rules->bench_max;
         i++)
        duration *= 2;
    return duration < rules->bench_max ? duration : rules->bench_max;
}

void model_health_failure(struct model_health *health,
                          const struct model_health_rules *rules, int trial,
                          uint64_t now, uint64_t last_order)
{
    health->failures++;
    health->strikes++;
    uint64_t duration = next_duration(health, rules);
    if (rules->bench_after == 0 || duration == 0)
        return;
    if (!trial && health->strikes < rules->bench_after)
        return;
    begin(health, duration, now, last_order);
    health->benches++;
}

void model_health_bench(struct model_health *health, uint64_t duration,
                        uint64_t now, uint64_t last_order)
{
    if (duration > 0)
        begin(health, duration, now, last_order);
    else
        model_health_success(health);
}
