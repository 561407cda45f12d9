/* SPDX-License-Identifier: MIT */
#include "router_options.h"

#include "choices.h"
#include "parse_number.h"
#include "queue_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_INTERVAL_S 0.1
#define DEFAULT_DELAY_S 0.005

/* A number, or a choice, that cannot be given. */
#define NOT_GIVEN (-1)

/* By enum routers_how. */
static const char *const hows[] = {"deltas", "none"};

static const char *how_name(size_t index)
{
    return index < sizeof hows / sizeof hows[0] ? hows[index] : NULL;
}

/* By enum routers_balance. */
static const char *const balances[] = {"random", "round-robin", "session"};

static const char *balance_name(size_t index)
{
    return index < sizeof balances / sizeof balances[0] ? balances[index]
                                                        : NULL;
}

void router_options_begin(struct routers_options *routers)
{
    routers->count = 1;
    routers->interval_s = NOT_GIVEN;
    routers->delay_s = NOT_GIVEN;
    routers->loss = NOT_GIVEN;
}

static bool read_how(struct routers_options *routers, const char *how,
                     struct option_error *error)
{
    for (size_t i = 0; how_name(i) != NULL; i++)
        if (strcmp(hows[i], how) == 0) {
            routers->how = (enum routers_how)i;
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "way to share", how,
                           strlen(how), how_name);
}

bool router_options_read(struct options *options, const char *value,
                         struct option_error *error)
{
    struct routers_options *routers = &options->routers;
    size_t length = strcspn(value, ":");
    char text[32] = {0};
    uint64_t count;

    routers->how = ROUTERS_DELTAS;
    if (length < sizeof text)
        memcpy(text, value, length);
    if (!parse_whole(text, 1, ROUTERS_MAX, &count))
        return option_fail(error,
                           "\"%s\" does not begin with a number of routers "
                           "from 1 to %d",
                           value, ROUTERS_MAX);
    routers->count = (uint32_t)count;
    return value[length] == '\0' ||
           read_how(routers, value + length + 1, error);
}

bool router_options_show(const struct options *options, char *value,
                         size_t size)
{
    const struct routers_options *routers = &options->routers;

    snprintf(value, size, "%" PRIu32 ":%s", routers->count, hows[routers->how]);
    return routers->count > 1;
}

bool router_options_read_balance(struct options *options, const char *value,
                                 struct option_error *error)
{
    for (size_t i = 0; balance_name(i) != NULL; i++)
        if (strcmp(balances[i], value) == 0) {
            options->routers.balance = (enum routers_balance)i;
            options->balanced = true;
            return true;
        }
    return choices_unknown(error->text, sizeof error->text, "balance", value,
                           strlen(value), balance_name);
}

bool router_options_show_balance(const struct options *options, char *value,
                                 size_t size)
{
    snprintf(value, size, "%s", balances[options->routers.balance]);
    return true;
}

/* Of options that only deltas need, the first that was given; or NULL. */
static const char *given(const struct routers_options *routers)
{
    if (routers->interval_s != NOT_GIVEN)
        return "delta-interval";
    if (routers->delay_s != NOT_GIVEN)
        return "delta-delay";
    return routers->loss != NOT_GIVEN ? "delta-loss" : NULL;
}

static void fill_in(struct routers_options *routers)
{
    if (routers->interval_s == NOT_GIVEN)
        routers->interval_s = DEFAULT_INTERVAL_S;
    if (routers->delay_s == NOT_GIVEN)
        routers->delay_s = DEFAULT_DELAY_S;
    if (routers->loss == NOT_GIVEN)
        routers->loss = 0.0;
}

static bool has_peer(const struct options *options)
{
    for (size_t i = 0; i < options->strategy_count; i++)
        if (peer_rule_find(options->strategies[i],
                           strlen(options->strategies[i])) != NULL)
            return true;
    return false;
}

const char *router_options_check(struct options *options,
                                 struct option_error *error)
{
    struct routers_options *routers = &options->routers;
    const char *of_deltas = given(routers);

    if (options->balanced && routers->count == 1) {
        option_fail(error, "needs --routers with more than one");
        return "balance";
    }
    if (of_deltas != NULL && !routers_share(routers)) {
        option_fail(error, "needs --routers with more than one, and deltas");
        return of_deltas;
    }
    fill_in(routers);
    if (routers_share(routers) && has_peer(options)) {
        option_fail(error, "peers know no deltas; say %" PRIu32 ":none",
                    routers->count);
        return "routers";
    }
    if (routers->count > 1 && queue_options_hybrid(options)) {
        option_fail(error, "cannot be combined with the hybrid mode of "
                           "admission: each router has a state of its own");
        return "routers";
    }
    return NULL;
}
