/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

/* Rules that a strategy may report, as bits. */
struct strategy_rules {
    const char *strategy;
    uint32_t rules;
};

static const struct strategy_rules known_rules[] = {
    {"weighted", 1u << LBROUTE_RULE_WEIGHTED},
    {"round_robin", 1u << LBROUTE_RULE_ROUND_ROBIN},
    {"random", 1u << LBROUTE_RULE_RANDOM},
    {"power_of_two", 1u << LBROUTE_RULE_POWER_OF_TWO},
    {"least_connections", 1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"consistent_hash", 1u << LBROUTE_RULE_CONSISTENT_HASH |
                            1u << LBROUTE_RULE_RING_NEXT |
                            1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"sticky_session",
     1u << LBROUTE_RULE_STICKY_SESSION | 1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"cache_aware", 1u << LBROUTE_RULE_STICKY_SESSION |
                        1u << LBROUTE_RULE_CACHE_AWARE |
                        1u << LBROUTE_RULE_LEAST_WARMED},
    {"kv_aware", 1u << LBROUTE_RULE_KV_AWARE | 1u << LBROUTE_RULE_WEIGHTED |
                     1u << LBROUTE_RULE_LEAST_CONNECTIONS |
                     1u << LBROUTE_RULE_LEAST_WORK},
    {"least_work", 1u << LBROUTE_RULE_LEAST_WORK},
    {"precise_cache_aware", 1u << LBROUTE_RULE_PRECISE_CACHE_AWARE |
                                1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"fastest", 1u << LBROUTE_RULE_FASTEST | 1u << LBROUTE_RULE_TRIAL |
                    1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"predicted_latency", 1u << LBROUTE_RULE_PREDICTED_LATENCY |
                              1u << LBROUTE_RULE_TRIAL |
                              1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"pipeline",
     1u << LBROUTE_RULE_STICKY_SESSION | 1u << LBROUTE_RULE_PIPELINE},
    {"cheapest",
     1u << LBROUTE_RULE_CHEAPEST | 1u << LBROUTE_RULE_LEAST_CONNECTIONS},
    {"adaptive", 1u << LBROUTE_RULE_STICKY_SESSION |
                     1u << LBROUTE_RULE_PIPELINE | 1u << LBROUTE_RULE_ADAPTIVE |
                     1u << LBROUTE_RULE_EXPLORE},
};

static uint32_t rules_of(const char *strategy)
{
    for (size_t i = 0; i < sizeof known_rules / sizeof known_rules[0]; i++) {
        if (strcmp(known_rules[i].strategy, strategy) == 0)
            return known_rules[i].rules;
    }
    return ~(uint32_t)0;
}

/* One letter of eight, or nothing. */
static void draw_key(struct program *program, char *key, const void **bytes,
                     size_t *length)
{
    uint32_t letter = program_below(program, 16);
    if (letter >= 8)
        return;
    *key = (char)('a' + letter);
    *bytes = key;
    *length = 1;
}

/* The same as up to 8 token ids, or block hashes, now and then. */
static void draw_ids(struct program *program, struct program_request *request)
{
    uint32_t kind = program_below(program, 8);
    uint32_t count = program_below(program, 9);
    if (kind > 1)
        return;
    for (uint32_t i = 0; i < count; i++)
        request->tokens[i] = program_below(program, 2);
    for (uint32_t i = 0; i < count; i++)
        request->blocks[i] = request->tokens[i];
    request->api.tokens = request->tokens;
    request->api.tokens_len = count;
    request->api.blocks = request->blocks;
    request->api.blocks_len = kind ? count : 0;
    if (request->api.input_tokens == -1 && count > 0)
        request->model.tokens = count;
}

