#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The charts of docs/strategies.md and README.md, each a strategy among all
others on traffic that shows what it is for.

    tools/charts/strategy_charts.py --replay build/tools/lbroute-replay

Replays nine workloads in virtual time, which takes some minutes, and writes
SVG files. Needs matplotlib (Debian: python3-matplotlib). The same build of the
replay and the same matplotlib give the same bytes.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import draw
from experiments import CHARTS, EXPERIMENTS, PRICES, Costs, Lines

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images"


def price_table(folder):
    path = folder / "prices.tsv"
    path.write_text("".join("\t".join(map(str, row)) + "\n"
                            for row in PRICES), encoding="utf-8")
    return path


def replay(options, folder, name):
    """The runs of an experiment; read from |folder| if they are there."""
    path = folder / f"{name}.json"
    if not path.exists():
        experiment = EXPERIMENTS[name]
        arguments = [str(price_table(folder)) if word == "PRICES" else word
                     for word in experiment.arguments]
        if experiment.loads:
            arguments += ["--sweep", f"load={experiment.loads}"]
        subprocess.run([options.replay, "--strategy", "all", "--jobs",
                        str(options.jobs), "--json", path, *arguments],
                       check=True, stdout=subprocess.DEVNULL)
    return json.loads(path.read_text(encoding="utf-8"))["runs"]


def draw_chart(options, folder, chart):
    runs = replay(options, folder, chart.experiment)
    title = EXPERIMENTS[chart.experiment].title
    path = options.out / f"{chart[0]}.svg"
    if isinstance(chart, Lines):
        draw.lines(chart, title, runs, path)
    elif isinstance(chart, Costs):
        draw.costs(chart, title, runs, path)
    else:
        draw.spread(title, [run for run in runs
                            if abs(run["sweep_load"] - 1) < 0.01], path)
    print(path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replay", required=True,
                        help="lbroute-replay, of a release build")
    parser.add_argument("--out", type=pathlib.Path, default=IMAGES,
                        help="folder for the charts (docs/images)")
    parser.add_argument("--data", type=pathlib.Path,
                        help="folder that keeps the runs; those that are "
                        "there are not made again")
    parser.add_argument("--jobs", type=int, default=2,
                        help="strategies that are replayed at once (2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or pathlib.Path(scratch)
        for chart in CHARTS:
            draw_chart(options, folder, chart)


if __name__ == "__main__":
    main()
