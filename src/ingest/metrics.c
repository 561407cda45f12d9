/* SPDX-License-Identifier: MIT */
#include "base/abi.h"
#include "ingest/adapter_list.h"
#include "ingest/figures.h"
#include "ingest/label.h"
#include "ingest/metrics_page.h"
#include "ingest/number.h"

void lbroute_diag_init(lbroute_diag *diag, size_t size)
{
    lbroute_diag defaults = {0};

    defaults.offset = defaults.line = -1;
    lbr_abi_init(diag, size, &defaults, sizeof defaults);
}

/* Slots as the engine prints them; -1: it does not. */
static int32_t read_slots(const struct lbr_sample *sample)
{
    struct lbr_text label;
    double value;

    if (!lbr_label_find(sample->labels, sample->labels_end, "max_lora", &label))
        return -1;
    if (!lbr_number_read(label.bytes, label.bytes + label.length, &value) ||
        !(value >= 0 && value <= INT32_MAX))
        return -1;
    return (int32_t)value;
}

/* Those at work come last: they were used most recently, and of the waiting
 * ones some may not be loaded yet. */
static void list_adapters(const struct lbr_sample *sample,
                          struct lbr_adapter_list *list)
{
    static const char *const labels[] = {"waiting_lora_adapters",
                                         "running_lora_adapters"};
    struct lbr_text value;
    size_t i;

    lbr_adapter_list_init(list);
    for (i = 0; i < 2; i++)
        if (lbr_label_find(sample->labels, sample->labels_end, labels[i],
                           &value))
            lbr_adapter_list_add(list, value);
}

static int report_adapters(lbroute_router *router, lbroute_target target,
                           struct lbr_metrics_page *page, uint64_t now)
{
    struct lbr_adapter_list list;

    if (!page->adapters_seen)
        return LBROUTE_OK;
    list_adapters(&page->adapters, &list);
    page->diag.reasons[LBROUTE_DIAG_LIMIT] += list.dropped;
    return lbroute_note_adapters(router, target, list.names, list.lengths,
                                 list.count, read_slots(&page->adapters), now);
}

/* Adapters first: they alone may need memory, and then nothing has changed. */
static int report(lbroute_router *router, lbroute_target target,
                  struct lbr_metrics_page *page, uint64_t now)
{
    struct lbr_figures figures;
    int result;

    lbr_figures_resolve(&page->series, &figures);
    if (!figures.given && !page->adapters_seen)
        return LBROUTE_ERR_NO_NEWS;
    result = report_adapters(router, target, page, now);
    if (result || !figures.given)
        return result;
    return lbroute_set_gauges(router, target, figures.values,
                              LBROUTE_GAUGE_COUNT, figures.given, now);
}

/* Whether there is such a target, without reading much of it. */
static int find_target(lbroute_router *router, lbroute_target target)
{
    lbroute_target_info info;

    lbroute_target_info_init(&info, offsetof(lbroute_target_info, weight));
    return lbroute_target_get_info(router, target, &info);
}

int lbroute_ingest_metrics(lbroute_router *router, lbroute_target target,
                           const void *text, size_t len, uint64_t now,
                           lbroute_diag *diag)
{
    struct lbr_metrics_page page;
    int result;

    if (!router || lbr_text_broken(text, len) || (diag && !lbr_abi_valid(diag)))
        return LBROUTE_ERR_INVALID;
    result = find_target(router, target);
    if (result)
        return result;
    lbr_metrics_page_read(&page, len ? text : "", len);
    result = report(router, target, &page, now);
    if (diag)
        (void)lbr_abi_write(diag, &page.diag, sizeof page.diag);
    return result;
}
