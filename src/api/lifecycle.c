/* SPDX-License-Identifier: MIT */
#include "state/router.h"

#include "base/abi.h"
#include "base/hash.h"

#define MOST_POOLS 65536U
#define MOST_TARGETS 1048576U
#define MOST_RECORDS 16777215U /* tickets, sessions */
#define MOST_SCORERS 1024U
#define MOST_PRICES 1048576U
#define MOST_KV_SOURCES 65535U
#define MOST_WAITING 8388607U
#define MOST_PEERS 1024U
#define LEAST_DELTA_BYTES 4096U
#define MOST_DELTA_BYTES (UINT64_C(1) << 30)

enum { KIND_POOL = 1, KIND_TARGET = 2, KIND_MODEL = 5 };
enum { POOL_CHUNK_BITS = 3, TARGET_CHUNK_BITS = 4, MODEL_CHUNK_BITS = 3 };

static const char default_prefix[] = "X-Lbroute-";

static void set_defaults(lbroute_router_options *options)
{
    memset(options, 0, sizeof *options);
    options->ticket_ttl = UINT64_C(600000000000);
    options->max_pools = 1024;
    options->max_targets = 16384;
    options->max_tickets = 1048576;
    options->max_sessions = 65536;
    options->header_prefix = default_prefix;
    options->header_prefix_len = sizeof default_prefix - 1;
    options->max_scorers = 64;
    options->max_prices = 16384;
    options->max_kv_blocks = 1048576;
    options->max_kv_sources = 4096;
    options->max_waiting = 65536;
    options->max_waiting_bytes = 67108864;
    options->peer_ttl = UINT64_C(5000000000);
    options->max_peers = 64;
}

void lbroute_router_options_init(lbroute_router_options *options, size_t size)
{
    lbroute_router_options defaults;

    set_defaults(&defaults);
    lbr_abi_init(options, size, &defaults, sizeof defaults);
}

static int outside(uint32_t value, uint32_t most)
{
    return value < 1 || value > most;
}

static int suits_deltas(uint64_t bytes)
{
    return !bytes || (bytes >= LEAST_DELTA_BYTES && bytes <= MOST_DELTA_BYTES);
}

static int check_options(const lbroute_router_options *options)
{
    const lbroute_allocator *allocator = &options->allocator;

    if (!allocator->allocate != !allocator->release)
        return LBROUTE_ERR_INVALID;
    if (options->single_threaded < 0 || options->single_threaded > 1 ||
        options->reserved0 || options->reserved1 || options->reserved2 ||
        options->reserved3 || options->reserved4)
        return LBROUTE_ERR_INVALID;
    if (outside(options->max_pools, MOST_POOLS) ||
        outside(options->max_targets, MOST_TARGETS) ||
        outside(options->max_tickets, MOST_RECORDS) ||
        outside(options->max_sessions, MOST_RECORDS) ||
        outside(options->max_scorers, MOST_SCORERS) ||
        outside(options->max_prices, MOST_PRICES) ||
        outside(options->max_kv_blocks, MOST_RECORDS) ||
        outside(options->max_kv_sources, MOST_KV_SOURCES) ||
        outside(options->max_waiting, MOST_WAITING) ||
        outside(options->max_peers, MOST_PEERS) || !options->ticket_ttl ||
        !options->peer_ttl || !suits_deltas(options->max_delta_bytes))
        return LBROUTE_ERR_RANGE;
    if (lbr_text_broken(options->header_prefix, options->header_prefix_len))
        return LBROUTE_ERR_INVALID;
    if (!lbr_text_is_token(
            lbr_text(options->header_prefix, options->header_prefix_len)))
        return LBROUTE_ERR_NAME;
    return LBROUTE_OK;
}

static int read_options(lbroute_router_options *options,
                        const lbroute_router_options *in)
{
    int result;

    set_defaults(options);
    result = lbr_abi_read(options, sizeof *options, in);
    return result ? result : check_options(options);
}

