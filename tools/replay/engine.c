/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include "adapter_slots.h"
#include "grow.h"
#include "kv_cache.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MAX_SEQS = 256, DEFAULT_STEP_TOKENS = 2048 };

struct engine {
    struct engine_options options;
    struct kv_cache *cache;
    struct adapter_slots adapters;

    struct engine_request **running; /* max_seqs places, oldest first. */
    uint32_t running_count;
    struct engine_request *first_waiting;
    struct engine_request *last_waiting;
    uint32_t waiting_count;

    /* The requests of the step under way, in scheduling order. Whoever is in
     * it stays in it: only requests after them are ever preempted. */
    struct engine_request **step; /* max_seqs places. */
    uint32_t step_count;
    uint32_t budget_left;
    uint32_t step_loads; /* Adapters that it loads. */
    struct engine_work work;

    /* Why the head of the queue was not admitted, to look again only when
     * that may have changed. */
    const struct engine_request *blocked;
    uint32_t blocked_free;    /* Free blocks then. */
    uint32_t blocked_missing; /* First id that it did not find. */
    bool blocked_complete;    /* It found all its ids. */

    uint64_t prefilled;
    uint64_t preemptions;
    uint64_t queried; /* Input tokens of the admitted. */
    uint64_t found;   /* Of these, in the cache. */
    uint64_t adapter_loads;
};

static void create_caches(struct engine *engine)
{
    const struct engine_options *own = &engine->options;

    engine->cache = kv_cache_create(
        (uint32_t)(own->cache_tokens / own->block_tokens), own->distinct_ids);
    kv_cache_watch(engine->cache, own->kv_log);
    adapter_slots_init(&engine->adapters, own->adapter_slots);
}

static void destroy_caches(struct engine *engine)
{
    kv_cache_destroy(engine->cache);
    adapter_slots_release(&engine->adapters);
}

struct engine *engine_create(const struct engine_options *options)
{
    struct engine *engine = grow_zeroed(1, sizeof *engine);
    struct engine_options *own = &engine->options;

    *own = *options;
    if (own->cache_tokens == 0)
        own->cache_tokens = own->spec->cache_tokens;
    if (own->max_seqs == 0)
        own->max_seqs = DEFAULT_MAX_SEQS;
    if (own->step_tokens == 0)
        own->step_tokens = DEFAULT_STEP_TOKENS;
    create_caches(engine);
    engine->running = grow_zeroed(own->max_seqs, sizeof *engine->running);
    engine->step = grow_zeroed(own->max_seqs, sizeof *engine->step);
    return engine;
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL)
        return;
    for (uint32_t i = 0; i < engine->running_count; i++)
        free(engine->running[i]->blocks);
    destroy_caches(engine);
    free(engine->running);
    free(engine->step);
    free(engine);
}

static uint32_t blocks_for(const struct engine *engine, uint32_t tokens)
{
    uint32_t size = engine->options.block_tokens;

    return tokens / size + (tokens % size != 0);
}

bool engine_fits(const struct engine *engine, uint32_t input_tokens,
                 uint32_t output_tokens)
{
    uint32_t tokens = input_tokens + output_tokens;

    return tokens >= input_tokens &&
           blocks_for(engine, tokens) <= kv_cache_capacity(engine->cache);
}

/* Prompt and answer so far: what must be computed before the next token. */
static uint32_t known_tokens(const struct engine_request *request)
{
    return request->input_tokens + request->produced;
}

void engine_submit(struct engine *engine, struct engine_request *request)
{
    request->computed = 0;
    request->produced = 0;
    request->hit_tokens = 0;
    request->named_blocks = 0;
    request->block_count = 0;
    request->blocks = NULL;
    request->admitted = false;
    request->next_waiting = NULL;
    if (engine->first_waiting == NULL)
        engine->first_waiting = request;
    else
        engine->last_waiting->next_waiting = request;
    engine->last_waiting = request;
    engine->waiting_count++;
}

/* Gives back what a running request holds. */
static void stop_running(struct engine *engine, struct engine_request *request)
{
    adapter_slots_end(&engine->adapters, request->adapter);
    kv_cache_release(engine->cache, request->blocks, request->block_count);
    free(request->blocks);
    request->blocks = NULL;
    request->block_count = 0;
    request->named_blocks = 0;
}

