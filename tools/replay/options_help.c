/* SPDX-License-Identifier: MIT */
#include "options_row.h"

#include <stdio.h>
#include <string.h>

/* Where the explanation of an option starts. */
enum { TEXT_COLUMN = 24 };

static const char introduction[] =
    "Usage: lbroute-replay [OPTION...]\n"
    "\n"
    "Replays LLM traffic through lbroute in front of simulated inference\n"
    "engines, once for each strategy, and shows which serves it best. Time is\n"
    "virtual: an hour of traffic takes seconds. The router is told only what "
    "a\n"
    "host knows: its own requests, first tokens, outcomes, and metrics read "
    "now\n"
    "and then.\n";

static const char explanation[] =
    "\n"
    "The table\n"
    "  first token  from arrival at the router to the first token\n"
    "  per token    mean time of each further token of an answer\n"
    "  cache hits   input tokens found in the targets' prefix caches\n"
    "  of pool      these hits out of those of one perfect cache as large as "
    "all\n"
    "               targets' together\n"
    "  inside SLO   requests within both --slo-ttft and --slo-tpot\n"
    "  busiest      input tokens that the busiest target computed, relative to "
    "its\n"
    "               weight, over the mean; 1 is even. Work: output tokens "
    "too\n"
    "  adapter loads  adapters that targets had to load, for each request "
    "served\n"
    "               (with --adapters)\n"
    "  events: unknown  picks while events of a target were missing (with "
    "events)\n"
    "  events: wrong    picks that were told of blocks that no event "
    "justifies\n"
    "  rejected     refused by the router, or too long for the target's cache\n"
    "\n"
    "With --queue, --admission, --clients, --priority, --deadline or "
    "parameters "
    "of\n"
    "these there is a second table\n"
    "  wait         from arrival to dispatch, of the served; heaviest: of the "
    "client\n"
    "               that asks for most, others: of all other clients\n"
    "  told         what waiting requests were told of their wait: median "
    "error, "
    "and\n"
    "               all that was told over all that was real, less 1\n"
    "  done         requests, and virtual tokens, per second while requests "
    "arrived\n"
    "  service      share of these tokens that the heaviest client got, and "
    "would\n"
    "               have got in fair shares\n"
    "  busy         part of the run in which a hybrid pool was busy; changes "
    "of "
    "that\n"
    "\n"
    "With --restart-router there is another one, of the requests dispatched "
    "in\n"
    "--restart-window before it, after it, and later\n"
    "  forgotten    requests under way, of which the new router does not "
    "know\n"
    "  snapshot     kB of what it was told; 0: nothing\n"
    "\n"
    "With --routers there is another one, of the deltas between them\n"
    "  written      by all routers; each goes to all others\n"
    "  B/request    bytes of them for each request\n"
    "  kB/s         for each second of the run\n"
    "  lost         of those that should have reached a router\n"
    "  not told     prompts and sessions for which there was no room\n"
    "\n"
    "Examples\n"
    "  lbroute-replay\n"
    "      All strategies on ten minutes of generated chat.\n"
    "  lbroute-replay --trace requests.jsonl.gz --load 1.6 --html out.html\n"
    "      A trace at 1.6 times its load, with a page of charts.\n"
    "  lbroute-replay --workload agents --strategy weighted,sticky_session \\\n"
    "      --targets 3x8b-rtx4090,3x8b-rtxpro6000@2:64 --seed 1,2,3\n"
    "      Coding agents on a mixed fleet; the larger cards get twice the\n"
    "      weight and at most 64 requests each.\n"
    "\n"
    "  lbroute-replay --strategy all,peers --sweep load=0.5:1.5:0.1 --jobs 4\n"
    "      lbroute's strategies and other routers' policies at eleven loads.\n"
    "\n"
    "Exit status: 0 done, 1 the trace or an output file failed, 2 wrong "
    "usage.\n"
    "A malformed line of a trace is shown as file:line:column.\n";

static void print_row(FILE *out, const struct option_row *row)
{
    char head[64];
    const char *line = row->text;

    snprintf(head, sizeof head, "  --%s%s%s", row->name,
             row->argument != NULL ? " " : "",
             row->argument != NULL ? row->argument : "");
    fprintf(out, "%-*s", TEXT_COLUMN - 1, head);
    if (strlen(head) >= TEXT_COLUMN - 1)
        fprintf(out, "\n%*s", TEXT_COLUMN - 1, "");
    for (;;) {
        size_t length = strcspn(line, "\n");

        fprintf(out, " %.*s\n", (int)length, line);
        if (line[length] == '\0')
            return;
        line += length + 1;
        fprintf(out, "%*s", TEXT_COLUMN - 1, "");
    }
}

void options_print_help(FILE *out)
{
    fputs(introduction, out);
    for (size_t i = 0; i < option_row_count; i++) {
        if (option_rows[i].kind == OPTION_HEADING)
            fprintf(out, "\n%s\n", option_rows[i].text);
        else
            print_row(out, &option_rows[i]);
    }
    fputs(explanation, out);
}

static void list_engines(FILE *out)
{
    const struct engine_spec *spec;

    fputs("Engines (--engine, --targets), with tokens of KV cache\n", out);
    for (size_t i = 0; (spec = engine_spec_at(i)) != NULL; i++)
        fprintf(out, "  %-18s %8llu  %s\n", spec->name,
                (unsigned long long)spec->cache_tokens, spec->text);
}

static void list_strategies(FILE *out)
{
    fputs("\nStrategies (--strategy)\n", out);
    for (size_t i = 0; lbroute_strategy_name(i) != NULL; i++)
        fprintf(out, "  %s\n", lbroute_strategy_name(i));
}

static void list_peers(FILE *out)
{
    const struct peer_rule *peer;

    fputs("\nPeers (--strategy), policies of other routers, with their "
          "parameters (--param): default, range\n",
          out);
    for (size_t i = 0; (peer = peer_rule_at(i)) != NULL; i++) {
        fprintf(out, "  %s\n      %s\n      from %s\n", peer->name, peer->text,
                peer->source);
        for (size_t k = 0; k < peer->param_count; k++)
            fprintf(out, "    %s.%s: %g, %g to %g\n        %s\n", peer->name,
                    peer->params[k].name, peer->params[k].value,
                    peer->params[k].minimum, peer->params[k].maximum,
                    peer->params[k].text);
    }
}

static void list_workloads(FILE *out)
{
    const struct generator *generator;

    fputs("\nWorkloads (--workload), with requests per second\n", out);
    for (size_t i = 0; (generator = generator_at(i)) != NULL; i++)
        fprintf(out, "  %-9s %4g  %s\n", generator->name,
                generator->default_rate, generator->text);
}

static void list_parameters(FILE *out)
{
    lbroute_param_info info;

    fputs("\nParameters (--param): default, range\n", out);
    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        fprintf(out, "  %s: %g, %g to %g\n      %s\n", info.name,
                info.default_value, info.minimum, info.maximum, info.text);
}

void options_print_list(FILE *out)
{
    list_engines(out);
    list_strategies(out);
    list_peers(out);
    list_workloads(out);
    list_parameters(out);
}
