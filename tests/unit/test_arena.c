/* SPDX-License-Identifier: MIT */
/* containers/arena: pieces of any size against a list of what is out. */
#include "containers/arena.h"

#include <stdbool.h>
#include <string.h>

#include "heap.h"
#include "support/rng.h"
#include "support/test.h"

#define MOST 1000
#define CHUNK ((size_t)256 * 1024)
#define PIECE_MIN 24
#define PIECE_MAX 65536

/* What is out: every byte of a piece has its mark. */
struct shadow {
    unsigned char *content;
    size_t bytes;
    unsigned char mark;
};

struct table {
    struct unit_heap heap;
    struct lbr_arena arena;
    struct shadow pieces[MOST];
    size_t count;
    size_t cost;
};

static void open_table(struct table *table, size_t chunk_bytes)
{
    unit_heap_open(&table->heap);
    lbr_arena_init(&table->arena, &table->heap.memory, chunk_bytes);
    table->count = 0;
    table->cost = 0;
}

static void close_table(struct table *table)
{
    lbr_arena_destroy(&table->arena);
    unit_heap_close(&table->heap);
}

static bool all_marked(const struct shadow *piece)
{
    return piece->bytes == 0 ||
           (piece->content[0] == piece->mark &&
            !memcmp(piece->content, piece->content + 1, piece->bytes - 1));
}

static void check_counts(const struct table *table)
{
    assert_int_equal(lbr_arena_used(&table->arena), table->cost);
    assert_int_equal(lbr_arena_held(&table->arena),
                     table->heap.alloc.live_bytes);
}

/* Takes a piece and marks it; false without memory. */
static bool take(struct table *table, size_t bytes)
{
    struct shadow *piece = &table->pieces[table->count];

    assert_true(table->count < MOST);
    piece->content = lbr_arena_take(&table->arena, bytes);
    if (!piece->content)
        return false;
    assert_int_equal((uintptr_t)piece->content % 8, 0);
    piece->bytes = bytes;
    piece->mark = (unsigned char)(table->heap.alloc.calls + table->count * 7 +
                                  bytes * 31);
    memset(piece->content, piece->mark, bytes);
    table->cost += lbr_arena_cost(bytes);
    table->count++;
    check_counts(table);
    return true;
}

static void trim(struct table *table, size_t i, size_t bytes)
{
    struct shadow *piece = &table->pieces[i];

    table->cost -= lbr_arena_cost(piece->bytes) - lbr_arena_cost(bytes);
    lbr_arena_trim(&table->arena, piece->content, bytes);
    piece->bytes = bytes;
    assert_true(all_marked(piece));
    check_counts(table);
}

static void give(struct table *table, size_t i)
{
    struct shadow *piece = &table->pieces[i];

    assert_true(all_marked(piece));
    table->cost -= lbr_arena_cost(piece->bytes);
    lbr_arena_give(&table->arena, piece->content);
    *piece = table->pieces[--table->count];
    check_counts(table);
}

static void give_all(struct table *table)
{
    while (table->count)
        give(table, table->count / 2);
}

/* What a walk over the chunks finds. */
struct found {
    size_t chunks;
    size_t out;    /* pieces handed out */
    size_t cost;   /* of these */
    size_t free;   /* free pieces */
    size_t listed; /* of these, large enough to be in a ring */
};

static void walk_chunk(const struct lbr_arena_chunk *chunk, size_t chunk_bytes,
                       struct found *found)
{
    const unsigned char *start = (const unsigned char *)chunk;
    size_t offset = LBR_ARENA_CHUNK_HEAD;
    struct lbr_arena_piece piece;
    uint32_t before = 0;
    bool was_free = false;

    for (;;) {
        memcpy(&piece, start + offset, sizeof piece);
        assert_int_equal(piece.before, before);
        if (!piece.size)
            break;
        if (piece.size & LBR_ARENA_FREE) {
            assert_false(was_free);
            found->free++;
            found->listed += piece.size > (LBR_ARENA_GRANULE | LBR_ARENA_FREE);
        } else {
            found->out++;
            found->cost += piece.size;
        }
        was_free = piece.size & LBR_ARENA_FREE;
        before = piece.size & ~LBR_ARENA_FREE;
        assert_int_equal(before % LBR_ARENA_GRANULE, 0);
        offset += before;
        assert_true(offset + sizeof piece <= chunk_bytes);
    }
    assert_true(offset + sizeof piece + LBR_ARENA_GRANULE > chunk_bytes);
}