/* Takes the request out of |list|, which holds |*count|, if it is there. */
static bool remove_from(struct engine_request **list, uint32_t *count,
                        const struct engine_request *request)
{
    uint32_t at = 0;

    while (at < *count && list[at] != request)
        at++;
    if (at == *count)
        return false;
    --*count;
    memmove(list + at, list + at + 1, (*count - at) * sizeof *list);
    return true;
}

/* Takes a request from the queue, where it stands behind |before| (NULL: at the
 * head). */
static void unlink_waiting(struct engine *engine, struct engine_request *before,
                           struct engine_request *request)
{
    if (before == NULL)
        engine->first_waiting = request->next_waiting;
    else
        before->next_waiting = request->next_waiting;
    if (engine->last_waiting == request)
        engine->last_waiting = before;
    engine->waiting_count--;
    request->next_waiting = NULL;
}

/* The one before it in the queue, NULL at the head. */
static struct engine_request *before_waiting(
    const struct engine *engine, const struct engine_request *request)
{
    struct engine_request *before = NULL;
    struct engine_request *at = engine->first_waiting;

    for (; at != request; at = at->next_waiting)
        before = at;
    return before;
}

void engine_cancel(struct engine *engine, struct engine_request *request)
{
    if (!remove_from(engine->running, &engine->running_count, request)) {
        unlink_waiting(engine, before_waiting(engine, request), request);
    } else {
        remove_from(engine->step, &engine->step_count, request);
        stop_running(engine, request);
    }
    engine->blocked = NULL;
}

/* Puts the newest running request back to the head of the queue. */
static void put_back_newest(struct engine *engine)
{
    struct engine_request *request = engine->running[--engine->running_count];

    stop_running(engine, request);
    request->computed = 0;
    request->next_waiting = engine->first_waiting;
    if (engine->first_waiting == NULL)
        engine->last_waiting = request;
    engine->first_waiting = request;
    engine->waiting_count++;
}

static void preempt_newest(struct engine *engine)
{
    put_back_newest(engine);
    engine->preemptions++;
}

void engine_restart(struct engine *engine)
{
    while (engine->running_count > 0)
        put_back_newest(engine);
    engine->step_count = 0;
    engine->blocked = NULL;
    destroy_caches(engine);
    create_caches(engine);
}

static void allocate_up_to(struct engine *engine,
                           struct engine_request *request, uint32_t blocks)
{
    if (blocks <= request->block_count)
        return;
    kv_cache_allocate(engine->cache, blocks - request->block_count,
                      request->blocks + request->block_count);
    request->block_count = blocks;
}

static void name_full_blocks(struct engine *engine,
                             struct engine_request *request)
{
    uint32_t full = request->computed / engine->options.block_tokens;
    uint32_t first = request->named_blocks;

    for (; request->named_blocks < full; request->named_blocks++)
        kv_cache_name(engine->cache, request->blocks[request->named_blocks],
                      request->ids[request->named_blocks]);
    if (engine->options.kv_log != NULL && full > first)
        kv_log_stored(engine->options.kv_log, request->ids + first,
                      full - first,
                      first > 0 ? request->ids[first - 1] : KV_NO_PARENT,
                      request->adapter);
}

static void count_work(struct engine *engine,
                       const struct engine_request *request, uint32_t tokens)
{
    struct engine_work *work = &engine->work;
    double before = (double)request->computed;

    work->sequences++;
    if (tokens == 1 && request->computed >= request->input_tokens) {
        work->decode_tokens++;
        work->decode_context += before + 1.0;
        return;
    }
    work->prefill_tokens += tokens;
    work->chunk_context += (double)tokens * (before + (double)tokens / 2.0);
    engine->prefilled += tokens;
}

/* Adds the request to the step; its blocks are allocated. */
static void schedule(struct engine *engine, struct engine_request *request,
                     uint32_t tokens)
{
    count_work(engine, request, tokens);
    request->computed += tokens;
    name_full_blocks(engine, request);
    engine->budget_left -= tokens;
    engine->step[engine->step_count++] = request;
}

