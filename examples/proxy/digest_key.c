/* SPDX-License-Identifier: MIT */
#include "digest_key.h"

#include <stdlib.h>
#include <string.h>

static int digit_of(char letter)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = letter != '\0' ? strchr(digits, letter) : NULL;

    return at != NULL ? (int)((at - digits) % 16) : -1;
}

bool digest_key_read(const char *text, uint8_t key[DIGEST_KEY_BYTES])
{
    static const uint8_t none[DIGEST_KEY_BYTES] = {0};
    uint8_t bytes[DIGEST_KEY_BYTES] = {0};

    if (strlen(text) != 2 * DIGEST_KEY_BYTES)
        return false;
    for (int i = 0; i < 2 * DIGEST_KEY_BYTES; i++) {
        int digit = digit_of(text[i]);

        if (digit < 0)
            return false;
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | digit);
    }
    if (memcmp(bytes, none, sizeof bytes) == 0)
        return false;
    memcpy(key, bytes, sizeof bytes);
    return true;
}

void digest_key_take(const char *variable, uint8_t key[DIGEST_KEY_BYTES])
{
    const char *text = variable[0] != '\0' ? getenv(variable) : NULL;

    if (text != NULL)
        digest_key_read(text, key);
}