/* Up to 32 bytes of two letters, so that beginnings are often the same. */
static void draw_prompt(struct program *program,
                        struct program_request *request)
{
    uint32_t length = program_below(program, sizeof request->prompt + 1);
    uint32_t letters = 0;
    for (uint32_t i = 0; i < length; i++) {
        if (i % 8 == 0)
            letters = program_byte(program);
        request->prompt[i] = (char)('a' + (letters >> i % 8 & 1));
    }
    request->api.prompt = request->prompt;
    request->api.prompt_len = length;
    if (request->model.tokens == -1 && length > 0)
        request->model.tokens = (length + 3) / 4; /* the router's estimate */
    draw_ids(program, request);
}

static void draw_exclusions(struct program *program,
                            struct model_request *request)
{
    uint32_t wanted = program_below(program, 16);
    if (wanted > 4)
        return;
    for (uint32_t i = 0; i < wanted; i++) {
        size_t place = program_some_target(program);
        int stale = program_below(program, 8) == 0;
        lbroute_target target = program->removed[i];
        if (!stale && place < MODEL_TARGETS)
            target = program->model.targets[place].handle;
        request->exclude[request->exclude_len++] = target;
    }
}

static void draw_filters(struct program *program, struct model_request *request)
{
    static const int64_t tokens[] = {-1, 0, 10, 11, 101, INT64_MAX};
    struct program_pool *pool = program_some_pool(program);
    uint32_t label = program_below(program, 16);
    request->model = label < MODEL_LABELS ? (int)label : 0;
    request->pool = pool ? pool->handle : 0;
    if (!pool || program_below(program, 6) == 0) {
        request->pool = 0;
        request->model = 1 + (int)program_below(program, MODEL_LABELS - 1);
    }
    label = program_below(program, 16);
    request->tier = label < MODEL_LABELS ? (int)label : 0;
    request->tokens = tokens[program_below(program, 6)];
}

void program_draw_request(struct program *program,
                          struct program_request *request)
{
    memset(request, 0, sizeof *request);
    draw_filters(program, &request->model);
    draw_exclusions(program, &request->model);
    model_fill_request(&request->model, &request->api);
    draw_key(program, request->session, &request->api.session,
             &request->api.session_len);
    draw_key(program, request->client, &request->api.client,
             &request->api.client_len);
    draw_key(program, request->conversation, &request->api.conversation,
             &request->api.conversation_len);
    if (program->prompts)
        draw_prompt(program, request);
}

static uint32_t allowed_rules(struct program *program,
                              const struct model_target *target,
                              const struct model_view *view)
{
    if (view->mixed)
        return 1u << LBROUTE_RULE_WEIGHTED;
    const struct program_pool *pool = program_find_pool(program, target->pool);
    CHECK(pool != NULL);
    const char *strategy = lbroute_strategy_name(pool->strategy);
    if (program->adaptive_off && strcmp(strategy, "adaptive") == 0)
        strategy = "pipeline";
    return rules_of(strategy);
}

static size_t parameter(const struct program *program, lbroute_pool pool,
                        const char *name)
{
    double value = 0;
    CHECK_I(lbroute_pool_get(program->router, pool, name, &value), LBROUTE_OK);
    return (size_t)value;
}

/* How long the prompt is, in what the pool compares. */
static size_t length_of(const struct program *program, lbroute_pool pool,
                        const lbroute_request *request, int blocks)
{
    if (request->blocks_len > 0)
        return request->blocks_len;
    if (request->tokens_len > 0)
        return blocks ? request->tokens_len /
                            parameter(program, pool, "prefix.block_tokens")
                      : request->tokens_len;
    return blocks ? request->prompt_len /
                        parameter(program, pool, "prefix.block_bytes")
                  : request->prompt_len;
}

/* Under `precise_cache_aware`: in blocks of whatever size the target's are. */
static void check_resident(const lbroute_decision *decision)
{
    CHECK(decision->prefix_matched >= -1 &&
          decision->prefix_matched <= decision->prefix_total);
    CHECK(decision->prefix_total <= 32);
    CHECK(decision->rule != LBROUTE_RULE_PRECISE_CACHE_AWARE ||
          (decision->prefix_matched > 0 &&
           decision->kv_state == LBROUTE_KV_SOURCE_FRESH));
}

