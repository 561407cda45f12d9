/* SPDX-License-Identifier: MIT */
#include "report_queue.h"

#include "report_object.h"

static json_t *group_object(const struct replay_group *group)
{
    struct report_object object = object_begin();

    object_put(&object, "name", object_text(group->name));
    object_put(&object, "requests", object_count(group->requests));
    object_put(&object, "rejected", object_count(group->rejected));
    object_put(&object, "wait_ms", object_quantiles(&group->wait_ms));
    object_put(&object, "demand_share",
               object_number(group->demand_share, OBJECT_MICRO));
    object_put(&object, "service_share",
               object_number(group->service_share, OBJECT_MICRO));
    object_put(&object, "fair_share",
               object_number(group->fair_share, OBJECT_MICRO));
    return object_end(&object);
}

static json_t *group_array(const struct replay_group *groups, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, group_object(&groups[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *reason_object(const struct replay_queue *queue)
{
    struct report_object object = object_begin();

    for (size_t i = 0; i < queue->reason_count; i++)
        object_put(&object, queue->reasons[i].name,
                   object_count(queue->reasons[i].count));
    return object_end(&object);
}

static json_t *change_object(const struct replay_mode_change *change)
{
    struct report_object object = object_begin();

    object_put(&object, "at_s", object_number(change->at_s, OBJECT_MICRO));
    object_put(&object, "busy", json_boolean(change->busy));
    object_put(&object, "under_way", object_count(change->under_way));
    object_put(&object, "arrivals", object_count(change->arrivals));
    return object_end(&object);
}

static json_t *change_array(const struct replay_queue *queue)
{
    json_t *array = json_array();

    for (size_t i = 0; i < queue->change_count; i++)
        if (json_array_append_new(array, change_object(&queue->changes[i])) !=
            0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *hybrid_object(const struct replay_queue *queue)
{
    struct report_object object = object_begin();

    object_put(&object, "busy_s", object_number(queue->busy_s, OBJECT_MICRO));
    object_put(&object, "quiet_s", object_number(queue->quiet_s, OBJECT_MICRO));
    object_put(&object, "changes", change_array(queue));
    return object_end(&object);
}

static void put_groups(struct report_object *object,
                       const struct replay_queue *queue)
{
    if (queue->client_count > 0) {
        object_put(object, "heaviest", group_object(&queue->heaviest));
        object_put(object, "others", group_object(&queue->others));
        object_put(object, "clients",
                   group_array(queue->clients, queue->client_count));
    }
    if (queue->priority_count > 0)
        object_put(object, "priorities",
                   group_array(queue->priorities, queue->priority_count));
}

json_t *report_queue_object(const struct replay_queue *queue)
{
    struct report_object object = object_begin();

    object_put(&object, "wait_ms", object_quantiles(&queue->wait_ms));
    object_put(&object, "rejected", reason_object(queue));
    object_put(&object, "requests_per_s",
               object_number(queue->requests_per_s, OBJECT_MICRO));
    object_put(&object, "tokens_per_s",
               object_number(queue->tokens_per_s, OBJECT_MICRO));
    object_put(&object, "estimates", object_count(queue->estimates));
    object_put(&object, "estimate_error",
               object_number(queue->estimate_error, OBJECT_MICRO));
    object_put(&object, "estimate_bias",
               object_number(queue->estimate_bias, OBJECT_MICRO));
    put_groups(&object, queue);
    if (queue->hybrid)
        object_put(&object, "hybrid", hybrid_object(queue));
    return object_end(&object);
}