static uint32_t next_tokens(const struct engine *engine,
                            const struct engine_request *request,
                            uint32_t computed)
{
    uint32_t tokens = known_tokens(request) - computed;

    return tokens < engine->budget_left ? tokens : engine->budget_left;
}

/* Frees blocks for `request`, the newest running requests first. Returns false
 * when it had to go itself. */
static bool make_room(struct engine *engine, struct engine_request *request,
                      uint32_t blocks)
{
    while (blocks > request->block_count &&
           blocks - request->block_count > kv_cache_free(engine->cache)) {
        const struct engine_request *newest =
            engine->running[engine->running_count - 1];

        preempt_newest(engine);
        if (newest == request)
            return false;
    }
    return true;
}

/* Returns whether anybody was preempted. */
static bool schedule_running(struct engine *engine)
{
    uint64_t preempted_before = engine->preemptions;

    for (uint32_t i = 0; i < engine->running_count && engine->budget_left > 0;
         i++) {
        struct engine_request *request = engine->running[i];
        uint32_t tokens = next_tokens(engine, request, request->computed);
        uint32_t blocks = blocks_for(engine, request->computed + tokens);

        if (!make_room(engine, request, blocks))
            break;
        allocate_up_to(engine, request, blocks);
        schedule(engine, request, tokens);
    }
    return engine->preemptions > preempted_before;
}

/* Whether a look at the cache would end as the last time. A blocked head needs
 * more free blocks, or more of its prefix cached; while nothing else is
 * admitted, its need only grows otherwise. */
static bool still_blocked(const struct engine *engine,
                          const struct engine_request *request)
{
    return engine->blocked == request &&
           kv_cache_free(engine->cache) <= engine->blocked_free &&
           (engine->blocked_complete ||
            !kv_cache_has(engine->cache, engine->blocked_missing));
}

static void remember_blocked(struct engine *engine,
                             const struct engine_request *request,
                             uint32_t hits, uint32_t findable)
{
    engine->blocked = request;
    engine->blocked_free = kv_cache_free(engine->cache);
    engine->blocked_complete = hits == findable;
    if (!engine->blocked_complete)
        engine->blocked_missing = request->ids[hits];
}

/* Moves a request from the queue, where it stands behind |before| (NULL: at the
 * head), to those that run. */
static void start_running(struct engine *engine, struct engine_request *before,
                          struct engine_request *request)
{
    unlink_waiting(engine, before, request);
    if (adapter_slots_begin(&engine->adapters, request->adapter)) {
        engine->step_loads++;
        engine->adapter_loads++;
    }
    engine->running[engine->running_count++] = request;
}

/* What the prefix cache had for a request that runs for the first time. */
static void count_query(struct engine *engine, struct engine_request *request,
                        uint32_t cached)
{
    request->admitted = true;
    request->hit_tokens = cached;
    engine->queried += request->input_tokens;
    engine->found += cached;
}

/* Lets a request run that start_running() has taken from the queue. */
static void admit(struct engine *engine, struct engine_request *request,
                  uint32_t hits)
{
    uint32_t cached = hits * engine->options.block_tokens;
    uint32_t tokens;

    request->blocks = grow_zeroed(
        blocks_for(engine, request->input_tokens + request->output_tokens),
        sizeof *request->blocks);
    kv_cache_reuse(engine->cache, request->ids, hits, request->blocks);
    request->block_count = hits;
    request->named_blocks = hits;
    request->computed = cached;
    if (!request->admitted)
        count_query(engine, request, cached);
    tokens = next_tokens(engine, request, cached);
    allocate_up_to(engine, request, blocks_for(engine, cached + tokens));
    schedule(engine, request, tokens);
}

/* Admits a waiting request, the one behind |before|, unless it has to wait for
 * blocks. */
static bool try_to_admit(struct engine *engine, struct engine_request *before,
                         struct engine_request *request)
{
    uint32_t known = known_tokens(request);
    uint32_t findable = (known - 1) / engine->options.block_tokens;
    uint32_t hits;
    uint32_t idle;

