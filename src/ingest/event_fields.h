/* SPDX-License-Identifier: MIT */
/* Where the fields of a KV event stand, in both of its forms:
 *
 *     ["BlockStored", hashes, parent, token ids, block size, …]    by place
 *     {"type": "BlockStored", "block_hashes": hashes, …}           by key
 */
#ifndef LBR_INGEST_EVENT_FIELDS_H
#define LBR_INGEST_EVENT_FIELDS_H

#include "ingest/event_tokens.h"

enum lbr_event_field {
    LBR_EVENT_TYPE,
    LBR_EVENT_HASHES,
    LBR_EVENT_PARENT,
    LBR_EVENT_TOKEN_IDS,
    LBR_EVENT_BLOCK_SIZE,
    LBR_EVENT_LORA_ID,
    LBR_EVENT_MEDIUM,
    LBR_EVENT_LORA_NAME,
    LBR_EVENT_EXTRA_KEYS,
    LBR_EVENT_GROUP,
    LBR_EVENT_SPEC, /* the kind of its group of caches */
    LBR_EVENT_LOCALITY,
    LBR_EVENT_SALT,
    LBR_EVENT_METADATA,
    LBR_EVENT_FIELDS /* their number */
};

struct lbr_event_fields {
    int kind;       /* LBROUTE_KV_; 0: none that is known */
    int is_event;   /* it has a type */
    uint32_t given; /* bits of the fields that are there and not nil */
    uint32_t named; /* bits of the fields that are there */
    int tokens_fit; /* the token ids could be taken */
    struct lbr_msgpack at[LBR_EVENT_FIELDS]; /* of those given */
};

static inline int lbr_event_given(const struct lbr_event_fields *fields,
                                  enum lbr_event_field field)
{
    return (int)(fields->given >> field & 1);
}

/* Passes over one value and notes the fields of the event that it is; what is
 * not known is passed over. Token ids are taken at once, so that they are not
 * walked over twice. Returns 0 if the value is malformed. */
int lbr_event_fields_read(struct lbr_event_fields *fields,
                          struct lbr_event_tokens *tokens,
                          struct lbr_msgpack *in);

#endif
