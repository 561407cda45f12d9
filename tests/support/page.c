/* SPDX-License-Identifier: MIT */
#include "support/page.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

lbroute_diag page_diag;

int page_feed_bytes(struct fleet *fleet, size_t index, const void *bytes,
                    size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    int result;

    assert_non_null(copy);
    if (length > 0)
        memcpy(copy, bytes, length);
    lbroute_diag_init(&page_diag, sizeof page_diag);
    result = lbroute_ingest_metrics(fleet->router, fleet->targets[index], copy,
                                    length, fleet->now, &page_diag);
    free(copy);
    return result;
}

void page_feed(struct fleet *fleet, size_t index, const char *text)
{
    assert_int_equal(page_feed_bytes(fleet, index, text, strlen(text)),
                     LBROUTE_OK);
}

void page_no_news(struct fleet *fleet, size_t index, const char *text)
{
    assert_int_equal(page_feed_bytes(fleet, index, text, strlen(text)),
                     LBROUTE_ERR_NO_NEWS);
}

double page_gauge(struct fleet *fleet, size_t index, int gauge)
{
    return fleet_stats(fleet, index).gauges[gauge];
}
