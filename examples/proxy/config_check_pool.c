/* SPDX-License-Identifier: MIT */
/*
 * What a pool may be is for the library to say. A router of one moment is asked
 * where its tables do not tell.
 */
#include "config_reader.h"
#include "pool_terms.h"

#include <lbroute/lbroute.h>

#include <stdio.h>

static bool fail_strategy(struct config_reader *reader,
                          const struct config_pool *pool)
{
    struct config_quote quote = config_quote(pool->strategy);
    char list[400] = "";
    size_t used = 0;
    const char *name;

    for (size_t i = 0; (name = lbroute_strategy_name(i)) != NULL; i++) {
        int more = snprintf(list + used, sizeof list - used, "%s%s",
                            i > 0 ? ", " : "", name);

        used += (size_t)more;
        if (used >= sizeof list)
            break;
    }
    return config_fail_at(reader, &pool->strategy, "\"%s\" is none of %s",
                          quote.text, list);
}

static bool fail_parameter(struct config_reader *reader,
                           const struct config_parameter *parameter)
{
    struct config_quote quote = config_quote(parameter->name);
    lbroute_param_info info;

    if (!pool_find_parameter(parameter->name, &info))
        return config_fail_at(reader, &parameter->name,
                              "there is no parameter \"%s\"", quote.text);
    if (parameter->value < info.minimum || parameter->value > info.maximum)
        return config_fail_at(
            reader, &parameter->value, "%s: %.15g is not within %.15g to %.15g",
            info.name, parameter->value, info.minimum, info.maximum);
    return config_fail_at(reader, &parameter->value,
                          "%s: expected a whole number, not %.15g", info.name,
                          parameter->value);
}

static bool try_pool(struct config_reader *reader,
                     const struct config_pool *pool, lbroute_router *router)
{
    lbroute_pool_options options;
    lbroute_pool handle;

    lbroute_pool_options_init(&options, sizeof options);
    options.name = "p";
    options.name_len = 1;
    if (lbroute_pool_add(router, &options, &handle) != LBROUTE_OK)
        return config_fail_memory(reader);
    for (size_t i = 0; i < pool->parameter_count; i++) {
        const struct config_parameter *parameter = &pool->parameters[i];
        int result =
            lbroute_pool_set(router, handle, parameter->name, parameter->value);

        if (result == LBROUTE_ERR_NO_MEMORY)
            return config_fail_memory(reader);
        if (result != LBROUTE_OK)
            return fail_parameter(reader, parameter);
    }
    return true;
}

bool config_check_pool(struct config_reader *reader,
                       const struct config_pool *pool)
{
    lbroute_router_options options;
    lbroute_router *router;
    bool good;

    if (pool->strategy[0] != '\0' && !pool_is_strategy(pool->strategy))
        return fail_strategy(reader, pool);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    options.single_threaded = 1;
    if (lbroute_router_create(&options, &router) != LBROUTE_OK)
        return config_fail_memory(reader);
    good = try_pool(reader, pool, router);
    lbroute_router_destroy(router);
    return good;
}
