/* SPDX-License-Identifier: MIT */
#include "policy/chains.h"

#include "base/hash.h"
#include "policy/pick.h"
#include "policy/strategy.h"

/* Of longer prompts the head is looked for. */
#define MOST_KEYS ((size_t)65536)

uint64_t lbr_chains_wanted(const struct lbr_pool *pool)
{
    if (!lbr_strategy_asks_resident(pool->strategy, &pool->params))
        return 0;
    return pool->kv_sizes ? pool->kv_sizes
                          : lbr_kv_sizes_add(0, pool->params.blocks.tokens);
}

void lbr_chains_publish(struct lbroute_router *router,
                        const struct lbr_pool *pool)
{
    lbr_publish(lbr_router_kv_sizes(router, pool->slot.handle),
                lbr_chains_wanted(pool));
}

/* ---- rows ---- */

static void add_row(struct lbr_chains *chains, uint32_t block_size,
                    size_t total)
{
    struct lbr_chain *row = &chains->rows[chains->count++];

    row->block_size = block_size;
    row->total = row->count = total < MOST_KEYS ? (uint32_t)total : MOST_KEYS;
}

/* Which rows there are, and how long they would be. Returns the sum. */
static size_t plan(const lbroute_request *request, struct lbr_chains *chains)
{
    size_t sum = 0;
    unsigned i;

    chains->count = 0;
    if (request->blocks_len)
        add_row(chains, 0, request->blocks_len);
    for (i = 0; i < LBR_KV_SIZES && !request->blocks_len; i++) {
        uint32_t size = lbr_kv_size(chains->sizes, i);

        if (size && request->tokens_len)
            add_row(chains, size, request->tokens_len / size);
    }
    for (i = 0; i < chains->count; i++)
        sum += chains->rows[i].count;
    return sum;
}

/* Room for |sum| keys; for fewer without memory. */
static size_t find_room(struct lbroute_router *router, struct lbr_ask *ask,
                        size_t sum)
{
    struct lbr_chains *chains = &ask->chains;

    if (chains->scratch && chains->room < sum)
        lbr_chains_release(router, ask);
    if (sum > LBR_NEAR_KEYS && !chains->scratch) {
        lbr_router_enter(router);
        chains->scratch =
            lbr_scratch_take(&router->scratches, sum * sizeof *chains->scratch);
        (void)lbr_router_leave(router, 0);
        chains->room = sum;
    }
    return chains->scratch ? chains->room : LBR_NEAR_KEYS;
}

static void share_room(struct lbr_chains *chains, size_t room)
{
    uint64_t *keys = chains->scratch ? chains->scratch : chains->near;
    unsigned i;

    for (i = 0; i < chains->count; i++) {
        struct lbr_chain *row = &chains->rows[i];

        if (row->count > room)
            row->count = (uint32_t)room;
        row->keys = keys;
        keys += row->count;
        room -= row->count;
    }
}

/* ---- keys ---- */

/* A request's items, walked along with its blocks. */
struct items {
    const lbroute_request *request;
    size_t next;  /* the first that may overlap this block or a later one */
    size_t known; /* index + 1 of the one that was asked for last */
    uint64_t id;  /* of that */
};

/* What an item is called is read once, however many blocks it fills: of those
 * in a block the last alone goes on in the next one. */
static uint64_t id_of(struct items *items, size_t index)
{
    const lbroute_mm_item *item = &items->request->mm_items[index];

    if (items->known != index + 1)
        items->id = lbr_block_id(item->id, item->id_len);
    items->known = index + 1;
    return items->id;
}

static uint64_t end_of(const lbroute_mm_item *item)
{
    return item->begin + item->count;
}

/* The items that a block overlaps, folded. */
static uint64_t fold_items(struct items *items, uint64_t begin, uint64_t end)
{
    const lbroute_mm_item *list = items->request->mm_items;
    size_t count = items->request->mm_item_count;
    uint64_t extra = 0;
    size_t i;

    while (items->next < count && end_of(&list[items->next]) <= begin)
        items->next++;
    for (i = items->next; i < count && list[i].begin < end; i++)
        if (end_of(&list[i]) > begin)
            extra = lbr_block_fold_id(extra, id_of(items, i));
    return extra;
}

static uint64_t extra_of(struct items *items, uint32_t block,
                         uint32_t block_size)
{
    const lbroute_request *request = items->request;
    uint64_t begin = (uint64_t)block * block_size;
    uint64_t extra = 0;

    if (request->mm_item_count && block_size)
        extra = fold_items(items, begin, begin + block_size);
    if (!block && request->salt_len)
        extra = lbr_block_fold(extra, request->salt, request->salt_len);
    return extra;
}

static uint64_t hash_of(const lbroute_request *request, uint32_t block,
                        uint32_t block_size)
{
    if (!block_size)
        return request->blocks[block];
    return lbr_hash(request->tokens + (size_t)block * block_size,
                    block_size * sizeof *request->tokens);
}

static void fill(const lbroute_request *request, uint64_t key,
                 const struct lbr_chain *row)
{
    struct items items = {request, 0, 0, 0};
    uint32_t i;

    for (i = 0; i < row->count; i++) {
        uint64_t extra = extra_of(&items, i, row->block_size);
        uint64_t hash = hash_of(request, i, row->block_size);

        key = lbr_kv_key_after(key, lbr_block_content(hash, extra));
        row->keys[i] = key;
    }
}

void lbr_chains_make(struct lbroute_router *router, struct lbr_ask *ask)
{
    const lbroute_request *request = ask->request;
    struct lbr_chains *chains = &ask->chains;
    uint64_t root = lbr_block_root(router->kv_secret, request->adapter,
                                   request->adapter_len);
    size_t sum;
    unsigned i;

    chains->sizes = chains->wanted;
    sum = plan(request, chains);
    share_room(chains, find_room(router, ask, sum));
    for (i = 0; i < chains->count; i++)
        fill(request, root, &chains->rows[i]);
}

void lbr_chains_foresee(struct lbroute_router *router, struct lbr_ask *ask)
{
    if (!ask->request->pool ||
        !(ask->request->tokens_len | ask->request->blocks_len))
        return;
    ask->chains.wanted =
        lbr_published_value(lbr_router_kv_sizes(router, ask->request->pool));
    if (ask->chains.wanted)
        lbr_chains_make(router, ask);
}

void lbr_chains_release(struct lbroute_router *router, struct lbr_ask *ask)
{
    if (!ask->chains.scratch)
        return;
    lbr_router_enter(router);
    lbr_scratch_give(&router->scratches, ask->chains.scratch);
    (void)lbr_router_leave(router, 0);
    ask->chains.scratch = NULL;
}
