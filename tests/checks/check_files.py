# SPDX-License-Identifier: MIT
"""Every source file names the licence; no file holds what belongs elsewhere.

usage: check_files.py SOURCE_ROOT
"""

import re
import sys

import repository
from report import finish

# In pieces, so that tools for licences do not take it for a line of that kind.
LICENCE = "SPDX-License-" + "Identifier: MIT"

# Names and endings of files that carry the licence line.
SOURCES = re.compile(
    r"(\.(c|h|cpp|hpp|py|sh|in|map|wrap|toml)|meson\.build|meson_options\.txt"
    r"|/\.clang-format|/\.editorconfig)$")

# Put together from pieces, so that this file passes its own check.
FORBIDDEN = [
    (re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3])
                + r")\b"), "an open end"),
    (re.compile("(?<![\\w.])/(" + "|".join(["wo" + "rk/", "ro" + "ot/",
                                          "ho" + "me/", "Us" + "ers/"])
                + r")\w"), "a path of one machine"),
]


def licence_problem(path, text):
    """Problem of one file, or None. Scripts have it below the #! line."""
    lines = text.splitlines()
    script = bool(lines) and lines[0].startswith("#!")
    if not script and not SOURCES.search("/" + path):
        return None
    line = lines[1 if script else 0] if len(lines) > script else ""
    if LICENCE not in line:
        return f"{path}: no '{LICENCE}' in its first line"
    return None


def text_problems(path, text):
    return [f"{path}:{number}: {what}: {match.group(0)}"
            for number, line in enumerate(text.splitlines(), 1)
            for pattern, what in FORBIDDEN
            for match in [pattern.search(line)] if match]


def main():
    problems = []
    count = 0
    for path, full in repository.files(sys.argv[1]):
        try:
            text = full.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # data, not text
        count += 1
        problem = licence_problem(path, text)
        if problem:
            problems.append(problem)
        problems += text_problems(path, text)
    finish("files", problems, count)


if __name__ == "__main__":
    main()
