/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include "clocks.h"
#include "reply.h"

void page_health(struct mock *mock, struct evhttp_request *request,
                 const struct fault_plan *plan, const void *data)
{
    (void)mock;
    (void)plan;
    (void)data;
    evhttp_send_reply(request, 200, NULL, NULL);
}

void page_version(struct mock *mock, struct evhttp_request *request,
                  const struct fault_plan *plan, const void *data)
{
    (void)mock;
    (void)plan;
    (void)data;
    reply_json(request, 200, json_pack("{s:s}", "version", "0.0.0+mock"));
}

static json_t *model_card(const char *name, const char *root,
                          const char *parent, uint32_t max_model_len)
{
    return json_pack("{s:s,s:s,s:I,s:s,s:s,s:s?,s:I}", "id", name, "object",
                     "model", "created", (json_int_t)clock_day(), "owned_by",
                     "vllm", "root", root, "parent", parent, "max_model_len",
                     (json_int_t)max_model_len);
}

void page_models(struct mock *mock, struct evhttp_request *request,
                 const struct fault_plan *plan, const void *data)
{
    const struct names *names = &mock->options.names;
    const char *base = names->models[0];
    json_t *list = json_array();

    (void)plan;
    (void)data;
    for (size_t i = 0; i < names->model_count; i++)
        json_array_append_new(list, model_card(names->models[i], base, NULL,
                                               mock->max_model_len));
    for (uint32_t i = 0; i < names->adapter_count; i++)
        if (names->loaded[i])
            json_array_append_new(list, model_card(names->adapters[i],
                                                   names->adapters[i], base,
                                                   mock->max_model_len));
    reply_json(request, 200,
               json_pack("{s:s,s:o}", "object", "list", "data", list));
}

static void add_counts(struct mock *mock)
{
    struct vllm_page *page = &mock->page;

    vllm_page_add_counter(page, "prompt_tokens_total",
                          "Number of prefill tokens processed.",
                          mock->counts.prompt_tokens);
    vllm_page_add_counter(page, "generation_tokens_total",
                          "Number of generation tokens processed.",
                          mock->counts.output_tokens);
    vllm_page_add_counter(page, "request_success_total",
                          "Count of successfully processed requests.",
                          mock->counts.completed);
    vllm_page_add_counter(page, "num_preemptions_total",
                          "Cumulative number of preemptions.",
                          engine_preemptions(pace_engine(mock->pace)));
}

void page_metrics(struct mock *mock, struct evhttp_request *request,
                  const struct fault_plan *plan, const void *data)
{
    struct evbuffer *body = evbuffer_new();

    (void)data;
    vllm_page_write(&mock->page, pace_engine(mock->pace),
                    (uint64_t)(clock_day() * 1e9));
    add_counts(mock);
    if (plan->malformed != MALFORMED_NOT)
        evbuffer_add_printf(body, "<html>not found</html>");
    else
        evbuffer_add(body, mock->page.text, mock->page.length);
    reply_body(request, 200, "text/plain; version=0.0.4; charset=utf-8", body);
    evbuffer_free(body);
}
