/* SPDX-License-Identifier: MIT */
#include "kv_engines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"

static const char *const adapters[] = {"", "x"};
static const char *const marks[] = {"", "cat", "dog", "salt"};
static const double worth[KV_MEDIA] = {1, 0.8, 0.5};

/* ---- what engines say ---- */

/* Labels that follow from the content are the nodes of a tree: the children of
 * |node| are 3 * node + 3 to 3 * node + 5, the roots 0 to 2. */
static uint8_t child_of(struct rng *rng, int node)
{
    return (uint8_t)(3 * (node + 1) + (int)rng_below(rng, 3));
}

static void draw_block(struct kv_world *world, struct kv_block *block,
                       uint8_t size, uint8_t label)
{
    memset(block, 0, sizeof *block);
    for (uint8_t i = 0; i < size; i++)
        block->tokens[i] = (uint8_t)rng_below(&world->rng, 2);
    if (world->plan->labels == 0) {
        block->tokens[0] = label % 3 > 0;
        block->tokens[1] = label % 3 > 1;
        block->tokens[2] = 0;
        return;
    }
    if (rng_chance(&world->rng, 10))
        block->marks = (uint8_t)rng_between(&world->rng, 1, 2);
    if (block->marks && rng_chance(&world->rng, 20))
        block->marks = (uint8_t)(4 + block->marks);
}

/* A path down the tree, from the root or from where a block may be. */
static void draw_path(struct kv_world *world, struct kv_event *event)
{
    int node = -1;

    event->has_parent = 0;
    event->parent = 0;
    if (rng_chance(&world->rng, 60)) {
        node = (int)rng_below(&world->rng, 12);
        event->has_parent = 1;
        event->parent = (uint8_t)node;
    }
    memset(event->labels, 0, sizeof event->labels);
    event->count = 0;
    for (uint32_t i = rng_between(&world->rng, 1, 3); i > 0 && node < 12; i--) {
        node = child_of(&world->rng, node);
        event->labels[event->count++] = (uint8_t)node;
    }
}

static void draw_labels(struct kv_world *world, struct kv_event *event)
{
    uint32_t bound = world->plan->labels ? world->plan->labels : KV_LABELS - 1;

    event->count = (uint8_t)rng_between(&world->rng, 1, KV_BLOCKS);
    for (size_t i = 0; i < event->count; i++) {
        event->labels[i] = (uint8_t)rng_below(&world->rng, bound);
        if (i > 0 && event->labels[i] == event->labels[i - 1])
            event->labels[i] = (uint8_t)((event->labels[i] + 1U) % bound);
    }
    event->has_parent = rng_chance(&world->rng, 60);
    event->parent = (uint8_t)rng_below(&world->rng, bound);
    if (!event->has_parent)
        event->parent = 0;
    if (event->has_parent && event->parent == event->labels[0])
        event->count = 1;
}

static void draw_store(struct kv_world *world, struct kv_event *event,
                       uint8_t size)
{
    event->tokens = 1;
    if (world->plan->labels == 0)
        draw_path(world, event);
    else if (!event->has_parent) {
        event->adapter = (uint8_t)rng_chance(&world->rng, 10);
        event->salted = rng_chance(&world->rng, 10);
    }
    for (size_t i = 0; i < event->count; i++)
        draw_block(world, &event->blocks[i], size, event->labels[i]);
}

static void draw_event(struct kv_world *world, struct kv_event *event,
                       uint8_t size)
{
    uint32_t what = rng_below(&world->rng, 100);

    memset(event, 0, sizeof *event);
    event->kind = LBROUTE_KV_STORED;
    event->medium = (int)rng_below(&world->rng, 4) - 1;
    event->group = (uint8_t)rng_chance(&world->rng, 10);
    draw_labels(world, event);
    if (what < 50) {
        draw_store(world, event, size);
        return;
    }
    event->has_parent = 0;
    event->parent = 0;
    if (what >= 60)
        event->kind = LBROUTE_KV_REMOVED;
    if (what < 98)
        return;
    event->kind = LBROUTE_KV_CLEARED;
    event->medium = LBROUTE_MEDIUM_ANY;
    memset(event->labels, 0, sizeof event->labels);
    event->count = 0;
}

