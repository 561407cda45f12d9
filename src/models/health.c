/* SPDX-License-Identifier: MIT */
#include "models/health.h"

#include "base/clock.h"

#include <string.h>

static int speaks(const struct lbr_health *health, lbr_health_mark mark)
{
    return mark >> 1 == (health->epoch & UINT32_MAX >> 1);
}

static void recover(struct lbr_health *health)
{
    health->failures = 0;
    health->strikes = 0;
    health->benches = 0;
    health->bench_until = 0;
    health->unproven = 0;
}

int lbr_health_success(struct lbr_health *health, lbr_health_mark mark)
{
    int changed = health->unproven;

    if (!speaks(health, mark))
        return 0;
    if (health->unproven || health->failures)
        recover(health);
    return changed;
}

void lbr_health_bench(struct lbr_health *health, uint64_t duration,
                      uint64_t now)
{
    uint64_t until = lbr_time_add(now, duration);

    if (!duration) {
        recover(health);
        return;
    }
    if (!health->unproven || until > health->bench_until)
        health->bench_until = until;
    health->unproven = 1;
    health->strikes = 0;
    health->epoch++;
}

/* The first time doubled once for each bench in a row, at most the maximum. */
static uint64_t next_bench(const struct lbr_health *health,
                           const struct lbr_health_rules *rules)
{
    uint64_t time = rules->bench_time;
    uint32_t i;

    for (i = 0; i < health->benches && time < rules->bench_max; i++)
        time = lbr_time_add(time, time);
    return time < rules->bench_max ? time : rules->bench_max;
}

int lbr_health_failure(struct lbr_health *health, lbr_health_mark mark,
                       uint64_t now, const struct lbr_health_rules *rules)
{
    int trial = (int)(mark & 1);
    uint64_t duration;

    if (!speaks(health, mark))
        return 0;
    health->failures++;
    health->strikes++;
    if (!rules->bench_after || (health->strikes < rules->bench_after && !trial))
        return 0;
    duration = next_bench(health, rules);
    if (!duration)
        return 0;
    lbr_health_bench(health, duration, now);
    health->benches++;
    return 1;
}

/* More benches in a row make none longer. */
#define MOST_BENCHES 64U

void lbr_health_save(const struct lbr_health *health, struct lbr_writer *writer)
{
    uint32_t benches =
        health->benches < MOST_BENCHES ? health->benches : MOST_BENCHES;

    lbr_put_count(writer, health->failures);
    lbr_put_count(writer, health->strikes);
    lbr_put_u8(writer, (uint8_t)benches);
    lbr_put_u8(writer, (uint8_t)health->unproven);
    lbr_put_rest(writer, health->unproven ? health->bench_until : 0);
}

void lbr_health_load(struct lbr_health *health, struct lbr_reader *reader)
{
    memset(health, 0, sizeof *health);
    health->failures = (uint32_t)lbr_get_count(reader, UINT32_MAX);
    health->strikes = (uint32_t)lbr_get_count(reader, health->failures);
    health->benches = lbr_get_u8(reader);
    health->unproven = lbr_get_u8(reader);
    health->bench_until = lbr_get_rest(reader);
    lbr_demand(reader,
               health->benches <= MOST_BENCHES && health->unproven <= 1);
}
