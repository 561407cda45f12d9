/* SPDX-License-Identifier: MIT */
#include "tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Longest line; names of files are the longest parts. */
enum { LONGEST = 4096 };

static const char *name;
static const struct tell_listener *listener;

void tell_as(const char *program)
{
    name = program;
}

void tell_to(const struct tell_listener *from_now_on)
{
    listener = from_now_on;
}

static void say(const char *format, va_list arguments)
{
    char line[LONGEST];

    vsnprintf(line, sizeof line, format, arguments);
    if (listener == NULL) {
        fprintf(stderr, "%s%s%s\n", name != NULL ? name : "",
                name != NULL ? ": " : "", line);
        return;
    }
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
        fprintf(stderr, "Try %s --help.\n", name);
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
