/* SPDX-License-Identifier: MIT */
/* What goes into a delta. Nothing is written twice to find out what fits: each
 * part counts for the most that it may take. */
#include "state/delta.h"

#define COUNT ((size_t)10) /* bytes of a number, at most */
#define SECTION (LBR_SECTION_HEADER + COUNT)

/* Header, and the sections that there may be one of. */
#define FRAME (LBR_ENVELOPE_HEADER + 4 * SECTION + 3 * 8)
#define COMPARISON (SECTION + 1 + 2 * COUNT)
#define LOAD (5 * COUNT)
#define PROMPT (4 * COUNT + 1 + 2 * 8)
#define SESSION (2 * COUNT + 8)

/* What is not more than that is never divided among more deltas. */
#define MOST_NEWS ((size_t)16 << 20)

enum { UNLISTED, LISTED };

static size_t bound_of_target(const struct lbr_target *target)
{
    return 1 + target->name.length + LOAD;
}

static void list(struct lbr_delta_content *content, struct lbr_target *target)
{
    if (target->slot.spare == LISTED)
        return;
    target->slot.spare = LISTED;
    content->targets[content->target_count++] = target;
    content->bound += bound_of_target(target);
}

static void list_loads(struct lbroute_router *router,
                       struct lbr_delta_content *content)
{
    struct lbr_target *target = NULL;

    while ((target = lbr_slab_next(&router->targets,
                                   target ? target->slot.handle : 0)) != NULL) {
        target->slot.spare = UNLISTED;
        if (lbr_delta_has_load(target))
            list(content, target);
    }
}

/* What an item adds, after |before|, the latest prompt so far or NULL. */
static size_t bound_of_item(const struct lbr_news_item *item,
                            const struct lbr_news_item *before,
                            const struct lbr_target *target)
{
    size_t bound = target->slot.spare == LISTED ? 0 : bound_of_target(target);

    if (item->kind == LBR_NEWS_SESSION)
        return bound + SESSION;
    bound += PROMPT + item->length;
    if (!before || !lbr_comparison_same(&before->comparison, &item->comparison))
        bound += COMPARISON;
    return bound;
}

static void add(struct lbr_delta_content *content,
                const struct lbr_news_item *item, struct lbr_target *target,
                size_t bound)
{
    union {
        const struct lbr_news_item *item;
        void *untyped;
    } as;

    content->bound += bound;
    if (target->slot.spare == UNLISTED)
        content->bound -= bound_of_target(target); /* which list() adds */
    list(content, target);
    as.item = item;
    content->items[content->item_count++] = as.untyped;
}

/* Takes news as long as they fit. Returns the bound of one that did not, 0 if
 * all do. */
static size_t take_news(struct lbroute_router *router, size_t capacity,
                        struct lbr_delta_content *content)
{
    const struct lbr_news *news = &router->sharing.news;
    const struct lbr_news_item *item = NULL;
    const struct lbr_news_item *prompt = NULL;
    size_t symbols = 0;

    while ((item = lbr_news_next(news, item)) != NULL) {
        struct lbr_target *target = lbr_router_target(router, item->target);
        size_t bound;

        if (target) {
            bound = bound_of_item(item, prompt, target);
            symbols += item->length;
            if (content->bound + bound > capacity ||
                symbols > LBR_DELTA_MOST_SYMBOLS)
                return bound;
            add(content, item, target, bound);
            prompt = item->kind == LBR_NEWS_PROMPT ? item : prompt;
        }
        content->collected++;
    }
    return 0;
}

static int take_room(struct lbroute_router *router,
                     struct lbr_delta_content *content)
{
    content->target_room = router->targets.live;
    content->item_room = router->sharing.news.count;
    if (content->target_room)
        content->targets = lbr_memory_new(&router->memory, content->target_room,
                                          sizeof *content->targets);
    if (content->item_room)
        content->items = lbr_memory_new(&router->memory, content->item_room,
                                        sizeof *content->items);
    return (content->targets || !content->target_room) &&
           (content->items || !content->item_room);
}

int lbr_delta_choose(struct lbroute_router *router, size_t capacity,
                     struct lbr_delta_content *content)
{
    size_t refused;
    int fits;

    memset(content, 0, sizeof *content);
    if (!take_room(router, content))
        return LBROUTE_ERR_NO_MEMORY;
    content->bound = FRAME;
    list_loads(router, content);
    fits = content->bound <= capacity;
    if (fits && capacity - content->bound > MOST_NEWS)
        capacity = content->bound + MOST_NEWS;
    refused = take_news(router, capacity, content);
    if (fits && (!refused || content->collected))
        return LBROUTE_OK;
    content->bound += refused;
    return LBROUTE_ERR_BUFFER;
}

void lbr_delta_content_free(struct lbroute_router *router,
                            struct lbr_delta_content *content)
{
    lbr_memory_free(&router->memory, content->targets, content->target_room,
                    sizeof *content->targets);
    lbr_memory_free(&router->memory, content->items, content->item_room,
                    sizeof *content->items);
}
