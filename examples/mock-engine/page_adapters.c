/* SPDX-License-Identifier: MIT */
#include "pages.h"
#include "reply.h"

#include <stdio.h>

/* The name in a body, or NULL with a refusal. */
static const char *lora_name(const struct mock *mock, const json_t *body,
                             struct refusal *refusal)
{
    const char *name = json_string_value(json_object_get(body, "lora_name"));

    if (body == NULL)
        return NULL;
    if (mock->options.lora_slots == 0)
        refuse_field(refusal, NULL, "LoRA is not enabled");
    else if (name == NULL || !name_is_plain(name))
        refuse_field(refusal, "lora_name", "a plain lora_name is needed");
    else
        return name;
    return NULL;
}

static void reply_success(struct evhttp_request *request, const char *name,
                          const char *what)
{
    char text[320];

    snprintf(text, sizeof text, "Success: LoRA adapter '%s' %s successfully.",
             name, what);
    reply_text(request, 200, "text/plain; charset=utf-8", text);
}

/* What a change of adapters is, and what is said of it. */
struct change {
    bool (*make)(struct names *names, const char *name);
    const char *done; /* Of a success. */
    int status;       /* Of a refusal. */
    const char *type, *refused;
};

static void change_adapters(struct mock *mock, struct evhttp_request *request,
                            const struct change *change)
{
    struct refusal refusal;
    json_t *body = reply_read(request, &refusal);
    const char *name = lora_name(mock, body, &refusal);

    if (name != NULL && change->make(&mock->options.names, name)) {
        reply_success(request, name, change->done);
    } else {
        if (name != NULL)
            refuse(&refusal, change->status, change->type, "lora_name",
                   "The lora adapter '%s' %s.", name, change->refused);
        reply_refusal(request, false, &refusal);
    }
    json_decref(body);
}

void page_load_adapter(struct mock *mock, struct evhttp_request *request,
                       const struct fault_plan *plan, const void *data)
{
    static const struct change LOAD = {names_load, "added", 400,
                                       "InvalidUserInput",
                                       "has already been loaded"};

    (void)plan;
    (void)data;
    change_adapters(mock, request, &LOAD);
}

void page_unload_adapter(struct mock *mock, struct evhttp_request *request,
                         const struct fault_plan *plan, const void *data)
{
    static const struct change UNLOAD = {names_unload, "removed", 404,
                                         "NotFoundError", "cannot be found"};

    (void)plan;
    (void)data;
    change_adapters(mock, request, &UNLOAD);
}
