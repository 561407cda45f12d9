/* SPDX-License-Identifier: MIT */
/*
 * The options about limits, those who wait and whose they are: how they are
 * read and shown, for the table of options.
 */
#ifndef LBROUTE_REPLAY_QUEUE_OPTIONS_H
#define LBROUTE_REPLAY_QUEUE_OPTIONS_H

#include "options_row.h"

bool queue_options_read_admission(struct options *options, const char *value,
                                  struct option_error *error);

bool queue_options_read_queue(struct options *options, const char *value,
                              struct option_error *error);
bool queue_options_show_queue(const struct options *options, char *value,
                              size_t size);

bool queue_options_read_clients(struct options *options, const char *value,
                                struct option_error *error);
bool queue_options_show_clients(const struct options *options, char *value,
                                size_t size);

/** Whether the call is about limits, and the report, too. */
bool queue_options_asked(const struct options *options);

/** Whether the pool's mode of admission is hybrid. */
bool queue_options_hybrid(const struct options *options);

#endif
