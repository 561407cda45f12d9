# SPDX-License-Identifier: MIT
"""How every check ends: the problems, one a line, and an exit code."""

import sys


def finish(name, problems, looked_at):
    """Prints the problems found in `looked_at` things and exits."""
    for problem in problems:
        print(f"{name}: {problem}")
    if not looked_at:
        print(f"{name}: nothing to check")
    print(f"{name}: {looked_at} checked, {len(problems)} problems")
    sys.exit(1 if problems or not looked_at else 0)
