/* SPDX-License-Identifier: MIT */
#include "admin_parts.h"
#include "gateway.h"

json_t *admin_post_reload(struct admin_call *call)
{
    static const char *const known[] = {NULL};
    char error[512] = "";

    if (admin_unknown_key(call, known) != NULL)
        return admin_refuse(call, 400, "The body must be {}.");
    if (!gateway_reload(call->gateway, error, sizeof(error)))
        return admin_refuse(call, 400, "The old configuration stays: %s",
                            error);
    return json_pack("{s:b}", "reloaded", 1);
}
