/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include "tokens.h"

#include <zlib.h>

/* zlib takes the length in 32 bits. */
static uint32_t seed_of(const char *text, size_t length)
{
    return (uint32_t)crc32_z(0, (const unsigned char *)text, length);
}

static uint32_t next_state(uint32_t state)
{
    return state * 1664525u + 1013904223u;
}

static void write_letters(uint32_t state, char *letters, unsigned count)
{
    static const unsigned shifts[] = {8, 13, 18, 23};

    for (unsigned i = 0; i < count; i++)
        letters[i] = (char)('a' + (state >> shifts[i]) % 26);
}

void answer_write(const char *prompt, size_t length, uint32_t tokens,
                  char *answer)
{
    uint32_t state = seed_of(prompt, length);

    for (uint32_t i = 0; i < tokens; i++, answer += TOKEN_BYTES) {
        state = next_state(state);
        if (i == 0) {
            write_letters(state, answer, TOKEN_BYTES);
        } else {
            answer[0] = ' ';
            write_letters(state, answer + 1, TOKEN_BYTES - 1);
        }
    }
}

void answer_embed(const char *text, size_t length, float *vector, size_t count)
{
    uint32_t state = seed_of(text, length);

    for (size_t i = 0; i < count; i++) {
        state = next_state(state);
        vector[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}
