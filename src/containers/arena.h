/* SPDX-License-Identifier: MIT */
/* Pieces of any size from chunks that never move. Of the chunks that become
 * empty one is kept, or more if asked for, so that a warm arena calls no
 * allocator. Every operation takes constant time.
 *
 *     chunk ◀─▶ chunk       [ piece ][ piece ][ piece ] … end
 *     piece:   size, free? (4) | size of the piece before (4) | content …
 *     free:    size, free? (4) | size of the piece before (4) | link | …
 *
 * No two free pieces of a chunk are neighbours. Those of like size form a ring,
 * their class; a bit tells which classes have a piece. Sizes are counted in
 * granules of 16 bytes. The first 64 classes are exact, and each 32 more span
 * twice the sizes of the 32 before:
 *
 *     0, 1, 2 … 63     64 – 65, 66 – 67 … 126 – 127     128 – 131 …
 *
 * A free piece of one granule has no room for a link and waits for a neighbour
 * to be freed.
 *
 * Source: Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator
 * for real-time systems", 2004. */
#ifndef LBR_CONTAINERS_ARENA_H
#define LBR_CONTAINERS_ARENA_H

#include "base/memory.h"
#include "containers/list.h"

#define LBR_ARENA_GRANULE 16U
#define LBR_ARENA_CLASSES 512U

#define LBR_ARENA_CHUNK_MIN ((size_t)64)
#define LBR_ARENA_CHUNK_MAX ((size_t)1 << 24)

/* Stands before the content of every piece. */
struct lbr_arena_piece {
    uint32_t size;   /* header included, | LBR_ARENA_FREE; 0: the chunk's end */
    uint32_t before; /* size of the piece before; 0: this is the first */
};

#define LBR_ARENA_FREE 1U

/* A free piece of more than one granule. */
struct lbr_arena_gap {
    struct lbr_arena_piece piece;
    struct lbr_link link;
};

/* Begins a chunk; the first piece follows after LBR_ARENA_CHUNK_HEAD bytes. */
struct lbr_arena_chunk {
    struct lbr_link link;
};

#define LBR_ARENA_CHUNK_HEAD ((size_t)16)

struct lbr_arena {
    struct lbr_memory *memory;
    struct lbr_link chunks;
    uint32_t empty; /* chunks without a piece, of which at most … */
    uint32_t kept;  /* … so many are kept */
    size_t chunk_bytes;
    size_t used, held;
    size_t limit; /* no chunk is added that would exceed it */
    uint64_t filled[LBR_ARENA_CLASSES / 64]; /* classes with a piece */
    struct lbr_link *rings[LBR_ARENA_CLASSES];
};

/* An arena with chunks of |chunk_bytes|, from LBR_ARENA_CHUNK_MIN to
 * LBR_ARENA_CHUNK_MAX. It takes no memory yet. */
void lbr_arena_init(struct lbr_arena *arena, struct lbr_memory *memory,
                    size_t chunk_bytes);

/* Sets how much the arena may hold. What it holds already stays. */
static inline void lbr_arena_set_limit(struct lbr_arena *arena, size_t bytes)
{
    arena->limit = bytes;
}

/* Lets it keep up to |chunks| empty chunks, at least 1; where many pieces are
 * freed at once and as many taken soon after. */
static inline void lbr_arena_keep(struct lbr_arena *arena, uint32_t chunks)
{
    arena->kept = chunks;
}

/* Frees the chunks with all pieces. */
void lbr_arena_destroy(struct lbr_arena *arena);

/* A piece of |bytes| or a few more, aligned to 8, with arbitrary content; or
 * NULL without memory, at the limit, or when |bytes| is above
 * lbr_arena_largest(). Adds a
 * chunk only when no free piece is found that is large enough. */
void *lbr_arena_take(struct lbr_arena *arena, size_t bytes);

/* Shrinks a piece to |bytes| where it is; the rest is free at once. |bytes| is
 * at most what the piece has. */
void lbr_arena_trim(struct lbr_arena *arena, void *content, size_t bytes);

/* Frees a piece. */
void lbr_arena_give(struct lbr_arena *arena, void *content);

/* Largest piece that a chunk can hold. */
size_t lbr_arena_largest(const struct lbr_arena *arena);

/* What a piece of |bytes|, at most LBR_ARENA_CHUNK_MAX, takes from the arena:
 * header and rounding included. */
size_t lbr_arena_cost(size_t bytes);

/* Sum of the costs of all pieces handed out. */
size_t lbr_arena_used(const struct lbr_arena *arena);

/* Bytes of all chunks. */
size_t lbr_arena_held(const struct lbr_arena *arena);

#endif
