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
SIZED = re.compile(r"^(.*?)\.(10|100|1000|10000)(\..*)?$")


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


def table(title, rows, figures, threads):
    lines = [f"| {title} | 10 | 100 | 1,000 | 10,000 |", "|---|" + "---:|" * 4]
    for row in rows:
        base = row.rsplit(".", 1)[0] if threads else None
        cells = [cell(figures, row, size, base) for size in SIZES]
        lines.append(f"| `{row}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def render(entries):
    figures = {entry["name"]: entry for entry in entries}
    sized = [SIZED.match(name) for name in figures]
    rows = list(dict.fromkeys(f"{m[1]}.N{m[3] or ''}" for m in sized if m))
    two = [row for row in rows if row.endswith((".2threads", ".2routers"))]
    one = [row for row in rows if row not in two]
    single = [f"| `{entry['name']}` | {entry['ns']:,.0f} |"
              for entry in entries if not SIZED.match(entry["name"])]
    return "\n".join([
        table("one thread, ns", one, figures, False),
        "† above the budget.\n",
        table("two threads, ns (throughput against one)", two, figures, True),
        "\n".join(["| other, ns | |", "|---|---:|", *single]) + "\n"])


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
