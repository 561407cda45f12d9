/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "exchange.h"
#include "gateway.h"
#include "json_parts.h"
#include "target_json.h"
#include "target_view.h"

#include <stdlib.h>
#include <string.h>

/* Longest bench: a day. Whoever wants more drains. */
enum { BENCH_MAX_S = 86400 };

/* All that is gathered for an answer. */
struct gathered {
    struct target_views views;
    struct journal_index index;
};

static bool gather(struct gathered *gathered, struct admin_call *call)
{
    struct gateway *gateway = call->gateway;

    if (!target_views_gather(&gathered->views, gateway->router, call->now))
        return false;
    if (journal_index_make(&gathered->index, gateway->journal))
        return true;
    target_views_release(&gathered->views);
    return false;
}

static void release(struct gathered *gathered)
{
    target_views_release(&gathered->views);
    free(gathered->index.entries);
}

json_t *admin_get_targets(struct admin_call *call)
{
    struct gathered gathered;
    const struct target_views *views = &gathered.views;
    json_t *array, *answer;

    if (!gather(&gathered, call))
        return NULL;
    array = json_array();
    for (size_t i = 0; i < views->count; i++)
        json_array_append_new(array, target_json(call->gateway->router,
                                                 &gathered.index,
                                                 &views->items[i], call->now));
    answer = json_pack("{s:o, s:o}", "targets", array, "left_out",
                       json_count(views->left_out));
    release(&gathered);
    return answer;
}

/* Everything is checked before anything changes; NULL: it is all right. */
static json_t *check_target(struct admin_call *call)
{
    static const char *const known[] = {"weight", "drain", "bench_s", NULL};
    const char *unknown = admin_unknown_key(call, known);
    json_t *weight = json_object_get(call->body, "weight");
    json_t *drain = json_object_get(call->body, "drain");
    json_t *bench = json_object_get(call->body, "bench_s");
    double number = json_number_value(weight);

    if (unknown != NULL)
        return admin_refuse(call, 400, "A target has no \"%.100s\".", unknown);
    if (weight == NULL && drain == NULL && bench == NULL)
        return admin_refuse(call, 400,
                            "Give \"weight\", \"drain\" or \"bench_s\".");
    if (weight != NULL &&
        (!json_is_number(weight) ||
         (number != 0.0 && !(number >= 1e-6 && number <= 1e9))))
        return admin_refuse(
            call, 400, "\"weight\" must be 0 or a number from 1e-6 to 1e9.");
    if (drain != NULL && !json_is_boolean(drain))
        return admin_refuse(call, 400, "\"drain\" must be true or false.");
    number = json_number_value(bench);
    if (bench != NULL &&
        (!json_is_number(bench) || !(number >= 0.0 && number <= BENCH_MAX_S)))
        return admin_refuse(call, 400,
                            "\"bench_s\" must be a number from 0 to %d.",
                            BENCH_MAX_S);
    return NULL;
}

static int change_target(struct admin_call *call, lbroute_target target)
{
    lbroute_router *router = call->gateway->router;
    json_t *weight = json_object_get(call->body, "weight");
    json_t *drain = json_object_get(call->body, "drain");
    json_t *bench = json_object_get(call->body, "bench_s");
    int result = LBROUTE_OK;

    if (weight !=
        NULL) /* Alone may fail, for want of memory: so it is first. */
        result = lbroute_target_set_weight(
            router, target, json_number_value(weight), call->now);
    if (result == LBROUTE_OK && drain != NULL)
        result = lbroute_target_drain(router, target, json_is_true(drain),
                                      call->now);
    if (result == LBROUTE_OK && bench != NULL)
        result = lbroute_target_bench(
            router, target, (uint64_t)(json_number_value(bench) * 1e9),
            call->now);
    return result;
}

static json_t *changed_target(struct admin_call *call, lbroute_target target)
{
    struct gathered gathered;
    const struct target_views *views = &gathered.views;
    json_t *object = NULL;

    if (!gather(&gathered, call))
        return NULL;
    for (size_t i = 0; i < views->count && object == NULL; i++)
        if (views->items[i].target == target)
            object = target_json(call->gateway->router, &gathered.index,
                                 &views->items[i], call->now);
    release(&gathered);
    return object != NULL ? object : json_object();
}

json_t *admin_post_target(struct admin_call *call)
{
    lbroute_target target;
    json_t *refusal;
    int result;

    if (lbroute_target_find(call->gateway->router, call->name,
                            strlen(call->name), &target) != LBROUTE_OK)
        return admin_refuse(call, 404, "There is no such target.");
    refusal = check_target(call);
    if (refusal != NULL)
        return refusal;
    result = change_target(call, target);
    exchanges_serve_waiting(call->gateway);
    if (result != LBROUTE_OK)
        return admin_refuse(call, 500, "%s", lbroute_strerror(result));
    return changed_target(call, target);
}
