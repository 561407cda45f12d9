/* SPDX-License-Identifier: MIT */
#include "state/news.h"

#include <string.h>

/* Longest prompt that is told, bytes; and which part of the ring it may take.
 */
#define LONGEST ((size_t)1 << 20)
#define PART 4

/* Records are aligned to this. */
#define STEP ((size_t)8)

int lbr_news_init(struct lbr_news *news, struct lbr_memory *memory,
                  size_t capacity)
{
    memset(news, 0, sizeof *news);
    if (!capacity)
        return 1;
    news->bytes = lbr_memory_new(memory, capacity, 1);
    news->capacity = capacity;
    return news->bytes != NULL;
}

void lbr_news_destroy(struct lbr_news *news, struct lbr_memory *memory)
{
    lbr_memory_free(memory, news->bytes, news->capacity, 1);
}

static const struct lbr_news_item *item_at(const struct lbr_news *news,
                                           size_t at)
{
    return (const struct lbr_news_item *)(const void *)(news->bytes + at);
}

/* Takes the oldest out. */
static void forget(struct lbr_news *news)
{
    news->begin += item_at(news, news->begin)->size;
    news->count--;
    if (news->wrapped && news->begin == news->wrap) {
        news->begin = 0;
        news->wrapped = 0;
    }
    if (!news->count)
        news->begin = news->end = 0;
}

/* Bytes in a row behind the newest. */
static size_t room(const struct lbr_news *news)
{
    return (news->wrapped ? news->begin : news->capacity) - news->end;
}

/* Makes room for |size| bytes in a row, which is less than there are. */
static void make_room(struct lbr_news *news, size_t size)
{
    while (room(news) < size) {
        if (news->wrapped || !news->count) {
            forget(news);
            news->dropped++;
            continue;
        }
        news->wrap = news->end;
        news->end = 0;
        news->wrapped = 1;
    }
}

static size_t cut(const struct lbr_news *news, size_t length)
{
    size_t most = news->capacity / PART - sizeof(struct lbr_news_item);

    if (most > LONGEST)
        most = LONGEST;
    return length <= most ? length : most - most % STEP;
}

void lbr_news_add(struct lbr_news *news, const struct lbr_news_item *head,
                  const void *symbols, size_t length)
{
    size_t told = cut(news, length);
    size_t size = sizeof *head + (told + STEP - 1) / STEP * STEP;
    struct lbr_news_item *item;

    make_room(news, size);
    item = (struct lbr_news_item *)(void *)(news->bytes + news->end);
    *item = *head;
    item->size = (uint32_t)size;
    item->length = (uint32_t)told;
    if (told)
        memcpy(item + 1, symbols, told);
    news->end += size;
    news->count++;
}

const struct lbr_news_item *lbr_news_next(const struct lbr_news *news,
                                          const struct lbr_news_item *item)
{
    size_t at = news->begin;

    if (!news->count)
        return NULL;
    if (item) {
        at = (size_t)((const unsigned char *)item - news->bytes) + item->size;
        if (at == news->end)
            return NULL;
        if (news->wrapped && at == news->wrap)
            at = 0;
    }
    return item_at(news, at);
}

void lbr_news_collected(struct lbr_news *news, uint32_t count)
{
    while (count--)
        forget(news);
}
