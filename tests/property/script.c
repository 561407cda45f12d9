/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "check.h"
#include "prng.h"

enum kind {
    ADD_POOL,
    UPDATE_POOL,
    REMOVE_POOL,
    SET_POOL,
    ADD_TARGET,
    UPDATE_TARGET,
    SET_WEIGHT,
    REMOVE_TARGET,
    ADD_SCORER,
    REMOVE_SCORER,
    SET_PRICE,
    REMOVE_PRICE,
    TELL_EVENTS,
    FORGET_EVENTS,
    PICK,
    OBSERVE,
    KINDS
};

/* Drawn in phases: first everything grows, then it changes, then it goes. */
static int draw_kind(struct rng *rng, size_t number)
{
    if (number < SCRIPT_POOLS)
        return ADD_POOL;
    if (number < SCRIPT_POOLS + SCRIPT_TARGETS)
        return ADD_TARGET;
    if (number >= SCRIPT_OPERATIONS - SCRIPT_TARGETS - SCRIPT_POOLS)
        return number < SCRIPT_OPERATIONS - SCRIPT_POOLS ? REMOVE_TARGET
                                                         : REMOVE_POOL;
    if (rng_chance(rng, 75))
        return rng_chance(rng, 55) ? PICK : OBSERVE;
    return (int)rng_below(rng, PICK);
}

static uint32_t strategies(void)
{
    uint32_t count = 0;
    while (lbroute_strategy_name(count))
        count++;
    return count;
}

void script_draw(struct script *script, uint64_t seed, int prompts)
{
    struct rng rng;
    rng_seed(&rng, seed);
    script->prompts = prompts;
    for (size_t i = 0; i < SCRIPT_OPERATIONS; i++) {
        struct script_operation *operation = &script->operations[i];
        operation->kind = draw_kind(&rng, i);
        operation->a = (uint32_t)i;
        if (operation->kind != ADD_POOL && operation->kind != ADD_TARGET &&
            i < SCRIPT_OPERATIONS - SCRIPT_TARGETS - SCRIPT_POOLS)
            operation->a = rng_below(&rng, 1000);
        operation->b = rng_below(&rng, 1000);
        operation->c = rng_below(&rng, 1000);
    }
}

int script_begin(struct script_life *life)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    uint64_t fail_at = life->heap.fail_at;
    options.seed = 1;
    options.max_sessions = 20;
    heap_attach(&life->heap, &options);
    life->heap.fail_at = fail_at;
    return lbroute_router_create(&options, &life->router);
}

static int add_pool(struct script_life *life,
                    const struct script_operation *operation)
{
    uint32_t place = operation->a % SCRIPT_POOLS;
    char name[] = {'p', (char)('0' + place), 0};
    lbroute_pool_options options;
    lbroute_pool handle = 0;
    lbroute_pool_options_init(&options, sizeof options);
    options.name = name;
    options.name_len = 2;
    options.strategy = place
                           ? lbroute_strategy_name(operation->b % strategies())
                           : "consistent_hash";
    options.strategy_len = strlen(options.strategy);
    int result = lbroute_pool_add(life->router, &options, &handle);
    if (result == LBROUTE_OK)
        life->pools[place] = handle;
    return result;
}

static int update_pool(struct script_life *life,
                       const struct script_operation *operation)
{
    const char *name = lbroute_strategy_name(operation->b % strategies());
    uint32_t place = 1 + operation->a % (SCRIPT_POOLS - 1);
    return lbroute_pool_update(life->router, life->pools[place], name,
                               strlen(name));
}

static int remove_pool(struct script_life *life,
                       const struct script_operation *operation)
{
    return lbroute_pool_remove(life->router,
                               life->pools[operation->a % SCRIPT_POOLS]);
}

/* The first pool has a ring always, the others sometimes. */
static int set_pool(struct script_life *life,
                    const struct script_operation *operation)
{
    uint32_t place = operation->c % 2 ? 0 : operation->a % SCRIPT_POOLS;
    return lbroute_pool_set(life->router, life->pools[place],
                            "consistent_hash.weighted_points",
                            operation->b % 2);
}

enum { PRICE_KEYS = 4 };

static const char *const price_keys[PRICE_KEYS] = {
    "small", "a large model", "k", "a key that is longer than most of them"};

/* More keys than targets ask for, so that the table grows. */
static const char *price_key(const struct script_operation *operation,
                             char key[32])
{
    if (operation->a % 2)
        return price_keys[operation->a / 2 % PRICE_KEYS];
    snprintf(key, 32, "key %u", operation->a % 100);
    return key;
}

