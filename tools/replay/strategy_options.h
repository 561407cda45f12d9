/* SPDX-License-Identifier: MIT */
/*
 * The options about what is compared: strategies and their parameters, those of
 * the library and those of peers. How they are read and shown, for the table of
 * options.
 */
#ifndef LBROUTE_REPLAY_STRATEGY_OPTIONS_H
#define LBROUTE_REPLAY_STRATEGY_OPTIONS_H

#include "options_row.h"

bool strategy_options_read(struct options *options, const char *value,
                           struct option_error *error);

bool strategy_options_read_parameter(struct options *options, const char *value,
                                     struct option_error *error);
bool strategy_options_show_parameters(const struct options *options,
                                      char *value, size_t size);

#endif
