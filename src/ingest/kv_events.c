/* SPDX-License-Identifier: MIT */
#include <lbroute/ingest.h>

int lbroute_ingest_kv_events(lbroute_router *router, lbroute_target target,
                             uint32_t source, uint64_t seq, const void *payload,
                             size_t len, uint64_t now,
                             lbroute_kv_result *result, lbroute_diag *diag)
{
    (void)router, (void)target, (void)source, (void)seq, (void)payload,
        (void)len, (void)now, (void)result, (void)diag;
    return LBROUTE_ERR_UNSUPPORTED;
}
