/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "exchange.h"
#include "gateway.h"
#include "json_parts.h"
#include "labels.h"
#include "pool_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *causes(uint32_t bits)
{
    json_t *array = json_array();

    for (unsigned bit = LBROUTE_CAUSE_BENCHED; bit <= LBROUTE_CAUSE_DRAINED;
         bit <<= 1)
        if (bits & bit)
            json_array_append_new(array, json_string(label_cause(bit)));
    return array;
}

static json_t *one_share(lbroute_router *router, const lbroute_share *share)
{
    json_t *object = json_object();
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof(info));
    lbroute_target_get_info(router, share->target, &info);
    json_put(object, "target", json_words(info.name));
    json_put(object, "requests", json_count(share->requests));
    json_put(object, "configured", json_figure(share->configured));
    json_put(object, "dispatched", json_figure(share->dispatched));
    json_put(object, "drift", json_figure(share->drift));
    json_put(object, "flagged", json_boolean(share->flagged));
    json_put(object, "causes", causes(share->causes));
    return object;
}

static json_t *shares(struct gateway *gateway, lbroute_pool pool,
                      size_t targets, uint64_t now)
{
    lbroute_share *rows = calloc(targets + 1, sizeof(*rows));
    json_t *array = json_array();
    size_t count = 0;

    for (size_t i = 0; rows != NULL && i < targets; i++)
        lbroute_share_init(&rows[i], sizeof(rows[i]));
    if (rows != NULL)
        lbroute_pool_shares(gateway->router, pool, now, rows, targets, &count);
    for (size_t i = 0; i < count && i < targets; i++)
        json_array_append_new(array, one_share(gateway->router, &rows[i]));
    free(rows);
    return array;
}

static json_t *parameters(lbroute_router *router, lbroute_pool pool)
{
    json_t *object = json_object();
    lbroute_param_info info;
    double value;

    lbroute_param_info_init(&info, sizeof(info));
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        if (lbroute_pool_get(router, pool, info.name, &value) == LBROUTE_OK)
            json_put(object, info.name, json_figure(value));
    return object;
}

static json_t *queue(const lbroute_pool_stats *stats)
{
    json_t *object = json_object();

    json_put(object, "waiting", json_count(stats->waiting));
    /* Of one that would come now: all that wait go before it. */
    json_put(
        object, "expected_wait_ms",
        json_figure(stats->slot_gap_ns / 1e6 * ((double)stats->waiting + 1.0)));
    json_put(object, "slot_gap_ms", json_figure(stats->slot_gap_ns / 1e6));
    json_put(object, "queued", json_count(stats->queued));
    json_put(object, "served", json_count(stats->queue_served));
    json_put(object, "timeouts", json_count(stats->queue_timeouts));
    json_put(object, "cancelled", json_count(stats->queue_cancelled));
    json_put(object, "refused", json_count(stats->queue_refused));
    return object;
}

static void put_capacity(json_t *object, const lbroute_pool_stats *stats)
{
    json_put(object, "admission", json_string(label_admission(stats->mode)));
    json_put(object, "busy", json_boolean(stats->busy));
    json_put(object, "mode_changes", json_count(stats->mode_changes));
    json_put(object, "arrivals", json_figure(stats->arrivals));
    json_put(object, "in_flight", json_count(stats->in_flight));
    json_put(object, "limit", json_count(stats->limit));
    json_put(object, "queue", queue(stats));
}

static json_t *one_pool(struct admin_call *call, lbroute_pool pool)
{
    lbroute_router *router = call->gateway->router;
    json_t *object = json_object();
    lbroute_pool_info info;
    lbroute_pool_stats stats;

    lbroute_pool_info_init(&info, sizeof(info));
    lbroute_pool_get_info(router, pool, &info);
    lbroute_pool_stats_init(&stats, sizeof(stats));
    lbroute_get_pool_stats(router, pool, &stats);
    json_put(object, "name", json_words(info.name));
    json_put(object, "strategy", json_string(info.strategy));
    json_put(object, "targets", json_count(info.targets));
    put_capacity(object, &stats);
    json_put(object, "parameters", parameters(router, pool));
    json_put(object, "shares",
             shares(call->gateway, pool, info.targets, call->now));
    return object;
}

json_t *admin_get_pools(struct admin_call *call)
{
    json_t *array = json_array();
    lbroute_pool pool = 0;

    while (lbroute_pool_next(call->gateway->router, pool, &pool) == LBROUTE_OK)
        json_array_append_new(array, one_pool(call, pool));
    return json_pack("{s:o}", "pools", array);
}

