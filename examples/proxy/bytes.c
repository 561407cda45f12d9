/* SPDX-License-Identifier: MIT */
#include "bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

static bool make_room(struct bytes *bytes, size_t more)
{
    size_t room = bytes->room ? bytes->room : FIRST_ROOM;
    char *data;

    if (more <= bytes->room - bytes->len)
        return true;
    if (more > SIZE_MAX / 4 - bytes->len)
        return false;
    while (room < bytes->len + more)
        room *= 2;
    data = realloc(bytes->data, room);
    if (!data)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

void bytes_add(struct bytes *bytes, const void *data, size_t len)
{
    if (len == 0 || bytes->failed)
        return;
    if (!make_room(bytes, len)) {
        bytes->failed = true;
        return;
    }
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
}

void bytes_add_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text));
}

void bytes_release(struct bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}
