/* SPDX-License-Identifier: MIT */
#include "choices.h"

#include <stdio.h>
#include <string.h>

/* Enough of a wrong name to recognise it. */
enum { MAX_SHOWN = 100 };

bool choices_unknown(char *error, size_t size, const char *kind,
                     const char *text, size_t length, choices_name name_at)
{
    const char *name;

    snprintf(error, size, "unknown %s \"%.*s\"; there are:", kind,
             (int)(length < MAX_SHOWN ? length : MAX_SHOWN), text);
    for (size_t i = 0; (name = name_at(i)) != NULL; i++) {
        size_t used = strlen(error);

        snprintf(error + used, size - used, " %s", name);
    }
    return false;
}
