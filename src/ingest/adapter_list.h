/* SPDX-License-Identifier: MIT */
/* Lists of LoRA adapters in a label: "sql,chat:2", names with an optional count
 * behind a colon. */
#ifndef LBR_INGEST_ADAPTER_LIST_H
#define LBR_INGEST_ADAPTER_LIST_H

#include "base/text.h"

/* Names of two lists, and room for those that are written with escapes. */
#define LBR_LISTED_MOST (2 * LBROUTE_ADAPTERS_MAX)
#define LBR_LISTED_BYTES 2048

struct lbr_adapter_list {
    const char *names[LBR_LISTED_MOST];
    size_t lengths[LBR_LISTED_MOST];
    size_t count;
    size_t dropped; /* names without room, or that cannot be names */
    size_t used;    /* of |bytes| */
    char bytes[LBR_LISTED_BYTES];
};

void lbr_adapter_list_init(struct lbr_adapter_list *list);

/* Adds the names of a label's value, at most LBROUTE_ADAPTERS_MAX. */
void lbr_adapter_list_add(struct lbr_adapter_list *list, struct lbr_text value);

#endif
