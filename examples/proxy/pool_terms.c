/* SPDX-License-Identifier: MIT */
#include "pool_terms.h"

#include <string.h>

bool pool_is_strategy(const char *name)
{
    const char *known;

    for (size_t i = 0; (known = lbroute_strategy_name(i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

bool pool_find_parameter(const char *name, lbroute_param_info *info)
{
    lbroute_param_info_init(info, sizeof *info);
    for (size_t i = 0; lbroute_param_get_info(i, info) == LBROUTE_OK; i++)
        if (strcmp(info->name, name) == 0)
            return true;
    return false;
}
