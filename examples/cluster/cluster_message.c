/* SPDX-License-Identifier: MIT */
#include "cluster_message.h"

#include "little_endian.h"

#include <string.h>

static const char magic[] = "lbrclus";
enum { VERSION = 1, AT_VERSION = 7, AT_TIME = 8 };

void cluster_header_write(uint64_t written_ns, void *bytes)
{
    uint8_t *header = bytes;

    memcpy(header, magic, AT_VERSION);
    header[AT_VERSION] = VERSION;
    put_number(header + AT_TIME, 8, written_ns);
}

const char *cluster_header_read(const void *bytes, size_t len,
                                uint64_t *written_ns)
{
    const uint8_t *header = bytes;

    if (len < CLUSTER_HEADER_BYTES || memcmp(header, magic, AT_VERSION) != 0)
        return "it is none of a gateway";
    if (header[AT_VERSION] != VERSION)
        return "it is of another version";
    *written_ns = get_number(header + AT_TIME, 8);
    return NULL;
}

uint64_t cluster_message_age(uint64_t written_ns, uint64_t now_ns,
                             uint64_t most)
{
    if (written_ns > now_ns || now_ns - written_ns > most)
        return 0;
    return now_ns - written_ns;
}
