/* SPDX-License-Identifier: MIT */
/* Pools, prices and pins. */
#include "containers/sort.h"
#include "state/registry.h"
#include "state/snapshot.h"

/* Bytes of an entry, at least. */
#define LEAST_POOL 3
#define LEAST_PRICE 6
#define LEAST_SESSION 10

/* ---- pools ---- */

static int pool_before(const void *a, const void *b)
{
    const struct lbr_pool *first = a;
    const struct lbr_pool *second = b;

    return lbr_text_compare(first->name, second->name) < 0;
}

static void put_pool(struct lbr_writer *writer, const void *object)
{
    const struct lbr_pool *pool = object;

    lbr_put_text(writer, pool->name.bytes, pool->name.length);
    lbr_put_times(writer, lbr_pool_picks(pool));
}

/* Writes all objects of a table, in order. */
static void put_sorted(struct lbr_saving *saving, const struct lbr_slab *slab,
                       lbr_comes_before *before,
                       void (*put)(struct lbr_writer *writer,
                                   const void *object))
{
    struct lbr_memory *memory = &saving->router->memory;
    struct lbr_slot *object = NULL;
    void **objects;
    uint32_t i = 0;

    lbr_put_count(saving->writer, slab->live);
    if (!slab->live)
        return;
    objects = lbr_memory_new(memory, slab->live, sizeof *objects);
    saving->failed |= !objects;
    if (!objects)
        return;
    while ((object = lbr_slab_next(slab, object ? object->handle : 0)) != NULL)
        objects[i++] = object;
    lbr_sort(objects, slab->live, before);
    for (i = 0; i < slab->live; i++)
        put(saving->writer, objects[i]);
    lbr_memory_free(memory, objects, slab->live, sizeof *objects);
}

void lbr_save_pools(struct lbr_saving *saving)
{
    lbr_section_begin(saving, LBR_SECTION_POOLS);
    put_sorted(saving, &saving->router->pools, pool_before, put_pool);
    lbr_section_end(saving);
}

/* Those that picked already go on with what they have. */
static void set_pool(const struct lbr_loading *loading, struct lbr_text name,
                     uint64_t picks)
{
    struct lbr_pool *pool = lbr_pool_named(loading->router, name);

    if (pool && !pool->picks)
        pool->earlier_picks = picks;
}

void lbr_load_pools(struct lbr_loading *loading, struct lbr_reader *reader)
{
    uint64_t count = lbr_get_number(reader, LEAST_POOL);

    while (count-- && !reader->broken) {
        struct lbr_text name;
        uint64_t picks;

        name.bytes = lbr_get_text(reader, &name.length);
        picks = lbr_get_times(reader);
        lbr_demand(reader, lbr_text_is_name(name, 0));
        if (loading->stage == LBR_LOAD_SET && !reader->broken)
            set_pool(loading, name, picks);
    }
}

/* ---- prices ---- */

static int key_before(const void *a, const void *b)
{
    const struct lbr_price *first = a;
    const struct lbr_price *second = b;

    return lbr_text_compare(first->key, second->key) < 0;
}

static void put_price(struct lbr_writer *writer, const void *object)
{
    lbr_price_save(object, writer);
}

void lbr_save_prices(struct lbr_saving *saving)
{
    lbr_section_begin(saving, LBR_SECTION_PRICES);
    put_sorted(saving, &saving->router->prices.slab, key_before, put_price);
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
