/* SPDX-License-Identifier: MIT */
/* Reads sets of labels: {name="value", …}, values with \\, \" and \n. */
#ifndef LBR_INGEST_LABEL_H
#define LBR_INGEST_LABEL_H

#include "base/text.h"

struct lbr_label {
    struct lbr_text name;  /* empty: |value| is the metric's own name */
    struct lbr_text value; /* between the quotes, as it stands there */
};

enum lbr_label_result { LBR_LABEL_BROKEN, LBR_LABEL_READ, LBR_LABEL_END };

/* Reads the next label at |*at|, which is behind the opening brace at first,
 * and moves it behind the label, or behind the closing brace. */
enum lbr_label_result lbr_label_next(const char **at, const char *end,
                                     struct lbr_label *label);

/* Finds a label in a set that is known to be whole. Returns 0 if there is
 * none. */
int lbr_label_find(const char *at, const char *end, const char *name,
                   struct lbr_text *value);

/* A hash of the whole set, whatever the order of its labels. */
uint64_t lbr_label_set_hash(const char *at, const char *end);

#endif
