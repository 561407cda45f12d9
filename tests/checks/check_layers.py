# SPDX-License-Identifier: MIT
"""Includes go downward only.

src/ holds one folder a layer. A file may include headers of its own and of
lower layers, the public header, and a short list of system headers, none of
which does I/O. Models do not know each other.

usage: check_layers.py SOURCE_ROOT
"""

import pathlib
import re
import sys

from report import finish

LAYERS = ["base", "containers", "models", "state", "policy", "api", "ingest"]

SYSTEM_HEADERS = {
    "assert.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h",
    "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h",
    "string.h",
}

# Headers that only one module may use.
ONLY_IN = {
    "xxhash.h": "base/hash",
    "pthread.h": "base/lock",
    "stdatomic.h": "base/published",
    "windows.h": "base/lock",
}

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def layer_of(path):
    """Index of the layer that a path relative to src/ is in, or None."""
    first = path.split("/")[0]
    return LAYERS.index(first) if first in LAYERS and "/" in path else None


def model_of(path, files):
    """The model that a file belongs to: the shortest foo, with a header of its
    own, of which it is foo.c, foo.h or foo_part.c."""
    parent = pathlib.PurePosixPath(path).parent
    words = pathlib.PurePosixPath(path).stem.split("_")
    stems = ("_".join(words[:count]) for count in range(1, len(words) + 1))
    return next((stem for stem in stems if str(parent / (stem + ".h")) in files),
                words[0])


def _system_problem(path, header):
    if header.startswith("lbroute/"):
        return None
    owner = ONLY_IN.get(header)
    if owner:
        if path.rsplit(".", 1)[0] != owner:
            return f"{path}: only {owner} may include <{header}>"
        return None
    if header not in SYSTEM_HEADERS:
        return f"{path}: <{header}> is not on the list of system headers"
    return None


def _resolve(path, header, files):
    beside = str(pathlib.PurePosixPath(path).parent / header)
    return next((name for name in (header, beside) if name in files), None)


def _own_problem(path, header, files):
    target = _resolve(path, header, files)
    if target is None:
        return f'{path}: "{header}" is not in src/'
    mine, its = layer_of(path), layer_of(target)
    if mine is None or its is None:
        return None
    if its > mine:
        return f"{path}: includes {target}, of a higher layer"
    if LAYERS[mine] == "ingest" and LAYERS[its] not in ("ingest", "base"):
        return f"{path}: ingest uses the public API only, not {target}"
    if (LAYERS[mine] == LAYERS[its] == "models"
            and model_of(path, files) != model_of(target, files)):
        return f"{path}: includes {target}, another model"
    return None


def _include_problem(path, argument, files):
    match = re.match(r'[<"](.*?)[>"]', argument)
    if not match:
        return f"{path}: cannot read '#include {argument}'"
    if argument.startswith("<"):
        return _system_problem(path, match.group(1))
    return _own_problem(path, match.group(1), files)


def problems_in(files):
    """Problems of {path relative to src/: text}."""
    problems = []
    seen = {}
    for path, text in sorted(files.items()):
        if layer_of(path) is None:
            problems.append(f"{path}: in no layer ({', '.join(LAYERS)})")
        name = path.rsplit("/", 1)[-1]
        if name in seen:
            problems.append(f"{path}: same file name as {seen[name]}")
        seen[name] = path
        for argument in _INCLUDE.findall(text):
            problem = _include_problem(path, argument, files)
            if problem:
                problems.append(problem)
    return problems


def main():
    source = pathlib.Path(sys.argv[1]) / "src"
    files = {
        path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
        for path in source.rglob("*") if path.suffix in (".c", ".h")
    }
    finish("layers", problems_in(files), len(files))


if __name__ == "__main__":
    main()
