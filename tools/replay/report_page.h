/* SPDX-License-Identifier: MIT */
/* Inside of the HTML report: text that is safe in a page, and its look. */
#ifndef LBROUTE_REPLAY_REPORT_PAGE_H
#define LBROUTE_REPLAY_REPORT_PAGE_H

#include "report_groups.h"

#include <stdio.h>

/* Writes text so that it stands as it is in an element or an attribute. */
void report_escape(FILE *out, const char *text);

/* The style sheet: light, or dark where the reader's system is. */
extern const char report_style[];

/* The tables of the page. */
void report_page_results(FILE *out, const struct report_groups *groups,
                         const struct replay_result *results, size_t count);
void report_page_targets(FILE *out, const struct report_groups *groups);
void report_page_options(FILE *out, const struct replay_result *result);

#endif