/* Sizes rise from class to class; bits and rings agree. Returns how many
 * pieces there are. */
static size_t walk_rings(const struct lbr_arena *arena)
{
    uint32_t above = LBR_ARENA_GRANULE;
    size_t pieces = 0;

    for (uint32_t i = 0; i < LBR_ARENA_CLASSES; i++) {
        const struct lbr_link *first = arena->rings[i];
        const struct lbr_link *link = first;
        uint32_t largest = above;

        assert_int_equal(arena->filled[i / 64] >> i % 64 & 1, first != NULL);
        while (link) {
            struct lbr_arena_gap *gap =
                LBR_OWNER(link, struct lbr_arena_gap, link);

            assert_true(gap->piece.size & LBR_ARENA_FREE);
            assert_true(gap->piece.size > above);
            if (gap->piece.size > largest)
                largest = gap->piece.size;
            assert_ptr_equal(link->next->previous, link);
            link = link->next == first ? NULL : link->next;
            pieces++;
        }
        above = largest;
    }
    return pieces;
}

static struct found check_inside(const struct table *table)
{
    const struct lbr_arena *arena = &table->arena;
    const struct lbr_arena_chunk *chunk;
    struct found found = {.chunks = 0};

    for (const struct lbr_link *link = arena->chunks.next;
         link != &arena->chunks; link = link->next) {
        chunk = LBR_OWNER(link, const struct lbr_arena_chunk, link);
        walk_chunk(chunk, arena->chunk_bytes, &found);
        found.chunks++;
    }
    assert_int_equal(found.chunks * arena->chunk_bytes, lbr_arena_held(arena));
    assert_int_equal(found.out, table->count);
    assert_int_equal(found.cost, table->cost);
    assert_int_equal(walk_rings(arena), found.listed);
    return found;
}

/* Every chunk is one free piece. */
static void check_whole(const struct table *table)
{
    struct found found = check_inside(table);

    assert_int_equal(found.out, 0);
    assert_int_equal(found.free, found.chunks);
    assert_int_equal(lbr_arena_used(&table->arena), 0);
}

static void check_apart(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        for (size_t j = 0; j < i; j++) {
            uintptr_t a = (uintptr_t)table->pieces[i].content;
            uintptr_t b = (uintptr_t)table->pieces[j].content;

            assert_true(a + table->pieces[i].bytes <= b ||
                        b + table->pieces[j].bytes <= a);
        }
}

static void an_unused_arena_takes_no_memory(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    assert_int_equal(lbr_arena_held(&table.arena), 0);
    assert_int_equal(lbr_arena_used(&table.arena), 0);
    assert_int_equal(table.heap.alloc.calls, 0);
    close_table(&table);
}

static void costs_count_header_and_rounding(void **state)
{
    static const size_t costs[][2] = {
        {0, 32},  {1, 32},  {24, 32},       {25, 48},       {40, 48},
        {41, 64}, {56, 64}, {65528, 65536}, {65529, 65552}, {65536, 65552},
    };
    (void)state;

    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        assert_int_equal(lbr_arena_cost(costs[i][0]), costs[i][1]);
}

static void the_largest_piece_fills_a_chunk(void **state)
{
    static const size_t chunks[] = {LBR_ARENA_CHUNK_MIN, 79, 80, 1000, CHUNK,
                                    LBR_ARENA_CHUNK_MAX};
    struct table table;
    (void)state;

    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        size_t largest;

        open_table(&table, chunks[i]);
        largest = lbr_arena_largest(&table.arena);
        assert_true(lbr_arena_cost(largest) + 24 <= chunks[i]);
        assert_true(lbr_arena_cost(largest) + 40 > chunks[i]);
        assert_null(lbr_arena_take(&table.arena, largest + 1));
        assert_null(lbr_arena_take(&table.arena, SIZE_MAX));
        assert_int_equal(table.heap.alloc.calls, 0);
        for (size_t round = 0; round < 3; round++) {
            assert_true(take(&table, largest));
            assert_int_equal(check_inside(&table).free, 0);
            give(&table, 0);
            check_whole(&table);
        }
        assert_int_equal(table.heap.alloc.calls, 1);
        close_table(&table);
    }
}

