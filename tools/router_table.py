#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What four routers in front of one fleet cost, and what deltas between them
bring back: the tables of docs/deltas.md.

    tools/router_table.py --replay build/tools/lbroute-replay --traces DIR

Each strategy runs with one router that sees all requests, with four that know
nothing of each other, and with four that share by deltas at several intervals.
Figures are means over the seeds: mean and p99 time to first token, s, and cache
hits. Behind the mean of four routers stands what it is of one router's; what is
more than 5 % above that is bold.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

STRATEGIES = ("cache_aware", "kv_aware", "precise_cache_aware", "least_work",
              "least_connections", "predicted_latency")
SESSIONS = ("sticky_session",)

# Name, arguments (a trace is a file of --traces), strategies.
WORKLOADS = (
    ("chat", ("--workload", "chat", "--rate", "12"), STRATEGIES + SESSIONS),
    ("conversation", ("--trace", "mooncake_conversation.jsonl.gz", "--load",
                      "1.6"), STRATEGIES),
    ("coding agents", ("--trace", "claude_code_sessions.jsonl.gz",
                       "--targets", "16"), STRATEGIES + SESSIONS),
)

# Title, arguments.
SET_UPS = (
    ("1 router", ("--routers", "1")),
    ("4, none", ("--routers", "4:none")),
    ("4, 0.005 s", ("--routers", "4", "--delta-interval", "0.005")),
    ("4, 0.02 s", ("--routers", "4", "--delta-interval", "0.02")),
    ("4, 0.1 s", ("--routers", "4", "--delta-interval", "0.1")),
    ("4, 1 s", ("--routers", "4", "--delta-interval", "1")),
    ("4, 0.1 s, 10 % lost", ("--routers", "4", "--delta-interval", "0.1",
                             "--delta-loss", "0.1")),
)
ALLOWED = 1.05


def runs_of(options, arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [options.replay, "--json", out.name, "--jobs", str(options.jobs),
             *arguments], cwd=options.traces, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out.name, encoding="utf-8") as file:
            return json.load(file)["runs"]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def figures(runs):
    """Means over the seeds of what is shown."""
    told = [run.get("routers", {}) for run in runs]
    return {"mean": mean(run["ttft_ms"]["mean"] for run in runs),
            "p99": mean(run["ttft_ms"]["p99"] for run in runs),
            "hits": mean(run["hit_share"] for run in runs),
            "bytes_per_request": mean(routers.get("bytes_per_request", 0)
                                      for routers in told),
            "bytes_per_s": mean(routers.get("bytes_per_s", 0)
                                for routers in told)}


def measure(options, workload, set_up):
    """{strategy: figures}."""
    name, traffic, strategies = workload
    wanted = [one for one in strategies if one in options.strategies]
    print(name, set_up[0], file=sys.stderr, flush=True)
    runs = runs_of(options, (*traffic, *set_up[1], "--strategy",
                             ",".join(wanted), "--seed", options.seeds))
    return {one: figures([run for run in runs if run["strategy"] == one])
            for one in wanted}


def seconds(ms):
    return "%.3g" % (ms / 1e3)


def cell(run, alone):
    text = seconds(run["mean"])
    ratio = run["mean"] / alone["mean"]
    if run is not alone:
        text += (" (%.2f)" if ratio <= ALLOWED else " **(%.2f)**") % ratio
    return "%s / %s, %.0f %%" % (text, seconds(run["p99"]), 100 * run["hits"])


def print_workload(workload, table):
    name, traffic, _ = workload
    print("**%s** (`%s`)\n" % (name.capitalize(), " ".join(traffic)))
    print("| strategy | %s |" % " | ".join(title for title, _ in SET_UPS))
    print("|---|%s" % ("---:|" * len(SET_UPS)))
    for strategy in table[0]:
        print("| `%s` | %s |" % (strategy, " | ".join(
            cell(runs[strategy], table[0][strategy]) for runs in table)))
    print()


def print_bytes(workload, table):
    for (title, _), runs in zip(SET_UPS, table):
        sizes = ["%s %.0f B, %.1f kB/s" % (
            name, run["bytes_per_request"], run["bytes_per_s"] / 1e3)
                 for name, run in runs.items() if run["bytes_per_s"]]
        if sizes:
            print("%s, %s: %s" % (workload[0], title, "; ".join(sizes)))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replay", required=True, type=os.path.abspath)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--workloads", type=lambda text: text.split(","),
                        default=[workload[0] for workload in WORKLOADS])
    parser.add_argument("--strategies", type=lambda text: text.split(","),
                        default=list(STRATEGIES + SESSIONS))
    parser.add_argument("--bytes", action="store_true",
                        help="also print how long deltas are")
    options = parser.parse_args()
    for workload in WORKLOADS:
        if workload[0] not in options.workloads:
            continue
        table = [measure(options, workload, set_up) for set_up in SET_UPS]
        print_workload(workload, table)
        if options.bytes:
            print_bytes(workload, table)


if __name__ == "__main__":
    main()
