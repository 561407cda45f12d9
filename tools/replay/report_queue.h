/* SPDX-License-Identifier: MIT */
/* What is reported of limits and of those who wait. */
#ifndef LBROUTE_REPLAY_REPORT_QUEUE_H
#define LBROUTE_REPLAY_REPORT_QUEUE_H

#include "report_columns.h"

#include <jansson.h>

/* For programs; NULL without memory. */
json_t *report_queue_object(const struct replay_queue *queue);

/* The second table. */
extern const struct report_column report_queue_columns[];
extern const size_t report_queue_column_count;

#endif