static int set_price(struct script_life *life,
                     const struct script_operation *operation)
{
    char space[32];
    const char *key = price_key(operation, space);
    lbroute_price price;
    lbroute_price_init(&price, sizeof price);
    price.input = operation->b % 5 ? (int64_t)operation->b : -1;
    price.output = operation->c;
    return lbroute_set_price(life->router, key, strlen(key), &price);
}

static int remove_price(struct script_life *life,
                        const struct script_operation *operation)
{
    char space[32];
    const char *key = price_key(operation, space);
    return lbroute_remove_price(life->router, key, strlen(key));
}

/* Long names, several tiers and models, many distinct weights. */
static void fill_target(const struct script_life *life,
                        const struct script_operation *operation,
                        lbroute_target_options *options, char name[64])
{
    static const char *const tiers[] = {"", "", "gold", "a very good one"};
    static const char *const models[] = {"", "small", "a large model"};
    snprintf(name, 64, "a target with a name to remember, number %u",
             operation->a % SCRIPT_TARGETS);
    lbroute_pool pool =
        operation->c % 7 ? life->pools[operation->b % SCRIPT_POOLS] : 0;
    double weight = operation->b % 7 ? 1 + (operation->b % 30) / 10.0 : 1000;
    api_target_options(options, pool, name, weight);
    options->tier = tiers[operation->c % 4];
    options->tier_len = strlen(options->tier);
    options->model = models[operation->c % 3];
    options->model_len = strlen(options->model);
    if (operation->b % 3) {
        options->price_key = price_keys[operation->b % PRICE_KEYS];
        options->price_key_len = strlen(options->price_key);
    }
}

static int add_target(struct script_life *life,
                      const struct script_operation *operation)
{
    char name[64];
    lbroute_target_options options;
    lbroute_target handle = 0;
    fill_target(life, operation, &options, name);
    int result = lbroute_target_add(life->router, &options, life->now, &handle);
    if (result == LBROUTE_OK)
        life->targets[operation->a % SCRIPT_TARGETS] = handle;
    return result;
}

static int update_target(struct script_life *life,
                         const struct script_operation *operation)
{
    char name[64];
    lbroute_target_options options;
    fill_target(life, operation, &options, name);
    return lbroute_target_update(life->router,
                                 life->targets[operation->a % SCRIPT_TARGETS],
                                 &options, life->now);
}

static int set_weight(struct script_life *life,
                      const struct script_operation *operation)
{
    return lbroute_target_set_weight(
        life->router, life->targets[operation->a % SCRIPT_TARGETS],
        1 + operation->b / 100.0, life->now);
}

static int remove_target(struct script_life *life,
                         const struct script_operation *operation)
{
    return lbroute_target_remove(life->router,
                                 life->targets[operation->a % SCRIPT_TARGETS]);
}

/* By what is the same in every life, which handles need not be. */
static int score(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores)
{
    (void)user;
    (void)request;
    for (size_t i = 0; i < count; i++)
        scores[i] = 1 / (1 + candidates[i].weight);
    return 0;
}

static void destroy(void *user)
{
    struct script_life *life = user;
    life->destroyed++;
}

/* One or two in each pool; of the same name when tried twice. */
static int add_scorer(struct script_life *life,
                      const struct script_operation *operation)
{
    static const char *const names[] = {"one", "a long name for a scorer"};
    uint32_t place = operation->a % SCRIPT_POOLS;
    lbroute_scorer_options options;
    lbroute_scorer handle = 0;
    lbroute_scorer_options_init(&options, sizeof options);
    options.name = names[operation->b % 2];
    options.name_len = strlen(options.name);
    options.kind = (int32_t)(operation->c % 2);
    options.score = score;
    options.destroy = destroy;
    options.user = life;
    life->created++;
    int result = lbroute_scorer_register(life->router, life->pools[place],
                                         &options, &handle);
    if (result == LBROUTE_OK)
        life->scorers[place] = handle;
    return result;
}

static int remove_scorer(struct script_life *life,
                         const struct script_operation *operation)
{
    return lbroute_scorer_remove(life->router,
                                 life->scorers[operation->a % SCRIPT_POOLS]);
}

enum { TOKENS = API_KV_BLOCKS * API_KV_SIZE };

/* Beginnings in common. */
static size_t draw_tokens(const struct script_operation *operation,
                          uint32_t tokens[TOKENS])
{
    for (uint32_t i = 0; i < TOKENS; i++)
        tokens[i] = i < TOKENS / 4 ? 0 : operation->b % 7;
    return operation->a % (TOKENS + 1);
}

