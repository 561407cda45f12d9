/* SPDX-License-Identifier: MIT */
#include "containers/arena.h"

#include "containers/bits.h"

#define HEADER sizeof(struct lbr_arena_piece)

/* Pieces of the wanted size's own class that are looked at: some of them are
 * too small. */
#define LOOKS 8

_Static_assert(HEADER == 8, "content is aligned to 8");
_Static_assert(sizeof(struct lbr_arena_chunk) <= LBR_ARENA_CHUNK_HEAD,
               "the first piece follows the chunk's head");
_Static_assert(sizeof(struct lbr_arena_gap) <= 2 * LBR_ARENA_GRANULE,
               "a free piece holds its link");

static void *at(const void *base, size_t offset)
{
    return (unsigned char *)(uintptr_t)base + offset;
}

static void *back(const void *base, size_t offset)
{
    return (unsigned char *)(uintptr_t)base - offset;
}

static uint32_t size_of(const struct lbr_arena_piece *piece)
{
    return piece->size & ~LBR_ARENA_FREE;
}

static struct lbr_arena_piece *next_of(const struct lbr_arena_piece *piece)
{
    return at(piece, size_of(piece));
}

/* The first piece is its own previous one. */
static struct lbr_arena_piece *previous_of(const struct lbr_arena_piece *piece)
{
    return back(piece, piece->before);
}

static struct lbr_arena_piece *piece_of(const void *content)
{
    return back(content, HEADER);
}

static uint32_t class_of(uint32_t size)
{
    uint32_t granules = size / LBR_ARENA_GRANULE;
    uint32_t shift = 0;

    /* Most texts are short: none or a step or two. */
    while (granules >> shift >= 64)
        shift++;
    return shift * 32 + (granules >> shift);
}

/* Bytes of a chunk that pieces share. */
static uint32_t room(const struct lbr_arena *arena)
{
    size_t bytes = arena->chunk_bytes - LBR_ARENA_CHUNK_HEAD - HEADER;

    return (uint32_t)(bytes / LBR_ARENA_GRANULE * LBR_ARENA_GRANULE);
}

/* Takes a free piece out of its ring. */
static void unlist(struct lbr_arena *arena, struct lbr_arena_piece *piece)
{
    struct lbr_link *link = &((struct lbr_arena_gap *)piece)->link;
    uint32_t class = class_of(size_of(piece));

    piece->size = size_of(piece);
    if (piece->size == LBR_ARENA_GRANULE)
        return;
    if (arena->rings[class] == link)
        arena->rings[class] = link->next;
    if (link->next == link) {
        arena->rings[class] = NULL;
        lbr_bits_clear(arena->filled, class);
    }
    lbr_list_remove(link);
}

/* Makes a piece free and first in its ring: it may still be in cache. */
static void list(struct lbr_arena *arena, struct lbr_arena_piece *piece)
{
    struct lbr_link *link = &((struct lbr_arena_gap *)piece)->link;
    uint32_t class = class_of(piece->size);

    next_of(piece)->before = piece->size;
    piece->size |= LBR_ARENA_FREE;
    if (size_of(piece) == LBR_ARENA_GRANULE)
        return;
    if (arena->rings[class])
        lbr_list_append(arena->rings[class], link);
    else
        lbr_list_init(link);
    arena->rings[class] = link;
    lbr_bits_set(arena->filled, class);
}

/* Frees a piece together with its free neighbours; returns the whole. */
static struct lbr_arena_piece *merge(struct lbr_arena *arena,
                                     struct lbr_arena_piece *piece)
{
    struct lbr_arena_piece *next = next_of(piece);
    struct lbr_arena_piece *previous = previous_of(piece);

    if (next->size & LBR_ARENA_FREE) {
        unlist(arena, next);
        piece->size += next->size;
    }
    if (previous->size & LBR_ARENA_FREE) {
        unlist(arena, previous);
        previous->size += piece->size;
        piece = previous;
    }
    list(arena, piece);
    return piece;
}

/* Cuts a piece in use down to |size| and frees the rest. */
static void cut(struct lbr_arena *arena, struct lbr_arena_piece *piece,
                uint32_t size)
{
    struct lbr_arena_piece *rest = at(piece, size);

    if (piece->size <= size)
        return;
    rest->size = piece->size - size;
    rest->before = size;
    piece->size = size;
    (void)merge(arena, rest);
}

/* A piece of the class of |size| that is large enough, as far as one looks. */
static struct lbr_arena_piece *find_alike(const struct lbr_arena *arena,
                                          uint32_t size)
{
    struct lbr_link *first = arena->rings[class_of(size)];
    struct lbr_link *link = first;
    struct lbr_arena_gap *gap;

    for (int i = 0; link && i < LOOKS; i++) {
        gap = LBR_OWNER(link, struct lbr_arena_gap, link);
        if (size_of(&gap->piece) >= size)
            return &gap->piece;
        link = link->next == first ? NULL : link->next;
    }
    return NULL;
}

