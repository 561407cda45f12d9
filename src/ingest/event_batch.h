/* SPDX-License-Identifier: MIT */
/* Batches of KV events, from their bytes to decoded events. */
#ifndef LBR_INGEST_EVENT_BATCH_H
#define LBR_INGEST_EVENT_BATCH_H

#include "ingest/event_parts.h"

/* Most batches fit into one part, and are checked while they are decoded. The
 * first part of a larger one is handed over after a look at all that follows,
 * so that nothing is taken over of a batch that is malformed or cut short.
 *
 *     | events decoded: first part | events and the rest: only checked |
 *                                  | then decoded: further parts       |
 */

/* Decodes a batch into |sink|, in one part or more, and counts its events in
 * |diag|. Returns LBROUTE_ERR_FORMAT, before the sink was called,
 * if the payload is no batch, else what the sink said, the first that is not 0.
 */
int lbr_event_batch_read(const void *payload, size_t length,
                         lbr_event_sink *sink, void *context,
                         lbroute_diag *diag);

#endif
