# SPDX-License-Identifier: MIT
"""Draws the charts. Colours are readable on white and on black, and the
background is left out, since a page may be either."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "lbroute", "font.size": 10,
    "font.family": "sans-serif", "axes.spines.top": False,
    "axes.spines.right": False})
# pylint: disable=wrong-import-position
from matplotlib import pyplot, ticker

INK = "#768390"
OWN = "#3b82f6"
OTHERS = ("#d97706", "#16a34a")
LABEL_GAP = 0.062  # of the height of a chart, between two labels

MEASURES = {
    "ttft": ("mean time to first token", lambda run: run["ttft_ms"]["mean"]),
    "p99": ("time to first token, 99th percentile",
            lambda run: run["ttft_ms"]["p99"]),
    "hits": ("prompt tokens found in caches, %",
             lambda run: 100 * run["hit_share"]),
}


def duration(ms, _position=None):
    return "%g s" % (ms / 1000) if ms >= 1000 else "%g ms" % ms


def _new(title, subtitle, size=(7, 3.4)):
    figure, axes = pyplot.subplots(figsize=size)
    figure.subplots_adjust(left=0.1, right=0.76, top=0.82, bottom=0.14)
    figure.text(0.02, 0.94, title, color=INK, size=11, weight="bold")
    figure.text(0.02, 0.875, subtitle, color=INK, size=9)
    axes.tick_params(colors=INK, which="both", length=3)
    axes.grid(color=INK, alpha=0.25, linewidth=0.6)
    for spine in axes.spines.values():
        spine.set_color(INK)
    return figure, axes


def _time_axis(axis):
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(duration))
    axis.set_minor_locator(ticker.NullLocator())


def _save(figure, path):
    figure.savefig(path, transparent=True,
                   metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _style(name, chart):
    """Colour, line width, whether it is named; last drawn is on top."""
    if name == chart.strategy:
        return OWN, 2.6, True
    if name in chart.others:
        return OTHERS[chart.others.index(name)], 1.4, True
    return INK, 0.7, False


def _label_ends(axes, ends):
    """Names at the right ends of lines, moved apart where they would meet."""
    height = axes.transAxes.inverted().transform
    at = sorted((height(axes.transData.transform(end))[1], name, color, bold)
                for end, name, color, bold in ends)
    last = -1.0
    for y, name, color, bold in at:
        last = max(y, last + LABEL_GAP)
        axes.text(1.02, last, name, color=color, va="center", size=9,
                  weight="bold" if bold else "normal",
                  transform=axes.transAxes)


def lines(chart, title, runs, path):
    """A line for each strategy, measure over load."""
    label, value = MEASURES[chart.measure]
    figure, axes = _new(title, label[0].upper() + label[1:] + ", by load")
    if chart.measure != "hits":
        axes.set_yscale("log")
        _time_axis(axes.yaxis)
    ends = []
    for name in dict.fromkeys(run["strategy"] for run in runs):
        points = [(run["sweep_load"], value(run)) for run in runs
                  if run["strategy"] == name]
        color, width, named = _style(name, chart)
        axes.plot(*zip(*points), color=color, linewidth=width,
                  alpha=1 if named else 0.45, zorder=width)
        if named:
            ends.append((points[-1], name, color, name == chart.strategy))
    axes.set_xlim(points[0][0], points[-1][0])
    axes.set_xlabel("load", color=INK, size=9)
    _label_ends(axes, ends)
    _save(figure, path)


def costs(chart, title, runs, path):
    """A dot for each strategy, time to first token over cost."""
    figure, axes = _new(title, "Mean time to first token, by the bill")
    axes.set_yscale("log")
    _time_axis(axes.yaxis)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(
        lambda dollars, _position: "$%g" % dollars))
    for run in runs:
        name = run["strategy"]
        named = name == chart.strategy or name in chart.others
        color = OWN if name == chart.strategy else INK
        at = (run["cost_usd"], run["ttft_ms"]["mean"])
        axes.plot(*at, "o", color=color, alpha=1 if named else 0.4,
                  markersize=8 if name == chart.strategy else 5)
        if named:
            # The strategy's own name on the left, out of the others' way.
            side = -1 if name == chart.strategy else 1
            axes.annotate(name, at, xytext=(8 * side, 0), color=color, size=9,
                          textcoords="offset points", va="center",
                          ha="right" if side < 0 else "left")
    axes.set_xlim(left=0)
    _save(figure, path)


def spread(title, runs, path):
    """A bar for each strategy from median to p99, the mean as a dot."""
    runs = sorted(runs, key=lambda run: -run["ttft_ms"]["mean"])
    figure, axes = _new(title, "Time to first token: median to 99th "
                        "percentile, dot: mean", (7, 4.6))
    figure.subplots_adjust(left=0.25, right=0.97, top=0.86, bottom=0.08)
    axes.set_xscale("log")
    _time_axis(axes.xaxis)
    for row, run in enumerate(runs):
        time = run["ttft_ms"]
        axes.plot((time["p50"], time["p99"]), (row, row), color=OWN,
                  linewidth=5, alpha=0.45, solid_capstyle="butt")
        axes.plot(time["mean"], row, "o", color=OWN, markersize=5)
    axes.set_yticks(range(len(runs)), [run["strategy"] for run in runs])
    axes.grid(visible=False, axis="y")
    _save(figure, path)
