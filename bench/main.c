/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include "measure.h"
#include "options.h"
#include "output.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_all(bench_list *list, const bench_text *text)
{
    bench_suite_peer(list);
    bench_suite_models(list);
    bench_suite_latency(list);
    bench_suite_trie(list);
    bench_suite_pick(list);
    bench_suite_prompts(list, text);
    bench_suite_scorers(list);
    bench_suite_signals(list);
    bench_suite_api(list);
    bench_suite_snapshot(list);
    bench_suite_delta(list);
    bench_suite_ingest(list);
    bench_suite_kv(list);
    bench_suite_memory(list);
}

static int is_wanted(const bench_case *test, const bench_options *options)
{
    if (options->name != NULL && strcmp(test->name, options->name) != 0)
        return 0;
    return strncmp(test->name, options->only, strlen(options->only)) == 0;
}

/* Drops the cases that were not asked for. */
static void keep_wanted(bench_list *list, const bench_options *options)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (is_wanted(&list->cases[i], options))
            list->cases[kept++] = list->cases[i];
    list->count = kept;
}

static void print_names(const bench_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        printf("%s\n", list->cases[i].name);
}

static int run_all(const bench_list *list, const bench_options *options)
{
    bench_figure *figures = bench_alloc(list->count, sizeof *figures);
    int result = 0;

    bench_table_begin();
    for (size_t i = 0; i < list->count; i++) {
        figures[i] = bench_measure(&list->cases[i], &options->plan);
        bench_table_row(list->cases, figures, i);
    }
    if (options->json != NULL && bench_json_write(options->json, list->cases,
                                                  figures, list->count) != 0) {
        fprintf(stderr, "lbroute-bench: %s: %s\n", options->json,
                strerror(errno));
        result = 1;
    }
    free(figures);
    return result;
}

static int run(bench_list *list, const bench_options *options,
               const bench_text *text)
{
    add_all(list, text);
    keep_wanted(list, options);
    if (list->count == 0) {
        fputs("lbroute-bench: no such benchmark (see --list)\n", stderr);
        return 2;
    }
    if (options->list) {
        print_names(list);
        return 0;
    }
    return run_all(list, options);
}

int main(int argc, char **argv)
{
    bench_options options;
    bench_list list = {0};
    bench_text *text;
    int result;

    if (bench_options_parse(&options, argc, argv) != 0)
        return 2;
    if (options.help) {
        bench_options_help();
        return 0;
    }
    text = options.text ? bench_text_read(options.text) : NULL;
    result = run(&list, &options, text);
    bench_list_free(&list);
    bench_text_free(text);
    return result;
}
