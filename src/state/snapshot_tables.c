/* SPDX-License-Identifier: MIT */
/* Prices and pins. */
#include "containers/sort.h"
#include "state/snapshot.h"

/* Bytes of an entry, at least. */
#define LEAST_PRICE 6
#define LEAST_SESSION 10

/* ---- prices ---- */

static int key_before(const void *a, const void *b)
{
    const struct lbr_price *first = a;
    const struct lbr_price *second = b;

    return lbr_text_compare(first->key, second->key) < 0;
}

static void put_prices(struct lbr_saving *saving, struct lbr_price **prices)
{
    struct lbr_slab *slab = &saving->router->prices.slab;
    struct lbr_price *price = NULL;
    uint32_t i = 0;

    while ((price = lbr_slab_next(slab, price ? price->slot.handle : 0)) !=
           NULL)
        prices[i++] = price;
    lbr_sort((void **)prices, slab->live, key_before);
    for (i = 0; i < slab->live; i++)
        lbr_price_save(prices[i], saving->writer);
}

void lbr_save_prices(struct lbr_saving *saving)
{
    struct lbr_memory *memory = &saving->router->memory;
    uint32_t count = saving->router->prices.slab.live;
    struct lbr_price **prices;

    lbr_section_begin(saving, LBR_SECTION_PRICES);
    lbr_put_count(saving->writer, count);
    prices = count ? lbr_memory_new(memory, count, sizeof *prices) : NULL;
    if (prices)
        put_prices(saving, prices);
    saving->failed |= count && !prices;
    lbr_memory_free(memory, prices, count, sizeof *prices);
    lbr_section_end(saving);
}

/* A price that the host has set by now holds. */
static void take_price(const struct lbr_loading *loading, struct lbr_text key,
                       const lbroute_price *value)
{
    struct lbr_price_catalog *catalog = &loading->router->prices;
    struct lbr_price *price;

    if (lbr_prices_find(catalog, key) ||
        lbr_prices_add(catalog, key, &price) != LBROUTE_OK) {
        loading->result->prices_skipped++;
        return;
    }
    price->value = *value;
    price->slot.spare = 1;
    loading->result->prices++;
}

void lbr_load_prices(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_PRICE);

    while (count-- && !reader->broken) {
        lbroute_price value;
        struct lbr_text key;

        lbr_price_load(&key, &value, reader);
        if (loading->stage == LBR_LOAD_TAKE && !reader->broken)
            take_price(loading, key, &value);
    }
}

void lbr_conclude_prices(struct lbr_loading *loading, int kept)
{
    struct lbr_price_catalog *catalog = &loading->router->prices;
    struct lbr_price *price = NULL;
    uint64_t handle = 0;

    while ((price = lbr_slab_next(&catalog->slab, handle)) != NULL) {
        int restored = price->slot.spare != 0;

        handle = price->slot.handle;
        price->slot.spare = 0;
        if (restored && !kept)
            lbr_prices_remove(catalog, price);
    }
}

/* ---- pins ---- */

/* Latest first: when there is no room for all, the oldest are left out. */
void lbr_save_sessions(struct lbr_saving *saving)
{
    const struct lbr_sessions *sessions = &saving->router->sessions;
    const struct lbr_link *link;

    lbr_section_begin(saving, LBR_SECTION_SESSIONS);
    lbr_put_count(saving->writer, sessions->slab.live);
    for (link = sessions->used.previous; link != &sessions->used;
         link = link->previous) {
        const struct lbr_session *session =
            LBR_OWNER(link, const struct lbr_session, used);
        const struct lbr_target *target =
            lbr_router_target(saving->router, session->target);

        lbr_put_u64(saving->writer, session->key);
        lbr_put_count(saving->writer, target->slot.spare);
        lbr_put_age(saving->writer, session->used_at);
    }
    lbr_section_end(saving);
}

static void take_session(const struct lbr_loading *loading, uint64_t key,
                         uint32_t number, uint64_t used_at)
{
    struct lbr_target *target = lbr_load_target(loading, number).target;

    if (loading->same_key && target &&
        !lbr_sessions_restore(&loading->router->sessions, key,
                              target->slot.handle, &target->sessions, used_at))
        loading->result->sessions++;
    else
        loading->result->sessions_skipped++;
}

void lbr_load_sessions(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_SESSION);

    while (count-- && !reader->broken) {
        uint64_t key = lbr_get_u64(reader);
        uint32_t number = lbr_get_target(loading, reader);
        uint64_t used_at = lbr_get_age(reader);

        if (loading->stage == LBR_LOAD_TAKE && !reader->broken)
            take_session(loading, key, number, used_at);
    }
}
