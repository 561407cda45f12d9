/* SPDX-License-Identifier: MIT */
/*
 * The option that replaces the router: how it is read and shown.
 */
#ifndef LBROUTE_REPLAY_RESTART_OPTIONS_H
#define LBROUTE_REPLAY_RESTART_OPTIONS_H

#include "options_row.h"

bool restart_options_read(struct options *options, const char *value,
                          struct option_error *error);
bool restart_options_show(const struct options *options, char *value,
                          size_t size);

#endif
