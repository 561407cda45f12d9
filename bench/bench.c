/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <lbroute/lbroute.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const size_t bench_sizes[BENCH_SIZES] = {10, 100, 1000, 10000};
const size_t bench_prompt_sizes[BENCH_PROMPT_SIZES] = {8, 64, 512};

static volatile uint64_t kept;

void bench_keep(uint64_t value)
{
    kept = value;
}

void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "lbroute-bench: %s: %s\n", what, why);
    exit(1);
}

void bench_check(int result, const char *what)
{
    if (result != LBROUTE_OK)
        bench_die(what, lbroute_strerror(result));
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        bench_die("fixture", "out of memory");
    return memory;
}

uint64_t bench_random(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (*state >> 32) * bound >> 32;
}

static void list_grow(bench_list *list)
{
    size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
    bench_case *cases = bench_alloc(capacity, sizeof *cases);

    if (list->count > 0)
        memcpy(cases, list->cases, list->count * sizeof *cases);
    free(list->cases);
    list->cases = cases;
    list->capacity = capacity;
}

bench_case *bench_list_add(bench_list *list, const bench_kind *kind,
                           const char *name)
{
    bench_case *test;

    if (list->count == list->capacity)
        list_grow(list);
    test = &list->cases[list->count++];
    snprintf(test->name, sizeof test->name, "%s", name);
    test->kind = kind;
    test->distinct_weights = 1;
    test->lanes = 1;
    test->routers = 1;
    test->budget_ns = (double)NAN;
    return test;
}

bench_case *bench_list_add_sized(bench_list *list, const bench_kind *kind,
                                 const char *name, size_t targets)
{
    bench_case *test = bench_list_add(list, kind, name);

    snprintf(test->name, sizeof test->name, "%s.%zu", name, targets);
    test->targets = targets;
    return test;
}

void bench_case_vary(bench_case *test, const char *variant)
{
    size_t length = strlen(test->name);

    snprintf(test->name + length, sizeof test->name - length, "%s", variant);
}

void bench_list_free(bench_list *list)
{
    free(list->cases);
    memset(list, 0, sizeof *list);
}

void bench_case_compare(bench_case *test, bench_compare compare,
                        const char *name)
{
    test->compare = compare;
    snprintf(test->reference, sizeof test->reference, "%s.%zu", name,
             test->targets);
}
