/* SPDX-License-Identifier: MIT */
/*
 * The key of the digests of sessions, clients and API keys, where gateways
 * share one: a variable of the environment holds it, as 32 hexadecimal digits.
 */
#ifndef LBROUTE_PROXY_DIGEST_KEY_H
#define LBROUTE_PROXY_DIGEST_KEY_H

#include <stdbool.h>
#include <stdint.h>

enum { DIGEST_KEY_BYTES = 16 };

/** Reads a key; false, and nothing is written: it is none. Nor are zeros, which
 * to a router mean a key that follows from its seed. */
bool digest_key_read(const char *text, uint8_t key[DIGEST_KEY_BYTES]);

/** Puts the key that a variable holds in place of another one; leaves that
 * alone if the name is empty. */
void digest_key_take(const char *variable, uint8_t key[DIGEST_KEY_BYTES]);

#endif
