#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the figures of lbroute-bench --json into a document.

The tables between the two marks are written anew: a row a benchmark, a column
a number of targets.

usage: update_docs.py FIGURES.json DOCUMENT.md
"""

import json
import pathlib
import re
import sys

BEGIN = "<!-- figures: written by bench/update_docs.py -->\n"
END = "<!-- end of figures -->\n"
SIZES = ["10", "100", "1000", "10000"]
PROMPT_SIZES = ["8", "64", "512"]
SIZED = re.compile(r"^(.*?)\.(%s)(\..*)?$" % "|".join(SIZES + PROMPT_SIZES))


def cell(figures, row, size, base):
    """Time in ns; with `base`, also the throughput against it."""
    figure = figures.get(row.replace(".N", "." + size))
    if figure is None:
        return ""
    ns = figure["ns"]
    text = f"{ns:,.1f}" if ns < 100 else f"{ns:,.0f}"
    if ns > figure.get("budget_ns", ns):
        text += " †"
    one = figures.get(base.replace(".N", "." + size)) if base else None
    return f"{text} ({one['ns'] / ns:.2f} ×)" if one else text


def table(title, sizes, rows, figures):
    heads = " | ".join(f"{int(size):,}" for size in sizes)
    lines = [f"| {title} | {heads} |", "|---|" + "---:|" * len(sizes)]
    for row in rows:
        base = row.rsplit(".", 1)[0] if on_two(row) else None
        cells = [cell(figures, row, size, base) for size in sizes]
        lines.append(f"| `{row}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def on_two(row):
    return row.endswith((".2threads", ".2routers"))


def rows_of(figures, sizes):
    """Rows of one thread and of two, in the order of the figures."""
    sized = [match for match in map(SIZED.match, figures)
             if match and match[2] in sizes]
    rows = list(dict.fromkeys(f"{m[1]}.N{m[3] or ''}" for m in sized))
    return [[row for row in rows if on_two(row) == two]
            for two in (False, True)]


def single(entry):
    value = (f"{entry['ns']:,.0f} ns" if "ns" in entry
             else f"{entry['value']:.2f} {entry['unit']}")
    return f"| `{entry['name']}` | {value} |"


def render(entries):
    figures = {entry["name"]: entry for entry in entries if "ns" in entry}
    singles = [single(entry) for entry in entries
               if "ns" not in entry or not SIZED.match(entry["name"])]
    one, two = rows_of(figures, SIZES)
    one_prompt, two_prompts = rows_of(figures, PROMPT_SIZES)
    return "\n".join([
        table("one thread, ns", SIZES, one, figures),
        table("prompts, one thread, ns", PROMPT_SIZES, one_prompt, figures),
        table("two threads, ns (throughput against one)", SIZES, two, figures),
        table("prompts, two threads, ns (throughput against one)",
              PROMPT_SIZES, two_prompts, figures),
        "† above the budget.\n",
        "\n".join(["| other | |", "|---|---:|", *singles]) + "\n"])


def main():
    figures, document = map(pathlib.Path, sys.argv[1:3])
    text = document.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    tables = render(json.loads(figures.read_text(encoding="utf-8")))
    document.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}",
                        encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
