/* SPDX-License-Identifier: MIT */
/*
 * Lines for the operator on stderr, with the time. Neither prompts nor keys
 * may ever be passed to it.
 */
#ifndef LBROUTE_PROXY_LOG_H
#define LBROUTE_PROXY_LOG_H

/** One line, as printf() would write it. */
void log_line(const char *format, ...);

#endif
