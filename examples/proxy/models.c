/* SPDX-License-Identifier: MIT */
#include "models.h"
#include "fleet.h"
#include "gateway.h"
#include "reply.h"

#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static json_t *model_json(const struct gateway *gateway, enum dialect dialect,
                          const char *name)
{
    time_t since =
        time(NULL) - (time_t)((gateway_now() - gateway->started) / 1000000000u);
    char when[32] = "";
    struct tm parts;
    if (dialect == DIALECT_OPENAI)
        return json_pack("{s:s, s:s, s:I, s:s}", "id", name, "object", "model",
                         "created", (json_int_t)since, "owned_by", "lbroute");
    if (gmtime_r(&since, &parts))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_pack("{s:s, s:s, s:s, s:s}", "type", "model", "id", name,
                     "display_name", name, "created_at", when);
}

static json_t *all_models(const struct gateway *gateway, enum dialect dialect)
{
    const struct fleet *fleet = gateway->fleet;
    json_t *list = json_array();
    for (size_t i = 0; i < fleet->name_count; i++)
        json_array_append_new(
            list, model_json(gateway, dialect, fleet->names[i].name));
    return list;
}

static void send_json(struct evhttp_request *request, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    reply_json(request, text ? 200 : 500, text ? text : "{}");
    free(text);
    json_decref(json);
}

static const char *id_at(json_t *list, size_t index)
{
    return json_string_value(
        json_object_get(json_array_get(list, index), "id"));
}

void models_list(struct gateway *gateway, enum dialect dialect,
                 struct evhttp_request *request)
{
    json_t *list = all_models(gateway, dialect);
    size_t count = json_array_size(list);
    json_t *json = NULL;
    if (dialect == DIALECT_OPENAI)
        json = json_pack("{s:s, s:O}", "object", "list", "data", list);
    else
        json = json_pack("{s:O, s:b, s:s?, s:s?}", "data", list, "has_more", 0,
                         "first_id", id_at(list, 0), "last_id",
                         count ? id_at(list, count - 1) : NULL);
    json_decref(list);
    send_json(request, json);
}

void models_show(struct gateway *gateway, enum dialect dialect,
                 const char *name, struct evhttp_request *request)
{
    static const struct asked_error MISSING = {.status = 404,
                                               .text = "The model does not "
                                                       "exist here.",
                                               .param = "model"};
    char *plain = evhttp_uridecode(name, 0, NULL);
    if (plain && fleet_find_name(gateway->fleet, plain))
        send_json(request, model_json(gateway, dialect, plain));
    else
        reply_error(request, dialect, &MISSING);
    free(plain);
}
