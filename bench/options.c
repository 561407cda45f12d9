/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MAX_OPERATIONS = UINT64_C(1000000000000);

static const char HELP[] =
    "Usage: lbroute-bench [OPTION]...\n"
    "Measures lbroute in nanoseconds per operation: the median of\n"
    "several runs, with the fastest and the slowest.\n"
    "\n"
    "  --only PREFIX   only benchmarks whose name starts so (default: all)\n"
    "  --name NAME     only the benchmark of that name\n"
    "  --runs N        runs of each benchmark, 1 to 1000 (default: 5)\n"
    "  --operations N  operations in each run (default: as many as take\n"
    "                  about 50 ms)\n"
    "  --text FILE     also pick for the prompts of FILE: JSON lines with a\n"
    "                  string \"input\"; - is standard input\n"
    "  --json FILE     also write the figures to FILE\n"
    "  --list          print the names of the benchmarks and exit\n"
    "  --help          print this text and exit\n"
    "\n"
    "Benchmarks, N being the number of targets:\n"
    "  pick.STRATEGY.N         pick + observe, one thread, on a warm pool\n"
    "                          with four requests in flight a target\n"
    "  pick.STRATEGY.N.unlocked\n"
    "                          on a router made for one thread\n"
    "  pick.STRATEGY.N.2threads\n"
    "                          two threads on one router\n"
    "  pick.STRATEGY.N.2routers\n"
    "                          two threads with a router each\n"
    "  pick.cache_aware.chat.N, pick.cache_aware.128k.N,\n"
    "  pick.cache_aware.text.N, the same of kv_aware,\n"
    "  pick.cache_aware.blocks.chat.N, pick.least_work.chat.N\n"
    "                          with prompts: conversations of about 4 kB,\n"
    "                          hot prompts of 128 kB, those of --text\n"
    "  pick.pipeline_scorer.N, pick.pipeline_scorer.N.2threads\n"
    "                          pick.pipeline.N with a scorer of the host\n"
    "  pick.lora_aware.adapter.N\n"
    "                          requests ask for one of 64 LoRA adapters\n"
    "  pick.lmcache_aware.lookup.N\n"
    "                          requests carry a lookup of four targets\n"
    "  kv.store.N, kv.store.decode.N, kv.remove.N, kv.payload.FORM.N\n"
    "                          KV events, a block; kv.memory.N: bytes each\n"
    "  kv.pick.N, .new.N, .plain.N, .p50.N, .p99.N, kv.match.N\n"
    "                          precise_cache_aware, prompts of 128 blocks\n"
    "  weighted.distinct10.N   pick + observe with ten different weights\n"
    "  schedule.step.N         the weighted sequence alone, ten weights\n"
    "  ring.lookup.N           owner of a key on the hash ring, alone;\n"
    "  ring.lookup.N.chained   the same, one lookup waiting for the other\n"
    "  model.rls.update        one sample of a latency model, alone\n"
    "  model.rls.predict.N     the latency of N targets, alone\n"
    "  trie.find.chat.N        what one owner holds of a chat prompt, alone\n"
    "  trie.record.chat.N      find and record a conversation's next turn\n"
    "  trie.find.128k.N, trie.record.128k.N\n"
    "                          likewise, hot prompts of 128 kB\n"
    "  trie.evict.N            record a new conversation in a full trie\n"
    "  trie.purge              forget an owner, for each of its holds\n"
    "  trie.memory.chat.N, trie.memory.128k.N\n"
    "                          bytes held for each byte of distinct text\n"
    "  explain.N               answer with the verdict on each candidate\n"
    "  decision_header         all response headers of one decision\n"
    "  memory.WHAT             no time: bytes that a router, a target, a\n"
    "                          ticket or a session takes\n"
    "  peer.nginx_swrr.N       smooth weighted scan as in nginx, ten\n"
    "                          weights\n"
    "\n"
    "With two threads the time is that of one operation of both together:\n"
    "half the time of one thread is twice the work done. Budgets are the\n"
    "design's promises for one thread; they inform and never change the\n"
    "exit code.\n";

void bench_options_help(void)
{
    fputs(HELP, stdout);
}

static int fail(const char *option, const char *why)
{
    fprintf(stderr, "lbroute-bench: %s: %s (see --help)\n", option, why);
    return -1;
}

static int parse_count(const char *option, const char *text, uint64_t maximum,
                       uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return fail(option, "not a whole number");
    if (*value < 1 || *value > maximum)
        return fail(option, "out of range");
    return 0;
}

static int parse_runs(const char *option, const char *text, unsigned *runs)
{
    uint64_t value;

    if (parse_count(option, text, BENCH_RUNS_MAX, &value) != 0)
        return -1;
    *runs = (unsigned)value;
    return 0;
}

static int parse_valued(bench_options *options, const char *option,
                        const char *value)
{
    if (strcmp(option, "--runs") == 0)
        return parse_runs(option, value, &options->plan.runs);
    if (strcmp(option, "--operations") == 0)
        return parse_count(option, value, MAX_OPERATIONS,
                           &options->plan.operations);
    if (strcmp(option, "--only") == 0)
        options->only = value;
    else if (strcmp(option, "--name") == 0)
        options->name = value;
    else if (strcmp(option, "--text") == 0)
        options->text = value;
    else
        options->json = value;
    return 0;
}

static int takes_value(const char *option)
{
    static const char *const options[] = {"--only",       "--name", "--runs",
                                          "--operations", "--text", "--json"};

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(option, options[i]) == 0)
            return 1;
    return 0;
}

int bench_options_parse(bench_options *options, int count, char **arguments)
{
    memset(options, 0, sizeof *options);
    options->only = "";
    options->plan.runs = 5;
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i];

        if (strcmp(option, "--help") == 0)
            options->help = 1;
        else if (strcmp(option, "--list") == 0)
            options->list = 1;
        else if (!takes_value(option))
            return fail(option, "unknown option");
        else if (++i == count)
            return fail(option, "needs a value");
        else if (parse_valued(options, option, arguments[i]) != 0)
            return -1;
    }
    return 0;
}