static json_t *one_parameter(const lbroute_param_info *info)
{
    json_t *object = json_object();

    json_put(object, "name", json_string(info->name));
    json_put(object, "text", json_string(info->text));
    json_put(object, "default", json_figure(info->default_value));
    json_put(object, "minimum", json_figure(info->minimum));
    json_put(object, "maximum", json_figure(info->maximum));
    return object;
}

json_t *admin_get_parameters(struct admin_call *call)
{
    json_t *strategies = json_array(), *array = json_array();
    lbroute_param_info info;
    const char *name;

    (void)call;
    for (size_t i = 0; (name = lbroute_strategy_name(i)) != NULL; i++)
        json_array_append_new(strategies, json_string(name));
    lbroute_param_info_init(&info, sizeof(info));
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        json_array_append_new(array, one_parameter(&info));
    return json_pack("{s:o, s:o}", "strategies", strategies, "parameters",
                     array);
}

/* Everything is checked before anything changes; NULL: it is all right. */
static json_t *check_parameters(struct admin_call *call, json_t *parameters)
{
    lbroute_param_info info;
    const char *name;
    json_t *value;

    json_object_foreach(parameters, name, value)
    {
        double number = json_number_value(value);

        if (!pool_find_parameter(name, &info))
            return admin_refuse(call, 400, "There is no parameter \"%.100s\".",
                                name);
        if (!json_is_number(value) || number < info.minimum ||
            number > info.maximum)
            return admin_refuse(call, 400,
                                "\"%s\" must be a number from %g to %g.", name,
                                info.minimum, info.maximum);
    }
    return NULL;
}

static json_t *check_pool(struct admin_call *call)
{
    static const char *const known[] = {"strategy", "parameters", NULL};
    const char *unknown = admin_unknown_key(call, known);
    json_t *strategy = json_object_get(call->body, "strategy");
    json_t *parameters = json_object_get(call->body, "parameters");

    if (unknown != NULL)
        return admin_refuse(call, 400, "A pool has no \"%.100s\".", unknown);
    if (strategy == NULL && parameters == NULL)
        return admin_refuse(call, 400,
                            "Give \"strategy\", \"parameters\" or both.");
    if (strategy != NULL && (!json_is_string(strategy) ||
                             !pool_is_strategy(json_string_value(strategy))))
        return admin_refuse(call, 400, "There is no such strategy.");
    if (parameters != NULL && !json_is_object(parameters))
        return admin_refuse(call, 400, "\"parameters\" must be an object.");
    return check_parameters(call, parameters);
}

/* The router knows more than the ranges (whole numbers, for example): then what
 * was already set is put back. */
static int set_parameters(lbroute_router *router, lbroute_pool pool,
                          json_t *parameters, const char **culprit)
{
    json_t *before = json_object();
    const char *name;
    json_t *value;
    int result = LBROUTE_OK;

    json_object_foreach(parameters, name, value)
    {
        double old = (double)NAN;

        lbroute_pool_get(router, pool, name, &old);
        result = lbroute_pool_set(router, pool, name, json_number_value(value));
        *culprit = name;
        if (result != LBROUTE_OK)
            break;
        json_put(before, name, json_real(old));
    }
    if (result != LBROUTE_OK)
        json_object_foreach(before, name, value)
            lbroute_pool_set(router, pool, name, json_real_value(value));
    json_decref(before);
    return result;
}

static json_t *change_pool(struct admin_call *call, lbroute_pool pool)
{
    lbroute_router *router = call->gateway->router;
    const char *culprit = "", *strategy;
    int result = set_parameters(
        router, pool, json_object_get(call->body, "parameters"), &culprit);

    if (result != LBROUTE_OK)
        return admin_refuse(call, result == LBROUTE_ERR_RANGE ? 400 : 500,
                            "\"%s\": %s", culprit, lbroute_strerror(result));
    strategy = json_string_value(json_object_get(call->body, "strategy"));
    if (strategy != NULL)
        result = lbroute_pool_update(router, pool, strategy, strlen(strategy));
    if (result != LBROUTE_OK)
        return admin_refuse(call, 500, "%s", lbroute_strerror(result));
    exchanges_serve_waiting(call->gateway);
    return one_pool(call, pool);
}

json_t *admin_post_pool(struct admin_call *call)
{
    lbroute_pool pool;
    json_t *refusal;

    if (lbroute_pool_find(call->gateway->router, call->name, strlen(call->name),
                          &pool) != LBROUTE_OK)
        return admin_refuse(call, 404, "There is no such pool.");
    refusal = check_pool(call);
    return refusal != NULL ? refusal : change_pool(call, pool);
}
