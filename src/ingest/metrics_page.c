/* SPDX-License-Identifier: MIT */
#include "ingest/metrics_page.h"

#include "ingest/figures.h"
#include "ingest/label.h"
#include "ingest/line.h"
#include "ingest/number.h"

#include <math.h>

/* ---- series ---- */

/* The figure that a label's value is; NaN if it is none. */
static double number_in(struct lbr_text text)
{
    const char *end = text.bytes + text.length;
    double value;

    if (lbr_number_read(text.bytes, end, &value) != end)
        return (double)NAN;
    return value;
}

/* What a series says to a row. Returns 0 when it is none of the row's. */
static int read_row(const struct lbr_metric *metric,
                    const struct lbr_sample *sample, double *value)
{
    struct lbr_text label;

    *value = sample->value;
    if (!metric->label)
        return 1;
    if (!lbr_label_find(sample->labels, sample->labels_end, metric->label,
                        &label))
        return 0;
    if (metric->only)
        return lbr_text_equal(label,
                              lbr_text(metric->only, strlen(metric->only)));
    *value = number_in(label);
    return 1;
}

static void add_series(struct lbr_metrics_page *page, unsigned row,
                       uint64_t labels, double value)
{
    static const int reasons[] = {[LBR_SERIES_ADDED] = 0,
                                  [LBR_SERIES_REPEATED] = LBROUTE_DIAG_REPEATED,
                                  [LBR_SERIES_FULL] = LBROUTE_DIAG_LIMIT};
    enum lbr_series_result result;
    int reason = 0;

    value = lbr_figure_clean(lbr_metrics[row].tells, value, &reason);
    result = lbr_series_add(&page->series, row, labels, value);
    if (reason)
        page->diag.reasons[reason]++;
    if (reasons[result])
        page->diag.reasons[reasons[result]]++;
}

/* ---- adapters ---- */

static size_t labels_length(const struct lbr_sample *sample)
{
    return (size_t)(sample->labels_end - sample->labels);
}

/* Whether |sample| is the one to be believed: the later one; of two at the same
 * time it only matters that it is the same one in any order of lines. */
static int is_newer(const struct lbr_sample *sample,
                    const struct lbr_sample *than)
{
    if (sample->value != than->value)
        return sample->value > than->value;
    return lbr_text_compare(lbr_text(sample->labels, labels_length(sample)),
                            lbr_text(than->labels, labels_length(than))) > 0;
}

static void see_adapters(struct lbr_metrics_page *page,
                         const struct lbr_sample *sample)
{
    if (isnan(sample->value) || isinf(sample->value)) {
        page->diag.reasons[LBROUTE_DIAG_NOT_FINITE]++;
        return;
    }
    if (page->adapters_seen && !is_newer(sample, &page->adapters))
        return;
    page->adapters = *sample;
    page->adapters_seen = 1;
}

/* ---- lines ---- */

/* Returns whether any row has a use for the series. */
static int use_sample(struct lbr_metrics_page *page,
                      const struct lbr_sample *sample, unsigned row)
{
    uint64_t labels;
    double value;
    int used = 0;

    if (lbr_metrics[row].tells == LBR_TELLS_ADAPTERS) {
        see_adapters(page, sample);
        return 1;
    }
    labels = lbr_label_set_hash(sample->labels, sample->labels_end);
    do {
        if (read_row(&lbr_metrics[row], sample, &value)) {
            add_series(page, row, labels, value);
            used = 1;
        }
        row++;
    } while (lbr_metric_goes_on(row));
    return used;
}

static void note_broken(struct lbr_metrics_page *page, int reason,
                        const struct lbr_line *line, int64_t number)
{
    page->diag.reasons[reason]++;
    if (page->diag.broken++)
        return;
    page->diag.offset = (int64_t)line->offset;
    page->diag.line = number;
}

/* Returns the reason why the line is broken, or 0. */
static int read_line(struct lbr_metrics_page *page, const char *at,
                     const char *end)
{
    const char *last_name = page->sample.name.bytes;
    int reason = lbr_sample_read(at, end, &page->sample);

    if (page->sample.name.bytes != last_name)
        page->row = lbr_metric_find(page->sample.name);
    if (reason)
        return reason;
    if (page->row < LBR_METRICS && use_sample(page, &page->sample, page->row))
        page->diag.accepted++;
    else
        page->diag.skipped++;
    return 0;
}

static void init(struct lbr_metrics_page *page)
{
    lbr_series_init(&page->series);
    page->adapters_seen = 0;
    page->row = LBR_METRICS;
    page->sample.name = lbr_text(NULL, 0);
    page->sample.plain = 0;
    lbroute_diag_init(&page->diag, sizeof page->diag);
}

void lbr_metrics_page_read(struct lbr_metrics_page *page, const char *text,
                           size_t length)
{
    struct lbr_lines lines;
    struct lbr_line line;

    init(page);
    lbr_lines_init(&lines, text, length);
    while (lbr_line_next(&lines, &line)) {
        int reason = read_line(page, line.at, line.end);

        if (reason)
            note_broken(page, reason, &line, lines.number);
    }
}
