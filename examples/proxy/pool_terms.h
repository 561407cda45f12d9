/* SPDX-License-Identifier: MIT */
/*
 * Strategies and parameters by name, from the library's tables.
 */
#ifndef LBROUTE_PROXY_POOL_TERMS_H
#define LBROUTE_PROXY_POOL_TERMS_H

#include <lbroute/lbroute.h>

#include <stdbool.h>

bool pool_is_strategy(const char *name);

/** Fills in what a parameter may be; false: there is none of that name. */
bool pool_find_parameter(const char *name, lbroute_param_info *info);

#endif
