/* SPDX-License-Identifier: MIT */
#include "state/scratch.h"

#define FIRST_BYTES ((size_t)4096)
#define HEAD ((sizeof(struct lbr_scratch) + 15) / 16 * 16)

void lbr_scratches_init(struct lbr_scratches *scratches,
                        struct lbr_memory *memory)
{
    scratches->memory = memory;
    scratches->unused = NULL;
}

static void *content_of(struct lbr_scratch *scratch)
{
    return (unsigned char *)scratch + HEAD;
}

static void free_scratch(struct lbr_scratches *scratches,
                         struct lbr_scratch *scratch)
{
    lbr_memory_free(scratches->memory, scratch, 1, HEAD + scratch->bytes);
}

void lbr_scratches_destroy(struct lbr_scratches *scratches)
{
    while (scratches->unused) {
        struct lbr_scratch *next = scratches->unused->next;

        free_scratch(scratches, scratches->unused);
        scratches->unused = next;
    }
}

static struct lbr_scratch *create(struct lbr_scratches *scratches, size_t bytes)
{
    struct lbr_scratch *scratch;
    size_t rounded = FIRST_BYTES;

    while (rounded < bytes)
        rounded *= 2;
    scratch = lbr_memory_new(scratches->memory, 1, HEAD + rounded);
    if (scratch)
        scratch->bytes = rounded;
    return scratch;
}

/* A buffer that is too small makes way for a larger one, so that their number
 * stays. */
void *lbr_scratch_take(struct lbr_scratches *scratches, size_t bytes)
{
    struct lbr_scratch *first = scratches->unused;
    struct lbr_scratch *larger;

    if (first && first->bytes >= bytes) {
        scratches->unused = first->next;
        return content_of(first);
    }
    larger = create(scratches, bytes);
    if (!larger)
        return NULL;
    if (first) {
        scratches->unused = first->next;
        free_scratch(scratches, first);
    }
    return content_of(larger);
}

void lbr_scratch_give(struct lbr_scratches *scratches, void *content)
{
    struct lbr_scratch *scratch =
        (struct lbr_scratch *)((unsigned char *)content - HEAD);

    scratch->next = scratches->unused;
    scratches->unused = scratch;
}
