/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of metrics pages with any bytes. They are fed to one target
 * as they are and to another with CR LF in the place of each LF, which must
 * make no difference; the counts must be those of a plain count of lines, and a
 * page without news must change nothing.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "api.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct page {
    char *text;
    size_t length;
    lbroute_target target;
    lbroute_diag diag;
    int result;
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void copy_page(struct page *page, const uint8_t *data, size_t size,
                      int crlf)
{
    page->length = 0;
    page->text = malloc(2 * size + 1);
    CHECK(page->text != NULL);
    for (size_t i = 0; i < size; i++) {
        if (crlf && data[i] == '\n')
            page->text[page->length++] = '\r';
        page->text[page->length++] = (char)data[i];
    }
    /* A sanitizer sees reads beyond the exact end. */
    page->text = realloc(page->text, page->length > 0 ? page->length : 1);
    CHECK(page->text != NULL);
}

/* What stands in one line: nothing or a comment (0), a sample (1), or the mark
 * that ends the page (-1). */
static int classify(const char *line, size_t length)
{
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    while (length > 0 && is_blank(*line)) {
        line++;
        length--;
    }
    if (length == 5 && memcmp(line, "# EOF", 5) == 0)
        return -1;
    return length > 0 && *line != '#';
}

static uint64_t count_samples(const struct page *page)
{
    uint64_t count = 0;
    size_t begin = 0;

    while (begin < page->length) {
        size_t end = begin;
        int kind;
        while (end < page->length && page->text[end] != '\n')
            end++;
        kind = classify(page->text + begin, end - begin);
        if (kind < 0)
            break;
        count += (uint64_t)kind;
        begin = end + 1;
    }
    return count;
}

static void feed(lbroute_router *router, struct page *page)
{
    lbroute_target_stats stats;

    lbroute_diag_init(&page->diag, sizeof page->diag);
    page->result = lbroute_ingest_metrics(router, page->target, page->text,
                                          page->length, 1, &page->diag);
    stats = api_target_stats(router, page->target, 1);
    CHECK_U(page->diag.accepted + page->diag.skipped + page->diag.broken,
            count_samples(page));
    CHECK(stats.load >= 0 && isfinite(stats.load));
    CHECK(stats.adapters <= LBROUTE_ADAPTERS_MAX);
    if (page->result == LBROUTE_OK)
        return;
    CHECK_I(page->result, LBROUTE_ERR_NO_NEWS);
    CHECK_I(stats.max_adapters, -1);
    CHECK_U(stats.adapters, 0);
    for (int i = 0; i < LBROUTE_GAUGE_COUNT; i++)
        CHECK_I(stats.gauge_age_ns[i], -1);
}

static void compare(lbroute_router *router, const struct page *a,
                    const struct page *b)
{
    lbroute_target_stats x = api_target_stats(router, a->target, 1);
    lbroute_target_stats y = api_target_stats(router, b->target, 1);

    CHECK_I(a->result, b->result);
    CHECK_U(a->diag.accepted, b->diag.accepted);
    CHECK_U(a->diag.skipped, b->diag.skipped);
    CHECK_I(a->diag.line, b->diag.line);
    for (int i = 0; i < LBROUTE_GAUGE_COUNT; i++) {
        CHECK_SAME(x.gauges[i], y.gauges[i]);
        CHECK_I(x.gauge_age_ns[i], y.gauge_age_ns[i]);
    }
    CHECK_U(x.adapters, y.adapters);
    CHECK_I(x.max_adapters, y.max_adapters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lbroute_router *router = api_router(1);
    lbroute_pool pool = api_pool(router, "pool", "lora_aware");
    struct page pages[2];

    for (int i = 0; i < 2; i++) {
        copy_page(&pages[i], data, size, i);
        pages[i].target = api_target(router, pool, i ? "crlf" : "lf", 1);
        feed(router, &pages[i]);
    }
    compare(router, &pages[0], &pages[1]);
    for (int i = 0; i < 2; i++)
        free(pages[i].text);
    lbroute_router_destroy(router);
    return 0;
}
