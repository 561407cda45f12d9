/* SPDX-License-Identifier: MIT */
/* Keyed one-way digests of session and client ids: SipHash-2-4, Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF", 2012. Only digests are kept
 * and shown; without the key they can be neither inverted nor guessed. */
#ifndef LBR_BASE_DIGEST_H
#define LBR_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct lbr_digest_key {
    uint64_t k0, k1;
};

/* Reads a key from 16 bytes, least significant first. */
struct lbr_digest_key lbr_digest_key(const uint8_t bytes[16]);

/* SipHash-2-4 of |bytes|. */
uint64_t lbr_digest(struct lbr_digest_key key, const void *bytes,
                    size_t length);

#endif
