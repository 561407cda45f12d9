#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""least_work against every other strategy and peer, on the second halves of
five traces: the tables of docs/least_work.md.

    tools/work_table.py --replay build/tools/lbroute-replay --traces DIR

The load at which `weighted` saturates is found first, for each workload: there
its mean time to first token is two and a half times that of a fleet with next
to nothing to do, so that requests wait longer than they are worked on. Then
every strategy runs at 0.7, 1.0 and 1.3 of it, with several seeds, with KV
events and without. Figures are means over the seeds.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

MIXED = "3x8b-rtx4090,3x8b-rtxpro6000,3x32b-2xrtxpro6000"

# Name, trace, requests left out (the half to tune on), a load to begin with,
# arguments.
WORKLOADS = (
    ("conversation", "mooncake_conversation.jsonl.gz", 6015, 1.5,
     ("--targets", "8")),
    ("synthetic", "mooncake_synthetic.jsonl.gz", 1996, 1.4,
     ("--targets", "8")),
    # Closed loop: half as many agents keep half of the 16 engines busy.
    ("coding agents", "claude_code_sessions.jsonl.gz", 4871, 1.0,
     ("--targets", "8")),
    ("rag", "ragpulse.jsonl.gz", 3553, 850.0, ("--targets", "4")),
    ("mixed fleet", "azure_llm_2023_conv.csv.gz", 9683, 4.5,
     ("--targets", MIXED, "--cache-tokens", "400000")),
)
POINTS = (0.7, 1.0, 1.3)
EVENTS = ("map", "off")
OWN = "least_work"
TIMES_IDLE = 2.5
IDLE = 0.02  # of the load to begin with
MEASURES = ("mean", "p99", "goodput")


def replay(options, workload, load, seed, arguments):
    """Runs strategies; gives {strategy: {measure: value}}."""
    _, trace, skipped, _, fleet = workload
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [options.replay, "--trace", os.path.join(options.traces, trace),
             "--skip-requests", str(skipped), "--load", repr(load), "--seed",
             str(seed), "--json", out.name, *fleet, *arguments],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out.name, encoding="utf-8") as file:
            runs = json.load(file)["runs"]
    return {run["strategy"]: {"mean": run["ttft_ms"]["mean"],
                              "p99": run["ttft_ms"]["p99"],
                              "goodput": 100 * run["goodput"]}
            for run in runs}


def weighted_mean(options, workload, load):
    runs = replay(options, workload, load, 1, ("--strategy", "weighted"))
    return runs["weighted"]["mean"]


def saturation(options, workload):
    """The load of saturation, to 1 %, by halving on a scale of ratios."""
    low, high = workload[3] / 4, workload[3] * 4
    idle = weighted_mean(options, workload, IDLE * workload[3])
    while high / low > 1.01:
        load = math.sqrt(low * high)
        if weighted_mean(options, workload, load) < TIMES_IDLE * idle:
            low = load
        else:
            high = load
    return float("%.3g" % high)


def at_point(options, workload, load, events):
    """Means over the seeds of everybody."""
    sums = {}
    for seed in options.seeds:
        runs = replay(options, workload, load, seed,
                      ("--strategy", "all,peers", "--kv-events", events,
                       "--jobs", str(options.jobs)))
        extra = replay(options, workload, load, seed,
                       ("--strategy", "kv_aware", "--param",
                        "kv_aware.fallback=1"))
        runs["kv_aware, fallback 1"] = extra["kv_aware"]
        for name, run in runs.items():
            for measure in MEASURES:
                key = sums.setdefault(name, dict.fromkeys(MEASURES, 0.0))
                key[measure] += run[measure] / len(options.seeds)
    return sums


def measure_all(options):
    rows = []
    for workload in WORKLOADS:
        load = saturation(options, workload)
        for point in POINTS:
            for events in EVENTS:
                rows.append({
                    "workload": workload[0], "saturation": load,
                    "point": point, "events": events,
                    "runs": at_point(options, workload, point * load,
                                     events)})
                print(workload[0], load, point, events, file=sys.stderr,
                      flush=True)
    return rows


def best_other(runs, measure):
    names = [name for name in runs if name != OWN]
    better = max if measure == "goodput" else min
    return better(names, key=lambda name: runs[name][measure])


def seconds(ms):
    return "%.3f" % (ms / 1e3) if ms < 1e3 else "%.2f" % (ms / 1e3)


def verdict(ratio):
    return "%.2f" % ratio if ratio <= 1.05 else "**%.2f**" % ratio


def print_saturation(rows):
    print("| workload | load of saturation | `weighted` at 0.7, 1.0, 1.3 of it:"
          " mean, s | inside SLO |\n|---|---:|---:|---:|")
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == workload
                and row["events"] == "off"]
        runs = [row["runs"]["weighted"] for row in mine]
        print("| %s | %g | %s | %s |" % (
            workload, mine[0]["saturation"],
            " / ".join(seconds(run["mean"]) for run in runs),
            " / ".join("%.0f %%" % run["goodput"] for run in runs)))
    print()


def print_points(rows, events):
    print("| workload, load | `least_work`: mean, p99, s; inside SLO | mean / "
          "best other | p99 / best other | goodput, points |\n"
          "|---|---:|---|---|---|")
    for row in rows:
        if row["events"] != events:
            continue
        runs = row["runs"]
        own = runs[OWN]
        cells = []
        for measure in ("mean", "p99"):
            best = best_other(runs, measure)
            cells.append("%s `%s`" % (
                verdict(own[measure] / runs[best][measure]), best))
        best = best_other(runs, "goodput")
        gap = own["goodput"] - runs[best]["goodput"]
        cells.append(("%+.1f `%s`" if gap >= -1 else "**%+.1f** `%s`")
                     % (gap, best))
        print("| %s, %.1f | %s / %s, %.1f %% | %s |" % (
            row["workload"], row["point"], seconds(own["mean"]),
            seconds(own["p99"]), own["goodput"], " | ".join(cells)))
    print()


def geometric(rows, events, name, measure):
    logs = [math.log(row["runs"][OWN][measure] / row["runs"][name][measure])
            for row in rows if row["events"] == events]
    return math.exp(sum(logs) / len(logs))


def print_others(rows, events):
    """Everybody, best first: how least_work compares over all points."""
    names = [name for name in rows[0]["runs"] if name != OWN]
    table = [(geometric(rows, events, name, "mean"),
              geometric(rows, events, name, "p99"),
              sum(row["runs"][OWN]["goodput"] - row["runs"][name]["goodput"]
                  for row in rows if row["events"] == events)
              / (len(rows) / len(EVENTS)), name) for name in names]
    print("| `least_work` against | mean | p99 | goodput, points |\n"
          "|---|---:|---:|---:|")
    for mean, p99, gap, name in sorted(table, reverse=True)[:8]:
        print("| `%s` | %.2f | %.2f | %+.1f |" % (name, mean, p99, gap))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replay", required=True)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--seeds", type=lambda text: text.split(","),
                        default=["1", "2", "3"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--raw", help="keeps all figures; read if it exists")
    options = parser.parse_args()
    if options.raw and os.path.exists(options.raw):
        with open(options.raw, encoding="utf-8") as file:
            rows = json.load(file)
    else:
        rows = measure_all(options)
    if options.raw:
        with open(options.raw, "w", encoding="utf-8") as file:
            json.dump(rows, file)
    print_saturation(rows)
    for events in EVENTS:
        print("KV events: %s\n" % events)
        print_points(rows, events)
        print_others(rows, events)


if __name__ == "__main__":
    main()
