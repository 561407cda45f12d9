/* SPDX-License-Identifier: MIT */
/* Prices, by the names of models, and the switch of the adaptive pools. One
 * rate is for all of a request's tokens, so that it does not matter how many of
 * them are cached. */
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

static void set_rate(struct program *program, int label)
{
    const char *key = model_label(label);
    int64_t rate = (int64_t)program_byte(program) - 1;
    lbroute_price price;
    lbroute_price_init(&price, sizeof price);
    price.input = price.output = price.cached_input = rate;
    CHECK_I(lbroute_set_price(program->router, key, strlen(key), &price),
            LBROUTE_OK);
    program->priced[label] = 1;
    program->rates[label] = rate;
}

static void remove_rate(struct program *program, int label)
{
    const char *key = model_label(label);
    CHECK_I(lbroute_remove_price(program->router, key, strlen(key)),
            program->priced[label] ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
    program->priced[label] = 0;
}

static void check_rate(struct program *program, int label)
{
    const char *key = model_label(label);
    lbroute_price price;
    lbroute_price_init(&price, sizeof price);
    int result = lbroute_get_price(program->router, key, strlen(key), &price);
    CHECK_I(result,
            program->priced[label] ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
    if (result == LBROUTE_OK)
        CHECK_I(price.output, program->rates[label]);
}

void program_change_price(struct program *program)
{
    int label = 1 + (int)program_below(program, MODEL_LABELS - 1);
    switch (program_below(program, 8)) {
    case 0:
        remove_rate(program, label);
        break;
    case 1:
        program->adaptive_off = !program->adaptive_off;
        CHECK_I(lbroute_set_adaptive(program->router, !program->adaptive_off),
                LBROUTE_OK);
        break;
    case 2:
        check_rate(program, label);
        break;
    default:
        set_rate(program, label);
    }
}

/* A request's tokens, or what its pool takes them for. */
static uint64_t tokens_of(const struct program *program, lbroute_pool pool,
                          const char *parameter, int64_t given)
{
    double value = 0;
    if (given >= 0)
        return (uint64_t)given;
    CHECK_I(lbroute_pool_get(program->router, pool, parameter, &value),
            LBROUTE_OK);
    return (uint64_t)value;
}

void program_check_cost(const struct program *program,
                        const struct model_target *target,
                        const struct program_request *request, int64_t cost)
{
    int label = target->serves;
    if (label == 0 || !program->priced[label] || program->rates[label] < 0) {
        CHECK_I(cost, -1);
        return;
    }
    if (target->pool == 0)
        return; /* nobody can ask for its parameters */
    uint64_t rate = (uint64_t)program->rates[label];
    uint64_t tokens = tokens_of(program, target->pool, "cost.input_tokens",
                                request->model.tokens) +
                      tokens_of(program, target->pool, "cost.output_tokens",
                                request->api.output_tokens);
    CHECK_I(cost, rate > 0 && tokens > INT64_MAX / rate
                      ? INT64_MAX
                      : (int64_t)(rate * tokens));
}
