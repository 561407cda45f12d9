/* SPDX-License-Identifier: MIT */
#include "ask.h"
#include "pages.h"
#include "reply.h"

/* Makes the prompt of a request for its tokens. */
static bool read_prompt(const struct mock *mock, struct evhttp_request *request,
                        const struct dialect *dialect, struct prompt *prompt,
                        struct refusal *refusal)
{
    json_t *body = reply_read(request, refusal);
    const char *model;
    uint32_t adapter;
    bool good;

    if (dialect == NULL)
        dialect = json_object_get(body, "messages") != NULL
                      ? &dialect_chat
                      : &dialect_completion;
    good = body != NULL && ask_model(mock, body, &model, &adapter, refusal) &&
           dialect->render(body, prompt, refusal);
    json_decref(body);
    return good;
}

static json_t *token_list(const struct prompt *prompt)
{
    json_t *list = json_array();

    for (size_t i = 0; i < prompt->count; i++)
        json_array_append_new(list, json_integer(prompt->tokens[i]));
    return list;
}

void page_tokenize(struct mock *mock, struct evhttp_request *request,
                   const struct fault_plan *plan, const void *data)
{
    struct prompt prompt = {0};
    struct refusal refusal;

    (void)plan;
    (void)data;
    if (read_prompt(mock, request, NULL, &prompt, &refusal))
        reply_json(request, 200,
                   json_pack("{s:I,s:I,s:o}", "count", (json_int_t)prompt.count,
                             "max_model_len", (json_int_t)mock->max_model_len,
                             "tokens", token_list(&prompt)));
    else
        reply_refusal(request, false, &refusal);
    prompt_release(&prompt);
}

void page_count_tokens(struct mock *mock, struct evhttp_request *request,
                       const struct fault_plan *plan, const void *data)
{
    struct prompt prompt = {0};
    struct refusal refusal;

    (void)plan;
    (void)data;
    if (read_prompt(mock, request, &dialect_message, &prompt, &refusal))
        reply_json(
            request, 200,
            json_pack("{s:I}", "input_tokens", (json_int_t)prompt.count));
    else
        reply_refusal(request, true, &refusal);
    prompt_release(&prompt);
}
