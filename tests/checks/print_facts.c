/* SPDX-License-Identifier: MIT */
/*
 * Prints what the library says of itself, for check_docs.py: a line a
 * strategy, a parameter and a value of a header, fields separated by tabs.
 */
#include <lbroute/lbroute.h>
#include <stdio.h>

static void print_strategies(void)
{
    const char *name = NULL;
    for (size_t i = 0; (name = lbroute_strategy_name(i)) != NULL; i++)
        printf("strategy\t%s\n", name);
}

static void print_parameters(void)
{
    lbroute_param_info info;
    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        printf("parameter\t%s\t%.13g\t%.13g\t%.13g\t%s\n", info.name,
               info.default_value, info.minimum, info.maximum, info.text);
}

static void print_header_values(void)
{
    for (int reason = 1; reason < LBROUTE_REASON_COUNT; reason++)
        printf("value\t%s\n", lbroute_reason_name(reason));
    for (int rule = 1; rule < LBROUTE_RULE_COUNT; rule++)
        printf("value\t%s\n", lbroute_rule_name(rule));
}

int main(void)
{
    print_strategies();
    print_parameters();
    print_header_values();
    return 0;
}
