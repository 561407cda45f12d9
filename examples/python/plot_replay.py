# SPDX-License-Identifier: MIT
"""Plots the results of a replay: first-token time against cache hits, a point
for each strategy, and the spread of first-token times.

    lbroute-replay --strategy all --json out.json && python plot_replay.py out.json out.png
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
    """A figure of the runs."""
    results = mean_of_seeds(runs)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5),
                                         layout="constrained")
    for name, (hits, mean, _p50, _p99) in results.items():
        left.scatter(100 * hits, mean)
        left.annotate(name, (100 * hits, mean), textcoords="offset points",
                      xytext=(5, 4), fontsize=8)
    left.set(xlabel="cache hits, %", ylabel="first token, mean, s", yscale="log")
    ordered = sorted(results.items(), key=lambda item: -item[1][1])
    names = [name for name, _ in ordered]
    for label, column, marker in (("p50", 2, "o"), ("mean", 1, "|"),
                                  ("p99", 3, "s")):
        right.plot([row[column] for _, row in ordered], names, marker,
                   label=label)
    right.set(xlabel="first token, s", xscale="log")
    right.legend()
    first = runs[0]
    figure.suptitle(f"{first['trace']}, {first['fleet']} × {first['engine']}")
    return figure


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        plot(json.load(file)["runs"]).savefig(target, dpi=120)


if __name__ == "__main__":
    main()
