/* SPDX-License-Identifier: MIT */
/*
 * The options about KV events and restarts of engines: how they are read and
 * shown, for the table of options.
 */
#ifndef LBROUTE_REPLAY_KV_OPTIONS_H
#define LBROUTE_REPLAY_KV_OPTIONS_H

#include "options_row.h"

bool kv_options_read_events(struct options *options, const char *value,
                            struct option_error *error);
bool kv_options_show_events(const struct options *options, char *value,
                            size_t size);

bool kv_options_read_replay(struct options *options, const char *value,
                            struct option_error *error);
bool kv_options_show_replay(const struct options *options, char *value,
                            size_t size);

bool kv_options_read_restart(struct options *options, const char *value,
                             struct option_error *error);
bool kv_options_show_restart(const struct options *options, char *value,
                             size_t size);

/** Whether a strategy with these parameters reads KV events. */
bool kv_options_wanted(const struct options *options, const char *strategy);

/** Whether any of the strategies does. */
bool kv_options_wanted_by_any(const struct options *options);

/** Whether any of the library's does, so that what it says of them is checked.
 */
bool kv_options_judged(const struct options *options);

/** Time for which the router believes that what it sent somewhere is there, s;
 * 0: it does not. */
double kv_options_guess_s(const struct options *options);

#endif
