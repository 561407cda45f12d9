/* SPDX-License-Identifier: MIT */
/* What is reported of several routers. */
#ifndef LBROUTE_REPLAY_REPORT_ROUTERS_H
#define LBROUTE_REPLAY_REPORT_ROUTERS_H

#include "report_columns.h"

#include <jansson.h>

/* Room for what report_routers_text() writes. */
enum { REPORT_ROUTERS_MAX = 128 };

/* For people: "4 routers, deltas every 0.1 s"; "" for one router. */
void report_routers_text(char text[REPORT_ROUTERS_MAX],
                         const struct replay_routers *routers);

/* For programs; NULL without memory. */
json_t *report_routers_object(const struct replay_routers *routers);

/* The table of its own, about deltas. */
extern const struct report_column report_routers_columns[];
extern const size_t report_routers_column_count;

#endif
