/* SPDX-License-Identifier: MIT */
/* One line of a metrics page: name{labels} value timestamp # exemplar */
#ifndef LBR_INGEST_SAMPLE_H
#define LBR_INGEST_SAMPLE_H

#include "base/text.h"

struct lbr_sample {
    struct lbr_text name;
    int plain; /* the name stands before the labels, not among them */
    const char *labels, *labels_end; /* behind the brace; both NULL: none */
    double value;
};

/* Reads a line that begins with neither a blank nor '#'. Returns 0, or the
 * reason (LBROUTE_DIAG_) why it is broken. |sample| is the one of the line
 * before, whose name is likely to come again, or is not |plain|. */
int lbr_sample_read(const char *at, const char *end, struct lbr_sample *sample);

#endif
