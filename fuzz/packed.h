/* SPDX-License-Identifier: MIT */
/*
 * Inputs of the fuzzers of snapshots and deltas. The first byte tells how the
 * others are taken: bit 0, as they are, else with the right length and
 * checksum; bit 2, they are the bodies of sections, each after its kind and
 * length in three bytes, which are put together:
 *
 *     header │ first sections │ section │ body │ section │ body …
 */
#ifndef FUZZ_PACKED_H
#define FUZZ_PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { PACKED_AS_IT_IS = 1, PACKED_BODIES = 4 };

/* Bytes of a section's head. */
enum { PACKED_SECTION = 16 };

struct packed_kind {
    uint8_t begin[17];    /* of the header, up to its version */
    const uint8_t *first; /* sections that are always there; may be NULL */
    size_t first_length;
};

/* The bytes that |data| stands for; the caller frees them. |size| is not 0. */
uint8_t *packed_bytes(const struct packed_kind *kind, const uint8_t *data,
                      size_t size, size_t *length);

#endif
