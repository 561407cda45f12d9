/* SPDX-License-Identifier: MIT */
#include "ask.h"

#include <inttypes.h>

bool ask_model(const struct mock *mock, const json_t *body, const char **model,
               uint32_t *adapter, struct refusal *refusal)
{
    const json_t *value = json_object_get(body, "model");
    const char *name = json_string_value(value);

    *adapter = 0;
    *model = mock->options.names.models[0];
    if (value == NULL)
        return true;
    if (name == NULL)
        return refuse_field(refusal, "model", "model is not a text");
    *model = names_find(&mock->options.names, name, adapter);
    return *model != NULL || refuse(refusal, 404, "NotFoundError", "model",
                                    "The model `%.200s` does not exist.", name);
}

/* The first field of a dialect that limits the answer. */
static bool read_length(struct ask *ask, const json_t *body,
                        struct refusal *refusal)
{
    for (int i = 0; ask->dialect->limits[i] != NULL; i++) {
        const json_t *value = json_object_get(body, ask->dialect->limits[i]);
        json_int_t length = json_integer_value(value);

        if (value == NULL || json_is_null(value))
            continue;
        if (!json_is_integer(value) || length < 1 || length > UINT32_MAX)
            return refuse_field(refusal, ask->dialect->limits[i],
                                "%s must be at least 1",
                                ask->dialect->limits[i]);
        ask->length = (uint32_t)length;
        ask->limited = true;
        return true;
    }
    return true;
}

static bool read_kind(struct ask *ask, const json_t *body,
                      struct refusal *refusal)
{
    const json_t *options = json_object_get(body, "stream_options");
    const json_t *n = json_object_get(body, "n");

    ask->stream = json_is_true(json_object_get(body, "stream"));
    ask->usage = json_is_true(json_object_get(options, "include_usage"));
    if (n != NULL && json_integer_value(n) != 1 && !json_is_null(n))
        return refuse_field(refusal, "n", "only n = 1 is served");
    return true;
}

static bool check_size(const struct ask *ask, const struct mock *mock,
                       struct refusal *refusal)
{
    uint64_t tokens = ask->prompt.count;

    if (tokens + ask->length <= mock->max_model_len)
        return true;
    return refuse_field(
        refusal, NULL,
        "This model's maximum context length is %" PRIu32
        " tokens. However, you requested %" PRIu64 " tokens (%" PRIu64
        " in the messages, %" PRIu32
        " in the completion). Please reduce the length of the messages or "
        "completion.",
        mock->max_model_len, tokens + ask->length, tokens, ask->length);
}

bool ask_read(struct ask *ask, const struct mock *mock,
              const struct dialect *dialect, const json_t *body,
              struct refusal *refusal)
{
    *ask = (struct ask){
        .dialect = dialect,
        .length = (uint32_t)mock->options.answer_tokens,
    };
    return ask_model(mock, body, &ask->model, &ask->adapter, refusal) &&
           read_kind(ask, body, refusal) && read_length(ask, body, refusal) &&
           dialect->render(body, &ask->prompt, refusal) &&
           check_size(ask, mock, refusal);
}

void ask_release(struct ask *ask)
{
    prompt_release(&ask->prompt);
}