/* The engine makes its next batch. */
static const struct kv_batch *make_batch(struct kv_world *world, size_t target,
                                         size_t source)
{
    struct kv_engine *engine = &world->engines[target][source];
    struct kv_batch *batch = &engine->log[engine->seq % KV_LOG];
    uint8_t size = world->models[target][source].size;

    memset(batch, 0, sizeof *batch);
    batch->seq = engine->seq++;
    engine->clock += 1;
    batch->timestamp = world->plan->timestamps ? engine->clock : (double)NAN;
    batch->count = rng_below(&world->rng, KV_EVENTS) + 1;
    for (size_t i = 0; i < batch->count; i++)
        draw_event(world, &batch->events[i], size);
    return batch;
}

/* ---- the same to the router ---- */

struct wire {
    lbroute_kv_event events[KV_EVENTS];
    uint64_t labels[KV_EVENTS][KV_BLOCKS];
    uint32_t tokens[KV_EVENTS][KV_BLOCKS * KV_LONGEST];
    uint64_t extras[KV_EVENTS][KV_BLOCKS];
};

/* Any numbers will do, the outermost ones, too. */
static uint64_t label_name(uint8_t label)
{
    if (label < 2)
        return label ? UINT64_MAX : 0;
    return label * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t extra_key(uint8_t digits)
{
    uint64_t above = digits >= 4 ? extra_key(digits / 4) : 0;
    const char *mark = marks[digits % 4];

    return digits ? lbroute_kv_fold_key(above, mark, strlen(mark)) : 0;
}

static void write_tokens(const struct kv_event *event, uint8_t size,
                         lbroute_kv_event *wire, uint32_t *tokens,
                         uint64_t *extras)
{
    for (size_t i = 0; i < event->count; i++) {
        for (size_t j = 0; j < size; j++)
            tokens[i * size + j] = event->blocks[i].tokens[j];
        extras[i] = extra_key(event->blocks[i].marks);
    }
    wire->tokens = tokens;
    wire->token_count = (size_t)event->count * size;
    wire->block_size = size;
    wire->extra_keys = extras;
    wire->extra_key_count = event->count;
    wire->adapter = adapters[event->adapter];
    wire->adapter_len = strlen(wire->adapter);
    wire->salt = marks[KV_SALT];
    wire->salt_len = event->salted ? strlen(marks[KV_SALT]) : 0;
}

static void write_event(const struct kv_event *event, uint8_t size,
                        struct wire *wire, size_t at)
{
    lbroute_kv_event *out = &wire->events[at];

    lbroute_kv_event_init(out, sizeof *out);
    out->kind = event->kind;
    out->medium = event->medium;
    out->group = event->group;
    for (size_t i = 0; i < event->count; i++)
        wire->labels[at][i] = label_name(event->labels[i]);
    out->hashes = wire->labels[at];
    out->hash_count = event->count;
    out->has_parent = event->has_parent;
    out->parent = event->has_parent ? label_name(event->parent) : 0;
    if (event->tokens)
        write_tokens(event, size, out, wire->tokens[at], wire->extras[at]);
}

static int send_batch(struct kv_world *world, size_t target, size_t source,
                      const struct kv_batch *batch, lbroute_kv_result *result)
{
    struct wire wire;
    lbroute_kv_batch out;

    for (size_t i = 0; i < batch->count; i++)
        write_event(&batch->events[i], world->models[target][source].size,
                    &wire, i);
    lbroute_kv_batch_init(&out, sizeof out);
    out.seq = batch->seq;
    out.timestamp = batch->timestamp;
    out.events = wire.events;
    out.event_count = batch->count;
    lbroute_kv_result_init(result, sizeof *result);
    return lbroute_kv_apply(world->router, world->targets[target],
                            (uint32_t)source, &out, 0, result);
}

/* ---- comparisons ---- */

static void check_source(struct kv_world *world, size_t target, size_t source)
{
    const struct kv_source *model = &world->models[target][source];
    lbroute_kv_source_stats stats;
    uint64_t first = 0;
    uint64_t missing = kv_model_missing(model, &first);

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    CHECK_I(lbroute_get_kv_source_stats(world->router, world->targets[target],
                                        (uint32_t)source, 0, &stats),
            LBROUTE_OK);
    CHECK_I(stats.state == LBROUTE_KV_SOURCE_FRESH, model->fresh);
    CHECK_U(stats.missing, missing);
    if (missing > 0) {
        CHECK_U(stats.first_missing, first);
        CHECK_U(stats.last_missing, first + missing - 1);
    }
    CHECK_U(stats.next_seq, model->begun ? model->expected : UINT64_MAX);
    CHECK_U(stats.restarts, model->restarts);
    CHECK_U(stats.duplicates, model->duplicates);
    if (world->plan->max_blocks || world->failing)
        return;
    for (int m = 0; m < KV_MEDIA; m++)
        CHECK_U(stats.blocks[m], kv_model_resident(model, m));
    CHECK_U(stats.waiting, kv_model_waiting(model));
}

static double worth_of(const int64_t run[KV_MEDIA])
{
    return worth[0] * (double)run[0] + worth[1] * (double)run[1] +
           worth[2] * (double)run[2];
}

/* The best of the target's fresh sources; several may be equally good. */
static void check_known(struct kv_world *world, size_t target,
                        const struct kv_prompt *prompt,
                        const lbroute_candidate *row)
{
    int64_t run[KV_MEDIA];
    double best = 0;
    double found = worth_of(row->kv_blocks);
    int told = 0;

    for (size_t i = 0; i < KV_SOURCES; i++) {
        const struct kv_source *model = &world->models[target][i];
        if (!model->fresh)
            continue;
        kv_model_run(model, prompt, run);
        if (worth_of(run) > best)
            best = worth_of(run);
        told |= memcmp(run, row->kv_blocks, sizeof run) == 0;
    }
    CHECK(found <= best + 1e-9);
    world->matches += found > 0;
    if (world->plan->max_blocks || world->failing)
        return;
    CHECK_NEAR(found, best, 1e-9);
    CHECK(told);
}

static void check_target(struct kv_world *world, size_t target,
                         const struct kv_prompt *prompt,
                         const lbroute_candidate *row)
{
    int heard = 0;
    int fresh = 0;

    for (size_t i = 0; i < KV_SOURCES; i++) {
        heard |= world->models[target][i].heard;
        fresh |= world->models[target][i].fresh;
    }
    CHECK_U(row->target, world->targets[target]);
    CHECK_I(row->kv_state == LBROUTE_KV_SOURCE_NONE, !heard);
    CHECK_I(row->kv_state == LBROUTE_KV_SOURCE_FRESH, fresh);
    if (fresh) {
        check_known(world, target, prompt, row);
        return;
    }
    for (int m = 0; m < KV_MEDIA; m++)
        CHECK_I(row->kv_blocks[m], -1);
}

/* The prompt as a request; all that it points to is in the arrays. */
struct question {
    lbroute_request request;
    uint32_t tokens[KV_PROMPT];
    lbroute_mm_item items[KV_ITEMS];
};

static void write_question(const struct kv_world *world,
                           const struct kv_prompt *prompt,
                           struct question *question)
{
    lbroute_request *request = &question->request;

    api_request(request, world->pool);
    for (size_t i = 0; i < prompt->length; i++)
        question->tokens[i] = prompt->tokens[i];
    for (size_t i = 0; i < prompt->item_count; i++) {
        const char *mark = marks[prompt->items[i].mark];
        question->items[i].id = mark;
        question->items[i].id_len = strlen(mark);
        question->items[i].begin = prompt->items[i].begin;
        question->items[i].count = prompt->items[i].count;
    }
    request->tokens = question->tokens;
    request->tokens_len = prompt->length;
    request->mm_items = question->items;
    request->mm_item_count = prompt->item_count;
    request->adapter = adapters[prompt->adapter];
    request->adapter_len = strlen(request->adapter);
    request->salt = marks[KV_SALT];
    request->salt_len = prompt->salted ? strlen(marks[KV_SALT]) : 0;
}

static void check_prompt(struct kv_world *world, const struct kv_prompt *prompt)
{
    struct question question;
    lbroute_decision decision;
    lbroute_candidate rows[KV_TARGETS];
    size_t count = 0;

    write_question(world, prompt, &question);
    int code = api_explain(world->router, &question.request, 0, &decision, rows,
                           KV_TARGETS, &count);
    if (code == LBROUTE_ERR_NO_MEMORY && world->failing)
        return;
    CHECK_I(code, LBROUTE_OK);
    CHECK_U(count, KV_TARGETS);
    for (size_t i = 0; i < KV_TARGETS; i++) {
        size_t target = 0;
        while (target + 1 < KV_TARGETS &&
               world->targets[target] != rows[i].target)
            target++;
        check_target(world, target, prompt, &rows[i]);
    }
}

void kv_world_check(struct kv_world *world)
{
    lbroute_stats stats = api_stats(world->router);

    for (size_t i = 0; i < KV_PROMPTS; i++)
        check_prompt(world, &world->prompts[i]);
    CHECK(!world->plan->max_blocks ||
          stats.kv_blocks <= world->plan->max_blocks);
    CHECK_U(stats.memory_bytes, world->heap.bytes);
}

/* ---- prompts ---- */

static void draw_prompt(struct kv_world *world, struct kv_prompt *prompt)
{
    struct rng *rng = &world->rng;
    uint8_t end = 0;

    memset(prompt, 0, sizeof *prompt);
    prompt->length = rng_between(rng, 1, KV_PROMPT);
    for (size_t i = 0; i < prompt->length; i++)
        prompt->tokens[i] = (uint8_t)rng_below(rng, 2);
    if (world->plan->labels == 0)
        return;
    prompt->adapter = (uint8_t)rng_chance(rng, 10);
    prompt->salted = rng_chance(rng, 10);
    for (uint8_t i = 0; i < KV_ITEMS && rng_chance(rng, 15); i++) {
        struct kv_item *item = &prompt->items[prompt->item_count++];
        item->mark = (uint8_t)rng_between(rng, 1, 2);
        item->begin = (uint8_t)(end + rng_below(rng, 2));
        item->count = (uint8_t)rng_between(rng, 1, 3);
        end = (uint8_t)(item->begin + item->count);
    }
}

/* What a row spells, and a little more. */
static void draw_known_prompt(struct kv_world *world, struct kv_prompt *prompt)
{
    size_t target = rng_below(&world->rng, KV_TARGETS);
    size_t source = rng_below(&world->rng, KV_SOURCES);
    const struct kv_source *model = &world->models[target][source];
    const struct kv_row *row =
        &model->rows[0][rng_below(&world->rng, KV_LABELS)];
    size_t depth = row->chain.depth;

    draw_prompt(world, prompt);
    if (row->status != KV_PLACED || depth * model->size > KV_PROMPT)
        return;
    for (size_t i = 0; i < depth; i++)
        memcpy(prompt->tokens + i * model->size, row->chain.blocks[i].tokens,
               model->size);
    if (prompt->length < depth * model->size)
        prompt->length = depth * model->size;
    prompt->adapter = row->chain.adapter;
    prompt->item_count = 0;
    prompt->salted = row->chain.blocks[0].marks == KV_SALT;
}

/* ---- the network ---- */

static void deliver(struct kv_world *world, size_t target, size_t source,
                    const struct kv_batch *batch)
{
    struct kv_source *model = &world->models[target][source];
    lbroute_kv_result result;
    int code = send_batch(world, target, source, batch, &result);
    int outcome;

    world->events += batch->count;
    if (code == LBROUTE_ERR_NO_MEMORY && world->failing)
        code = send_batch(world, target, source, batch, &result);
    CHECK_I(code, LBROUTE_OK);
    outcome = kv_model_apply(model, batch, world->plan->counts_copies);
    CHECK_I(result.outcome == LBROUTE_KV_PARTIAL ? LBROUTE_KV_APPLIED
                                                 : result.outcome,
            outcome);
    check_source(world, target, source);
    if (rng_chance(&world->rng, 40)) {
        struct kv_prompt prompt;
        draw_known_prompt(world, &prompt);
        check_prompt(world, &prompt);
    }
}

static int in_log(const struct kv_engine *engine, uint64_t seq)
{
    return seq >= engine->oldest && seq < engine->seq &&
           seq + KV_LOG >= engine->seq;
}

static void forget(struct kv_world *world, size_t target, size_t source)
{
    if (!world->models[target][source].heard)
        return;
    CHECK_I(lbroute_kv_clear(world->router, world->targets[target],
                             (uint32_t)source, 0),
            LBROUTE_OK);
    kv_model_clear(&world->models[target][source]);
    check_source(world, target, source);
}

/* As a host does when something is missing; if the engine has it no more, the
 * host begins anew. */
static void replay(struct kv_world *world, size_t target, size_t source)
{
    struct kv_engine *engine = &world->engines[target][source];
    uint64_t from = world->models[target][source].expected;
    uint64_t to = engine->seq;

    if (!in_log(engine, from)) {
        forget(world, target, source);
        return;
    }
    if (rng_chance(&world->rng, 30))
        to = from + rng_below(&world->rng, (uint32_t)(to - from)) + 1;
    for (uint64_t seq = from; seq < to; seq++) {
        const struct kv_batch batch = engine->log[seq % KV_LOG];
        deliver(world, target, source, &batch);
    }
}

/* Something old comes again. */
static void repeat(struct kv_world *world, size_t target, size_t source)
{
    struct kv_engine *engine = &world->engines[target][source];
    uint64_t back = 1 + rng_below(&world->rng, KV_LOG - 10);

    if (engine->seq >= back && in_log(engine, engine->seq - back)) {
        const struct kv_batch batch =
            engine->log[(engine->seq - back) % KV_LOG];
        deliver(world, target, source, &batch);
    }
}

/* Of its first batches some may be lost. */
static void restart(struct kv_world *world, size_t target, size_t source)
{
    struct kv_engine *engine = &world->engines[target][source];
    uint32_t lost = rng_below(&world->rng, 4);

    if (world->plan->perfect || lost >= world->models[target][source].expected)
        lost = 0;
    engine->seq = 0;
    engine->clock += 1000;
    while (lost-- > 0)
        (void)make_batch(world, target, source);
    deliver(world, target, source, make_batch(world, target, source));
}

static void swap(struct kv_world *world, size_t target, size_t source)
{
    const struct kv_batch first = *make_batch(world, target, source);

    deliver(world, target, source, make_batch(world, target, source));
    deliver(world, target, source, &first);
}

static void add_target(struct kv_world *world, size_t target)
{
    char name[] = {'t', (char)('0' + target), 0};

    world->targets[target] = api_target(world->router, world->pool, name, 1);
    for (size_t i = 0; i < KV_SOURCES; i++) {
        struct kv_source *model = &world->models[target][i];
        memset(model, 0, sizeof *model);
        model->size = target == 2 && world->plan->labels ? 3 : 2;
    }
}

static void replace_target(struct kv_world *world, size_t target)
{
    CHECK_I(lbroute_target_remove(world->router, world->targets[target]),
            LBROUTE_OK);
    add_target(world, target);
}

static void happen(struct kv_world *world, size_t target, size_t source)
{
    uint32_t what = rng_below(&world->rng, 1000);

    if (what < 600 || (world->plan->perfect && what < 960))
        deliver(world, target, source, make_batch(world, target, source));
    else if (what < 680)
        (void)make_batch(world, target, source); /* It is lost. */
    else if (what < 760)
        swap(world, target, source);
    else if (what < 860)
        repeat(world, target, source);
    else if (what < 960)
        replay(world, target, source);
    else if (what < 985)
        restart(world, target, source);
    else if (what < 995)
        forget(world, target, source);
    else
        replace_target(world, target);
}

void kv_world_step(struct kv_world *world)
{
    size_t target = rng_below(&world->rng, KV_TARGETS);
    size_t source = rng_below(&world->rng, KV_SOURCES);
    const struct kv_source *model = &world->models[target][source];

    if (model->aside_count > KV_ASIDE / 2)
        replay(world, target, source);
    else
        happen(world, target, source);
    if (rng_chance(&world->rng, 10))
        draw_known_prompt(world,
                          &world->prompts[rng_below(&world->rng, KV_PROMPTS)]);
    check_prompt(world, &world->prompts[rng_below(&world->rng, KV_PROMPTS)]);
}

void kv_world_open(struct kv_world *world, const struct kv_plan *plan,
                   uint64_t seed)
{
    lbroute_router_options options;

    memset(world, 0, sizeof *world);
    world->plan = plan;
    check_context(plan->what, seed);
    rng_seed(&world->rng, seed);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = seed;
    options.single_threaded = 1;
    options.max_kv_blocks = plan->max_blocks ? plan->max_blocks : 4096;
    heap_attach(&world->heap, &options);
    CHECK_I(lbroute_router_create(&options, &world->router), LBROUTE_OK);
    world->pool = api_pool(world->router, "pool", "precise_cache_aware");
    api_set(world->router, world->pool, "precise_cache_aware.count_copies",
            plan->counts_copies);
    api_set(world->router, world->pool, "prefix.block_tokens", 2);
    for (size_t i = 0; i < KV_TARGETS; i++)
        add_target(world, i);
    for (size_t i = 0; i < KV_PROMPTS; i++)
        draw_prompt(world, &world->prompts[i]);
}

void kv_world_close(struct kv_world *world)
{
    for (size_t i = 0; i < KV_TARGETS; i++)
        CHECK_I(lbroute_target_remove(world->router, world->targets[i]),
                LBROUTE_OK);
    CHECK_U(api_stats(world->router).kv_sources, 0);
    CHECK_U(api_stats(world->router).kv_blocks, 0);
    lbroute_router_destroy(world->router);
    CHECK_U(world->heap.live, 0);
    CHECK_U(world->heap.bytes, 0);
}
