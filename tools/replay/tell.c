/* SPDX-License-Identifier: MIT */
#include "tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Longest line that a listener hears; names of files are the longest parts. */
enum { LONGEST = 4096 };

static const struct tell_listener *listener;

void tell_to(const struct tell_listener *from_now_on)
{
    listener = from_now_on;
}

static void say(const char *format, va_list arguments)
{
    char line[LONGEST];

    if (listener == NULL) {
        fputs("lbroute-replay: ", stderr);
        vfprintf(stderr, format, arguments);
        fputs("\n", stderr);
        return;
    }
    vsnprintf(line, sizeof line, format, arguments);
    listener->hear(listener->context, line);
}

void tell(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void tell_hint(void)
{
    if (listener == NULL)
        fputs("Try lbroute-replay --help.\n", stderr);
}

void tell_and_stop(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    if (listener != NULL)
        listener->stop(listener->context);
    exit(EXIT_FAILURE);
}