int lbroute_router_estimate(const lbroute_router_options *in, size_t *bytes)
{
    lbroute_router_options options;
    int result = read_options(&options, in);
    size_t targets;

    if (result)
        return result;
    if (!bytes)
        return LBROUTE_ERR_INVALID;
    targets = options.max_targets;
    *bytes =
        sizeof(struct lbroute_router) +
        lbr_slab_estimate(sizeof(struct lbr_pool), POOL_CHUNK_BITS,
                          options.max_pools) +
        lbr_slab_estimate(sizeof(struct lbr_target), TARGET_CHUNK_BITS,
                          options.max_targets) +
        lbr_slab_estimate(sizeof(struct lbr_model), MODEL_CHUNK_BITS,
                          options.max_targets + 1) +
        lbr_map_estimate(options.max_pools) +
        2 * lbr_map_estimate(options.max_targets + 1) +
        LBR_TEXT_LONGEST * ((size_t)options.max_pools + 5 * targets + 1) +
        lbr_adapters_estimate() * targets + lbr_groups_estimate(targets) +
        lbr_tickets_estimate(options.max_tickets) +
        lbr_sessions_estimate(options.max_sessions) +
        lbr_stages_estimate(options.max_scorers) +
        lbr_prices_estimate(options.max_prices) +
        lbr_kv_store_estimate(options.max_kv_blocks, options.max_kv_sources) +
        lbr_kv_guesses_estimate(options.max_kv_blocks) +
        (size_t)options.max_delta_bytes +
        lbr_peers_estimate(options.max_peers, targets) +
        lbr_waiting_estimate(options.max_waiting, options.max_waiting_bytes,
                             2 * targets);
    return LBROUTE_OK;
}

/* Session and client digests must differ for equal bytes, and from all that the
 * router keeps for itself: they are shown. Keys of blocks begin alike in
 * routers of the same key, which a snapshot may go between. */
static void set_keys(struct lbroute_router *router,
                     const lbroute_router_options *options)
{
    struct lbr_digest_key key = lbr_digest_key(options->digest_key);

    if (!key.k0 && !key.k1) {
        key.k0 = lbr_hash_pair(options->seed, 1);
        key.k1 = lbr_hash_pair(options->seed, 2);
    }
    router->own_key = key;
    router->own_key.k1 ^= UINT64_C(0x726f75746572); /* "router" */
    router->kv_secret = lbr_digest(router->own_key, "blocks", 6);
    router->table_secret = lbr_digest(router->own_key, "tables", 6);
    router->session_key = key;
    router->client_key = key;
    router->client_key.k1 ^= UINT64_C(0x636c69656e74); /* "client" */
}

static void set_tables(struct lbroute_router *router,
                       const lbroute_router_options *options)
{
    struct lbr_memory *memory = &router->memory;

    lbr_slab_init(&router->pools, memory, KIND_POOL, sizeof(struct lbr_pool),
                  POOL_CHUNK_BITS, options->max_pools);
    lbr_slab_init(&router->targets, memory, KIND_TARGET,
                  sizeof(struct lbr_target), TARGET_CHUNK_BITS,
                  options->max_targets);
    /* A target that changes models needs the new one before it leaves. */
    lbr_slab_init(&router->models, memory, KIND_MODEL, sizeof(struct lbr_model),
                  MODEL_CHUNK_BITS, options->max_targets + 1);
    lbr_map_init(&router->pool_names, memory);
    lbr_map_init(&router->target_names, memory);
    lbr_map_init(&router->model_names, memory);
    lbr_params_init(&router->loose.params);
    lbr_waiting_init(&router->waiting, memory, &router->pools, &router->alarm,
                     options->max_waiting, options->max_waiting_bytes);
    lbr_tickets_init(&router->tickets, memory, options->max_tickets,
                     options->ticket_ttl);
    lbr_sessions_init(&router->sessions, memory, options->max_sessions);
    lbr_scratches_init(&router->scratches, memory);
    lbr_stages_init(&router->stages, memory, options->max_scorers);
    lbr_prices_init(&router->prices, memory, options->max_prices,
                    router->table_secret);
    lbr_kv_store_init(&router->kv, memory, options->max_kv_blocks,
                      options->max_kv_sources, router->table_secret);
    lbr_kv_guesses_init(&router->guesses, memory, options->max_kv_blocks);
    lbr_peers_init(&router->sharing.peers, memory, options->max_peers,
                   options->peer_ttl);
}

