# SPDX-License-Identifier: MIT
"""Holds a report of gcovr against the bound of tools/coverage.

usage: coverage_bound.py SUMMARY.json PERCENT
"""

import json
import sys


def percent(covered, total):
    return 100.0 * covered / total if total else 100.0


def line(name, entry):
    return (f"{name}: {entry['line_covered']} of {entry['line_total']} lines,"
            f" {percent(entry['line_covered'], entry['line_total']):.1f} %;"
            f" {entry['branch_covered']} of {entry['branch_total']} branches,"
            f" {percent(entry['branch_covered'], entry['branch_total']):.1f} %")


def is_below(entry, bound):
    return percent(entry["line_covered"], entry["line_total"]) < bound


def main(path, bound):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    bound = float(bound)
    if not report["line_total"]:
        sys.exit("coverage: nothing was measured")
    below = [entry for entry in report["files"] if is_below(entry, bound)]
    for entry in below:
        print(f"below {bound:g} %: {line(entry['filename'], entry)}")
    print(line("src/", report))
    return 1 if below or is_below(report, bound) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