/* A free piece of at least |size|, or NULL. */
static struct lbr_arena_piece *find(const struct lbr_arena *arena,
                                    uint32_t size)
{
    struct lbr_arena_piece *piece = find_alike(arena, size);
    uint32_t class;

    if (piece)
        return piece;
    class = lbr_bits_next(arena->filled, LBR_ARENA_CLASSES, class_of(size) + 1);
    if (class == LBR_BITS_NONE)
        return NULL;
    return &LBR_OWNER(arena->rings[class], struct lbr_arena_gap, link)->piece;
}

/* Whether a free piece is all that its chunk has. */
static int is_chunk(const struct lbr_arena *arena,
                    const struct lbr_arena_piece *piece)
{
    return (piece->size & ~LBR_ARENA_FREE) == room(arena);
}

/* One free piece more, a whole chunk, or NULL without memory. */
static struct lbr_arena_piece *grow(struct lbr_arena *arena)
{
    struct lbr_arena_chunk *chunk =
        arena->limit >= arena->chunk_bytes &&
                arena->held <= arena->limit - arena->chunk_bytes
            ? lbr_memory_new(arena->memory, 1, arena->chunk_bytes)
            : NULL;
    struct lbr_arena_piece *piece;

    if (!chunk)
        return NULL;
    lbr_list_append(&arena->chunks, &chunk->link);
    arena->held += arena->chunk_bytes;
    arena->empty++;
    piece = at(chunk, LBR_ARENA_CHUNK_HEAD);
    piece->size = room(arena);
    piece->before = 0;
    next_of(piece)->size = 0;
    list(arena, piece);
    return piece;
}

static void free_chunk(struct lbr_arena *arena, struct lbr_arena_chunk *chunk)
{
    lbr_list_remove(&chunk->link);
    arena->held -= arena->chunk_bytes;
    lbr_memory_free(arena->memory, chunk, 1, arena->chunk_bytes);
}

void lbr_arena_init(struct lbr_arena *arena, struct lbr_memory *memory,
                    size_t chunk_bytes)
{
    *arena = (struct lbr_arena){
        .memory = memory,
        .chunk_bytes = chunk_bytes,
        .kept = 1,
        .limit = SIZE_MAX,
    };
    lbr_list_init(&arena->chunks);
}

void lbr_arena_destroy(struct lbr_arena *arena)
{
    while (!lbr_list_empty(&arena->chunks))
        free_chunk(arena,
                   LBR_OWNER(arena->chunks.next, struct lbr_arena_chunk, link));
}

void *lbr_arena_take(struct lbr_arena *arena, size_t bytes)
{
    struct lbr_arena_piece *piece;
    uint32_t size;

    if (bytes > lbr_arena_largest(arena))
        return NULL;
    size = (uint32_t)lbr_arena_cost(bytes);
    piece = find(arena, size);
    if (!piece)
        piece = grow(arena);
    if (!piece)
        return NULL;
    arena->empty -= (uint32_t)is_chunk(arena, piece);
    unlist(arena, piece);
    cut(arena, piece, size);
    arena->used += size;
    return at(piece, HEADER);
}

void lbr_arena_trim(struct lbr_arena *arena, void *content, size_t bytes)
{
    struct lbr_arena_piece *piece = piece_of(content);

    arena->used -= piece->size;
    cut(arena, piece, (uint32_t)lbr_arena_cost(bytes));
    arena->used += piece->size;
}

void lbr_arena_give(struct lbr_arena *arena, void *content)
{
    struct lbr_arena_piece *piece = piece_of(content);

    arena->used -= piece->size;
    piece = merge(arena, piece);
    if (!is_chunk(arena, piece))
        return;
    if (arena->empty < arena->kept && arena->held <= arena->limit) {
        arena->empty++;
        return;
    }
    unlist(arena, piece);
    free_chunk(arena, (struct lbr_arena_chunk *)(void *)((char *)piece -
                                                         LBR_ARENA_CHUNK_HEAD));
}

size_t lbr_arena_largest(const struct lbr_arena *arena)
{
    return room(arena) - HEADER;
}

/* Two granules at least: a piece of one could not be found again when it is
 * free. */
size_t lbr_arena_cost(size_t bytes)
{
    size_t granules = (bytes + HEADER - 1) / LBR_ARENA_GRANULE + 1;

    return (granules < 2 ? 2 : granules) * LBR_ARENA_GRANULE;
}

size_t lbr_arena_used(const struct lbr_arena *arena)
{
    return arena->used;
}

size_t lbr_arena_held(const struct lbr_arena *arena)
{
    return arena->held;
}