/* Only `cache_aware`, `kv_aware`, `least_work`, `pipeline` and `adaptive`
 * compare prompts with prompts. */
static void check_prefix(struct program *program,
                         const struct program_request *request,
                         const struct model_target *target,
                         const struct model_view *view,
                         const lbroute_decision *decision)
{
    uint32_t rules = allowed_rules(program, target, view);
    if (rules == ~(uint32_t)0)
        return;
    if ((rules >> LBROUTE_RULE_PRECISE_CACHE_AWARE) & 1) {
        check_resident(decision);
        return;
    }
    int kv = (rules & (1u << LBROUTE_RULE_KV_AWARE |
                       1u << LBROUTE_RULE_LEAST_WORK)) != 0;
    if (!kv && !(rules & (1u << LBROUTE_RULE_CACHE_AWARE |
                          1u << LBROUTE_RULE_PIPELINE))) {
        CHECK_I(decision->prefix_matched, -1);
        CHECK_I(decision->prefix_total, -1);
        return;
    }
    int blocks =
        kv || parameter(program, target->pool, "cache_aware.mode") == 1;
    CHECK_U(decision->prefix_total,
            length_of(program, target->pool, &request->api, blocks));
    CHECK(decision->prefix_matched >= 0 &&
          decision->prefix_matched <= decision->prefix_total);
    CHECK((decision->rule != LBROUTE_RULE_CACHE_AWARE &&
           decision->rule != LBROUTE_RULE_KV_AWARE) ||
          decision->prefix_matched > 0 || request->api.tokens_len > 0);
}

static void check_choice(struct program *program,
                         const struct program_request *request,
                         const struct model_view *view,
                         const lbroute_decision *decision)
{
    size_t place = model_find(&program->model, decision->target);
    CHECK(place < MODEL_TARGETS);
    CHECK_I(view->verdicts[place], LBROUTE_REASON_NONE);
    const struct model_target *target = &program->model.targets[place];
    CHECK_U(decision->in_flight, target->in_flight + 1);
    CHECK_U(decision->max_concurrency, target->max_concurrency);
    CHECK(target->max_concurrency == 0 ||
          decision->in_flight <= target->max_concurrency);
    CHECK(decision->weight > 0 && decision->weight <= target->weight);
    CHECK(decision->load >= target->in_flight);
    CHECK_I(decision->wait_ns, 0);
    CHECK_I(decision->reason, LBROUTE_REASON_NONE);
    CHECK((allowed_rules(program, target, view) >> decision->rule) & 1);
    check_prefix(program, request, target, view, decision);
    int keyed = request->api.session_len + request->api.client_len > 0;
    CHECK_I(decision->sticky_digest != 0, keyed);
    program_check_cost(program, target, request, decision->expected_cost_pusd);
}

static void check_refusal(const struct model_view *view,
                          const lbroute_decision *decision)
{
    CHECK(model_main_reason(view, decision->reason));
    CHECK_U(decision->target, 0);
    CHECK_U(decision->ticket, 0);
    CHECK_I(decision->rule, LBROUTE_RULE_NONE);
    CHECK_U(decision->in_flight, view->in_flight);
    CHECK_U(decision->max_concurrency, view->limit);
    for (int i = 1; i < LBROUTE_REASON_NO_TARGETS; i++)
        CHECK_U(decision->reasons[i], view->reasons[i]);
}

void program_check_answer(struct program *program,
                          const struct program_request *request,
                          const struct model_view *view, int result,
                          const lbroute_decision *decision)
{
    if (result == LBROUTE_ERR_LIMIT) {
        CHECK_U(program->model.ticket_count, program->max_tickets);
        return;
    }
    CHECK_U(decision->candidates, view->candidates);
    CHECK_U(decision->eligible, view->eligible);
    CHECK_I(decision->bench_ignored, view->bench_ignored);
    CHECK_I(result, model_result(view));
    if (view->eligible == 0)
        check_refusal(view, decision);
    else
        check_choice(program, request, view, decision);
}
