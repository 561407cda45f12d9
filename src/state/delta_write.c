/* SPDX-License-Identifier: MIT */
#include "containers/sort.h"
#include "state/delta.h"
#include "state/target_list.h"

/* ---- order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_symbols(const struct lbr_news_item *a,
                           const struct lbr_news_item *b)
{
    uint32_t shorter = a->length < b->length ? a->length : b->length;
    int order =
        shorter ? memcmp(lbr_news_symbols(a), lbr_news_symbols(b), shorter) : 0;

    return order ? order : compare(a->length, b->length);
}

static int compare_items(const struct lbr_news_item *a,
                         const struct lbr_news_item *b)
{
    int order = compare(a->kind, b->kind);

    order = order ? order : compare(a->comparison.kind, b->comparison.kind);
    order = order
                ? order
                : compare(a->comparison.block_bytes, b->comparison.block_bytes);
    order =
        order ? order
              : compare(a->comparison.block_tokens, b->comparison.block_tokens);
    order = order ? order : compare(a->key, b->key);
    order = order ? order : compare_symbols(a, b);
    order = order ? order : compare(a->target, b->target);
    return order ? order : compare(a->client, b->client);
}

/* Prompts that begin alike stand together; so do the pins of a session, the
 * latest last. */
static int item_before(const void *a, const void *b)
{
    const struct lbr_news_item *first = a;
    const struct lbr_news_item *second = b;
    int order;

    if (first->kind == LBR_NEWS_SESSION && second->kind == LBR_NEWS_SESSION) {
        order = compare(first->key, second->key);
        return (order ? order : compare(first->at, second->at)) < 0;
    }
    return compare_items(first, second) < 0;
}

static void arrange(const struct lbr_delta_content *content)
{
    lbr_target_list_arrange(content->targets, content->target_count);
    if (content->item_count)
        lbr_sort(content->items, content->item_count, item_before);
}

/* ---- sections ---- */

static void write_origin(const struct lbroute_router *router,
                         struct lbr_writer *writer)
{
    size_t at = lbr_section_open(writer, LBR_DELTA_ORIGIN);

    lbr_put_u64(writer, router->sharing.origin);
    lbr_put_u64(writer, router->sharing.exported);
    lbr_put_u64(writer, lbr_router_key_check(router));
    lbr_section_close(writer, at);
}

