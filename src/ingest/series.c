/* SPDX-License-Identifier: MIT */
#include "ingest/series.h"

#include "base/hash.h"

#include <assert.h>
#include <math.h>

#define ROW_BITS 6
/* Of so few series in so large an index no chance makes a search this long:
 * labels do that were chosen for it. */
#define MOST_STEPS 64

static_assert(LBR_METRICS <= 1 << ROW_BITS, "rows fit into keys");

/* The entries need no clearing: the index says which there are. */
void lbr_series_init(struct lbr_series_table *table)
{
    memset(table->index, 0, sizeof table->index);
    table->count = 0;
    table->overflowed = 0;
}

static void merge(struct lbr_series *series, double value)
{
    if (isnan(value) || value > series->value)
        series->value = value;
}

/* Where |key| is in the index, or the gap where it belongs; NULL: neither is
 * near. */
static uint16_t *find(struct lbr_series_table *table, uint64_t key)
{
    uint64_t home = lbr_hash_pair(key, 0);
    unsigned step;

    for (step = 0; step < MOST_STEPS; step++) {
        uint16_t *place = &table->index[(home + step) % LBR_SERIES_INDEX];

        if (!*place || table->entries[*place - 1].key == key)
            return place;
    }
    return NULL;
}

enum lbr_series_result lbr_series_add(struct lbr_series_table *table,
                                      unsigned row, uint64_t labels,
                                      double value)
{
    uint64_t key = labels << ROW_BITS | row;
    uint16_t *place = find(table, key);

    if (place && *place) {
        merge(&table->entries[*place - 1], value);
        return LBR_SERIES_REPEATED;
    }
    if (!place || table->count == LBR_SERIES_MOST) {
        table->overflowed |= (uint64_t)1 << row;
        return LBR_SERIES_FULL;
    }
    table->entries[table->count].key = key;
    table->entries[table->count].value = value;
    *place = (uint16_t)++table->count;
    return LBR_SERIES_ADDED;
}

static void count_series(struct lbr_series_total *total, double value)
{
    if (isnan(value)) {
        total->unknown++;
        return;
    }
    if (!total->known || value > total->largest)
        total->largest = value;
    total->sum += value;
    total->known++;
}

/* What did not fit is unknown. */
void lbr_series_totals(const struct lbr_series_table *table,
                       struct lbr_series_total totals[LBR_METRICS])
{
    uint32_t i;
    unsigned row;

    memset(totals, 0, LBR_METRICS * sizeof *totals);
    for (i = 0; i < table->count; i++)
        count_series(&totals[table->entries[i].key & ((1U << ROW_BITS) - 1)],
                     table->entries[i].value);
    for (row = 0; row < LBR_METRICS; row++)
        if (table->overflowed >> row & 1) {
            totals[row].known = 0;
            totals[row].unknown = 1;
        }
}
