/* SPDX-License-Identifier: MIT */
#include "choices.h"

#include <stdio.h>
#include <string.h>

/* Enough of a wrong name to recognise it. */
enum { MAX_SHOWN = 100 };

bool choices_is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

void choices_begin(char *error, size_t size, const char *kind, const char *text,
                   size_t length)
{
    snprintf(error, size, "unknown %s \"%.*s\"; there are:", kind,
             (int)(length < MAX_SHOWN ? length : MAX_SHOWN), text);
}

void choices_add(char *error, size_t size, const char *name)
{
    size_t used = strlen(error);

    snprintf(error + used, size - used, " %s", name);
}

bool choices_unknown(char *error, size_t size, const char *kind,
                     const char *text, size_t length, choices_name name_at)
{
    const char *name;

    choices_begin(error, size, kind, text, length);
    for (size_t i = 0; (name = name_at(i)) != NULL; i++)
        choices_add(error, size, name);
    return false;
}