static void what_is_trimmed_is_free_at_once(void **state)
{
    size_t largest;
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    largest = lbr_arena_largest(&table.arena);
    assert_true(take(&table, largest));
    trim(&table, 0, largest);
    assert_int_equal(check_inside(&table).free, 0);
    trim(&table, 0, 24);
    assert_true(take(&table, largest - 32));
    assert_int_equal(check_inside(&table).free, 0);
    assert_int_equal(lbr_arena_held(&table.arena), CHUNK);
    close_table(&table);
}

/* The rest of a trim may be a single granule, which is in no ring. */
static void a_granule_waits_for_its_neighbours(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    for (size_t i = 0; i < 3; i++)
        assert_true(take(&table, 56));
    trim(&table, 1, 40);
    assert_int_equal(check_inside(&table).free, 2);
    assert_int_equal(check_inside(&table).listed, 1);
    trim(&table, 1, 24);
    assert_int_equal(check_inside(&table).free, 2);
    assert_int_equal(check_inside(&table).listed, 2);
    trim(&table, 0, 40);
    assert_int_equal(check_inside(&table).free, 3);
    assert_int_equal(check_inside(&table).listed, 2);
    give(&table, 1);
    assert_int_equal(check_inside(&table).free, 2);
    give_all(&table);
    check_whole(&table);
    close_table(&table);
}

/* Four pieces that fill a chunk, given back in every order. */
static void neighbours_merge_in_every_order(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    for (size_t order = 0; order < 24; order++) {
        for (size_t i = 0; i < 3; i++)
            assert_true(take(&table, 100 * i + 24));
        assert_true(take(&table, CHUNK - 32 - 32 - 144 - 240 - 8));
        assert_int_equal(check_inside(&table).free, 0);
        give(&table, order / 6);
        give(&table, order / 2 % 3);
        check_inside(&table);
        give(&table, order % 2);
        give(&table, 0);
        check_whole(&table);
    }
    assert_int_equal(table.heap.alloc.calls, 1);
    close_table(&table);
}

/* Sizes from 63 to 64 KiB are one class: a piece that is too small does not
 * hide one that is large enough. */
static void free_space_comes_before_a_new_chunk(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    for (size_t i = 0; i < 3; i++) {
        assert_true(take(&table, 63 * 1024 + 500 - 200 * i));
        assert_true(take(&table, 24));
    }
    assert_true(take(&table, CHUNK - 3 * (63 * 1024 + 512)));
    give(&table, 0);
    give(&table, 2);
    give(&table, 4);
    assert_true(take(&table, 63 * 1024 + 500));
    assert_true(take(&table, 63 * 1024 + 300));
    assert_true(take(&table, 63 * 1024 + 100));
    assert_int_equal(table.heap.alloc.calls, 1);
    give_all(&table);
    check_whole(&table);
    close_table(&table);
}

/* A gap one class above the wanted size serves, and its rest stays free. */
static void the_next_larger_gap_serves(void **state)
{
    static const size_t wholes[] = {48, 1008, 1024, 2048, 65536};
    struct table table;
    (void)state;

    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        open_table(&table, CHUNK);
        assert_true(take(&table, wholes[i] - 8));
        assert_true(take(&table, CHUNK - 32 - wholes[i] - 8));
        give(&table, 0);
        assert_true(take(&table, wholes[i] - 16 - 8));
        assert_int_equal(check_inside(&table).free, 1);
        assert_int_equal(table.heap.alloc.calls, 1);
        close_table(&table);
    }
}

enum sizes { SHORT, EVEN, WIDE, TWO_HUMPS, PAGES, SIZES };

static size_t draw_size(enum sizes sizes, struct test_rng *rng)
{
    size_t any = (size_t)test_rng_below(rng, PIECE_MAX - PIECE_MIN + 1);
    uint64_t hump = test_rng_below(rng, 20);

    switch (sizes) {
    case SHORT:
        return PIECE_MIN + any % 200;
    case EVEN:
        return PIECE_MIN + any;
    case WIDE: /* each doubling is as likely */
        return PIECE_MIN + (any >> test_rng_below(rng, 12));
    case TWO_HUMPS:
        return hump ? PIECE_MIN + any % 100
                    : PIECE_MAX / 2 + any % (PIECE_MAX / 2);
    default:
        return 4096 - 64 + any % 128;
    }
}