static int begin_sharing(struct lbroute_router *router,
                         const lbroute_router_options *options)
{
    struct lbr_sharing *sharing = &router->sharing;

    sharing->origin =
        options->origin ? options->origin : lbr_hash_pair(options->seed, 4);
    return lbr_news_init(&sharing->news, &router->memory,
                         (size_t)options->max_delta_bytes);
}

int lbroute_router_create(const lbroute_router_options *in,
                          lbroute_router **out)
{
    lbroute_router_options options;
    struct lbroute_router *router;
    struct lbr_memory memory;
    int result;

    if (!out)
        return LBROUTE_ERR_INVALID;
    *out = NULL;
    result = read_options(&options, in);
    if (result)
        return result;
    if (!options.seed)
        return LBROUTE_ERR_INVALID;
    lbr_memory_init(&memory, &options.allocator);
    router = lbr_memory_new(&memory, 1, sizeof *router);
    if (!router)
        return LBROUTE_ERR_NO_MEMORY;
    router->memory = memory;
    if (!lbr_lock_init(&router->lock, !options.single_threaded)) {
        lbr_memory_free(&memory, router, 1, sizeof *router);
        return LBROUTE_ERR_NO_MEMORY;
    }
    lbr_rng_init(&router->rng, options.seed);
    router->trial_seed = lbr_hash_pair(options.seed, 3);
    set_keys(router, &options);
    set_tables(router, &options);
    if (!begin_sharing(router, &options)) {
        lbroute_router_destroy(router);
        return LBROUTE_ERR_NO_MEMORY;
    }
    if (options.header_prefix_len)
        memcpy(router->header_prefix, options.header_prefix,
               options.header_prefix_len);
    *out = router;
    return LBROUTE_OK;
}

static void destroy_groups(struct lbroute_router *router,
                           struct lbr_group *groups)
{
    while (groups) {
        struct lbr_group *next = groups->next;

        lbr_group_destroy(groups, &router->memory);
        groups = next;
    }
}

static void destroy_objects(struct lbroute_router *router)
{
    struct lbr_pool *pool = NULL;
    struct lbr_model *model = NULL;
    struct lbr_target *target = NULL;

    while ((pool = lbr_slab_next(&router->pools,
                                 pool ? pool->slot.handle : 0)) != NULL) {
        destroy_groups(router, pool->groups);
        lbr_text_free(&router->memory, pool->name);
    }
    while ((model = lbr_slab_next(&router->models,
                                  model ? model->slot.handle : 0)) != NULL) {
        destroy_groups(router, model->groups);
        lbr_text_free(&router->memory, model->name);
    }
    while ((target = lbr_slab_next(&router->targets,
                                   target ? target->slot.handle : 0)) != NULL) {
        lbr_adapters_destroy(&target->adapters, &router->memory);
        lbr_text_free(&router->memory, target->name);
        lbr_text_free(&router->memory, target->tier);
        lbr_text_free(&router->memory, target->price_key);
    }
}

void lbroute_router_destroy(struct lbroute_router *router)
{
    struct lbr_memory memory;

    if (!router)
        return;
    lbr_stages_destroy(&router->stages);
    lbr_waiting_destroy(&router->waiting);
    destroy_objects(router);
    lbr_news_destroy(&router->sharing.news, &router->memory);
    lbr_peers_destroy(&router->sharing.peers);
    lbr_kv_guesses_destroy(&router->guesses);
    lbr_kv_store_destroy(&router->kv);
    lbr_prices_destroy(&router->prices);
    lbr_scratches_destroy(&router->scratches);
    lbr_sessions_destroy(&router->sessions);
    lbr_tickets_destroy(&router->tickets);
    lbr_map_destroy(&router->model_names);
    lbr_map_destroy(&router->target_names);
    lbr_map_destroy(&router->pool_names);
    lbr_slab_destroy(&router->models);
    lbr_slab_destroy(&router->targets);
    lbr_slab_destroy(&router->pools);
    lbr_lock_destroy(&router->lock);
    memory = router->memory;
    lbr_memory_free(&memory, router, 1, sizeof *router);
}
