/* SPDX-License-Identifier: MIT */
#include "base/abi.h"

#include <lbroute/lbroute.h>

void lbr_abi_init(void *out, size_t size, const void *defaults, size_t known)
{
    if (!out || size < sizeof size)
        return;
    memset(out, 0, size);
    memcpy(out, defaults, size < known ? size : known);
    memcpy(out, &size, sizeof size);
}

int lbr_abi_read(void *copy, size_t known, const void *in)
{
    const unsigned char *bytes = in;
    size_t size;
    size_t i;

    if (!lbr_abi_valid(in))
        return LBROUTE_ERR_INVALID;
    size = lbr_abi_size(in);
    for (i = known; i < size; i++)
        if (bytes[i])
            return LBROUTE_ERR_UNSUPPORTED;
    memcpy(copy, in, size < known ? size : known);
    return LBROUTE_OK;
}

int lbr_abi_write(void *out, const void *result, size_t known)
{
    size_t size;

    if (!lbr_abi_valid(out))
        return LBROUTE_ERR_INVALID;
    size = lbr_abi_size(out);
    if (size > known)
        size = known;
    memcpy((unsigned char *)out + sizeof size,
           (const unsigned char *)result + sizeof size, size - sizeof size);
    return LBROUTE_OK;
}

int lbr_abi_rows_valid(const void *first, size_t count)
{
    const unsigned char *row = first;
    size_t i;

    if (count && !lbr_abi_valid(first))
        return 0;
    for (i = 1; i < count; i++) {
        row += lbr_abi_size(first);
        if (lbr_abi_size(row) != lbr_abi_size(first))
            return 0;
    }
    return 1;
}
