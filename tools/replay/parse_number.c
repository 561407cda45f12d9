/* SPDX-License-Identifier: MIT */
#include "parse_number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool parse_whole(const char *text, uint64_t minimum, uint64_t maximum,
                 uint64_t *value)
{
    char *end;
    unsigned long long number;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < minimum || number > maximum)
        return false;
    *value = number;
    return true;
}

/* No hexadecimal, "inf" or "nan". */
bool parse_real(const char *text, double minimum, double maximum, double *value)
{
    char *end;
    double number;

    if (text[0] == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= minimum) ||
        !(number <= maximum))
        return false;
    *value = number;
    return true;
}
