/* SPDX-License-Identifier: MIT */
/* Walks over the lines of a metrics page that hold samples. */
#ifndef LBR_INGEST_LINE_H
#define LBR_INGEST_LINE_H

#include <stddef.h>
#include <stdint.h>

struct lbr_lines {
    const char *text, *next, *end;
    int64_t number; /* of the latest line, the first is 1 */
};

struct lbr_line {
    const char *at, *end; /* without the blanks before and its line feed */
    size_t offset;        /* where it begins, in the page */
};

void lbr_lines_init(struct lbr_lines *lines, const char *text, size_t length);

/* The next line that is neither blank nor a comment. Returns 0 at the end of
 * the page, or at its "# EOF". */
int lbr_line_next(struct lbr_lines *lines, struct lbr_line *line);

#endif
