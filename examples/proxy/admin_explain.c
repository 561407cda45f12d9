/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "asked.h"
#include "decision_json.h"
#include "exchange.h"
#include "gateway.h"
#include "json_parts.h"
#include "reply.h"
#include "target_view.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Most headers of a sample. */
enum { HEADERS_MAX = 100 };

/* A sample request, as a client would send it. */
struct sample {
    const char *path;
    enum dialect dialect;
    struct asked asked;
    struct evkeyvalq headers;
    struct exchange_identity identity;
    lbroute_request request;
};

/* What the client would be told. */
static json_t *refused(const struct asked_error *error)
{
    json_t *object = json_object();

    json_put(object, "status", json_integer(error->status));
    json_put(object, "message", json_words(error->text));
    json_put(object, "param", json_words(error->param));
    return json_pack("{s:o}", "refused", object);
}

static json_t *take_headers(struct admin_call *call, struct evkeyvalq *headers)
{
    json_t *given = json_object_get(call->body, "headers"), *value;
    const char *name;

    if (given != NULL &&
        (!json_is_object(given) || json_object_size(given) > HEADERS_MAX))
        return admin_refuse(call, 400,
                            "\"headers\" must be an object of strings.");
    json_object_foreach(given, name, value)
    {
        if (!json_is_string(value) ||
            evhttp_add_header(headers, name, json_string_value(value)) != 0)
            return admin_refuse(call, 400,
                                "A header must be a string without line ends.");
    }
    return NULL;
}

/* Reads the sample as the public port would; NULL: it is all right. */
static json_t *read_sample(struct admin_call *call, struct sample *sample)
{
    json_t *body = json_object_get(call->body, "body");
    struct asked_error error = {.status = 400};
    enum asked_kind kind;
    char *text;
    bool good;

    if (!asked_path(sample->path, &sample->dialect, &kind)) {
        error.status = 404;
        strcpy(error.text, "Nothing is served on this path.");
        return refused(&error);
    }
    text = json_dumps(body, JSON_COMPACT);
    if (text == NULL)
        return admin_refuse(call, 500, "Out of memory.");
    good = asked_read(&sample->asked, sample->dialect, kind, text, strlen(text),
                      &error);
    free(text);
    if (good && exchange_describe(call->gateway, &sample->asked,
                                  &sample->headers, call->now,
                                  &sample->identity, &sample->request, &error))
        return NULL;
    return refused(&error);
}

static json_t *answer_headers(struct gateway *gateway,
                              const lbroute_decision *decision, int result)
{
    json_t *object = json_object();
    struct evkeyvalq headers;
    const struct evkeyval *header;

    TAILQ_INIT(&headers);
    reply_decision_headers(gateway, decision, result, &headers);
    TAILQ_FOREACH(header, &headers, next)
    {
        json_put(object, header->key, json_words(header->value));
    }
    evhttp_clear_headers(&headers);
    return object;
}

static json_t *named_candidate(lbroute_router *router,
                               const lbroute_candidate *candidate,
                               lbroute_target picked)
{
    lbroute_target_info info;

    lbroute_target_info_init(&info, sizeof(info));
    lbroute_target_get_info(router, candidate->target, &info);
    return candidate_json(candidate, info.name, picked);
}

static json_t *explain(struct admin_call *call, const struct sample *sample,
                       lbroute_candidate *candidates, size_t room)
{
    lbroute_router *router = call->gateway->router;
    json_t *object = json_object(), *array = json_array();
    lbroute_decision decision;
    size_t count = 0;
    int result;

    lbroute_decision_init(&decision, sizeof(decision));
    for (size_t i = 0; i < room; i++)
        lbroute_candidate_init(&candidates[i], sizeof(candidates[i]));
    result = lbroute_explain(router, &sample->request, call->now, &decision,
                             candidates, room, &count);
    for (size_t i = 0; i < count && i < room; i++)
        json_array_append_new(
            array, named_candidate(router, &candidates[i], decision.target));
    json_put(object, "model", json_words(sample->asked.model));
    decision_json_put(object, &decision, result);
    json_put(object, "headers",
             answer_headers(call->gateway, &decision, result));
    json_put(object, "explanation", array);
    return object;
}

static json_t *explain_sample(struct admin_call *call, struct sample *sample)
{
    json_t *answer = take_headers(call, &sample->headers);
    size_t room = target_count(call->gateway->router);
    lbroute_candidate *candidates;

    if (answer == NULL)
        answer = read_sample(call, sample);
    if (answer != NULL)
        return answer;
    if (room > TARGET_VIEWS_MAX)
        room = TARGET_VIEWS_MAX;
    candidates = calloc(room + 1, sizeof(*candidates));
    if (candidates != NULL)
        answer = explain(call, sample, candidates, room);
    free(candidates);
    return answer;
}

json_t *admin_post_explain(struct admin_call *call)
{
    static const char *const known[] = {"path", "headers", "body", NULL};
    const char *unknown = admin_unknown_key(call, known);
    struct sample sample;
    json_t *answer;

    memset(&sample, 0, sizeof(sample));
    sample.path = json_string_value(json_object_get(call->body, "path"));
    if (unknown != NULL)
        return admin_refuse(call, 400, "A sample has no \"%.100s\".", unknown);
    if (sample.path == NULL ||
        !json_is_object(json_object_get(call->body, "body")))
        return admin_refuse(call, 400,
                            "Give \"path\", a string, and \"body\", an "
                            "object.");
    TAILQ_INIT(&sample.headers);
    answer = explain_sample(call, &sample);
    evhttp_clear_headers(&sample.headers);
    asked_release(&sample.asked);
    return answer;
}
