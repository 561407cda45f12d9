# SPDX-License-Identifier: MIT
"""Public headers suit every language and every compiler mode.

Each compiles alone as C99, C11 and C++11 without a warning, is plain between
its `extern "C"` guards, and documents every function with its thread class.
Every field of every public struct is pinned in the layout table.

usage: check_headers.py LAYOUT_C -- INCLUDE_DIR... -- HEADER... -- CC...
       [-- CXX...]
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import public_header
from report import finish

THREAD_CLASSES = ("[pure]", "[any thread]", "[exclusive]")
PLAIN = [
    (r"^[ \t]*#", "a preprocessor line"),
    (r"\bunion\b", "a union"),
    (r"\.\.\.", "variable arguments"),
    (r"\w\s*:\s*\d+\s*;", "a bit field"),
    (r"\binline\b", "an inline function"),
    (r"^[ \t]*enum \w+ \w+", "a value of an enum type"),
]

# An enumerator, the comment before it and the start of one after it.
_ENUMERATOR = re.compile(
    r"(/\*\*(?!<)(?:(?!\*/).)*\*/\s*)?\b(LBROUTE_\w+)\s*=\s*-?\d+,?\s*"
    r"(/\*\*<)?", re.DOTALL)


def plainness_problems(text):
    """What other languages could not read between the guards."""
    try:
        code = public_header.without_comments(public_header.span(text))
    except ValueError as error:
        return [str(error)]
    return [f"{what} between the extern \"C\" guards"
            for pattern, what in PLAIN
            if re.search(pattern, code, re.MULTILINE)]


def comment_problems(text):
    problems = []
    for name in public_header.functions(text):
        comment = public_header.comment_before(text, name)
        if comment is None:
            problems.append(f"{name} has no documentation comment")
        elif sum(comment.count(word) for word in THREAD_CLASSES) != 1:
            problems.append(f"{name} does not name one thread class")
    return problems


def enumerator_problems(text):
    """Enumerators without a comment; Doxygen does not miss those."""
    return [f"{match.group(2)} has no documentation comment"
            for match in _ENUMERATOR.finditer(text)
            if not match.group(1) and not match.group(3)]


def layout_problems(text, layout):
    """Structs and fields that the layout table does not pin."""
    problems = []
    for struct, fields in public_header.structs(text).items():
        if not re.search(rf"\bSIZE\({struct},", layout):
            problems.append(f"the size of {struct} is not pinned")
        problems += [f"{struct}.{field} is not pinned" for field in fields
                     if not re.search(rf"\bPIN\({struct}, {field},", layout)]
    return problems


def compile_problems(header, include_dirs, compiler, standard, language):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "alone.source"
        source.write_text(f"#include <lbroute/{header}>\n"
                          "extern int not_empty;\n", encoding="utf-8")
        run = subprocess.run(
            [*compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra",
             "-pedantic", "-Werror", "-fsyntax-only",
             *[f"-I{folder}" for folder in include_dirs], str(source)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        return [f"does not compile alone as {standard}:\n{run.stdout}"]
    return []


def _split_at_dashes(arguments):
    groups = [[]]
    for argument in arguments:
        if argument == "--":
            groups.append([])
        else:
            groups[-1].append(argument)
    return groups


def main():
    (layout_file,), include_dirs, headers, cc, *cxx = _split_at_dashes(
        sys.argv[1:])
    modes = [(cc, "c99", "c"), (cc, "c11", "c")]
    modes += [(compiler, "c++11", "c++") for compiler in cxx]
    layout = pathlib.Path(layout_file).read_text(encoding="utf-8")
    problems = []
    for header in map(pathlib.Path, headers):
        found = []
        for compiler, standard, language in modes:
            found += compile_problems(header.name, include_dirs, compiler,
                                      standard, language)
        if header.name != "version.h":
            text = header.read_text(encoding="utf-8")
            found += plainness_problems(text) + comment_problems(text)
            found += enumerator_problems(text) + layout_problems(text, layout)
        problems += [f"{header.name}: {problem}" for problem in found]
    finish("headers", problems, len(headers) * len(modes))


if __name__ == "__main__":
    main()