/* One random operation with at most |most| pieces out; false without memory. */
static bool step(struct table *table, enum sizes sizes, size_t most,
                 struct test_rng *rng)
{
    size_t i = table->count ? (size_t)test_rng_below(rng, table->count) : 0;
    uint64_t what = test_rng_below(rng, 8);

    if (table->count == 0 || (what < 4 && table->count < most))
        return take(table, draw_size(sizes, rng));
    if (what == 4)
        trim(table, i, (size_t)test_rng_below(rng, table->pieces[i].bytes + 1));
    else
        give(table, i);
    return true;
}

static void random_operations(void **state)
{
    struct test_rng rng = {1};
    struct table table;
    (void)state;

    for (int sizes = 0; sizes < SIZES; sizes++) {
        open_table(&table, CHUNK);
        for (int i = 0; i < 3000; i++) {
            assert_true(step(&table, (enum sizes)sizes, 50, &rng));
            check_inside(&table);
            if (i % 16 == 0)
                check_apart(&table);
        }
        give_all(&table);
        check_whole(&table);
        close_table(&table);
    }
}

static void a_million_operations(void **state)
{
    struct test_rng rng = {2};
    struct table table;
    (void)state;

    for (int sizes = 0; sizes < SIZES; sizes++) {
        open_table(&table, CHUNK);
        for (int i = 0; i < 1000000 / SIZES; i++)
            assert_true(step(&table, (enum sizes)sizes, MOST, &rng));
        check_inside(&table);
        give_all(&table);
        check_whole(&table);
        close_table(&table);
    }
}

/* While as much stays in use, nothing is asked of the allocator; of what is
 * given back all but one chunk goes back to it. */
static void a_warm_arena_allocates_nothing(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    for (size_t i = 0; i < 100; i++)
        assert_true(take(&table, 20000));
    for (size_t round = 0; round < 100; round++) {
        uint64_t calls = table.heap.alloc.calls;

        give(&table, round * 7 % 100);
        assert_true(take(&table, 20000));
        assert_int_equal(table.heap.alloc.calls, calls);
    }
    give_all(&table);
    assert_int_equal(lbr_arena_held(&table.arena), CHUNK);
    assert_true(take(&table, 20000));
    assert_int_equal(lbr_arena_held(&table.arena), CHUNK);
    close_table(&table);
}

/* At its limit it refuses, and serves again once something was given back. */
static void a_limit_is_kept(void **state)
{
    struct table table;
    (void)state;

    open_table(&table, CHUNK);
    lbr_arena_set_limit(&table.arena, 2 * CHUNK);
    while (take(&table, 20000))
        assert_true(lbr_arena_held(&table.arena) <= 2 * CHUNK);
    assert_int_equal(lbr_arena_held(&table.arena), 2 * CHUNK);
    give(&table, 3);
    assert_true(take(&table, 20000));
    close_table(&table);
}

/* Runs a program in which one allocation fails; returns how many did. */
static uint64_t run_refused(struct table *table, uint64_t after)
{
    struct test_rng rng = {4};
    uint64_t refusals;

    open_table(table, CHUNK);
    test_alloc_fail(&table->heap.alloc, after, 1);
    for (int i = 0; i < 2000; i++) {
        struct found was = check_inside(table);
        struct found is;

        if (step(table, EVEN, 200, &rng))
            continue;
        is = check_inside(table);
        assert_memory_equal(&is, &was, sizeof is);
        check_counts(table);
    }
    refusals = table->heap.alloc.failures;
    give_all(table);
    check_whole(table);
    close_table(table);
    return refusals;
}

static void without_memory_nothing_changes(void **state)
{
    uint64_t after = 0;
    struct table table;
    (void)state;

    while (run_refused(&table, after))
        after++;
    assert_true(after > 10);
}

/* A cache of |bound| bytes, least recently used out first: an entry is looked
 * up for each one that is new, some far more often than others. */
#define ENTRIES 20000

struct entry {
    struct lbr_link link; /* in order of use */
    void *content;
};

struct cache {
    struct unit_heap heap;
    struct lbr_arena arena;
    struct lbr_link order;
    struct lbr_link unused;
    struct entry entries[ENTRIES];
    size_t bound, peak;
};

