/* SPDX-License-Identifier: MIT */
/*
 * The words of lbroute-bench.
 *
 *   kind    how one operation is done: open a fixture, work, close it
 *   case    a kind with a name, a size and the other things that vary
 *   lane    what one thread works on
 *   figure  what came out: ns per operation over several runs
 *
 *   suite_*.c add cases to a list ──▶ measure.c runs each ──▶ report_*.c
 */
#ifndef LBROUTE_BENCH_BENCH_H
#define LBROUTE_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

enum { BENCH_NAME_MAX = 80, BENCH_LANES_MAX = 2 };

typedef struct bench_case bench_case;

/* How one operation is done. `work` is called by several threads at once, each
 * with a lane of its own, when the case has more than one lane. */
typedef struct bench_kind {
    void *(*open)(const bench_case *test);
    void (*work)(void *fixture, unsigned lane, uint64_t operations);
    void (*close)(void *fixture);
} bench_kind;

/* What a figure is set against. */
typedef enum bench_compare {
    BENCH_COMPARE_NONE,
    BENCH_COMPARE_TIME,      /* time of this / time of the reference */
    BENCH_COMPARE_THROUGHPUT /* operations per second, this / reference */
} bench_compare;

struct bench_case {
    char name[BENCH_NAME_MAX];
    const bench_kind *kind;
    const char *strategy; /* of the pool; NULL where none is needed */
    size_t targets;
    size_t distinct_weights; /* 1: all weights are 1 */
    unsigned lanes;          /* threads */
    unsigned routers;        /* 1, or one a lane */
    int unlocked;            /* 1: created with `single_threaded` */
    double budget_ns;        /* NaN: none */
    bench_compare compare;
    char reference[BENCH_NAME_MAX]; /* name of the case to compare with */
};

/* Grows as cases are added; owns them. */
typedef struct bench_list {
    bench_case *cases;
    size_t count;
    size_t capacity;
} bench_list;

typedef struct bench_figure {
    double ns; /* median of the runs */
    double min_ns;
    double max_ns;
    unsigned runs;
    uint64_t operations; /* in each run */
} bench_figure;

/* The pool sizes of every sweep. */
enum { BENCH_SIZES = 4 };
extern const size_t bench_sizes[BENCH_SIZES];

/* Adds a case with the given name and kind, one lane, one router, weights of 1,
 * no budget and nothing to compare with. The caller sets what differs before
 * the next call. */
bench_case *bench_list_add(bench_list *list, const bench_kind *kind,
                           const char *name);

/* Likewise, with ".<targets>" after the name. */
bench_case *bench_list_add_sized(bench_list *list, const bench_kind *kind,
                                 const char *name, size_t targets);

/* Puts a variant, for example ".unlocked", behind the name. */
void bench_case_vary(bench_case *test, const char *variant);

void bench_list_free(bench_list *list);

/* Sets what the figure of a case is compared with: "<name>.<targets>". */
void bench_case_compare(bench_case *test, bench_compare compare,
                        const char *name);

/* The suites, in the order in which they run: what others are compared with
 * comes first. */
void bench_suite_peer(bench_list *list);
void bench_suite_models(bench_list *list);
void bench_suite_latency(bench_list *list);
void bench_suite_trie(bench_list *list);
void bench_suite_pick(bench_list *list);
void bench_suite_api(bench_list *list);

/* Keeps a value that was computed, so that no compiler drops the work. */
void bench_keep(uint64_t value);

/* calloc() that never returns NULL. */
void *bench_alloc(size_t count, size_t size);

/* Ends the program with a message when `result` is not LBROUTE_OK. */
void bench_check(int result, const char *what);

/* Ends the program with a message. */
void bench_die(const char *what, const char *why);

/* Pseudo-random number below `bound` (at least 1); `state` is any value. */
uint64_t bench_random(uint64_t *state, uint64_t bound);

#endif
