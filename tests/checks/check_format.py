# SPDX-License-Identifier: MIT
"""Every C and C++ file is as clang-format writes it.

usage: check_format.py SOURCE_ROOT CLANG_FORMAT
"""

import re
import subprocess
import sys

import repository
from report import finish

ENDINGS = (".c", ".h", ".cpp", ".hpp")


def problems_in(clang_format, paths):
    """The first line of each file that clang-format would change."""
    run = subprocess.run([clang_format, "--dry-run", "--Werror", *paths],
                         text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    lines = re.findall(r"^(.+?):(\d+):\d+: error", run.stdout, re.MULTILINE)
    first = {}
    for path, line in lines:
        first.setdefault(path, line)
    problems = [f"{path}:{line}: mend it with clang-format -i"
                for path, line in first.items()]
    if run.returncode and not problems:
        problems.append(run.stdout)
    return problems


def main():
    root, clang_format = sys.argv[1:3]
    paths = [str(full) for path, full in repository.files(root)
             if path.endswith(ENDINGS)]
    finish("format", problems_in(clang_format, paths), len(paths))


if __name__ == "__main__":
    main()
