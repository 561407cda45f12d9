/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "config.h"
#include "gateway.h"

static json_t *failed(struct admin_call *call, const char *text, unsigned line,
                      unsigned column)
{
    call->gateway->counters.reload_failures++;
    if (line == 0)
        return admin_refuse(call, 400, "%s", text);
    return admin_refuse(call, 400, "Line %u, column %u: %s", line, column,
                        text);
}

json_t *admin_post_reload(struct admin_call *call)
{
    static const char *const known[] = {NULL};
    struct gateway *gateway = call->gateway;
    struct config_error where;
    struct config *config;
    char error[512];

    if (admin_unknown_key(call, known) != NULL)
        return admin_refuse(call, 400, "The body must be {}.");
    config = config_load(gateway->config->path, &where);
    if (config == NULL)
        return failed(call, where.text, where.line, where.column);
    if (!gateway_configure(gateway, config, error, sizeof(error))) {
        config_free(config);
        return failed(call, error, 0, 0);
    }
    gateway->counters.reloads++;
    return json_pack("{s:b}", "reloaded", 1);
}