/* Stores more often than it removes, and misses a batch now and then. */
static int tell_events(struct script_life *life,
                       const struct script_operation *operation)
{
    uint32_t tokens[TOKENS];
    uint32_t place = operation->c % SCRIPT_TARGETS;
    size_t count = draw_tokens(operation, tokens);
    uint64_t seq = life->told[place] + (operation->b % 10 == 0);
    int result =
        api_tell(life->router, life->targets[place], operation->b % 2, seq,
                 operation->a % 3 ? LBROUTE_KV_STORED : LBROUTE_KV_REMOVED,
                 operation->b % 30, tokens, count, life->now);
    if (result == LBROUTE_OK)
        life->told[place] = operation->b % 50 ? seq + 1 : 0;
    return result;
}

static int forget_events(struct script_life *life,
                         const struct script_operation *operation)
{
    return lbroute_kv_clear(life->router,
                            life->targets[operation->c % SCRIPT_TARGETS],
                            UINT32_MAX, life->now);
}

static int64_t place_of(const struct script_life *life, lbroute_target target)
{
    for (int i = 0; i < SCRIPT_TARGETS; i++) {
        if (life->targets[i] == target)
            return i;
    }
    return -1;
}

/* Beginnings in common, a length of its own; some are longer than a node of
 * the prefix trie. */
static void set_prompt(const struct script_operation *operation,
                       lbroute_request *request)
{
    static char text[5][40000];
    char *own = text[operation->b % 5];
    size_t length = operation->a % 10 ? operation->a : 40 * operation->a;
    memset(own, (char)('a' + operation->b % 3), sizeof text[0]);
    memset(own + 500, (char)('0' + operation->b % 10), sizeof text[0] - 500);
    request->prompt = own;
    request->prompt_len = length;
}

static int pick(struct script_life *life,
                const struct script_operation *operation, int prompts,
                int64_t *trace)
{
    uint32_t tokens[TOKENS];
    char session[32];
    lbroute_request request;
    lbroute_decision decision;
    if (life->open_count == SCRIPT_OPEN)
        return LBROUTE_OK;
    api_request(&request, life->pools[operation->a % SCRIPT_POOLS]);
    if (operation->c % 5 == 0) {
        request.pool = 0;
        request.model = "small";
        request.model_len = 5;
    }
    snprintf(session, sizeof session, "s%u", operation->b % 40);
    api_set_session(&request, session);
    if (prompts)
        set_prompt(operation, &request);
    if (prompts && operation->c % 2) {
        request.tokens = tokens;
        request.tokens_len = draw_tokens(operation, tokens);
    }
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(life->router, &request, life->now, &decision);
    if (result == LBROUTE_OK) {
        *trace = 100 + place_of(life, decision.target);
        life->recorded = decision.prefix_total > 0;
        life->open[life->open_count++] = decision.ticket;
    }
    return result;
}

static int observe(struct script_life *life,
                   const struct script_operation *operation)
{
    if (life->open_count == 0)
        return LBROUTE_OK;
    size_t at = operation->a % life->open_count;
    int result = api_observe(life->router, life->open[at],
                             LBROUTE_EVENT_SUCCESS, life->now);
    if (result != LBROUTE_ERR_NO_MEMORY)
        life->open[at] = life->open[--life->open_count];
    return result;
}

int script_perform(struct script_life *life, const struct script *script,
                   size_t number)
{
    static int (*const calls[])(struct script_life *,
                                const struct script_operation *) = {
        add_pool,    update_pool,   remove_pool, set_pool,
        add_target,  update_target, set_weight,  remove_target,
        add_scorer,  remove_scorer, set_price,   remove_price,
        tell_events, forget_events,
    };
    const struct script_operation *operation = &script->operations[number];
    int64_t trace = 0;
    int result = 0;
    life->now = number * MILLISECOND;
    life->recorded = 0;
    if (operation->kind == PICK)
        result = pick(life, operation, script->prompts, &trace);
    else if (operation->kind == OBSERVE)
        result = observe(life, operation);
    else
        result = calls[operation->kind](life, operation);
    life->trace[number] = result == LBROUTE_OK ? trace : result;
    return result;
}

int script_may_forget(const struct script_life *life,
                      const struct script *script, size_t number)
{
    int kind = script->operations[number].kind;
    return kind == OBSERVE || kind == TELL_EVENTS || life->recorded;
}
