/* SPDX-License-Identifier: MIT */
/* What the fields of a KV event say. A reader returns 0, or the reason
 * (LBROUTE_DIAG_) for which the event cannot be used; it takes a copy of the
 * cursor where it need not go on behind the value. */
#ifndef LBR_INGEST_EVENT_VALUES_H
#define LBR_INGEST_EVENT_VALUES_H

#include "ingest/event_fields.h"

#include <lbroute/ingest.h>

/* The name of a block: an integer, of which the 64 bits count, or a digest of
 * which the last 8 bytes do. Returns 0 for anything else. */
int lbr_event_hash(struct lbr_msgpack *in, uint64_t *hash);

/* Medium and group of an event, and whether it is about blocks of use: of whole
 * prefixes, at the target. */
int lbr_event_place(const struct lbr_event_fields *fields, int32_t *medium,
                    uint32_t *group);

/* The adapter's name, or its number, which is written into |digits|. */
#define LBR_EVENT_DIGITS 24
int lbr_event_adapter(const struct lbr_event_fields *fields,
                      struct lbr_text *adapter, char digits[LBR_EVENT_DIGITS]);

/* The cache salt, wherever it stands; empty: none. */
int lbr_event_salt(const struct lbr_event_fields *fields,
                   struct lbr_text *salt);

/* Writes a number in decimal. Returns how long it is. */
size_t lbr_event_decimal(uint64_t bits, int negative,
                         char digits[LBR_EVENT_DIGITS]);

#endif