static void write_targets(struct lbr_writer *writer,
                          const struct lbr_delta_content *content)
{
    size_t at = lbr_section_open(writer, LBR_DELTA_TARGETS);

    lbr_target_list_put(writer, content->targets, content->target_count);
    lbr_section_close(writer, at);
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

static void write_load(struct lbr_writer *writer,
                       const struct lbr_target *target)
{
    lbr_put_count(writer, target->slot.spare);
    lbr_put_count(writer, target->in_flight);
    lbr_put_count(writer, target->latency.waiting_count);
    lbr_put_count(
        writer, at_most(target->latency.waiting_tokens, LBR_DELTA_MOST_TOKENS));
    lbr_put_count(writer, target->by_pool.turn.served);
}

static void write_loads(struct lbr_writer *writer,
                        const struct lbr_delta_content *content)
{
    size_t at = lbr_section_open(writer, LBR_DELTA_LOADS);
    uint32_t loaded = 0;
    uint32_t i;

    for (i = 0; i < content->target_count; i++) {
        const struct lbr_target *target = content->targets[i];

        loaded += (uint32_t)lbr_delta_has_load(target);
    }
    lbr_put_count(writer, loaded);
    for (i = 0; i < content->target_count; i++) {
        const struct lbr_target *target = content->targets[i];

        if (lbr_delta_has_load(target))
            write_load(writer, target);
    }
    lbr_section_close(writer, at);
}

/* ---- prompts ---- */

static uint32_t in_common(const struct lbr_news_item *before,
                          const struct lbr_news_item *item, uint32_t unit)
{
    const unsigned char *a = lbr_news_symbols(before);
    const unsigned char *b = lbr_news_symbols(item);
    uint32_t most =
        before->length < item->length ? before->length : item->length;
    uint32_t same = 0;

    while (same < most && a[same] == b[same])
        same++;
    return same - same % unit;
}

/* |before|: the previous one of the section, or NULL. */
static void write_prompt(struct lbroute_router *router,
                         struct lbr_writer *writer,
                         const struct lbr_news_item *before,
                         const struct lbr_news_item *item)
{
    const struct lbr_target *target = lbr_router_target(router, item->target);
    uint32_t unit = lbr_delta_unit(&item->comparison);
    unsigned marks =
        (!before || before->key != item->key ? LBR_DELTA_ROOT : 0U) |
        (!before || before->client != item->client ? LBR_DELTA_CLIENT : 0U);
    uint32_t same = before ? in_common(before, item, unit) : 0;

    lbr_put_count(writer, target->slot.spare);
    lbr_put_u8(writer, (uint8_t)marks);
    if (marks & LBR_DELTA_ROOT)
        lbr_put_u64(writer, item->key);
    if (marks & LBR_DELTA_CLIENT)
        lbr_put_u64(writer, item->client);
    lbr_put_count(writer, same);
    lbr_put_count(writer, item->length - same);
    lbr_put_units(writer, lbr_news_symbols(item) + same, item->length - same,
                  unit);
}

static const struct lbr_news_item *item_of(
    const struct lbr_delta_content *content, uint32_t i)
{
    return i < content->item_count ? content->items[i] : NULL;
}

/* The end of those from |begin| that a section is of. */
static uint32_t end_of_section(const struct lbr_delta_content *content,
                               uint32_t begin)
{
    const struct lbr_news_item *first = item_of(content, begin);
    uint32_t end = begin + 1;

    while (item_of(content, end) &&
           item_of(content, end)->kind == first->kind &&
           lbr_comparison_same(&item_of(content, end)->comparison,
                               &first->comparison))
        end++;
    return end;
}

/* An item that says the same as the next one, and no more, is left out. */
static int is_repeated(const struct lbr_delta_content *content, uint32_t i,
                       uint32_t end)
{
    const struct lbr_news_item *item = item_of(content, i);
    const struct lbr_news_item *next =
        i + 1 < end ? item_of(content, i + 1) : NULL;

    if (!next)
        return 0;
    return item->kind == LBR_NEWS_SESSION ? item->key == next->key
                                          : !compare_items(item, next);
}

static uint32_t count_distinct(const struct lbr_delta_content *content,
                               uint32_t begin, uint32_t end)
{
    uint32_t count = 0;
    uint32_t i;

    for (i = begin; i < end; i++)
        count += !is_repeated(content, i, end);
    return count;
}

static void write_prompts(struct lbroute_router *router,
                          struct lbr_writer *writer,
                          const struct lbr_delta_content *content,
                          uint32_t begin, uint32_t end)
{
    size_t at = lbr_section_open(writer, LBR_DELTA_PROMPTS);
    const struct lbr_news_item *before = NULL;
    uint32_t i;

    lbr_put_comparison(writer, &item_of(content, begin)->comparison);
    lbr_put_count(writer, count_distinct(content, begin, end));
    for (i = begin; i < end; i++) {
        if (is_repeated(content, i, end))
            continue;
        write_prompt(router, writer, before, item_of(content, i));
        before = item_of(content, i);
    }
    lbr_section_close(writer, at);
}

/* ---- sessions ---- */

static void write_sessions(struct lbroute_router *router,
                           struct lbr_writer *writer,
                           const struct lbr_delta_content *content,
                           uint32_t begin, uint32_t end)
{
    size_t at = lbr_section_open(writer, LBR_DELTA_SESSIONS);
    uint32_t i;

    lbr_put_count(writer, count_distinct(content, begin, end));
    for (i = begin; i < end; i++) {
        const struct lbr_news_item *item = item_of(content, i);
        const struct lbr_target *target =
            lbr_router_target(router, item->target);

        if (is_repeated(content, i, end))
            continue;
        lbr_put_u64(writer, item->key);
        lbr_put_count(writer, target->slot.spare);
        lbr_put_age(writer, item->at);
    }
    lbr_section_close(writer, at);
}

/* ---- the whole ---- */

static void write_news(struct lbroute_router *router, struct lbr_writer *writer,
                       const struct lbr_delta_content *content)
{
    uint32_t begin = 0;

    while (begin < content->item_count) {
        uint32_t end = end_of_section(content, begin);

        if (item_of(content, begin)->kind == LBR_NEWS_SESSION)
            write_sessions(router, writer, content, begin, end);
        else
            write_prompts(router, writer, content, begin, end);
        begin = end;
    }
}

static const unsigned char magic[LBR_MAGIC_LENGTH] = LBR_DELTA_MAGIC;

void lbr_delta_write(struct lbroute_router *router, struct lbr_writer *writer,
                     const struct lbr_delta_content *content)
{
    arrange(content);
    lbr_envelope_begin(writer, magic);
    write_origin(router, writer);
    write_targets(writer, content);
    write_loads(writer, content);
    write_news(router, writer, content);
    lbr_envelope_end(writer);
}
