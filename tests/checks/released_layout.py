# SPDX-License-Identifier: MIT
"""The layout that a release promises, as rows that struct_layout.c includes.

It is taken from the rows of struct_layout.c, which the compiler has checked,
and from the constants of the public headers.
"""

import pathlib
import re

import public_header

HEAD = """\
/* SPDX-License-Identifier: MIT */
/* What programs that were built with the last release rely on. Written by
 * "ninja update-abi"; struct_layout.c includes it. */
"""
_ROW = re.compile(r"^(SIZE|PIN)\(\s*(\w+),\s*(\w+)(?:,\s*(\d+))?\);",
                  re.MULTILINE)


def struct_rows(layout_c):
    """Structs that begin with their size may grow, others may not."""
    rows = []
    for kind, struct, second, offset in _ROW.findall(layout_c):
        if kind == "PIN":
            rows.append(f"FIELD({struct}, {second}, {offset});")
            continue
        grows = re.search(rf"^PIN\({struct}, size, 0\);", layout_c,
                          re.MULTILINE)
        rows.append(f"{'GROWING' if grows else 'FIXED'}({struct}, {second});")
    return rows


def constant_rows(constants):
    """Counts of constants grow with what they count."""
    return [f"{'COUNT' if name.endswith('_COUNT') else 'CONSTANT'}"
            f"({name}, {value});" for name, value in constants.items()]


def written(source_root):
    source_root = pathlib.Path(source_root)
    layout_c = source_root / "tests" / "checks" / "struct_layout.c"
    rows = struct_rows(layout_c.read_text(encoding="utf-8"))
    for header in ("lbroute.h", "ingest.h"):
        text = (source_root / "include" / "lbroute" / header).read_text(
            encoding="utf-8")
        rows += constant_rows(public_header.constants(text))
    return HEAD + "\n".join(rows) + "\n"
