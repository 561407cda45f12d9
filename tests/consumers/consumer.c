/* SPDX-License-Identifier: MIT */
/*
 * What any user of the library does first, in the common part of C99 and
 * C++11: reads what the target's engine reports, picks it and settles the
 * ticket. Prints the library's version.
 */
#include <lbroute/ingest.h>
#include <lbroute/lbroute.h>
#include <stdio.h>
#include <string.h>

static int scrape(lbroute_router *router, lbroute_target target)
{
    static const char page[] = "vllm:num_requests_running 3\n";
    lbroute_diag diag;
    lbroute_diag_init(&diag, sizeof diag);
    return lbroute_ingest_metrics(router, target, page, sizeof page - 1, 0,
                                  &diag);
}

static int add_target(lbroute_router *router, lbroute_pool pool)
{
    lbroute_target_options options;
    lbroute_target target = 0;
    int result = 0;
    lbroute_target_options_init(&options, sizeof options);
    options.name = "gpu";
    options.name_len = 3;
    options.pool = pool;
    result = lbroute_target_add(router, &options, 0, &target);
    return result == LBROUTE_OK ? scrape(router, target) : result;
}

static int add_pool(lbroute_router *router, lbroute_pool *pool)
{
    lbroute_pool_options options;
    lbroute_pool_options_init(&options, sizeof options);
    options.name = "chat";
    options.name_len = 4;
    return lbroute_pool_add(router, &options, pool);
}

static int route_one(lbroute_router *router, lbroute_pool pool)
{
    lbroute_request request;
    lbroute_decision decision;
    lbroute_event event;
    int result = 0;
    lbroute_request_init(&request, sizeof request);
    lbroute_decision_init(&decision, sizeof decision);
    lbroute_event_init(&event, sizeof event);
    request.pool = pool;
    result = lbroute_pick(router, &request, 1, &decision);
    if (result != LBROUTE_OK)
        return result;
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_SUCCESS;
    return lbroute_observe(router, &event, 2);
}

static int use_router(lbroute_router *router)
{
    lbroute_pool pool = 0;
    int result = add_pool(router, &pool);
    if (result == LBROUTE_OK)
        result = add_target(router, pool);
    if (result == LBROUTE_OK)
        result = route_one(router, pool);
    return result;
}

int main(void)
{
    lbroute_router_options options;
    lbroute_router *router = NULL;
    int result = 0;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1;
    result = lbroute_router_create(&options, &router);
    if (result == LBROUTE_OK)
        result = use_router(router);
    lbroute_router_destroy(router);
    if (result != LBROUTE_OK) {
        fprintf(stderr, "%s\n", lbroute_strerror(result));
        return 1;
    }
    if (strcmp(LBROUTE_VERSION, lbroute_version()) != 0)
        return 1;
    puts(lbroute_version());
    return 0;
}
