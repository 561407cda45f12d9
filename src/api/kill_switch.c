/* SPDX-License-Identifier: MIT */
#include "state/router.h"

int lbroute_set_adaptive(lbroute_router *router, int enabled)
{
    if (!router || enabled < 0 || enabled > 1)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    router->adaptive_off = !enabled;
    return lbr_router_leave(router, LBROUTE_OK);
}

int lbroute_get_adaptive(lbroute_router *router, int *enabled)
{
    if (!router || !enabled)
        return LBROUTE_ERR_INVALID;
    lbr_router_enter(router);
    *enabled = !router->adaptive_off;
    return lbr_router_leave(router, LBROUTE_OK);
}