static void open_cache(struct cache *cache, size_t bound)
{
    unit_heap_open(&cache->heap);
    lbr_arena_init(&cache->arena, &cache->heap.memory, CHUNK);
    lbr_list_init(&cache->order);
    lbr_list_init(&cache->unused);
    for (size_t i = 0; i < ENTRIES; i++) {
        cache->entries[i].content = NULL;
        lbr_list_append(&cache->unused, &cache->entries[i].link);
    }
    cache->bound = bound;
    cache->peak = 0;
}

static void evict(struct cache *cache)
{
    struct entry *entry = LBR_OWNER(cache->order.next, struct entry, link);

    lbr_arena_give(&cache->arena, entry->content);
    entry->content = NULL;
    lbr_list_remove(&entry->link);
    lbr_list_append(&cache->unused, &entry->link);
}

static void insert(struct cache *cache, size_t bytes, size_t kept)
{
    struct entry *entry;

    while (lbr_list_empty(&cache->unused) ||
           lbr_arena_used(&cache->arena) + lbr_arena_cost(bytes) > cache->bound)
        evict(cache);
    entry = LBR_OWNER(cache->unused.next, struct entry, link);
    lbr_list_remove(&entry->link);
    lbr_list_append(&cache->order, &entry->link);
    entry->content = lbr_arena_take(&cache->arena, bytes);
    assert_non_null(entry->content);
    if (lbr_arena_used(&cache->arena) > cache->peak)
        cache->peak = lbr_arena_used(&cache->arena);
    lbr_arena_trim(&cache->arena, entry->content, kept);
}

static void look_up(struct cache *cache, struct test_rng *rng)
{
    size_t bound = test_rng_below(rng, ENTRIES) + 1;
    struct entry *entry = &cache->entries[test_rng_below(rng, bound)];

    if (!entry->content)
        return;
    lbr_list_remove(&entry->link);
    lbr_list_append(&cache->order, &entry->link);
}

static double churn(struct cache *cache, enum sizes sizes)
{
    struct test_rng rng = {5};

    for (int i = 0; i < 500000; i++) {
        size_t bytes = draw_size(sizes, &rng);
        bool split = test_rng_below(&rng, 4) == 0;

        insert(cache, bytes,
               split ? (size_t)test_rng_below(&rng, bytes) : bytes);
        look_up(cache, &rng);
    }
    return (double)lbr_arena_held(&cache->arena) / (double)cache->peak;
}

/* Small pieces that stay in use pin the gaps of large ones: the two humps cost
 * more than large pieces alone. */
static void churn_leaves_little_unused(void **state)
{
    static const struct {
        size_t bound;
        double most;
    } runs[SIZES] = {
        [SHORT] = {(size_t)2 << 20, 1.25},
        [EVEN] = {(size_t)32 << 20, 1.25},
        [WIDE] = {(size_t)32 << 20, 1.25},
        [TWO_HUMPS] = {(size_t)16 << 20, 1.35},
        [PAGES] = {(size_t)32 << 20, 1.25},
    };
    static struct cache cache;
    (void)state;

    for (int sizes = 0; sizes < SIZES; sizes++) {
        double ratio;

        open_cache(&cache, runs[sizes].bound);
        ratio = churn(&cache, (enum sizes)sizes);
        print_message("sizes %d: held / peak used %.3f\n", sizes, ratio);
        assert_true(ratio < runs[sizes].most);
        lbr_arena_destroy(&cache.arena);
        unit_heap_close(&cache.heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unused_arena_takes_no_memory),
        cmocka_unit_test(costs_count_header_and_rounding),
        cmocka_unit_test(the_largest_piece_fills_a_chunk),
        cmocka_unit_test(what_is_trimmed_is_free_at_once),
        cmocka_unit_test(a_granule_waits_for_its_neighbours),
        cmocka_unit_test(neighbours_merge_in_every_order),
        cmocka_unit_test(free_space_comes_before_a_new_chunk),
        cmocka_unit_test(the_next_larger_gap_serves),
        cmocka_unit_test(random_operations),
        cmocka_unit_test(a_million_operations),
        cmocka_unit_test(a_warm_arena_allocates_nothing),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(churn_leaves_little_unused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
