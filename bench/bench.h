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
struct bench_text;

/* How one operation is done. `work` is called by several threads at once, each
 * with a lane of its own, when the case has more than one lane. */
typedef struct bench_kind {
    void *(*open)(const bench_case *test);
    void (*work)(void *fixture, unsigned lane, uint64_t operations);
    void (*close)(void *fixture);
    /* What `work` takes for granted, out of the time; NULL: nothing. */
    void (*prepare)(void *fixture, uint64_t operations);
    /* Instead of `work`: a figure, and its unit; NULL: ns. */
    double (*read)(void *fixture);
    const char *unit;
} bench_kind;

/* What requests carry; prompts.h describes each. */
typedef enum bench_prompt_kind {
    BENCH_PROMPTS_NONE,
    BENCH_PROMPTS_CHAT,
    BENCH_PROMPTS_FRESH,
    BENCH_PROMPTS_HOT,
    BENCH_PROMPTS_TEXT
} bench_prompt_kind;

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
    size_t distinct_weights;  /* 1: all weights are 1 */
    unsigned lanes;           /* threads */
    unsigned routers;         /* 1, or one a lane */
    int unlocked;             /* 1: created with `single_threaded` */
    uint64_t most_operations; /* in a run; 0: as many as one likes */
    bench_prompt_kind prompts;
    int blocks;                    /* cache_aware compares hashes of blocks */
    const struct bench_text *text; /* of BENCH_PROMPTS_TEXT; not owned */
    uint32_t kv_blocks; /* that the router has room for; 0: the default */
    double budget_ns;   /* NaN: none */
    bench_compare compare;
    char reference[BENCH_NAME_MAX]; /* name of the case to compare with */
    double least_throughput; /* against it, that the budget allows; 0: any */
};

/* Grows as cases are added; owns them. */
typedef struct bench_list {
    bench_case *cases;
    size_t count;
    size_t capacity;
} bench_list;

/* In ns, or in the unit of the kind. */
typedef struct bench_figure {
    double median; /* of the runs */
    double min;
    double max;
    unsigned runs;
    uint64_t operations; /* in each run */
} bench_figure;

/* The pool sizes of every sweep, and of those with prompts. */
enum { BENCH_SIZES = 4, BENCH_PROMPT_SIZES = 3 };
extern const size_t bench_sizes[BENCH_SIZES];
extern const size_t bench_prompt_sizes[BENCH_PROMPT_SIZES];

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
void bench_suite_prompts(bench_list *list, const struct bench_text *text);
void bench_suite_scorers(bench_list *list);
void bench_suite_signals(bench_list *list);
void bench_suite_api(bench_list *list);
void bench_suite_snapshot(bench_list *list);
void bench_suite_delta(bench_list *list);
void bench_suite_ingest(bench_list *list);
void bench_suite_kv(bench_list *list);
void bench_suite_memory(bench_list *list);

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
