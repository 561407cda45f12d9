/* SPDX-License-Identifier: MIT */
/*
 * The whole life of one request: a pool with two servers, a pick, an outcome.
 * A real host picks and observes from any of its threads, and looks at every
 * result as this example does.
 */
#include <lbroute/lbroute.h>
#include <stdio.h>
#include <string.h>

/* Any monotonic clock will do: lbroute never reads one itself. */
static const uint64_t NOW = 1000000000;

static int add_server(lbroute_router *router, lbroute_pool pool,
                      const char *name, double weight)
{
    lbroute_target_options server;
    lbroute_target_options_init(&server, sizeof server);
    server.name = name;
    server.name_len = strlen(name);
    server.pool = pool;
    server.weight = weight;
    lbroute_target handle = 0;
    return lbroute_target_add(router, &server, NOW, &handle);
}

static int set_up(lbroute_router *router, lbroute_pool *pool)
{
    lbroute_pool_options options;
    lbroute_pool_options_init(&options, sizeof options);
    options.name = "chat";
    options.name_len = strlen(options.name);
    options.strategy = "least_connections";
    options.strategy_len = strlen(options.strategy);
    int result = lbroute_pool_add(router, &options, pool);
    if (result == LBROUTE_OK)
        result = add_server(router, *pool, "gpu-small", 1.0);
    if (result == LBROUTE_OK)
        result = add_server(router, *pool, "gpu-large", 4.0);
    return result;
}

static int route(lbroute_router *router, lbroute_pool pool)
{
    lbroute_request request;
    lbroute_request_init(&request, sizeof request);
    request.pool = pool;
    request.session = "conversation-17";
    request.session_len = strlen("conversation-17");
    request.input_tokens = 1200;

    lbroute_decision decision;
    lbroute_decision_init(&decision, sizeof decision);
    int result = lbroute_pick(router, &request, NOW, &decision);
    if (result != LBROUTE_OK)
        return result; /* Tell the client; nothing is to be settled. */

    printf("send the request to %s\n", decision.target_name);

    lbroute_event event;
    lbroute_event_init(&event, sizeof event);
    event.ticket = decision.ticket;
    event.kind = LBROUTE_EVENT_SUCCESS; /* or FAILURE, TIMEOUT, CANCEL … */
    return lbroute_observe(router, &event, NOW + 250000000);
}

int main(void)
{
    lbroute_router_options options;
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 1; /* Entropy in production. */
    lbroute_router *router = NULL;
    lbroute_pool pool = 0;
    int result = lbroute_router_create(&options, &router);
    if (result == LBROUTE_OK)
        result = set_up(router, &pool);
    if (result == LBROUTE_OK)
        result = route(router, pool);
    if (result != LBROUTE_OK)
        fprintf(stderr, "lbroute: %s\n", lbroute_strerror(result));
    lbroute_router_destroy(router);
    return result == LBROUTE_OK ? 0 : 1;
}
