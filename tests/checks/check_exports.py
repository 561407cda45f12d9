# SPDX-License-Identifier: MIT
"""What the headers declare, the map lists and the library exports is one set.

In the static library, where everything is visible to the linker, every global
name carries one of the project's prefixes.

usage: check_exports.py NM MAP SHARED_LIBRARY STATIC_LIBRARY HEADER...
(a library that was not built is given as an empty string)
"""

import pathlib
import re
import sys

import elf_symbols
import public_header
from report import finish

PREFIXES = ("lbroute_", "lbr_")


def names_in_map(text):
    """Names in the global sections of a linker version script."""
    text = public_header.without_comments(re.sub(r"#.*", "", text))
    names = []
    for section in re.findall(r"global:(.*?)(?:local:|\})", text, re.DOTALL):
        names += [name.strip() for name in section.split(";") if name.strip()]
    return names


def _difference(names, what, expected, where):
    problems = [f"'{name}' is {what} but not {where}"
                for name in sorted(set(names) - set(expected))]
    problems += [f"'{name}' is {where} but not {what}"
                 for name in sorted(set(expected) - set(names))]
    return problems


def shared_problems(declared, mapped, exported):
    problems = _difference(declared, "declared", mapped, "in the map")
    if list(mapped) != sorted(set(mapped)):
        problems.append("the map is not sorted, or names something twice")
    if exported is not None:
        problems += _difference(declared, "declared", exported, "exported")
    return problems


def static_problems(names):
    return [f"global '{name}' of the static library lacks a prefix"
            for name in sorted(names) if not name.startswith(PREFIXES)]


def main():
    nm, map_file, shared, static, *headers = sys.argv[1:]
    declared = []
    for header in headers:
        declared += public_header.functions(
            pathlib.Path(header).read_text(encoding="utf-8"))
    mapped = names_in_map(pathlib.Path(map_file).read_text(encoding="utf-8"))
    exported = None
    if shared:
        symbols = elf_symbols.read(nm, ["-D", "--defined-only"], shared)
        # The version node itself is an absolute symbol.
        exported = [name for name, kind in symbols.items() if kind != "A"]
    problems = shared_problems(declared, mapped, exported)
    if static:
        problems += static_problems(
            elf_symbols.read(nm, ["--extern-only", "--defined-only"], static))
    finish("exports", problems, len(declared))


if __name__ == "__main__":
    main()
