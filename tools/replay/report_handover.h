/* SPDX-License-Identifier: MIT */
/* What is reported of a new router. */
#ifndef LBROUTE_REPLAY_REPORT_HANDOVER_H
#define LBROUTE_REPLAY_REPORT_HANDOVER_H

#include "report_columns.h"

#include <jansson.h>

/* For programs; NULL without memory. */
json_t *report_handover_object(const struct replay_handover *handover);

/* The table of its own. */
extern const struct report_column report_handover_columns[];
extern const size_t report_handover_column_count;

#endif
