/* SPDX-License-Identifier: MIT */
/*
 * The columns of the result table, for the terminal and for the page: what
 * they show, how it is written and which end is better.
 */
#ifndef LBROUTE_REPLAY_REPORT_COLUMNS_H
#define LBROUTE_REPLAY_REPORT_COLUMNS_H

#include "report_measures.h"
#include "report_text.h"

enum report_better {
    REPORT_BETTER_NONE,
    REPORT_BETTER_LOWER,
    REPORT_BETTER_HIGHER
};

enum report_place {
    REPORT_ANYWHERE,
    REPORT_ON_PAGE,     /* too much for a terminal */
    REPORT_IF_PRICED,   /* where prices were given */
    REPORT_IF_ADAPTERS, /* where requests ask for LoRA adapters */
    REPORT_IF_EVENTS,   /* where a strategy reads KV events */
    REPORT_IF_CLIENTS,  /* where requests have clients */
    REPORT_IF_HYBRID    /* where the mode of admission is that */
};

struct report_column {
    const char *group; /* heading over several columns, or "" */
    const char *title;
    const char *meaning; /* one sentence, for the page */
    enum report_better better;
    enum report_place place;
    report_getter *value;
    report_printer *print;
};

extern const struct report_column report_columns[];
extern const size_t report_column_count;

/* Whether a column is shown for these runs, of which there is at least one. */
bool report_column_shown(const struct report_column *column,
                         const struct replay_result *results, bool page);

/* Text of the best value of a column; "" where no run is better than another
 * as far as the text shows. All runs with that text are the best. */
void report_column_best(const struct report_column *column,
                        const struct replay_result *results, size_t count,
                        char text[REPORT_TEXT_MAX]);

/* Whether the runs differ in their seed. */
bool report_seeds_differ(const struct replay_result *results, size_t count);

#endif
