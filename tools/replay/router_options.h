/* SPDX-License-Identifier: MIT */
/*
 * The options about several routers: how they are read, shown and checked, for
 * the table of options.
 */
#ifndef LBROUTE_REPLAY_ROUTER_OPTIONS_H
#define LBROUTE_REPLAY_ROUTER_OPTIONS_H

#include "options_row.h"

/** Before anything is read: what is not given can be told from what is. */
void router_options_begin(struct routers_options *routers);

bool router_options_read(struct options *options, const char *value,
                         struct option_error *error);
bool router_options_show(const struct options *options, char *value,
                         size_t size);

bool router_options_read_balance(struct options *options, const char *value,
                                 struct option_error *error);
bool router_options_show_balance(const struct options *options, char *value,
                                 size_t size);

/** Fills in defaults, and checks what was given against all else. Returns the
 * name of the option that is wrong, with what is, or NULL. */
const char *router_options_check(struct options *options,
                                 struct option_error *error);

#endif