    if (still_blocked(engine, request))
        return false;
    hits = kv_cache_match(engine->cache, request->ids, findable, &idle);
    if (blocks_for(engine, known) - hits + idle >
        kv_cache_free(engine->cache)) {
        remember_blocked(engine, request, hits, findable);
        return false;
    }
    engine->blocked = NULL;
    start_running(engine, before, request);
    admit(engine, request, hits);
    return true;
}

/* In order of arrival; who finds no slot for its adapter is passed over. */
static void schedule_waiting(struct engine *engine)
{
    struct engine_request *before = NULL;
    struct engine_request *request = engine->first_waiting;

    while (request != NULL && engine->budget_left > 0 &&
           engine->running_count < engine->options.max_seqs) {
        struct engine_request *next = request->next_waiting;

        if (!adapter_slots_admit(&engine->adapters, request->adapter))
            before = request;
        else if (!try_to_admit(engine, before, request))
            break;
        request = next;
    }
}

bool engine_start_step(struct engine *engine, double *ms)
{
    engine->step_count = 0;
    engine->budget_left = engine->options.step_tokens;
    engine->step_loads = 0;
    engine->work = (struct engine_work){0};
    if (!schedule_running(engine))
        schedule_waiting(engine);
    if (engine->step_count == 0)
        return false;
    *ms = engine_spec_step_ms(engine->options.spec, &engine->work) +
          engine->step_loads * engine->options.adapter_load_ms;
    return true;
}

static bool is_done(const struct engine_request *request)
{
    return request->produced == request->output_tokens;
}

/* Every request whose known tokens are all computed yields one more. */
static void produce(struct engine *engine, engine_listener listener,
                    void *context, bool *any_done)
{
    for (uint32_t i = 0; i < engine->step_count; i++) {
        struct engine_request *request = engine->step[i];

        if (request->computed < known_tokens(request))
            continue;
        request->produced++;
        if (request->produced == 1)
            listener(context, request, ENGINE_FIRST_TOKEN);
        *any_done = *any_done || is_done(request);
    }
}

void engine_finish_step(struct engine *engine, engine_listener listener,
                        void *context)
{
    bool any_done = false;
    uint32_t kept = 0;

    produce(engine, listener, context, &any_done);
    if (!any_done)
        return;
    for (uint32_t i = 0; i < engine->running_count; i++) {
        struct engine_request *request = engine->running[i];

        if (!is_done(request)) {
            engine->running[kept++] = request;
            continue;
        }
        stop_running(engine, request);
        listener(context, request, ENGINE_DONE);
    }
    engine->running_count = kept;
}

uint32_t engine_running(const struct engine *engine)
{
    return engine->running_count;
}

uint32_t engine_waiting(const struct engine *engine)
{
    return engine->waiting_count;
}

double engine_kv_usage(const struct engine *engine)
{
    double capacity = (double)kv_cache_capacity(engine->cache);

    return 1.0 - (double)kv_cache_free(engine->cache) / capacity;
}

uint32_t engine_blocks(const struct engine *engine)
{
    return kv_cache_capacity(engine->cache);
}

uint32_t engine_block_tokens(const struct engine *engine)
{
    return engine->options.block_tokens;
}

uint64_t engine_queried(const struct engine *engine)
{
    return engine->queried;
}

uint64_t engine_found(const struct engine *engine)
{
    return engine->found;
}

uint64_t engine_prefilled(const struct engine *engine)
{
    return engine->prefilled;
}

uint64_t engine_preemptions(const struct engine *engine)
{
    return engine->preemptions;
}

uint32_t engine_adapter_slots(const struct engine *engine)
{
    return engine->options.adapter_slots;
}

uint64_t engine_adapter_loads(const struct engine *engine)
{
    return engine->adapter_loads;
}

void engine_list_adapters(const struct engine *engine, bool waiting,
                          engine_adapter_listener listener, void *context)
{
    const struct engine_request *request = engine->first_waiting;

    if (!waiting)
        for (uint32_t i = 0; i < engine->running_count; i++)
            listener(context, engine->running[i]->adapter);
    for (; waiting && request != NULL; request = request->next_waiting)
        listener(context, request->adapter);
}
