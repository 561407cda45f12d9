/* SPDX-License-Identifier: MIT */
/* What snapshots and deltas have in common as bytes.
 *
 *     header    magic (8), checksum of all that follows (8), version (4),
 *               0 (4), length of the whole (8)
 *     section   kind (4), version (4), length of the body (8), body
 *     section   …
 *
 * All numbers are little-endian. A section of an unknown kind, or of a later
 * version, is passed over. One lists names of targets, ascending; others name
 * targets by their number there. */
#ifndef LBR_STATE_ENVELOPE_H
#define LBR_STATE_ENVELOPE_H

#include "base/bytes.h"
#include "base/text.h"
#include "state/comparison.h"

#define LBR_ENVELOPE_HEADER ((size_t)32)
#define LBR_SECTION_HEADER ((size_t)16)
#define LBR_MAGIC_LENGTH 8

/* ---- writing: from the beginning of the writer's bytes ---- */

void lbr_envelope_begin(struct lbr_writer *writer, const unsigned char *magic);

/* Fills in length and checksum, if everything fitted. */
void lbr_envelope_end(struct lbr_writer *writer);

/* Returns where the length stands, for the end. */
size_t lbr_section_open(struct lbr_writer *writer, uint32_t kind);
void lbr_section_close(struct lbr_writer *writer, size_t length_at);

void lbr_put_comparison(struct lbr_writer *writer,
                        const struct lbr_comparison *comparison);

/* ---- reading ---- */

/* Whether this is a whole envelope of a version that is known: LBROUTE_OK,
 * LBROUTE_ERR_FORMAT, or LBROUTE_ERR_UNSUPPORTED. Says nothing of what is
 * inside. */
int lbr_envelope_check(const void *bytes, size_t length,
                       const unsigned char *magic);

/* Reads the sections of bytes that passed that. */
struct lbr_reader lbr_envelope_open(const void *bytes, size_t length,
                                    uint64_t now, uint64_t elapsed);

struct lbr_section_view {
    uint32_t kind;
    int readable; /* of a version that is known */
    struct lbr_reader body;
};

/* The next section, and the reader behind it; breaks it if that is not
 * whole. */
struct lbr_section_view lbr_section_next(struct lbr_reader *reader);

struct lbr_comparison lbr_get_comparison(struct lbr_reader *reader);

/* Reads a name in ascending order; |before| is the previous one (or empty) and
 * becomes this one. */
struct lbr_text lbr_get_name(struct lbr_reader *reader,
                             struct lbr_text *before);

#endif
