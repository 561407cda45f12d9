# SPDX-License-Identifier: MIT
"""Plots the results of a replay: for each strategy the times to the first
token, and how much of the prompts the engines' caches held.

    lbroute-replay --strategy all --json out.json
    python plot_replay.py out.json out.png
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def mean_of_seeds(runs):
    """{strategy: (hit share, first token mean, p50, p99 in s)}."""
    found = {}
    for run in runs:
        first = run["ttft_ms"]
        found.setdefault(run["strategy"], []).append(
            (run["hit_share"], *(first[key] / 1000
                                 for key in ("mean", "p50", "p99"))))
    return {name: [sum(column) / len(column) for column in zip(*rows)]
            for name, rows in found.items()}


def plot(runs):
    """A figure of the runs, the best strategy on top."""
    results = sorted(mean_of_seeds(runs).items(), key=lambda item: -item[1][1])
    names = [name for name, _ in results]
    figure, (times, hits) = plt.subplots(
        1, 2, figsize=(11, 1 + len(names) / 3), sharey=True,
        layout="constrained", width_ratios=(3, 2))
    for label, column, marker in (("p50", 2, "o"), ("mean", 1, "D"),
                                  ("p99", 3, "s")):
        times.plot([row[column] for _, row in results], names, marker,
                   label=label)
    times.set(xlabel="first token, s", xscale="log")
    times.xaxis.set_major_formatter("{x:g}")
    times.grid(alpha=0.3)
    times.legend()
    hits.barh(names, [100 * row[0] for _, row in results], height=0.6)
    hits.set(xlabel="cache hits, %", xlim=(0, 100))
    first = runs[0]
    figure.suptitle(f"{first['trace']}, {first['fleet']} × {first['engine']}")
    return figure


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        plot(json.load(file)["runs"]).savefig(target, dpi=120)


if __name__ == "__main__":
    main()
